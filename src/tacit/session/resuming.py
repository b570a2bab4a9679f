"""The earlier injections of a resumed session. In: a record, versions of memories. Out: the last start pack, the changes since. Pure.

A resumed session and a fork still have in their context what was handed over. They get what has changed since they were
answered last, and once what a compaction dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.session import SessionState, StartPack
from tacit.model.signal import SessionStarted, Signal
from tacit.ports.store import Recorded
from tacit.session import ledger

GOES_ON = ("resume", "fork")
_START_SURFACES = (Surface.START, Surface.COMPACTION)


def carried_start_pack(signal: Signal, state: SessionState) -> StartPack | None:
    """The start pack that stands in the context of a session that goes on; None where a whole one is due."""
    if not isinstance(signal, SessionStarted) or signal.source not in GOES_ON:
        return None
    before = state.start_pack or _of_ledger(state)
    return before if before is not None and before.epoch == state.epoch else None


def _of_ledger(state: SessionState) -> StartPack | None:
    """The last pack of a record that an earlier version wrote."""
    shown = [one for one in state.ledger if one.surface in _START_SURFACES]
    if not shown:
        return None
    return StartPack(epoch=shown[-1].epoch, at_ms=shown[-1].at_ms, surface=shown[-1].surface)


def ids_dropped_by_compaction(
    state: SessionState, before: StartPack | None, *, surface: Surface
) -> tuple[str, ...]:
    """Ids of memories that a compaction took out of the context: right after it, and once more with the next resume."""
    resumed = before is not None and before.surface is Surface.COMPACTION and not before.resumed
    return ledger.dropped_by_compaction(state) if resumed or surface is Surface.COMPACTION else ()


def with_start_pack(
    state: SessionState, before: StartPack | None, *, surface: Surface, at_ms: int
) -> SessionState:
    """The record after a start pack; `before` = the one that it goes on from."""
    if before is not None:
        return replace(state, start_pack=replace(before, at_ms=at_ms, resumed=True))
    return replace(state, start_pack=StartPack(epoch=state.epoch, at_ms=at_ms, surface=surface))


def changed_since(
    before: StartPack, versions_of: Callable[[Memory], Sequence[Recorded]]
) -> Callable[[Memory], bool]:
    """Tells whether a memory says something else than it did at `before`; `versions_of` gives its versions, newest first."""

    def changed(memory: Memory) -> bool:
        old = next((one.memory for one in versions_of(memory) if one.at_ms < before.at_ms), None)
        return old is None or old.status != "active" or old.content_hash != memory.content_hash

    return changed
