"""The pack of `multispace`: which section each memory belongs to, in what order, at what cost. In: candidates. Out: a pack. Pure.

Clusters that many spaces agree on, single finds and the last session, with alerts before them and hints after them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.pack import DivergenceAlert, Pack, Sections
from tacit.model.query import Query
from tacit.presets.multispace.badges import LocalTime, badges
from tacit.presets.multispace.divergence import divergences
from tacit.presets.multispace.render import alert_text, badge_text
from tacit.presets.multispace.score import CLUSTER_AGREEMENT, priority, weighted_agreement
from tacit.reading.digest_lines import finished, focus_of, lines_of
from tacit.recall.budget import (
    Costs,
    Entry,
    Filling,
    memory_costs,
    pack_with_carryover,
    packed,
    shorten_long_text,
)
from tacit.recall.stage import LAST_SESSION, Outcome, RecallState

T = TypeVar("T")
SHORTEN_ABOVE, SHORTEN_TO = 100, 80
"""A memory of more tokens is cut to so many at a sentence end: more memories in part rather than few in full."""


def divergence_alerts(state: RecallState) -> tuple[DivergenceAlert, ...]:
    """Alerts for a prompt, where recent work was looked for."""
    measured = {candidate.memory.id: candidate for candidate in state.scored or ()}
    work = [*(measured[name] for name in state.recent if name in measured), *state.turns]
    scored_spaces = {name for piece in work for name, _ in piece.scores}
    spaces = [name for name in state.settings.spaces if name in scored_spaces or name in state.answered]
    return divergences(state.query, work, spaces=spaces)


def agreement_of(candidate: Candidate) -> float:
    """How many spaces agree on a candidate, 0 to 8.5."""
    return weighted_agreement(candidate.scores)


def category_of(candidate: Candidate) -> str:
    """`session` for the digest of the last session, `cluster` from an agreement of 2.5, else `single`."""
    if LAST_SESSION in candidate.reasons:
        return "session"
    return "cluster" if agreement_of(candidate) >= CLUSTER_AGREEMENT else "single"


def session_summary(candidate: Candidate, *, beside: Sequence[str] = ()) -> str:
    """What the last session was about and left open, as sentences, without the decisions that `beside` tells."""
    memory = candidate.memory
    lines = lines_of(memory.content)
    sentences = [f"Last session focused on {focus_of(memory.content).rstrip('.')}."]
    for code, word in (("dec", "Decided"), ("next", "Open"), ("block", "Blocked")):
        told_elsewhere = (
            beside if code == "dec" else ()
        )  # a decision is a memory as well; what is open is none
        own = [
            text.rstrip(".") for name, text in lines if name == code and not finished(text, told_elsewhere)
        ]
        joined = "; ".join(own)
        if joined:
            sentences.append(f"{word}: {joined}.")
    return " ".join(sentences)


def pack_multispace(state: RecallState) -> Outcome[Pack]:
    """Alerts, then clusters, single finds and the last session, then hints of time, each within its budget."""
    query, settings, candidates = state.query, state.settings, state.fresh or ()
    costs = memory_costs(state)
    budgets = settings.multispace.categories

    def alert_cost(alert: DivergenceAlert) -> int:
        return costs.count(alert_text(alert)) + 1

    def badge_cost(badge: str) -> int:
        return costs.count(badge_text(badge)) + 1

    made_alerts = divergence_alerts(state)
    filling = Filling(costs=costs, total=max(0, query.budget_tokens - state.frame_tokens))
    alerts = _affordable(made_alerts, min(budgets.divergence, filling.total), alert_cost)
    alert_tokens = sum(map(alert_cost, alerts))
    filling.total -= alert_tokens
    beside = [c.memory.content for c in candidates if category_of(c) != "session"]
    entries = tuple(_entry(candidate, query, settings, costs, beside) for candidate in candidates)
    drops = pack_with_carryover(
        entries,
        order=(("cluster", budgets.cluster), ("single", budgets.single), ("session", budgets.session)),
        carried=budgets.divergence - alert_tokens,
        filling=filling,
    )
    all_hints = badges(
        [item for item in filling.items if item.category != "session"],
        spaces=state.spaces,
        sessions=state.context.sessions,
        last_session=next((c for c in candidates if LAST_SESSION in c.reasons), None),
        now=LocalTime(at_ms=query.at_ms, offset_ms=state.context.offset_ms),
    )
    hints = _affordable(all_hints, min(budgets.badges, filling.left), badge_cost)
    sections = Sections(alerts=alerts, badges=hints, tokens=alert_tokens + sum(map(badge_cost, hints)))
    return packed(query, filling.items, drops, sections, count=costs.count)


def _entry(
    candidate: Candidate, query: Query, settings: RecallSettings, costs: Costs, beside: Sequence[str]
) -> Entry:
    category = category_of(candidate)
    text = session_summary(candidate, beside=beside) if category == "session" else candidate.memory.content
    above = 0 if category == "session" else SHORTEN_ABOVE
    text, shortened = shorten_long_text(text, above=above, to=SHORTEN_TO, count=costs.count)
    value = priority(
        candidate.relevance,
        age_ms=max(0, query.at_ms - candidate.memory.updated_at_ms),
        agreement=agreement_of(candidate),
        weights=settings.multispace.recency,
    )
    return Entry(candidate=candidate, text=text, category=category, value=value, shortened=shortened)


def _affordable(items: Sequence[T], budget: int, cost: Callable[[T], int]) -> tuple[T, ...]:
    """The first ones that fit into `budget` together."""
    taken: list[T] = []
    for item in items:
        if cost(item) <= budget:
            taken.append(item)
            budget -= cost(item)
    return tuple(taken)
