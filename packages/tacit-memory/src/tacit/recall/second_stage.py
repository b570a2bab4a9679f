"""Ask the user's own second-stage model, one text at a time, as long as there is time.

In: candidates or memories, a model, the time that is left. Out: those that the model lets through; scores by memory. A model
that is being loaded, or broken, or too slow is named in the losses and changes nothing: without it nothing is missing. A
forward pass cannot be interrupted, so none is begun that would take longer than what is left, judged by the longest so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter

from tacit.errors import ProviderError
from tacit.model.evidence import PINNED, Candidate
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.model.trace import Drop, DropCause, DropReason, Loss
from tacit.ports.models import Reranker
from tacit.recall.stage import Outcome, RecallState, Tools

ASKED_CHARS = 1000
CANDIDATES = 8
"""So many are read at most; each is a forward pass."""
Scores = dict[str, float]


def rerank(
    query: Query,
    candidates: Sequence[Candidate],
    *,
    model: Reranker,
    least: float,
    threshold: float,
    remaining_ms: Callable[[], float],
) -> Outcome[tuple[Candidate, ...]]:
    """Take out what the model says is no answer, among the most relevant that would be handed over.

    Args:
        query: its words are read with each memory.
        candidates: scored.
        model: reads the most relevant `CANDIDATES` of them.
        least: probability that they must reach.
        threshold: least relevance of the surface: nobody reads what stays away anyhow.
        remaining_ms: milliseconds left until the deadline.
    """
    if not query.text.strip():
        return Outcome(kept=tuple(candidates))
    due = sorted(
        (c for c in candidates if c.relevance >= threshold and PINNED not in c.reasons),
        key=lambda c: (-c.relevance, c.memory.newest_first),
    )[:CANDIDATES]
    scored = _scores(query, (c.memory for c in due), model, remaining_ms, total=len(due))
    low = {name: value for name, value in scored.kept.items() if value < least}
    drops = tuple(
        Drop(
            memory_id=name,
            why=DropReason(cause=DropCause.SECOND_STAGE, value=value, bound=least, detail=model.name),
        )
        for name, value in low.items()
    )
    kept = tuple(c for c in candidates if c.memory.id not in low)
    return Outcome(kept=kept, drops=drops, losses=scored.losses)


def read_again(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """What the user's own second-stage model lets through."""
    assert tools.reranker is not None
    done = rerank(
        state.query,
        state.reached if state.reached is not None else state.scored or (),
        model=tools.reranker,
        least=state.settings.reranker.least,
        threshold=state.threshold,
        remaining_ms=state.context.remaining_ms,
    )
    return Outcome(kept=state.changed(reached=done.kept), drops=done.drops, losses=done.losses)


def _scores(
    query: Query,
    memories: Iterable[Memory],
    model: Reranker,
    remaining_ms: Callable[[], float],
    *,
    total: int,
) -> Outcome[Scores]:
    scores: Scores = {}
    longest = 0.0
    text = query.text[:ASKED_CHARS]
    try:
        if total and not model.ready:
            return Outcome(
                kept=scores, losses=(Loss(source=model.name, cause="late", detail="it is being loaded"),)
            )
        for memory in memories:
            if remaining_ms() <= longest:
                late = Loss(source=model.name, cause="late", detail=f"after {len(scores)} of {total}")
                return Outcome(kept=scores, losses=(late,))
            since = perf_counter()
            scores[memory.id] = model.score(text, memory.content)
            longest = max(longest, (perf_counter() - since) * 1000)
    except ProviderError as error:
        return Outcome(kept={}, losses=(Loss(source=model.name, cause="failed", detail=str(error)),))
    return Outcome(kept=scores)
