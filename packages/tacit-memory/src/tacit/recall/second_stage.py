"""Ask the user's own second-stage models, one text at a time, as long as there is time.

In: candidates or memories, a model, the time that is left. Out: those that the model lets through; scores by memory. A model
that is being loaded, or broken, or too slow is named in the losses and changes nothing: without it nothing is missing. A
forward pass cannot be interrupted, so none is begun that would take longer than what is left, judged by the longest so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter

from tacit.config.settings import RerankerSettings
from tacit.errors import ProviderError
from tacit.model.evidence import PINNED, Candidate
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.model.trace import Drop, DropCause, DropReason, Loss
from tacit.ports.models import Reranker
from tacit.recall.stage import Outcome, RecallState, Tools

ASKED_CHARS = 1000
Scores = dict[str, float]


def rerank(
    query: Query,
    candidates: Sequence[Candidate],
    *,
    model: Reranker | None,
    settings: RerankerSettings,
    threshold: float,
    remaining_ms: Callable[[], float],
) -> Outcome[tuple[Candidate, ...]]:
    """Take out what the model says is no answer, among the most relevant that would be handed over.

    Args:
        query: its words are read with each memory.
        candidates: scored.
        model: reads; None = there is none, and everything is kept.
        settings: how many it reads and what they must reach.
        threshold: least relevance of the surface: nobody reads what stays away anyhow.
        remaining_ms: milliseconds left until the deadline.
    """
    if model is None or not query.text.strip():
        return Outcome(kept=tuple(candidates))
    due = sorted(
        (c for c in candidates if c.relevance >= threshold and PINNED not in c.reasons),
        key=lambda c: (-c.relevance, c.memory.newest_first),
    )[: settings.candidates]
    scored = _scores(query, (c.memory for c in due), model, remaining_ms, total=len(due))
    low = {name: value for name, value in scored.kept.items() if value < settings.least}
    drops = tuple(
        Drop(
            memory_id=name,
            why=DropReason(
                cause=DropCause.SECOND_STAGE, value=value, bound=settings.least, detail=model.name
            ),
        )
        for name, value in low.items()
    )
    kept = tuple(c for c in candidates if c.memory.id not in low)
    return Outcome(kept=kept, drops=drops, losses=scored.losses)


def read_again(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """What the user's own second-stage model lets through; a start pack is not asked about."""
    if state.from_pool:
        return Outcome(kept=state)
    done = rerank(
        state.query,
        state.reached or (),
        model=tools.reranker,
        settings=state.settings.reranker,
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
