"""The session's record and ledger: turns, epochs, failures, forks, what counts as in context."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samples import NOW_MS, candidate, memory
from tacit.model.pack import Block, PackItem, Surface
from tacit.model.session import SessionKey
from tacit.model.signal import (
    MessageEnded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolCall,
    ToolFailed,
    ToolFinished,
)
from tacit.model.trace import DropCause, DropReason
from tacit.session import ledger
from tacit.session.transitions import apply_signal, open_session, record_signal, was_handled

KEY = SessionKey(host="plain", session_id="s1")
SAID = replace(memory().provenance, source="session")


def start(source="startup", key="start"):
    return SessionStarted(session=KEY, key=key, at_ms=NOW_MS, cwd="/repo", source=source)


def prompt(text="hello", key="p", **fields):
    return PromptSubmitted(session=KEY, key=key, at_ms=NOW_MS, text=text, **fields)


def state_after(*signals):
    state = open_session(signals[0])
    for signal in signals:
        state = apply_signal(
            record_signal(state, signal), signal, paths=getattr(getattr(signal, "call", None), "paths", ())
        )
    return state


def item(**fields):
    return PackItem(candidate=candidate(**fields), text="x", tokens=7)


def handed(state, *items, surface=Surface.START, message_id=""):
    return ledger.record(
        state, items=items, block=Block(surface=surface, text="b"), message_id=message_id, at_ms=NOW_MS
    )


def test_the_same_signal_twice_is_known():
    state = state_after(start())
    assert was_handled(state, start())
    assert not was_handled(state, start(key="other"))


def test_prompts_count_turns_and_machine_prompts_do_not():
    assert state_after(start(), prompt(key="1"), prompt(key="2", machine=True), prompt(key="3")).turn == 2


@pytest.mark.parametrize(("source", "epoch"), [("startup", 0), ("resume", 0), ("compact", 1), ("clear", 1)])
def test_compaction_and_clear_open_a_new_epoch(source, epoch):
    assert state_after(start(), start(source=source, key="again")).epoch == epoch


def test_message_end_is_kept_and_cleared():
    state = state_after(start(), MessageEnded(session=KEY, key="m", at_ms=NOW_MS, text="Shall I?"))
    assert state.last_message_end == "Shall I?"
    assert apply_signal(state, start(source="clear", key="c")).last_message_end == ""


def test_a_failure_is_pending_until_the_same_command_succeeds():
    fail = ToolFailed(
        session=KEY, key="f", at_ms=NOW_MS, call=ToolCall(tool="bash", command="make"), error="Exit code 2"
    )
    edit = ToolFinished(session=KEY, key="e", at_ms=NOW_MS, call=ToolCall(tool="edit", paths=("a.py",)))
    done = ToolFinished(session=KEY, key="d", at_ms=NOW_MS, call=ToolCall(tool="bash", command="make"))
    pending = state_after(start(), fail, edit)
    assert [(f.command, f.edited_files) for f in pending.pending_failures] == [("make", ("a.py",))]
    assert apply_signal(pending, done).pending_failures == ()


def test_recent_files_are_newest_last_without_repeats():
    def read(path, key):
        return ToolFinished(session=KEY, key=key, at_ms=NOW_MS, call=ToolCall(tool="read", paths=(path,)))

    assert state_after(start(), read("a", "1"), read("b", "2"), read("a", "3")).recent_files == ("b", "a")


def test_what_was_handed_over_does_not_come_again():
    state = handed(state_after(start()), item())
    why = ledger.why_in_context(state, memory(), surface=Surface.PROMPT, reinject_after=0)
    assert why == DropReason(cause=DropCause.IN_CONTEXT, detail="turn 0, start")


def test_it_comes_again_when_changed_after_compaction_or_after_n_turns():
    state = handed(state_after(start()), item())
    changed = memory("Run `make check` before committing.")
    later = replace(state, turn=5)
    compacted = apply_signal(state, start(source="compact", key="c"))
    ask = {"surface": Surface.PROMPT, "reinject_after": 0}
    assert ledger.why_in_context(state, changed, **ask) is None
    assert ledger.why_in_context(compacted, memory(), **ask) is None
    assert ledger.why_in_context(later, memory(), surface=Surface.PROMPT, reinject_after=5) is None
    assert ledger.why_in_context(later, memory(), surface=Surface.PROMPT, reinject_after=6)


def test_host_rules_come_back_only_at_the_action():
    state = ledger.expose_host_rules(state_after(start()), [memory()], at_ms=NOW_MS)
    assert ledger.why_in_context(state, memory(), surface=Surface.PROMPT, reinject_after=0)
    assert ledger.why_in_context(state, memory(), surface=Surface.ACTION, reinject_after=0) is None
    from_file = replace(memory().provenance, source="AGENTS.md")
    for provenance, told in (
        (from_file, "it stands in a file that the agent reads itself"),
        (SAID, ledger.SAID_HERE),
    ):
        known = replace(memory(), provenance=provenance)
        why = ledger.why_in_context(state, known, surface=Surface.PROMPT, reinject_after=0)
        assert why == DropReason(cause=DropCause.IN_CONTEXT, detail=told)
    assert len(ledger.expose_host_rules(state, [memory()], at_ms=NOW_MS).ledger) == 1


def test_what_a_compaction_dropped():
    state = handed(state_after(start()), item(id="a"), item(id="b"))
    after = apply_signal(state, start(source="compact", key="c"))
    assert ledger.dropped_by_compaction(after) == ("a", "b")
    assert ledger.dropped_by_compaction(handed(after, item(id="a"))) == ("b",)


def test_blocks_are_kept_per_epoch_byte_for_byte():
    state = handed(state_after(start()), item(), message_id="m1")
    assert ledger.kept_block(state, "m1") == "b"
    assert ledger.kept_block(state, "m2") is None
    assert ledger.kept_block(apply_signal(state, start(source="compact", key="c")), "m1") is None


def test_a_fork_inherits_what_the_parent_holds():
    parent = handed(state_after(start(), prompt()), item())
    child = open_session(
        SessionStarted(
            session=SessionKey(host="plain", session_id="s2"), key="f", at_ms=NOW_MS, source="fork"
        ),
        parent=parent,
    )
    assert child.parent == KEY
    assert child.turn == 1
    assert ledger.why_in_context(child, memory(), surface=Surface.PROMPT, reinject_after=0)


def test_an_end_is_noted_and_a_prompt_reopens():
    state = state_after(start(), SessionEnded(session=KEY, key="e", at_ms=NOW_MS))
    assert state.ended
    assert not apply_signal(state, prompt()).ended
