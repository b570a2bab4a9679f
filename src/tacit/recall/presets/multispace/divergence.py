"""Has the work shifted? In: the recent memories as candidates of the current words. Out: at most three alerts. Pure.

Source: SPEC section 5 and the multispace seed (REQ-P5-03, EC-P5-03). A space tells of a shift when even its largest
similarity with any memory of the recent window is below the space's `low`. Only spaces of meaning count, those with a topic
weight of 1. BM25 has no end and falls with how common a word is in the store, which is no distance: such a space tells of
a shift only where no recent memory shares a word with the query. Lowest similarity first,
ties in the fixed order of the spaces. A window of fewer than five memories says nothing: then a new store would alert all the time.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.model.evidence import Candidate
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.model.sections import DivergenceAlert
from tacit.recall.spaces import SPACES

WINDOW_MS = 2 * 3_600_000
WINDOW_MEMORIES = 50
LEAST_MEMORIES = 5
MOST_ALERTS = 3
SUMMARY_CHARS = 100
UNIT_SCALE_MAX = 1.0
"""A space whose `high` is not above this has a scale that ends at 1."""
SEMANTIC_TOPIC_WEIGHT = 1.0
"""Topic weight of the spaces that measure meaning."""


def in_window(memory: Memory, query: Query) -> bool:
    """Whether a memory belongs to the recent window: of this session, or of the two hours before `query`."""
    said = memory.provenance
    if query.session and f"{said.host}/{said.session_id}" == query.session:
        return True
    return 0 <= query.at_ms - memory.created_at_ms <= WINDOW_MS


def measurable(query: Query, space: str) -> bool:
    """Whether the words give `space` anything to compare: what it cannot measure is no sign of a shift."""
    match space:
        case "intent":
            return bool(query.situation.actions)
        case "code":
            return any(entity.kind in ("file", "symbol") for entity in query.entities)
        case "causal":
            return bool(query.error_signature)
        case _:
            return bool(query.text.strip())


def comparable(memory: Memory, space: str) -> bool:
    """Whether a memory has the side that `space` compares with; one without says nothing of a shift."""
    return space != "intent" or not memory.trigger.empty


def summary_of(content: str) -> str:
    """The first words of a memory, at most 100 characters, never half a word."""
    flat = " ".join(content.split())
    return flat if len(flat) <= SUMMARY_CHARS else flat[: SUMMARY_CHARS - 3].rsplit(" ", 1)[0] + "..."


def divergences(
    query: Query, window: Sequence[Candidate], *, spaces: Sequence[str]
) -> tuple[DivergenceAlert, ...]:
    """Alerts for `query` over the candidates of the recent window.

    Args:
        query: the current words.
        window: recent memories with their scores; one that a space did not find has no similarity there.
        spaces: names of the spaces that were asked and answered.
    """
    if len(window) < LEAST_MEMORIES:
        return ()
    alerts: list[DivergenceAlert] = []
    for name in spaces:
        space = SPACES.get(name)
        if space is None or space.topic_weight != SEMANTIC_TOPIC_WEIGHT or not measurable(query, name):
            continue
        own = [c for c in window if comparable(c.memory, name)]
        if len(own) < LEAST_MEMORIES:
            continue
        nearest = max(own, key=lambda c: (c.score(name) or 0.0, c.memory.created_at_ms, c.memory.id))
        value = max(0.0, nearest.score(name) or 0.0)
        if value == 0.0 or (value < space.low and space.high <= UNIT_SCALE_MAX):
            alerts.append(
                DivergenceAlert(
                    space=name,
                    similarity=round(value, 2),
                    memory_id=nearest.memory.id,
                    summary=summary_of(nearest.memory.content),
                )
            )
    order = list(SPACES)
    alerts.sort(key=lambda alert: (alert.similarity, order.index(alert.space)))
    return tuple(alerts[:MOST_ALERTS])
