"""The evidence for a memory on one scale, and a recall in one sentence. In: traces and scores. Out: shares of a level, text. Pure.

Every space has its own scale, so a score is put against the two marks that real prompts gave the space: of memories that nobody needed, 30 of a hundred
come as near as the low mark, and 5 as the high one (`recall.spaces.SpaceThresholds`). The low mark is drawn at half of the level, the high one at the level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from tacit.model.pack import Surface
from tacit.model.trace import DropCause, Trace, TracedCandidate
from tacit.recall.spaces import SPACES, Family
from tacit.recall.stage import START_SURFACES

EvidenceSort = Literal["meaning", "words", "names", "moment"]
_SORTS: dict[Family, EvidenceSort] = {
    "meaning": "meaning",
    "words": "words",
    "things": "names",
    "situation": "moment",
}
_TEXTS: dict[EvidenceSort, str] = {
    "meaning": "meaning",
    "words": "words",
    "names": "names, files and commands",
    "moment": "the moment that it is for",
}
_BY_MOMENT = (Surface.ACTION, Surface.FAILURE, Surface.SUBAGENT)
"""Surfaces on which the moment counts; before a prompt it tells nothing that the words do not tell (`recall.score`)."""
MOST_SHARE = 1.5
NEAR, FAR = 1.0, 0.5
_ASKED = {
    Surface.PROMPT: "the prompt",
    Surface.ACTION: "the call",
    Surface.FAILURE: "the failure",
    Surface.SUBAGENT: "the task",
    Surface.ON_DEMAND: "the question",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceShare:
    """One sort of evidence for a memory.

    Attributes:
        sort, text: its name, and the same in words.
        share: 0 = none, 0.5 = as much as many memories have that nobody needs, 1 = as much as only one in twenty of them has; 1.5 at most.
        space: the space that measured it.
    """

    sort: EvidenceSort
    text: str
    share: float
    space: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCandidate(TracedCandidate):
    """A candidate of a recall, as it is shown, with its `evidence` on one scale."""

    evidence: tuple[EvidenceShare, ...]


def evidence_of(scores: Iterable[tuple[str, float]], surface: Surface) -> tuple[EvidenceShare, ...]:
    """Return what the scores of one memory say for it, one entry for each sort that counts on `surface`; () if nothing was measured."""
    best: dict[EvidenceSort, EvidenceShare] = {}
    for name, score in scores:
        space = SPACES.get(name)
        sort = _SORTS.get(space.family) if space is not None else None
        if space is None or sort is None or (sort == "moment" and surface not in _BY_MOMENT):
            continue
        share = round(_share(score, space.low, space.high), 3)
        if sort not in best or share > best[sort].share:
            best[sort] = EvidenceShare(sort=sort, text=_TEXTS[sort], share=share, space=name)
    if not best or surface in START_SURFACES:
        return ()
    sorts: list[EvidenceSort] = [sort for sort in _TEXTS if sort != "moment" or surface in _BY_MOMENT]
    return tuple(
        best.get(sort) or EvidenceShare(sort=sort, text=_TEXTS[sort], share=0.0, space="") for sort in sorts
    )


def _share(score: float, low: float, high: float) -> float:
    if score <= 0.0:
        return 0.0
    if score < low:
        return FAR * score / low
    return min(MOST_SHARE, FAR + (NEAR - FAR) * (score - low) / max(high - low, 1e-9))


def common_text(evidence: Iterable[EvidenceShare], surface: Surface) -> str:
    """Return in words what a memory has in common with what was asked, and what it lacks: "it is near in meaning, but shares no word with the prompt"; "" = nothing was measured."""
    shares: Mapping[EvidenceSort, float] = {one.sort: one.share for one in evidence}
    if not shares:
        return ""
    near = [_TEXTS[sort] for sort, share in shares.items() if share >= NEAR and sort in ("meaning", "words")]
    far = [_TEXTS[sort] for sort, share in shares.items() if share < FAR and sort in ("meaning", "words")]
    told = [f"it is near in {' and '.join(near)}"] if near else []
    if far:
        told.append(f"{'' if told else 'it is '}far in {' and '.join(far)}")
    asked = _ASKED.get(surface, "what was asked")
    if "names" in shares:
        told.append(
            f"{'' if told else 'it '}shares no name, file or command with {asked}"
            if shares["names"] == 0.0
            else f"{'' if told else 'it '}shares a name, file or command with {asked}"
        )
    if shares.get("moment") == 0.0:
        told.append(f"{'' if told else 'it '}is not meant for such a moment")
    return f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else told[0] if told else ""


def reached_text(relevance: float, threshold: float) -> str:
    """Return how far a memory came: "reached 0.12 of the 0.26 that are needed", or "reached 0.61, and 0.26 is needed"."""
    places = 2 if f"{relevance:.2f}" != f"{threshold:.2f}" or relevance == threshold else 4
    reached, needed = f"{relevance:.{places}f}", f"{threshold:.{places}f}"
    if relevance >= threshold:
        return f"reached {reached}, and {needed} is needed"
    return f"reached {reached} of the {needed} that are needed"


def trace_sentence(trace: Trace, silence: str) -> str:
    """Return the recall in one sentence: what came of it, by which numbers, and what the nearest memory has in common with what was asked.

    `silence` = why nothing was injected, in words.
    """
    looked = _plural(looked_at(trace), "memory", "memories")
    if trace.injected and trace.surface in START_SURFACES:
        return f"Given: {_plural(len(trace.injected), 'memory', 'memories')}, {trace.tokens} of {trace.budget_tokens} tokens."
    best = max(trace.candidates, key=lambda candidate: candidate.relevance, default=None)
    if trace.injected:
        given = f"Given: {len(trace.injected)} of {looked} looked at"
        if best is None or best.relevance < trace.threshold:
            return f"{given}."
        which = "it" if len(trace.injected) == 1 else "the best"
        return f"{given}; {which} {reached_text(best.relevance, trace.threshold)}."
    gated = any(drop.why.cause is DropCause.BELOW_THRESHOLD for stage in trace.stages for drop in stage.drops)
    if best is None or not gated or best.relevance >= trace.threshold:
        return f"Silent: {silence or 'nothing was given'}."
    common = common_text(evidence_of(best.scores, trace.surface), trace.surface)
    reached = reached_text(best.relevance, trace.threshold)
    return f"Silent: the nearest of {looked} {reached}{f'; {common}' if common else ''}."


def looked_at(trace: Trace) -> int:
    """Return how many memories the recall judged or handed over."""
    scored = {
        name
        for stage in trace.stages
        if stage.stage == "score"
        for name in (*stage.kept, *(drop.memory_id for drop in stage.drops))
    }
    return len(scored | set(trace.injected))


def _plural(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
