"""Keys, machine-made prompts, paths and caps of the Claude Code adapter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacit.errors import InvalidInput, InvalidPayload
from tacit.hosts.claude_code import CAP_CHARS, ClaudeCode
from tacit.model.pack import Block, Surface
from tacit.model.signal import PromptSubmitted, SessionStarted, Signal, ToolFinished, ToolStarting

HOST = ClaudeCode()
AT = 1_795_169_545_696
BASE: dict[str, Any] = {"session_id": "s", "cwd": "/w/app"}


def parse(at_ms: int = AT, **fields: Any) -> Signal:
    signal = HOST.parse({**BASE, **fields}, at_ms=at_ms)
    assert signal is not None
    return signal


def prompt(text: str, at_ms: int = AT, **fields: Any) -> PromptSubmitted:
    signal = parse(at_ms, hook_event_name="UserPromptSubmit", prompt=text, **fields)
    assert isinstance(signal, PromptSubmitted)
    return signal


def test_the_same_prompt_delivered_twice_has_one_key() -> None:
    assert prompt("yes", prompt_id="p1").key == prompt("yes", AT + 60_000, prompt_id="p1").key


def test_equal_prompts_of_different_turns_have_different_keys() -> None:
    assert prompt("yes", prompt_id="p1").key != prompt("yes", prompt_id="p2").key


def test_without_a_prompt_id_time_tells_turns_apart() -> None:
    assert prompt("yes").key == prompt("yes", AT + 30).key
    assert prompt("yes").key != prompt("yes", AT + 20_000).key
    assert prompt("yes").key != prompt("no").key


@pytest.mark.parametrize("source", ["startup", "fork"])
def test_a_session_starts_up_once(source: str) -> None:
    first, late = (parse(at, hook_event_name="SessionStart", source=source) for at in (AT, AT + 600_000))
    assert first.key == late.key


@pytest.mark.parametrize("source", ["resume", "clear", "compact"])
def test_start_twice_at_once_is_one_and_later_is_another(source: str) -> None:
    def key(at_ms: int) -> str:
        return parse(at_ms, hook_event_name="SessionStart", source=source).key

    assert key(AT) == key(AT + 20)
    assert key(AT) != key(AT + 600_000)


@pytest.mark.parametrize("source", ["warp", "", None, 7, ["startup"]])
def test_an_unknown_start_source_is_a_start(source: object) -> None:
    start = parse(hook_event_name="SessionStart", source=source)
    assert isinstance(start, SessionStarted)
    assert start.source == "startup"


@pytest.mark.parametrize(
    "text",
    [
        "<task-notification>\n<task-id>a</task-id>",
        "  <system-reminder>\nx",
        "<command-name>/clear</command-name>",
        "<local-command-stdout>ok</local-command-stdout>",
        "<bash-input>ls</bash-input>",
        "[Request interrupted by user]",
        "This session is being continued from a previous conversation that ran out of context.",
        "/tacit why",
    ],
)
def test_machine_made_prompts(text: str) -> None:
    assert prompt(text).machine


@pytest.mark.parametrize(
    "text",
    [
        "fix <task-notification> handling",
        "yes",
        "",
        "/tacitly agree?",
        "<div> is not closed",
        "<command line>",
    ],
)
def test_human_prompts(text: str) -> None:
    assert not prompt(text).machine


def test_a_prompt_that_the_host_calls_its_own_is_machine_made() -> None:
    assert prompt("continue", source="loop_wakeup").machine
    assert not prompt("continue", source="user").machine


def test_a_command_counts_only_where_no_program_made_the_prompt() -> None:
    typed = "/tacit remember We deploy on Fridays."
    assert prompt(typed).command == "remember We deploy on Fridays."
    assert prompt(typed).machine  # Tacit answers it, recall does not
    assert not prompt(typed, source="loop_wakeup").command
    assert not prompt(typed, agent_id="a1", agent_type="Explore").command


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("/w/app/src/a.py", "src/a.py"),
        ("/w/app/src/../b.py", "b.py"),
        ("/w/apple/a.py", "/w/apple/a.py"),
        ("/etc/hosts", "/etc/hosts"),
        ("src/a.py", "src/a.py"),
    ],
)
def test_paths_are_relative_inside_the_working_folder(given: str, expected: str) -> None:
    signal = parse(hook_event_name="PostToolUse", tool_name="Read", tool_input={"file_path": given})
    assert isinstance(signal, ToolFinished)
    assert signal.call.paths == (expected,)


@pytest.mark.parametrize(
    ("host_name", "ours"),
    [("Read", "read"), ("Edit", "edit"), ("MultiEdit", "edit"), ("NotebookEdit", "edit"), ("Write", "write"),
     ("Bash", "bash"), ("Grep", "grep"), ("Glob", "glob"), ("Task", "task"), ("Agent", "task"),
     ("mcp__tacit__memory_add", "mcp__tacit__memory_add")],
)  # fmt: skip
def test_tool_names(host_name: str, ours: str) -> None:
    signal = parse(hook_event_name="PostToolUse", tool_name=host_name, tool_input={})
    assert isinstance(signal, ToolFinished)
    assert signal.call.tool == ours


@pytest.mark.parametrize("tool", ["Agent", "Task"])
@pytest.mark.parametrize(
    ("given", "agent"), [({}, "general-purpose"), ({"subagent_type": "Explore"}, "Explore")]
)
def test_a_call_that_starts_a_subagent_tells_its_type_and_its_task(
    tool: str, given: dict[str, str], agent: str
) -> None:
    signal = parse(hook_event_name="PreToolUse", tool_name=tool, tool_input={"prompt": "look", **given})
    assert isinstance(signal, ToolStarting)
    assert (signal.call.agent, signal.call.text) == (agent, "look")


def test_a_tool_input_the_model_got_wrong_is_no_error_of_the_payload() -> None:
    signal = parse(hook_event_name="PostToolUse", tool_name="Edit", tool_input={"file_path": 4, "edits": "x"})
    assert isinstance(signal, ToolFinished)
    assert signal.call.paths == ()


def test_the_cap_fits_and_more_is_refused() -> None:
    payload = {**BASE, "hook_event_name": "UserPromptSubmit"}
    fits = Block(surface=Surface.PROMPT, text="x" * CAP_CHARS)
    assert json.loads(HOST.encode(payload, fits))["hookSpecificOutput"]["additionalContext"] == fits.text
    with pytest.raises(InvalidInput, match="too long"):
        HOST.encode(payload, Block(surface=Surface.PROMPT, text="😀" * 5_000))


def test_internal_agents_of_a_compaction_are_ignored() -> None:
    assert (
        HOST.parse({**BASE, "hook_event_name": "SubagentStop", "agent_type": "", "agent_id": "a"}, at_ms=AT)
        is None
    )
    assert HOST.parse({**BASE, "hook_event_name": "SubagentStart"}, at_ms=AT) is None


def test_tool_input_as_text_is_what_mcp_tool_hooks_send() -> None:
    as_text = json.dumps({"command": "make", "description": "x"})
    signal = parse(
        hook_event_name="PostToolUse", tool_name="Bash", tool_input=as_text, prompt_id="", agent_id=""
    )
    assert isinstance(signal, ToolFinished)
    assert signal.call.command == "make"
    for wrong in ("make", "[1]", "{" * 5000):
        with pytest.raises(InvalidPayload, match="tool_input"):
            parse(hook_event_name="PostToolUse", tool_name="Bash", tool_input=wrong)


@pytest.mark.parametrize(("more", "machine"), [({}, False), ({"agent_id": "a1"}, True)])
def test_a_prompt_inside_a_subagent_is_no_users_word(more, machine):
    payload = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s1",
        "cwd": "/w",
        "prompt": "Remember: x is y.",
    }
    signal = ClaudeCode().parse(payload | more, at_ms=1)
    assert isinstance(signal, PromptSubmitted)
    assert signal.machine is machine
