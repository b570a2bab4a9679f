"""Keys, prompts, results, and what waits: the Gemini CLI adapter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tacit.errors import InvalidPayload
from tacit.hosts.gemini import Gemini
from tacit.model.pack import Block, Surface
from tacit.model.signal import PromptSubmitted, Signal, ToolFailed, ToolFinished
from tacit.reading.prompts import without_added_files

HOST = Gemini()
AT = 1_795_704_539_019
BASE: dict[str, Any] = {
    "session_id": "s",
    "cwd": "/w/app",
    "transcript_path": "/home/u/.gemini/tmp/app/chats/session-1.jsonl",
    "timestamp": "2026-11-26T14:48:59.019Z",
}
BLOCK = Block(surface=Surface.ACTION, text="Amounts are cents.")


def parse(at_ms: int = AT, **fields: Any) -> Signal:
    signal = HOST.parse({**BASE, **fields}, at_ms=at_ms)
    assert signal is not None
    return signal


def after(name: str, response: dict[str, Any], **given: Any) -> Signal:
    return parse(hook_event_name="AfterTool", tool_name=name, tool_input=given, tool_response=response)


def test_an_event_that_two_hooks_tell_of_has_one_key_and_the_next_one_another() -> None:
    def key(stamp: str, at_ms: int) -> str:
        return parse(at_ms, hook_event_name="BeforeAgent", prompt="yes", timestamp=stamp).key

    assert key("2026-11-26T14:48:59.019Z", AT) == key("2026-11-26T14:48:59.019Z", AT + 7_000)
    assert key("2026-11-26T14:48:59.019Z", AT) != key("2026-11-26T14:48:59.020Z", AT)


def test_a_prompt_is_what_the_person_wrote() -> None:
    prompt = (
        "<hook_context>&lt;mark&gt; of another hook</hook_context>\n\nexplain @a.py\n"
        "--- Content from referenced files ---\nContent from @a.py:\nNever round.\n--- End of content ---"
    )
    signal = parse(hook_event_name="BeforeAgent", prompt=prompt)
    assert isinstance(signal, PromptSubmitted)
    assert signal.text == "explain @a.py"


def test_a_command_failed_when_its_exit_code_says_so() -> None:
    said = "<untrusted_context>\nOutput: no rule to make target\nExit Code: 2\nProcess Group PGID: 9\n</untrusted_context>"
    failed = after("run_shell_command", {"llmContent": said, "returnDisplay": ""}, command="make x")
    assert isinstance(failed, ToolFailed)
    assert failed.error == "Exit code 2\nno rule to make target"
    assert (failed.call.tool, failed.call.command) == ("bash", "make x")
    read = after("read_file", {"llmContent": "Output: x\nExit Code: 2"}, file_path="/w/app/log.txt")
    assert isinstance(read, ToolFinished), "only a command has an exit code"
    assert read.call.paths == ("log.txt",)
    parts = after("run_shell_command", {"llmContent": [{"text": said}]}, command="make x")
    assert isinstance(parts, ToolFailed)


def test_a_tools_error_is_the_error_and_takes_no_text() -> None:
    payload = {
        **BASE,
        "hook_event_name": "AfterTool",
        "tool_name": "replace",
        "tool_input": {"file_path": "/w/app/a.py", "new_string": "x"},
        "tool_response": {"llmContent": "long", "error": {"message": "0 occurrences found", "type": "edit"}},
    }
    failed = HOST.parse(payload, at_ms=AT)
    assert isinstance(failed, ToolFailed)
    assert "0 occurrences found" in failed.error
    assert not HOST.reply_takes_text(payload)
    assert HOST.encode(payload, BLOCK) == ""


def test_text_goes_with_prompts_and_results_alone() -> None:
    for event in ("SessionStart", "BeforeTool", "AfterAgent", "SessionEnd", "PreCompress"):
        assert HOST.encode({"hook_event_name": event}, BLOCK) == "", event
    answer = json.loads(HOST.encode({"hook_event_name": "BeforeAgent"}, BLOCK, notice="new here"))
    assert answer == {
        "hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "Amounts are cents."},
        "systemMessage": "new here",
    }
    refusal = Block(surface=Surface.ACTION, text="Not on main.", refuses=True)
    assert json.loads(HOST.encode({"hook_event_name": "BeforeTool"}, refusal)) == {
        "decision": "deny",
        "reason": "Not on main.",
    }


def row(**taken: str) -> bytes:
    messages = [
        {"id": "a", "type": "user", "content": [{"text": "<state_snapshot>"}]},
        {"type": "gemini", "content": [{"text": "Got it. Thanks for the additional context!"}], **taken},
    ]
    return json.dumps({"$set": {"messages": messages}}, separators=(",", ":")).encode()


def test_a_compression_has_the_name_of_its_message_in_the_chat_file() -> None:
    assert HOST.compaction_in(row(id="b7")) == "b7"
    assert HOST.compaction_in(row()) == ""
    assert HOST.compaction_in(b'{"$set":{"messages":[],"lastUpdated":"2026-11-26T15:00:01.000Z"}}') == ""
    assert (
        HOST.compaction_in(b'{"$set":{"messages": broken "Got it. Thanks for the additional context!"') == ""
    )
    assert HOST.compaction_in(row(id="b7").replace(b"[{", b"[7,{")) == "b7"
    assert HOST.compaction_in(row(id="x" * 600)) == ""


def test_its_own_memory_lies_beside_its_transcripts() -> None:
    files = [file.at(str(BASE["transcript_path"])) for file in HOST.capabilities.memory_files]
    assert files == ["/home/u/.gemini/tmp/app/memory/MEMORY.md", "/home/u/.gemini/GEMINI.md"]
    assert [file.at("") for file in HOST.capabilities.memory_files] == ["", ""]


@pytest.mark.parametrize(
    "fields",
    [
        {"hook_event_name": "BeforeAgent"},
        {"hook_event_name": "AfterTool", "tool_name": "x", "tool_input": "text"},
        {"hook_event_name": "AfterTool", "tool_name": "x", "tool_response": "text"},
        {"hook_event_name": ""},
    ],
)
def test_a_payload_of_another_form_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayload, match="gemini"):
        HOST.parse({**BASE, **fields}, at_ms=AT)


@pytest.mark.parametrize("text", [None, 1, [1], {"a": []}])
def test_odd_arguments_of_a_call_are_left_out(text: object) -> None:
    signal = parse(
        hook_event_name="BeforeTool",
        tool_name="read_many_files",
        tool_input={"command": text, "file_path": text, "include": ["src/a.py", 1]},
    )
    assert signal.key


def test_white_space_after_an_added_file_takes_no_time() -> None:
    """A file that contains the closing words itself could make the search take minutes."""
    prompt = "round it --- Content from referenced files --- x --- End of content ---" + " " * 300_000 + "x"
    assert without_added_files(prompt).startswith("round it ")
    assert without_added_files("round it\n--- Content from referenced files ---\nx") == "round it"
