"""Packs with sections: which category each memory is of, in what order, at what cost. In: candidates. Out: a pack. Pure.

Two designs: `multispace` (clusters that many spaces agree on, single finds, last session, with alerts before and hints
after) and `scoped` (universal, language, project, a reserve, then the codes of digests).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST
from tacit.model.pack import Pack, PackItem, Surface
from tacit.model.query import Query
from tacit.model.scope import ScopeKind
from tacit.model.sections import DivergenceAlert, Sections
from tacit.model.session import SessionState
from tacit.model.trace import Drop
from tacit.reading.digest_lines import lines_of
from tacit.recall.outcome import Outcome
from tacit.recall.render.multispace import alert_text, badge_text
from tacit.recall.render.scoped import CODE_CATEGORIES, code_line
from tacit.recall.score.multispace import CLUSTER_AGREEMENT, priority
from tacit.recall.score.scoped import scope_score, task_of
from tacit.recall.sections.badges import badges
from tacit.recall.sections.categories import (
    Costs,
    Entry,
    Filling,
    pack_strict,
    pack_with_carryover,
    shorten_long_text,
)
from tacit.recall.sections.codes import code_lines, focus_of
from tacit.recall.sections.divergence import divergences, in_window
from tacit.recall.sections.probe import LAST_SESSION
from tacit.recall.spaces import SPACES
from tacit.recall.spaces.agreement import weighted_agreement

T = TypeVar("T")
SECTIONED = ("multispace", "scoped")
"""Layouts whose packs are made here."""
_CODE_CATEGORY = {"impl": "done", "dec": "decided", "block": "open", "next": "open"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PackContext:
    """What a pack is made from besides its candidates.

    Attributes:
        alerts: of a shift, lowest similarity first.
        sessions: records of other sessions of this project, newest first.
        frame_tokens: what the frame of the block costs.
    """

    alerts: tuple[DivergenceAlert, ...] = ()
    sessions: tuple[SessionState, ...] = ()
    frame_tokens: int = 0


def pack_sections(
    query: Query,
    candidates: Sequence[Candidate],
    *,
    settings: RecallSettings,
    costs: Costs,
    around: PackContext,
) -> Outcome[Pack]:
    """The pack of the layout named by `settings.render`."""
    make = _multispace if settings.render == "multispace" else _scoped
    return make(query, candidates, settings, costs, around)


def sections_costs(*, line: Callable[[Candidate, str], int], count: Callable[[str], int]) -> Costs:
    """What lines cost: those of memories as `line` says, those of digests as they stand.

    Headings belong to the frame of these layouts and are paid there.
    """

    def entry_line(entry: Entry, text: str) -> int:
        if entry.category in CODE_CATEGORIES:
            return count(code_line(text)) + 1
        return line(entry.candidate, text)

    return Costs(line=entry_line, heading=lambda _name: 0, count=count)


def divergence_alerts(
    query: Query, scored: Sequence[Candidate], *, settings: RecallSettings, answered: Sequence[str]
) -> tuple[DivergenceAlert, ...]:
    """Alerts for a prompt, where the settings want them.

    Args:
        query: the current words.
        scored: all candidates; those of the recent window are among them.
        settings: whether alerts are wanted, and the spaces in use.
        answered: spaces whose ranking came in time.
    """
    if "divergence" not in settings.sections or query.surface is not Surface.PROMPT:
        return ()
    window = [c for c in scored if in_window(c.memory, query)]
    measured = {name for candidate in window for name, _ in candidate.scores}
    spaces = [name for name in settings.spaces if name in measured or name in answered]
    return divergences(query, window, spaces=spaces)


def agreement_of(candidate: Candidate) -> float:
    """How many spaces agree on a candidate, 0 to 8.5."""
    return weighted_agreement(candidate.scores)


def category_of(candidate: Candidate) -> str:
    """`session` for the digest of the last session, `cluster` from an agreement of 2.5, else `single`."""
    if LAST_SESSION in candidate.reasons:
        return "session"
    return "cluster" if agreement_of(candidate) >= CLUSTER_AGREEMENT else "single"


def session_summary(candidate: Candidate) -> str:
    """What the last session was about and left open, as sentences."""
    memory = candidate.memory
    lines = lines_of(memory.content)
    parts = [f"Last session focused on {focus_of(memory).rstrip('.')}."]
    for code, word in (("dec", "Decided"), ("next", "Open"), ("block", "Blocked")):
        found = "; ".join(text.rstrip(".") for name, text in lines if name == code)
        if found:
            parts.append(f"{word}: {found}.")
    return " ".join(parts)


def _multispace(
    query: Query, candidates: Sequence[Candidate], settings: RecallSettings, costs: Costs, around: PackContext
) -> Outcome[Pack]:
    budgets = settings.categories

    def alert_cost(alert: DivergenceAlert) -> int:
        return costs.count(alert_text(alert)) + 1

    def badge_cost(badge: str) -> int:
        return costs.count(badge_text(badge)) + 1

    filling = Filling(costs=costs, total=max(0, query.budget_tokens - around.frame_tokens))
    alerts = _affordable(around.alerts, min(budgets.divergence, filling.total), alert_cost)
    alert_tokens = sum(map(alert_cost, alerts))
    filling.total -= alert_tokens
    entries = tuple(_entry(candidate, query, settings, costs) for candidate in candidates)
    drops = pack_with_carryover(
        entries,
        order=(("cluster", budgets.cluster), ("single", budgets.single), ("session", budgets.session)),
        carried=budgets.divergence - alert_tokens,
        filling=filling,
    )
    hints: tuple[str, ...] = ()
    if "badges" in settings.sections:
        last = next((c.memory for c in candidates if LAST_SESSION in c.reasons), None)
        made = badges(
            [item for item in filling.items if item.category != "session"],
            sessions=around.sessions,
            last_session=last,
            at_ms=query.at_ms,
            periodic_high=SPACES["periodic"].high if "periodic" in SPACES else 1.0,
        )
        hints = _affordable(made, min(budgets.badges, filling.left), badge_cost)
    sections = Sections(alerts=alerts, badges=hints, tokens=alert_tokens + sum(map(badge_cost, hints)))
    return _outcome(query, filling.items, drops, sections)


def _entry(candidate: Candidate, query: Query, settings: RecallSettings, costs: Costs) -> Entry:
    category = category_of(candidate)
    text = session_summary(candidate) if category == "session" else candidate.memory.content
    above = 0 if category == "session" else settings.shorten_above
    text, shortened = shorten_long_text(text, above=above, to=settings.shorten_to, count=costs.count)
    value = priority(
        candidate.relevance,
        age_ms=max(0, query.at_ms - candidate.memory.updated_at_ms),
        agreement=agreement_of(candidate),
        weights=settings.recency,
    )
    return Entry(candidate=candidate, text=text, category=category, value=value, shortened=shortened)


def _scoped(
    query: Query, candidates: Sequence[Candidate], settings: RecallSettings, costs: Costs, around: PackContext
) -> Outcome[Pack]:
    budgets = settings.scopes
    filling = Filling(costs=costs, total=max(0, query.budget_tokens - around.frame_tokens))
    starts = query.surface is not Surface.ON_DEMAND
    digests = [c for c in candidates if c.memory.kind == DIGEST]
    task = task_of(query)
    entries: list[Entry] = []
    for candidate in candidates:
        if starts and candidate.memory.kind == DIGEST:
            continue
        value = scope_score(candidate.memory, allowed=query.scope.scopes, at_ms=query.at_ms, task=task)
        entries.append(
            Entry(
                candidate=replace(candidate, fused=round(value, 4)),
                text=candidate.memory.content,
                category=scope_category(candidate),
                value=value,
            )
        )
    if not starts:
        asked = {
            "universal": budgets.asked_universal,
            "language": budgets.asked_language,
            "project": budgets.asked_project,
        }
        drops = pack_strict(entries, budgets=asked, reserve=max(0, query.budget_tokens - sum(asked.values())), filling=filling)  # fmt: skip
        return _outcome(query, filling.items, drops, Sections())
    own = {"universal": budgets.universal, "language": budgets.language, "project": budgets.project}
    # The frame is paid from the reserve, so that every other part has what its design promises.
    reserve = max(0, budgets.reserve - around.frame_tokens)
    drops = pack_strict(entries, budgets=own, reserve=reserve, filling=filling)
    lines = [line for line in code_lines(digests) if line.code in _CODE_CATEGORY]
    codes = [
        Entry(
            candidate=line.digest,
            text=f"{line.code}: {line.text}",
            category=_CODE_CATEGORY[line.code],
            value=-number,  # newest digest first, in the order of its lines
        )
        for number, line in enumerate(lines)
    ]
    limits = {"done": budgets.done, "decided": budgets.decided, "open": budgets.open}
    drops += pack_strict(codes, budgets=limits, reserve=0, filling=filling)
    return _outcome(query, filling.items, drops, Sections())


def scope_category(candidate: Candidate) -> str:
    """`universal`, `language` or `project`, which holds whatever belongs to one."""
    kind = candidate.memory.scope.kind
    if kind is ScopeKind.LANGUAGE:
        return "language"
    return "project" if kind in (ScopeKind.PROJECT, ScopeKind.PATH) else "universal"


def _affordable(made: Sequence[T], budget: int, cost: Callable[[T], int]) -> tuple[T, ...]:
    """The first ones that fit into `budget` together."""
    taken: list[T] = []
    for one in made:
        if cost(one) <= budget:
            taken.append(one)
            budget -= cost(one)
    return tuple(taken)


def _outcome(
    query: Query, items: Sequence[PackItem], drops: Sequence[Drop], sections: Sections
) -> Outcome[Pack]:
    notes = tuple(
        f"Truncated memory {item.candidate.memory.id} from {item.candidate.memory.tokens} to {item.tokens} tokens"
        for item in items
        if item.shortened
    )
    pack = Pack(
        surface=query.surface, items=tuple(items), budget_tokens=query.budget_tokens, sections=sections
    )
    return Outcome(kept=pack, drops=tuple(drops), notes=notes)
