"""Stages 9 and 10: write the block and hold it to every limit. In: a pack. Out: the block and what it really holds. Pure.

The budget stage has counted frame and lines; joined lines never count more than their sum. Here the finished text is held
to the host's own cap on characters. What is too much goes from the end, a whole memory at a time, so that a closing
delimiter is never lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tacit.model.evidence import Candidate
from tacit.model.pack import Block, Pack
from tacit.model.sections import NO_SECTIONS
from tacit.model.trace import Drop, DropCause, DropReason, SilenceCause, SilenceReason, Trace, TracedCandidate
from tacit.recall.stage import TRACED_CANDIDATES, Delivered, Outcome, RecallState
from tacit.recall.stage_log import StageLog

TRACED_CHARS = 240
READ_CHARS = 4_000


def render(state: RecallState) -> Outcome[RecallState]:
    """The whole pack as text."""
    pack = state.pack or Pack(surface=state.query.surface)
    return Outcome(kept=state.changed(text=state.render(pack)))


def deliver(state: RecallState) -> Outcome[RecallState]:
    """The block, cut to the host's cap; silence, with its reason, where there is none."""
    pack = state.pack or Pack(surface=state.query.surface)
    done = cut(
        pack,
        state.text,
        render=state.render,
        frame_tokens=state.frame_tokens,
        cap_chars=state.context.cap_chars,
        fits=state.context.fits,
    )
    delivered = done.kept
    if state.layout.frame_is_most:
        block = delivered.block
        block = replace(block, tokens=min(block.tokens, state.count(block.text)))
        delivered = replace(delivered, block=block)
    silence = _silence(state, delivered)
    if not delivered.block.empty and silence is not None:
        empty = Block(surface=delivered.block.surface)
        delivered = replace(delivered, pack=replace(delivered.pack, items=()), block=empty)
    return Outcome(kept=state.changed(delivered=delivered, silence=silence), drops=done.drops)


def _silence(state: RecallState, delivered: Delivered) -> SilenceReason | None:
    """Why nothing is handed over; None where something is."""
    if not delivered.block.empty:
        if state.settings.shadow:
            return SilenceReason(cause=SilenceCause.SHADOW)
        return None
    if state.nothing_coming:
        return SilenceReason(cause=SilenceCause.NOTHING_COMING)
    if not state.scored:
        return SilenceReason(cause=SilenceCause.NOTHING_FOUND)
    if not state.passed:
        return SilenceReason(cause=SilenceCause.NOT_RELEVANT)
    if not state.fresh:
        return SilenceReason(cause=SilenceCause.IN_CONTEXT)
    return SilenceReason(cause=SilenceCause.NO_ROOM)


def cut(
    pack: Pack,
    text: str,
    *,
    render: Callable[[Pack], str],
    frame_tokens: int,
    cap_chars: int,
    fits: Callable[[str], bool] = lambda _text: True,
) -> Outcome[Delivered]:
    """Make the block of `pack`, whose text is `text`. Lines and memories are removed until it has at most `cap_chars` (0 = no cap) and `fits`."""
    drops: list[Drop] = []
    while (cap_chars and len(text) > cap_chars) or not fits(text):
        if pack.shown_pairs:
            pack = replace(pack, pairs=pack.shown_pairs[:-1])
        elif not pack.index.empty:
            pack = replace(pack, index=pack.index.without_last())
        elif pack.items:
            why = DropReason(cause=DropCause.HOST_CAP, bound=cap_chars)
            drops.append(Drop(memory_id=pack.items[-1].candidate.memory.id, why=why))
            pack = replace(pack, items=pack.items[:-1])
        elif not pack.sections.empty:
            pack = replace(pack, sections=NO_SECTIONS)
        else:
            break
        text = render(pack)
    tokens = frame_tokens + pack.tokens if text else 0
    block = Block(surface=pack.surface, text=text, tokens=tokens, memory_ids=pack.held if text else ())
    return Outcome(kept=Delivered(pack=pack, block=block), drops=tuple(drops))


def traced(
    scored: Sequence[Candidate], block: Block, *, most: int = TRACED_CANDIDATES
) -> tuple[TracedCandidate, ...]:
    """All candidates as the trace keeps them: the `most` best and what was injected whole, the others by their numbers."""
    chosen = set(block.memory_ids)
    traced_candidates: list[TracedCandidate] = []
    for place, candidate in enumerate(scored):
        memory = candidate.memory
        whole = place < most or memory.id in chosen
        traced_candidates.append(
            TracedCandidate(
                memory_id=memory.id,
                kind=memory.kind,
                content=memory.content[:TRACED_CHARS] if whole else "",
                scores=candidate.scores if whole else (),
                fused=round(candidate.fused, 5),
                relevance=candidate.relevance,
                reasons=candidate.reasons if whole else (),
            )
        )
    return tuple(traced_candidates)


def _as_passed(candidate: Candidate, passed: Candidate | None) -> Candidate:
    """A scored candidate with the reasons for which it passed: a rare name, its pinned kind."""
    if passed is None or passed.reasons == candidate.reasons:
        return candidate
    return replace(candidate, reasons=tuple(dict.fromkeys((*passed.reasons, *candidate.reasons))))


def trace_of(state: RecallState, log: StageLog, trace_id: str) -> Trace:
    """The record of a recall that is done."""
    query, context, silence = state.query, state.context, state.silence
    block = state.delivered.block if state.delivered else Block(surface=query.surface)
    passed = {candidate.memory.id: candidate for candidate in state.passed or ()}
    scored = tuple(
        _as_passed(candidate, passed.pop(candidate.memory.id, None)) for candidate in state.scored or ()
    )
    unsought = passed.values()  # pinned memories need not be found
    return Trace(
        id=trace_id,
        session=query.session,
        turn=context.turn,
        epoch=context.epoch,
        surface=query.surface,
        at_ms=query.at_ms,
        preset=state.preset.name,
        text=query.raw_text[:READ_CHARS],  # cut to its stored length once secrets are out
        situation=query.situation,
        stages=tuple(log.records),
        candidates=traced((*scored, *unsought), block, most=context.traced),
        injected=block.memory_ids,
        why=silence,
        threshold=state.threshold,
        block=block.text,
        tokens=block.tokens,
        budget_tokens=query.budget_tokens,
        took_ms=log.took_ms(),
        decider=state.decider,
    )
