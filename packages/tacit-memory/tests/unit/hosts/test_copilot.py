"""Keys, exit codes, subagents and answers of the Copilot adapter, on payloads as version 1.0.102 sends them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.hosts.copilot import Copilot
from tacit.hosts.copilot import install as installation
from tacit.model.pack import Block, Surface
from tacit.model.signal import (
    MessageEnded,
    PromptSubmitted,
    SessionStarted,
    Signal,
    SubagentStarted,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)

HOST = Copilot()
AT = 1_795_169_545_696
BASE: dict[str, Any] = {"session_id": "s1", "timestamp": "2026-11-26T14:41:09.960Z", "cwd": "/w/app"}
BASH: dict[str, Any] = {
    "tool_name": "Bash",
    "tool_input": {"command": "make test", "description": "run the tests"},
}
BLOCK = Block(surface=Surface.ACTION, text="<m>rule</m>", tokens=3, memory_ids=("mem_1",))


def payload(event: str, **fields: Any) -> dict[str, Any]:
    return {**BASE, "hook_event_name": event, **fields}


def parse(event: str, at_ms: int = AT, **fields: Any) -> Signal:
    signal = HOST.parse(payload(event, **fields), at_ms=at_ms)
    assert signal is not None
    return signal


def test_hooks_of_two_files_for_one_event_have_one_key() -> None:
    for event, fields in (
        ("UserPromptSubmit", {"prompt": "yes"}),
        ("PreToolUse", BASH),
        ("Stop", {}),
        ("SessionEnd", {}),
    ):
        first, twin = (parse(event, at, **fields).key for at in (AT, AT + 900))
        assert first == twin, event
        assert parse(event, **{**fields, "timestamp": "2026-11-26T14:41:10.100Z"}).key != first, event


def test_a_session_starts_once_and_resumes_again_and_again() -> None:
    start = parse("SessionStart", source="new")
    assert isinstance(start, SessionStarted)
    assert (start.source, start.key) == (
        "startup",
        parse("SessionStart", source="new", timestamp="later").key,
    )
    assert (
        parse("SessionStart", source="resume").key
        != parse("SessionStart", source="resume", timestamp="later").key
    )
    for source in ("warp", "", None):
        start = parse("SessionStart", source=source)
        assert isinstance(start, SessionStarted)
        assert start.source == "startup"


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("out\n<shellId: 0 completed with exit code 3>", "Exit code 3\nout"),
        ("fine\n<shellId: 0 completed with exit code 0>", None),
        ("<shellId: 0 completed with exit code 3> is what it prints", None),
        ("no word of it", None),
    ],
)
def test_the_exit_code_of_a_command_stands_at_the_end_of_its_result(output: str, error: str | None) -> None:
    result = {"result_type": "success", "text_result_for_llm": output}
    signal = parse("PostToolUse", **BASH, tool_result=result)
    if error is None:
        assert isinstance(signal, ToolFinished)
    else:
        assert isinstance(signal, ToolFailed)
        assert signal.error == error
    other = parse("PostToolUse", tool_name="Read", tool_input={"path": "/w/app/a.py"}, tool_result=result)
    assert isinstance(other, ToolFinished), "only a command has an exit code"


def test_paths_come_from_the_input_and_from_a_patch() -> None:
    edit = parse(
        "PreToolUse", tool_name="Edit", tool_input={"path": "/w/app/src/a.py", "old_str": "x", "new_str": "y"}
    )
    assert isinstance(edit, ToolStarting)
    assert (edit.call.tool, edit.call.paths, edit.call.text) == ("edit", ("src/a.py",), "y")
    patch = parse(
        "PreToolUse",
        tool_name="Edit",
        tool_input="*** Begin Patch\n*** Update File: src/b.py\n+x\n*** End Patch",
    )
    assert isinstance(patch, ToolStarting)
    assert patch.call.paths == ("src/b.py",)


def test_a_subagent_belongs_to_the_session_of_its_parent_and_is_prompted_by_a_program() -> None:
    started = HOST.parse(
        {"sessionId": "s1", "timestamp": 1, "cwd": "/w/app", "agentName": "explore", "agent_id": "a1",
         "agent_type": "explore", "parent_agent_id": "s1", "transcriptPath": "/h/events.jsonl"}, at_ms=AT,
    )  # fmt: skip
    assert isinstance(started, SubagentStarted)
    inside = {"session_id": "a1", "agent_id": "a1", "agent_type": "explore", "parent_agent_id": "s1"}
    prompt = parse("UserPromptSubmit", prompt="Remember that we use tabs.", **inside)
    assert isinstance(prompt, PromptSubmitted)
    assert (started.session, started.agent_id) == (prompt.session, prompt.agent_id)
    assert prompt.machine
    stopped = parse("SubagentStop", last_assistant_message="Found it.", agent_id="a1", parent_agent_id="s1")
    assert isinstance(stopped, MessageEnded)
    assert (stopped.text, stopped.agent_id) == ("Found it.", "a1")


def test_text_goes_with_results_and_a_refusal_before_the_call() -> None:
    starting = parse("PreToolUse", **BASH)
    assert starting.takes_no_text
    assert HOST.encode(payload("PreToolUse"), BLOCK) == "", "it would come as a message of the user"
    refusal = Block(surface=Surface.ACTION, text="<m>never</m>", refuses=True)
    answer = json.loads(HOST.encode(payload("PreToolUse"), refusal))
    assert answer == {"permissionDecision": "deny", "permissionDecisionReason": "<m>never</m>"}
    for event in ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"):
        assert json.loads(HOST.encode(payload(event), BLOCK)) == {"additionalContext": BLOCK.text}
    for event in ("Stop", "SubagentStop", "PreCompact", "SessionEnd", "Notification", "ErrorOccurred"):
        assert HOST.encode(payload(event), BLOCK) == "", event


def test_the_hooks_of_an_installation_end_without_an_error() -> None:
    """Copilot denies a call where the hook before it ends with one."""
    hooks = json.loads(installation.hooks(Path("/h/my home/bin/tacit-hook")))["hooks"]
    for event, (entry,) in hooks.items():
        assert entry["bash"].startswith("'/h/my home/bin/tacit-hook' copilot "), event
        assert entry["bash"].endswith(" || true"), event
