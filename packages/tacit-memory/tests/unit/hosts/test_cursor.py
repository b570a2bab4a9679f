"""Keys, exit codes, folders and answers of the Cursor adapter, on payloads as Cursor documents them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacit.errors import InvalidPayload
from tacit.hosts.cursor import Cursor
from tacit.model.pack import Block, Surface
from tacit.model.signal import PromptSubmitted, SessionStarted, Signal, ToolFailed, ToolFinished, ToolStarting

HOST = Cursor()
AT = 1_795_169_545_696
BASE: dict[str, Any] = {
    "conversation_id": "c1", "generation_id": "g1", "cursor_version": "3.14.7", "workspace_roots": ["/w/app"],
    "user_email": None, "transcript_path": None,
}  # fmt: skip
TOOL: dict[str, Any] = {"tool_name": "Shell", "tool_use_id": "t1", "tool_input": {"command": "npm test"}}
BLOCK = Block(surface=Surface.ACTION, text="<m>rule</m>", tokens=3, memory_ids=("mem_1",))


def payload(event: str, **fields: Any) -> dict[str, Any]:
    return {**BASE, "hook_event_name": event, **fields}


def parse(event: str, at_ms: int = AT, **fields: Any) -> Signal:
    signal = HOST.parse(payload(event, **fields), at_ms=at_ms)
    assert signal is not None
    return signal


def test_the_folder_is_that_of_the_call_else_the_first_of_the_workspace() -> None:
    assert parse("sessionStart", session_id="c1").cwd == "/w/app"
    assert parse("preToolUse", **TOOL, cwd="/w/app/web").cwd == "/w/app/web"
    assert parse("sessionStart", session_id="c1", workspace_roots=[]).cwd == ""


def test_session_events_name_their_session_in_another_field_of_the_same_value() -> None:
    started = HOST.parse({"hook_event_name": "sessionStart", "session_id": "c1"}, at_ms=AT)
    assert isinstance(started, SessionStarted)
    assert started.session == parse("beforeSubmitPrompt", prompt="hi").session


def test_a_prompt_is_told_apart_by_its_generation() -> None:
    first = parse("beforeSubmitPrompt", prompt="yes")
    assert isinstance(first, PromptSubmitted)
    assert (first.message_id, first.machine) == ("g1", False)
    assert parse("beforeSubmitPrompt", AT + 60_000, prompt="yes").key == first.key
    assert parse("beforeSubmitPrompt", prompt="yes", generation_id="g2").key != first.key


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        ('{"exitCode": 0, "stdout": "fine"}', ToolFinished),
        ('{"exitCode": 3, "stderr": "boom"}', ToolFailed),
        ('{"exitCode": true}', ToolFinished),
        ("plain text", ToolFinished),
        ("[1]", ToolFinished),
        ("{" * 5000, ToolFinished),
    ],
)
def test_the_exit_code_stands_in_the_text_of_the_output(output: str, kind: type) -> None:
    signal = parse("postToolUse", **TOOL, tool_output=output)
    assert type(signal) is kind
    if isinstance(signal, ToolFailed):
        assert signal.error == "Exit code 3\nboom"
        assert not signal.takes_no_text


def test_blocks_of_events_that_take_no_text_wait_and_a_call_has_its_result() -> None:
    starting = parse("preToolUse", **TOOL)
    failed = parse("postToolUseFailure", **TOOL, error_message="timed out", failure_type="timeout")
    assert isinstance(starting, ToolStarting)
    assert isinstance(failed, ToolFailed)
    assert starting.takes_no_text
    assert not failed.takes_no_text, "no result of this call comes: its block waits"
    assert [event for event in ("sessionStart", "beforeSubmitPrompt", "postToolUse", "postToolUseFailure")
            if HOST.reply_takes_text(payload(event))] == ["sessionStart", "postToolUse"]  # fmt: skip
    for event in (
        "beforeSubmitPrompt",
        "postToolUseFailure",
        "afterAgentResponse",
        "preCompact",
        "sessionEnd",
        "stop",
    ):
        assert HOST.encode(payload(event), BLOCK) == "", event


def test_text_goes_with_the_result_and_a_refusal_before_the_call() -> None:
    assert json.loads(HOST.encode(payload("postToolUse"), BLOCK)) == {"additional_context": BLOCK.text}
    assert HOST.encode(payload("preToolUse"), BLOCK) == ""
    refusal = Block(surface=Surface.ACTION, text="<m>never</m>", refuses=True)
    answer = json.loads(HOST.encode(payload("preToolUse"), refusal))
    assert (answer["permission"], answer["agent_message"]) == ("deny", "<m>never</m>")


def test_a_message_without_words_and_the_end_of_the_loop_change_nothing() -> None:
    assert HOST.parse(payload("afterAgentResponse", text=""), at_ms=AT) is None
    assert HOST.parse(payload("stop", status="completed", loop_count=0), at_ms=AT) is None
    assert HOST.parse({"hook_event_name": "workspaceOpen", "workspace_roots": ["/w"]}, at_ms=AT) is None


def test_a_payload_without_a_session_names_the_field() -> None:
    with pytest.raises(InvalidPayload, match="conversation_id"):
        HOST.parse({"hook_event_name": "beforeSubmitPrompt", "prompt": "hi"}, at_ms=AT)
