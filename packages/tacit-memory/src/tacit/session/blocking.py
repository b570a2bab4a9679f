"""Rules that the user marked as blocking, and those that forbid a call in their own words: the call is refused once, with the rule as the reason.

In: memories, the signal and the session's record before the delivery. Out: whether a rule is due, and the block as a refusal.
Never refuses by anything that the user did not say or confirm, never twice for one rule in one epoch, never after the call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tacit.model.memory import Memory, TrustTier
from tacit.model.pack import Block, Surface
from tacit.model.session import SessionState
from tacit.model.signal import Signal, ToolStarting
from tacit.reading.moment_calls import fit_of, read_call_facts
from tacit.reading.moments import read_moments


def is_due(memory: Memory, signal: Signal, state: SessionState, *, may_refuse: bool) -> bool:
    """Whether `memory` may refuse the call that `signal` announces; it then comes again although it is in context."""
    if not may_refuse or not isinstance(signal, ToolStarting):
        return False
    if memory.provenance.tier is not TrustTier.USER:
        return False
    if not memory.trigger.blocking and not _forbids(memory, signal):
        return False
    return not any(
        entry.memory_id == memory.id and entry.surface is Surface.ACTION and entry.epoch == state.epoch
        for entry in state.ledger
    )


def _forbids(memory: Memory, signal: ToolStarting) -> bool:
    """Whether the words of `memory` forbid this very call."""
    facts = read_call_facts(signal.call)
    return any(moment.forbids and fit_of(moment, facts) == "now" for moment in read_moments(memory.content))


def refusing(
    block: Block, memories: Iterable[Memory], signal: Signal, state: SessionState, *, may_refuse: bool
) -> Block:
    """`block` as a refusal where one of the memories it was made from is due to refuse the call."""
    if block.empty or block.surface is not Surface.ACTION:
        return block
    due = any(is_due(memory, signal, state, may_refuse=may_refuse) for memory in memories)
    return replace(block, refuses=True) if due else block
