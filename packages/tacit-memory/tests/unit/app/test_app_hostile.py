"""The engine under hostile input: any payload, any memory text, damaged files. In process, so that many can be tried."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tacit.backends.sqlite import damage_marker
from tacit.config.home import Home
from tacit.errors import InvalidPayload, UnknownKind
from tacit.ports.store import MemoryFilter

PROPERTY = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def place(place):
    (place / ".git" / "objects").mkdir(parents=True)
    return place


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
EVENTS = {
    "claude-code": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart",
                    "SubagentStop", "Stop", "PreCompact", "SessionEnd", "Other"),
    "opencode": ("session.start", "chat.message", "system", "tool.before", "tool.after", "message.part", "compacting", "x"),
    "plain": ("start", "prompt", "before_tool", "after_tool", "failure", "compaction", "message_end", "end"),
}  # fmt: skip
NAMES = (
    "session_id", "cwd", "prompt", "source", "tool_name", "tool_input", "tool_response", "tool_use_id", "error", "reason",
    "agent_id", "agent_type", "transcript_path", "last_assistant_message", "text", "session", "message_id", "directory",
    "sessionID", "call", "trigger", "prompt_id", "version",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("host", sorted(EVENTS))
def test_any_payload_is_answered_or_named_as_invalid(engine, place, host):
    answered: list[str] = []
    refused: list[InvalidPayload] = []

    @PROPERTY
    @given(
        event=st.sampled_from(EVENTS[host]) | ANYTHING,
        fields=st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=8),
        sound=st.booleans(),
    )
    @example(event=EVENTS[host][0], fields={"sessionID": "s"} if host == "opencode" else {}, sound=True)
    @example(event=EVENTS[host][0], fields={}, sound=False)
    def check(event, fields, sound):
        base = (
            {"session_id": "s", "session": "s", "cwd": str(place), "source": "startup", "prompt": "x"}
            if sound
            else {}
        )
        payload = {"hook_event_name": event, "event": event, **base, **fields}
        if host == "plain" and sound:  # it refuses a field that it does not know
            payload = {"event": event, "session": "s", "cwd": str(place), **fields}
        try:
            answered.append(engine.hook(host, payload, deadline_ms=2000.0))
        except InvalidPayload as error:
            refused.append(error)

    check()
    assert refused
    assert all(error.hint and host in error.message for error in refused)
    assert answered
    assert all(isinstance(text, str) for text in answered)
    assert engine.store.check() == ()


def test_listing_an_unknown_kind_names_the_nearest(engine, place):
    with pytest.raises(UnknownKind, match="preference"):
        engine.list_memories(MemoryFilter(kinds=("prefrence",)))
    assert engine.list_memories(MemoryFilter(kinds=("preference",))) == ()


def test_a_store_that_was_put_aside_is_told_until_its_file_is_gone(make_engine, tmp_path):
    first = make_engine()
    first.close()
    database = tmp_path / "home" / "tacit.db"
    database.write_bytes(b"no database at all" * 100)
    make_engine().close()
    (aside,) = (tmp_path / "home" / "quarantine").glob("*.db")
    later = make_engine()
    assert any(str(aside) in warning for warning in later.status().warnings)
    later.close()
    aside.unlink()
    assert make_engine().status().warnings == ()


def test_an_emptied_file_is_a_loss_only_where_there_was_something(make_engine, tmp_path, place):
    home = Home(tmp_path / "home")
    home.ensure()
    home.database.touch()
    engine = make_engine()
    assert engine.status().warnings == ()  # a start that was cut short
    engine.remember("Commit often", kind="preference", cwd=str(place))
    engine.hook("claude-code", {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup", "cwd": str(place)},
                deadline_ms=2000.0)  # fmt: skip
    assert engine.prerender() > 0
    engine.close()
    for beside in ("-wal", "-shm", ""):
        (tmp_path / "home" / f"tacit.db{beside}").unlink(missing_ok=True)
    home.database.touch()
    assert any("put aside" in warning for warning in make_engine().status().warnings)


def test_a_mark_of_damage_on_a_sound_store_is_taken_away(make_engine, tmp_path, place):
    engine = make_engine()
    engine.remember("Commit often", kind="preference", cwd=str(place))
    mark = damage_marker(tmp_path / "home" / "tacit.db")
    mark.touch()
    assert engine.damaged
    engine.close()
    again = make_engine()
    assert not mark.exists()
    assert not again.damaged
    assert [memory.content for memory in again.list_memories(MemoryFilter())] == ["Commit often"]
