"""What the plain form makes of calls as the model wrote them, and what it says of a payload that it cannot read."""

from __future__ import annotations

import pytest

from tacit.errors import InvalidPayload
from tacit.hosts.plain import Plain
from tacit.model.signal import MessageEnded, ToolStarting

PLAIN = Plain()
CALL = {"event": "tool_start", "session": "s1", "cwd": "/w/app"}


def call(**fields: object):
    signal = PLAIN.parse({**CALL, **fields}, at_ms=1)
    assert isinstance(signal, ToolStarting)
    return signal.call


def test_a_call_is_read_from_its_arguments() -> None:
    made = call(tool="execute_command", args={"command": "make test", "timeout": 4})
    assert (made.tool, made.command, made.paths) == ("bash", "make test", ())
    made = call(tool="edit_file", args={"path": "/w/app/src/a.py", "new_str": "x = 1"})
    assert (made.tool, made.paths, made.text) == ("edit", ("src/a.py",), "x = 1")


def test_what_the_agent_says_of_a_call_goes_before_its_arguments() -> None:
    made = call(
        tool="bash", command="make lint", paths=["b.py"], args={"command": "cd x; make lint", "path": "c"}
    )
    assert (made.command, made.paths) == ("make lint", ("b.py",))


def test_a_conversation_comes_along_with_the_end_of_a_message() -> None:
    said = [{"role": "user", "content": "hi"}]
    signal = PLAIN.parse({"event": "message_end", "session": "s1", "messages": said}, at_ms=1)
    assert isinstance(signal, MessageEnded)
    assert signal.messages == '[{"role": "user", "content": "hi"}]'


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ({"event": "promt"}, "field 'event' is wrong: it is 'promt'", "one of start, prompt, tool_start"),
        ({"version": 2}, "field 'version' is wrong: it is 2", "1, the only version that this Tacit reads"),
        ({"version": "1"}, "field 'version' is wrong: it is of type str", "a whole number"),
        ({"prompt": "hi"}, "the event 'prompt' has no field 'prompt'", "Its fields: event, session"),
        ({"text": None}, "field 'text' is wrong: it is missing", "a text"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_would_be_right(
    change: dict[str, object], message: str, hint: str
) -> None:
    with pytest.raises(InvalidPayload) as refused:
        PLAIN.parse({"event": "prompt", "session": "s1", "text": "hi", **change}, at_ms=1)
    assert message in refused.value.message
    assert hint in refused.value.hint
    assert "docs/guide/bring-your-own-agent.md" in refused.value.hint
