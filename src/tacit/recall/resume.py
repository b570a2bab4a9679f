"""The start pack of a session that goes on: of what a whole one would hold, what is new to the session. Pure."""

from __future__ import annotations

from dataclasses import replace

from tacit.model.trace import Drop, DropCause, DropReason
from tacit.recall.budget import pack_candidates
from tacit.recall.dedupe import dedupe
from tacit.recall.outcome import Outcome
from tacit.recall.stage import RecallState


def keep_changes(state: RecallState) -> Outcome[RecallState]:
    """For a session that goes on: of what a whole start pack would hold, what is new to it."""
    context, passed = state.context, state.passed or ()
    changed = context.changed
    if changed is None:
        return Outcome(kept=state)
    rest = tuple(c for c in passed if c.memory.id not in context.first)
    whole = pack_candidates(state, dedupe(rest, in_context={}).kept).kept
    listed = {item.candidate.memory.id for item in whole.items}
    new = {
        c.memory.id
        for c in rest
        if c.memory.id in listed and not context.in_context(c.memory) and changed(c.memory)
    }.union(context.first)
    drops = tuple(
        Drop(memory_id=c.memory.id, why=DropReason(cause=DropCause.UNCHANGED))
        for c in passed
        if c.memory.id not in new
    )
    return Outcome(kept=replace(state, passed=tuple(c for c in passed if c.memory.id in new)), drops=drops)
