"""What every host adapter must hold, whatever it speaks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.app.wiring import Hosts
from tacit.errors import InvalidPayload
from tacit.model import signal as signals
from tacit.model.pack import Block, Surface
from tacit.model.signal import (
    Compacting,
    MessageEnded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    SubagentStarted,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)
from tacit.ports.host import DeferringHost, Host, ReplayingHost

AT = 1_795_169_545_696
HOSTS = Hosts()

PL = {"session": "s1", "cwd": "/w/app"}
PL_TOOL = {**PL, "tool": "edit", "call_id": "c1", "paths": ["/w/app/src/a.py"], "text": "x = 1"}

LI_TOOL = {
    **PL,
    "tool": "str_replace_based_edit_tool",
    "call_id": "c1",
    "args": {"command": "str_replace", "path": "/w/app/src/a.py", "new_str": "x = 1"},
}

CAPTURED = Path(__file__).parents[4] / "tests" / "golden" / "hosts"


def captured(host: str) -> list[tuple[type, dict[str, Any]]]:
    """One captured payload for each kind of signal that the host tells of."""
    found: dict[str, tuple[type, dict[str, Any]]] = {}
    for file in sorted((CAPTURED / host).glob("*.json")):
        case = json.loads(file.read_text("utf-8"))
        if case["expected"]["signal"]:
            kind = case["expected"]["signal"]["type"]
            found[kind] = getattr(signals, kind), case["payload"]
    return [*found.values()]


EXAMPLES: dict[str, list[tuple[type, dict[str, Any]]]] = {
    **{name: captured(name) for name in ("claude-code", "opencode", "copilot", "cursor", "codex", "gemini")},
    "plain": [
        (SessionStarted, {**PL, "event": "start"}),
        (PromptSubmitted, {**PL, "event": "prompt", "text": "hi"}),
        (ToolStarting, {**PL_TOOL, "event": "tool_start"}),
        (ToolFinished, {**PL_TOOL, "event": "tool_end", "output": "done"}),
        (ToolFailed, {**PL_TOOL, "event": "tool_failed", "error": "boom"}),
        (Compacting, {**PL, "event": "compacting"}),
        (SubagentStarted, {**PL, "event": "subagent", "agent_type": "Explore"}),
        (MessageEnded, {**PL, "event": "message_end", "text": "Done."}),
        (SessionEnded, {**PL, "event": "end", "reason": "bye"}),
    ],
    "library": [
        (SessionStarted, {**PL, "event": "start"}),
        (PromptSubmitted, {**PL, "event": "prompt", "text": "hi", "message_id": "m1"}),
        (ToolStarting, {**LI_TOOL, "event": "tool_start"}),
        (ToolFinished, {**LI_TOOL, "event": "tool_end", "output": "done"}),
        (ToolFailed, {**LI_TOOL, "event": "tool_failed", "error": "boom"}),
        (Compacting, {**PL, "event": "compacting"}),
        (SubagentStarted, {**PL, "event": "subagent", "agent_type": "Explore"}),
        (
            MessageEnded,
            {**PL, "event": "message_end", "text": "Done.", "messages": [{"role": "user", "content": "hi"}]},
        ),
        (SessionEnded, {**PL, "event": "end", "reason": "bye"}),
    ],
}
CASES = [
    pytest.param(HOSTS[name], kind, payload, id=f"{name}-{kind.__name__}")
    for name, rows in EXAMPLES.items()
    for kind, payload in rows
]
SHOW_NO_NOTICE = ("copilot", "cursor")
"""Hosts whose hooks cannot show the person a line."""
NEVER_TAKE_TEXT = (Compacting, MessageEnded, SessionEnded)
BLOCK = Block(surface=Surface.PROMPT, text='<m>\n- Räder ✓ "q"\n</m>', tokens=7, memory_ids=("mem_1",))
EMPTY = Block(surface=Surface.PROMPT)

every_host = pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)


@every_host
def test_host_is_registered_under_its_name(host: Host) -> None:
    assert type(Hosts()[host.name]) is type(host)


@every_host
def test_capabilities_are_sane(host: Host) -> None:
    can = host.capabilities
    assert can.cap_chars > 1000
    assert len(dict(can.arrival)) == len(can.arrival), "a surface is declared twice"
    assert can.arrives(Surface.START) == "before"
    assert can.arrives(Surface.HOST) == "never"


@pytest.mark.parametrize(("host", "kind", "payload"), CASES)
def test_every_signal_is_read(host: Host, kind: type, payload: dict[str, Any]) -> None:
    before = json.dumps(payload)
    signal = host.parse(payload, at_ms=AT)
    assert host.parse(payload, at_ms=AT) == signal
    assert json.dumps(payload) == before
    assert host.encode(payload, EMPTY) == "", "silence is no bytes at all"
    assert type(signal) is kind
    assert signal is not None
    assert signal.session.host == host.name
    assert signal.at_ms == AT
    assert signal.cwd
    assert signal.key


@every_host
def test_keys_of_different_events_differ(host: Host) -> None:
    told = [host.parse(payload, at_ms=AT) for _, payload in EXAMPLES[host.name]]
    assert len({signal.key for signal in told if signal}) == len(told) >= 7


@pytest.mark.parametrize(("host", "kind", "payload"), CASES)
def test_text_goes_out_where_it_may(host: Host, kind: type, payload: dict[str, Any]) -> None:
    reply = host.encode(payload, BLOCK, notice="Tacit on")
    signal = host.parse(payload, at_ms=AT)
    assert signal is not None
    waits = (
        isinstance(host, DeferringHost) and not host.reply_takes_text(payload) and host.name in SHOW_NO_NOTICE
    )
    if kind in NEVER_TAKE_TEXT or signal.takes_no_text or waits:
        assert reply == ""
        return
    found = json.loads(reply)
    texts = [*found.values(), *found.get("hookSpecificOutput", {}).values()]
    assert (BLOCK.text in texts) is (
        host.reply_takes_text(payload) if isinstance(host, DeferringHost) else True
    )
    assert ("Tacit on" in texts) == (host.name not in SHOW_NO_NOTICE)
    assert reply.isascii(), "the reply must survive any pipe"
    assert host.encode(payload, BLOCK, notice="Tacit on") == reply


@pytest.mark.parametrize(("host", "kind", "payload"), CASES)
def test_a_wrong_session_id_is_named(host: Host, kind: type, payload: dict[str, Any]) -> None:
    field = next(
        name
        for name in ("conversation_id", "session_id", "sessionID", "sessionId", "session")
        if name in payload
    )
    for wrong in (7, [], {}, True, "\ud800", "", "a\nb", "x" * 1000):
        with pytest.raises(InvalidPayload, match=f"'{field}'"):
            host.parse({**payload, field: wrong}, at_ms=AT)


@pytest.mark.parametrize(("host", "kind", "payload"), CASES)
def test_every_missing_field_is_an_answer_or_a_named_error(
    host: Host, kind: type, payload: dict[str, Any]
) -> None:
    for field in payload:
        for broken in ({k: v for k, v in payload.items() if k != field}, {**payload, field: None}):
            error = _refusal(host, broken)
            if error is not None:
                assert f"'{field}'" in str(error)
                assert host.name in str(error)
                assert error.hint


def _refusal(host: Host, payload: dict[str, Any]) -> InvalidPayload | None:
    try:
        host.parse(payload, at_ms=AT)
    except InvalidPayload as error:
        return error
    return None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@every_host
@given(data=st.data())
def test_no_payload_does_more_than_invalid_payload(host: Host, data: st.DataObject) -> None:
    _, payload = data.draw(st.sampled_from(EXAMPLES[host.name]))
    names = st.sampled_from([*payload, "prompt_id", "edits", "agent_id", "exit", "messageIDs", "source"])
    changed = {**payload, **data.draw(st.dictionaries(names, json_values, max_size=4))}
    if data.draw(st.booleans()) and isinstance(changed.get("tool_input", changed.get("args")), dict):
        key = "tool_input" if "tool_input" in changed else "args"
        inner = st.dictionaries(
            st.sampled_from(["file_path", "filePath", "command", "edits", "path", "content", "patchText"]),
            json_values,
        )
        changed[key] = data.draw(inner)
    try:
        signal = host.parse(changed, at_ms=AT)
    except InvalidPayload as error:
        str(error).encode()  # the message itself must be printable
        return
    if signal is not None:
        json.dumps(dataclasses.asdict(signal), ensure_ascii=False).encode()  # no lone surrogate got through


@every_host
@given(payload=st.dictionaries(st.text(max_size=12), json_values, max_size=5))
def test_arbitrary_objects(host: Host, payload: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayload):
        host.parse({**payload, "hook_event_name": 4, "event": 4}, at_ms=AT)


@every_host
@pytest.mark.parametrize("payload", [None, [], "x", 4])
def test_a_payload_that_is_no_object(host: Host, payload: Any) -> None:
    with pytest.raises(InvalidPayload, match="an object"):
        host.parse(payload, at_ms=AT)


@pytest.mark.parametrize(("host", "kind", "payload"), CASES)
def test_a_huge_text_is_bounded(host: Host, kind: type, payload: dict[str, Any]) -> None:
    field = next((f for f in ("prompt_response", "prompt", "text", "error", "last_assistant_message", "output", "tool_response")
                  if isinstance(payload.get(f), str | dict)), None)  # fmt: skip
    if field is None:
        return
    big = "word " * 190_000 + "\ud800\x00 end"
    response = payload[field]
    huge = {**response, "llmContent": big} if isinstance(response, dict) and "llmContent" in response else big
    signal = host.parse({**payload, field: huge}, at_ms=AT)
    whole = json.dumps(dataclasses.asdict(signal), ensure_ascii=False)  # type: ignore[arg-type]
    whole.encode()
    assert len(whole) < 900_000
    assert "\\u0000" not in whole
    assert " end" in whole or kind is ToolStarting


def test_only_hosts_that_store_nothing_replay() -> None:
    assert isinstance(HOSTS["opencode"], ReplayingHost)
    assert isinstance(HOSTS["library"], ReplayingHost)
    assert not isinstance(HOSTS["claude-code"], ReplayingHost)
    assert not isinstance(HOSTS["codex"], ReplayingHost)
    assert not isinstance(HOSTS["plain"], ReplayingHost)
