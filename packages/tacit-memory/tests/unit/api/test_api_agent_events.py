"""The described form of the events of one's own agent is the form that the daemon reads."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tacit.api.agent_events import AGENT_ENDPOINTS, LIBRARY_EVENTS, PLAIN_EVENTS, AgentReply, event_name
from tacit.errors import InvalidPayload
from tacit.hosts import library, plain
from tacit.hosts.library import Library
from tacit.hosts.plain import Plain
from tacit.model.pack import Block, Surface

AT = 1_795_169_545_696
READERS = {"plain": Plain(), "library": Library()}
SHAPES = {
    "plain": {event_name(shape): shape for shape in PLAIN_EVENTS},
    "library": {event_name(shape): shape for shape in (*PLAIN_EVENTS, *LIBRARY_EVENTS)},
}
FIELDS = {"plain": plain.FIELDS, "library": library.FIELDS}
EXAMPLES = [
    pytest.param(one.host, payload, id=f"{one.host}-{name}")
    for one in AGENT_ENDPOINTS
    for name, payload in one.examples.items()
]
both = pytest.mark.parametrize("host", READERS)


@cache
def checked(host: str) -> TypeAdapter[Any]:
    return TypeAdapter(next(one.events for one in AGENT_ENDPOINTS if one.host == host))


@both
def test_described_and_read_fields_are_the_same(host: str) -> None:
    assert set(SHAPES[host]) == set(FIELDS[host])
    for event, shape in SHAPES[host].items():
        if event != "ping":  # it says nothing, not even of which session
            assert set(shape.model_fields) == {*plain.COMMON, *FIELDS[host][event]}, event


@pytest.mark.parametrize(("host", "payload"), EXAMPLES)
def test_every_example_is_read(host: str, payload: dict[str, Any]) -> None:
    checked(host).validate_python(payload)
    signal = READERS[host].parse(payload, at_ms=AT)
    if payload["event"] == "replay":
        assert Library().parse_replay(payload)
        return
    assert signal is not None
    assert signal.session.session_id == payload["session"]


@pytest.mark.parametrize(("host", "payload"), EXAMPLES)
@pytest.mark.parametrize(
    "change",
    [{"event": "tool"}, {"version": 2}, {"txet": "hi"}, {"session": ""}, {"session": None}, {"cwd": 4}],
)
def test_what_is_not_described_is_refused(host: str, payload: dict[str, Any], change: dict[str, Any]) -> None:
    if payload["event"] == "replay" and change.get("cwd"):
        return  # a replay reads its two fields alone
    broken = {**payload, **change}
    with pytest.raises(ValidationError):
        checked(host).validate_python(broken)
    reader = READERS[host]
    replays = isinstance(reader, Library) and payload["event"] == "replay" and "event" not in change
    with pytest.raises(InvalidPayload) as refused:
        reader.parse_replay(broken) if replays else reader.parse(broken, at_ms=AT)  # pyright: ignore[reportAttributeAccessIssue]
    (field,) = change
    assert repr(field) in refused.value.message
    assert "bring-your-own-agent.md" in refused.value.hint


@given(data=st.data())
def test_whatever_fits_the_description_is_read(data: st.DataObject) -> None:
    host = data.draw(st.sampled_from(sorted(READERS)))
    event = data.draw(st.sampled_from(sorted(set(SHAPES[host]) - {"ping", "replay"})))
    shape = SHAPES[host][event]
    values = st.one_of(
        st.text(
            st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=("Cc", "Zl")), max_size=30
        ),
        st.booleans(),
        st.sampled_from(
            ["compact", "fork", 1, [], ["a.py"], {"command": "ls", "path": "a.py"}, [{"role": "user"}]]
        ),
    )
    payload: dict[str, Any] = {"event": event, "session": "s"}
    payload |= data.draw(
        st.dictionaries(st.sampled_from(sorted(set(shape.model_fields) - {"event"})), values)
    )
    if payload.get("version") is True:
        return  # equal to 1 for Python, but not for JSON
    try:
        shape.model_validate(payload, strict=True)
    except ValidationError:
        return
    signal = READERS[host].parse(json.loads(json.dumps(payload)), at_ms=AT)
    assert signal is not None


def test_the_reply_is_the_described_one() -> None:
    block = Block(surface=Surface.FAILURE, text="Run make migrate first.", tokens=5, memory_ids=("mem_1",))
    reply = Plain().encode({"event": "tool_failed"}, block, notice="Tacit on")
    assert AgentReply.model_validate_json(reply).model_dump() == {
        "context": "Run make migrate first.",
        "surface": "failure",
        "memory_ids": ["mem_1"],
        "tokens": 5,
        "notice": "Tacit on",
    }


def test_the_document_has_both_paths_with_examples_and_a_choice_by_event(document: dict[str, Any]) -> None:
    for host in READERS:
        operation = document["paths"][f"/hook/{host}"]["post"]
        body = operation["requestBody"]["content"]["application/json"]
        schema = body["schema"]
        schema = (
            document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            if "$ref" in schema
            else schema
        )
        assert set(schema["discriminator"]["mapping"]) == set(FIELDS[host])
        assert len(schema["examples"]) >= 10
