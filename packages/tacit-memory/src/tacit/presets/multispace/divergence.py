"""Has the work shifted? In: recent work as candidates of the current words. Out: at most three alerts. Pure.

Source: SPEC section 5 and the multispace seed (REQ-P5-03, EC-P5-03). Work is what was said in this session, what was said in
the project's other sessions within two hours, and what was learned within two hours; what was imported is no work.
The semantic space decides: the work has shifted where even the largest similarity of the words with any piece of it is below
the space's `low`. The other spaces of meaning, those with a topic weight of 1, join it where their largest similarity is below
their own `low`. BM25 has no end and falls with how common a word is in the store, which is no distance: such a space joins only
where no piece shares a word with the query. Lowest similarity first, ties in the fixed order of the spaces.

A shift is told once: where an earlier turn had left the work before it already, only what came since counts as work. Less than
three pieces of work say nothing, and neither do words of less than three stems ("and now the tests") or prompts that accept a proposal.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.model.evidence import Candidate
from tacit.model.memory import Memory
from tacit.model.pack import DivergenceAlert
from tacit.model.query import Query
from tacit.recall.spaces import SPACES
from tacit.text.stemming import stems

WINDOW_MS = 2 * 3_600_000
WINDOW_MEMORIES = 20
LEAST_PIECES = 3
LEAST_STEMS = 3
MOST_ALERTS = 3
SUMMARY_CHARS = 100
UNIT_SCALE_MAX = 1.0
"""A space whose `high` is not above this has a scale that ends at 1."""
SEMANTIC_TOPIC_WEIGHT = 1.0
"""Topic weight of the spaces that measure meaning."""
DECIDING = "semantic"
WORK_SOURCES = frozenset({"session", "cli", "api", "mcp", "agent", "library", "command", "page", "edited"})
"""Sources of what was stated or learned in work; files and other stores have names of their own."""
TURN = "turn"
"""Kind of a piece of work that is no memory."""


def in_window(memory: Memory, query: Query) -> bool:
    """Whether a memory is recent work: stated or learned in this session, or in the two hours before `query`."""
    if memory.provenance.source not in WORK_SOURCES:
        return False
    if query.session and memory.session == query.session:
        return True
    since_ms = min(memory.created_at_ms, memory.validity.valid_from_ms)
    return 0 <= query.at_ms - since_ms <= WINDOW_MS


def tells_topic(text: str) -> bool:
    """Whether words hold enough to tell of a topic."""
    return len(stems(text)) >= LEAST_STEMS


def current_work(texts: Sequence[str], similarities: Sequence[Sequence[float]], *, turns: int) -> int:
    """Number of the piece that the current work begins with.

    Args:
        texts: pieces of work, oldest first; the last `turns` of them are turns.
        similarities: between any two of them.
        turns: only a turn can leave the work before it.
    """
    begins, low = 0, SPACES[DECIDING].low
    for number in range(max(1, len(texts) - turns), len(texts)):
        nearest = max((similarities[number][earlier] for earlier in range(begins, number)), default=1.0)
        if nearest < low and tells_topic(texts[number]):
            begins = number
    return begins


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
            return True


def comparable(piece: Candidate, space: str) -> bool:
    """Whether a piece of work has the side that `space` compares with; one without says nothing of a shift."""
    if piece.memory.kind == TURN:
        return piece.score(space) is not None
    return space != "intent" or not piece.memory.trigger.empty


def summary_of(content: str) -> str:
    """The first words of a memory, at most 100 characters, never half a word."""
    flat = " ".join(content.split())
    return flat if len(flat) <= SUMMARY_CHARS else flat[: SUMMARY_CHARS - 3].rsplit(" ", 1)[0] + "..."


def divergences(
    query: Query, work: Sequence[Candidate], *, spaces: Sequence[str]
) -> tuple[DivergenceAlert, ...]:
    """Alerts for `query` over recent work.

    Args:
        query: the current words.
        work: memories and turns with their scores, oldest first; a memory that a space did not find has no similarity there.
        spaces: names of the spaces that were asked and answered.
    """
    if query.situation.accepted or not tells_topic(query.text):
        return ()
    alerts = [alert for name in spaces if (alert := _alert(query, work, name)) is not None]
    if all(alert.space != DECIDING for alert in alerts):
        return ()
    order = list(SPACES)
    alerts.sort(key=lambda alert: (alert.similarity, order.index(alert.space)))
    return tuple(alerts[:MOST_ALERTS])


def _alert(query: Query, work: Sequence[Candidate], name: str) -> DivergenceAlert | None:
    space = SPACES.get(name)
    if space is None or space.topic_weight != SEMANTIC_TOPIC_WEIGHT or not measurable(query, name):
        return None
    own = [piece for piece in work if comparable(piece, name)]
    if len(own) < LEAST_PIECES:
        return None
    # Of pieces that are equally far the newest is quoted: it is what the work was about.
    number = max(range(len(own)), key=lambda at: (own[at].score(name) or 0.0, at))
    nearest = own[number]
    value = max(0.0, nearest.score(name) or 0.0)
    if value > 0.0 and (value >= space.low or space.high > UNIT_SCALE_MAX):
        return None
    memory = nearest.memory
    return DivergenceAlert(
        space=name,
        similarity=round(value, 2),
        memory_id="" if memory.kind == TURN else memory.id,
        summary=summary_of(memory.content),
    )
