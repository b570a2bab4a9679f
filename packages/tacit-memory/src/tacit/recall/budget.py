"""Stage 8: what fits into the token budget. In: candidates and a budget. Out: a pack, its most useful first. Pure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tacit.frozen import frozen
from tacit.model.evidence import PINNED, Candidate
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Pack, PackItem, Sections, Surface
from tacit.model.query import Query
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.reading.sentences import shorten_at_sentence
from tacit.recall.stage import Outcome, RecallState

# Stage 8: what fits. In: candidates, a budget. Out: a pack that never exceeds it. Pure.
#
# Greedy in one of four orders. A preset may keep shares of the budget for kinds, scopes or bands of relevance; what a slot
# leaves unused is handed on. A memory that does not fit is shortened at a sentence end, else left out; smaller ones after
# it may still fit.

DIVERSITY = 0.85
AS_RANKED = "as_ranked"
"""Name of the order of answers."""
MAX_CONSECUTIVE_MISSES = 24
"""After so many misses in a row the budget counts as full."""
BAND_HIGH, BAND_MEDIUM = 0.7, 0.5
"""Bands of relevance; source: the typed seed, section 5.1."""
LONG_PROMPT_TOKENS, PROMPT_SPAN_TOKENS, MOST_PROMPT_CUT = 5000, 20_000, 0.5
"""A prompt of 5,000 tokens begins to make the budget smaller; source: the typed seed, section 5.2."""
DEFAULT_WINDOW_TOKENS = 200_000
LEAST_TOKENS = 200
"""A budget is not made smaller than this."""
MOST_USAGE_CUT = 0.25
FULL_START, LEAST_START = 2.0, 0.25
"""A start block beside an index uses all of its budget up to a store of so many budgets, and at least this share of it."""

Order = Callable[[Sequence[Candidate]], tuple[Candidate, ...]]


@frozen
class Allowance:
    """The limits of a pack: tokens (its frame included), number of memories, and shares for slots.

    A share is a part of the budget that is kept for a slot: a kind, a scope's kind or a band of relevance.

    Attributes:
        tokens: budget of the whole block.
        frame_tokens: what the frame of the block costs.
        max_items: most memories.
        order: name in `ORDERS`.
        shares: slot (a kind, a scope's kind, a band) -> share of `tokens` kept for it; empty = nothing is shared out.
    """

    tokens: int
    frame_tokens: int
    max_items: int
    order: str = "diverse"
    shares: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(slots=True, kw_only=True)
class _RemainingBudget:
    """The tokens that are left of the whole budget and of every slot; mutable."""

    left: int
    slots: dict[str, int]

    def of(self, slots: Sequence[str]) -> int:
        return min([self.left, *(self.slots[slot] for slot in slots)])

    def take(self, tokens: int, slots: Sequence[str]) -> None:
        self.left -= tokens
        for slot in slots:
            self.slots[slot] = max(0, self.slots[slot] - tokens)


def budget(state: RecallState) -> Outcome[RecallState]:
    """Set the state's `pack`: the memories that fit the token budget.

    The layout's own function chooses, else `pack_start`.
    """
    fresh, most = state.fresh or (), state.query.most
    too_many: tuple[Drop, ...] = ()
    if most is not None and len(fresh) > most:
        why = DropReason(cause=DropCause.TOO_MANY, bound=most)
        too_many = tuple(Drop(memory_id=candidate.memory.id, why=why) for candidate in fresh[most:])
        state = state.changed(fresh=fresh[:most])
    done = state.layout.pack(state) if state.layout.pack else pack_start(state, state.fresh or ())
    pack = replace(done.kept, pairs=state.pairs)
    return Outcome(kept=state.changed(pack=pack), drops=(*too_many, *done.drops), facts=done.facts)


def pack_start(state: RecallState, candidates: Sequence[Candidate]) -> Outcome[Pack]:
    """Pack the candidates that fit the budget; at a session's start all of them, if they are the whole store and cost at most `recall.whole_start` times the budget.

    A host's prompt cache serves the start of a conversation again at each request, so the whole of a small store costs little
    (ADR 55). The host's own cap on a block holds. The larger a store that does not fit, the fewer of its memories are given whole,
    if an index lists the others and no cap makes the block short anyhow (ADR 110). A budget that the caller named is kept.
    """
    query = state.query
    tokens = int(state.settings.whole_start * query.budget_tokens)
    own = query.surface is Surface.START and query.own_budget
    if own and state.pool_whole and tokens > query.budget_tokens:
        whole = pack_candidates(state, candidates, tokens=tokens)
        items, cap_chars = whole.kept.items, state.context.cap_chars
        text = state.render(whole.kept) if items and not whole.drops else ""
        if text and (not cap_chars or len(text) <= cap_chars) and state.context.fits(text):
            note = Note(cause=NoteCause.WHOLE_STORE, count=len(items))
            return replace(whole, facts=(*whole.facts, note))
    if own and state.rivals and state.settings.budgets.index and not state.context.cap_chars:
        stored = sum(c.memory.tokens for c in state.pool) / len(state.pool) * state.rivals
        return pack_candidates(state, candidates, tokens=start_tokens(query.budget_tokens, stored=stored))
    return pack_candidates(state, candidates)


def start_tokens(budget: int, *, stored: float) -> int:
    """Return how many tokens of a store of `stored` tokens are given whole beside an index.

        budget * min(1, 2 * budget / stored), at least budget / 4

    A session needs about as many memories of a large store as of a small one, so each line of a large one is needed less often (ADR 110).
    """
    share = min(1.0, FULL_START * budget / max(1.0, stored))
    return int(budget * max(LEAST_START, share))


def pack_candidates(
    state: RecallState,
    candidates: Sequence[Candidate],
    *,
    most: int | None = None,
    tokens: int | None = None,
) -> Outcome[Pack]:
    """Pack `candidates`, best first, at most `most`, within `tokens` (None = the budget of the query).

    `most` None = `recall.max_items`; for a start pack and an answer no limit but the budget.
    """
    query, preset = state.query, state.preset
    unbounded = state.from_pool or query.surface is Surface.ON_DEMAND
    usual = len(candidates) if unbounded else state.settings.max_items
    allowance = Allowance(
        tokens=query.budget_tokens if tokens is None else tokens,
        frame_tokens=state.frame_tokens,
        max_items=usual if most is None else most,
        order=preset.order_at(query.surface),
        shares=preset.shares(state.settings, query.surface),
    )
    return pack(
        candidates,
        surface=query.surface,
        allowance=allowance,
        cost=state.line_tokens,
        text=lambda memory: state.layout.text(memory, query.surface),
    )


def pack(
    candidates: Sequence[Candidate],
    *,
    surface: Surface,
    allowance: Allowance,
    cost: Callable[[Candidate, str], int],
    text: Callable[[Memory], str] = lambda memory: memory.content,
) -> Outcome[Pack]:
    """Choose greedily the candidates that fit `allowance`; one that does not fit is shortened, else dropped.

    Args:
        candidates: best first.
        surface: for which surface.
        allowance: what it may cost.
        cost: gives the tokens of one rendered line for (candidate, text).
        text: gives the words of a memory that its line shows.
    """
    # An agent's own notes come last: they take no place from what people said, but from what ranks behind them.
    ordered = leaders_first(
        sorted(ORDERS[allowance.order](candidates), key=lambda c: c.memory.provenance.own_note)
    )
    room = _RemainingBudget(
        left=allowance.tokens - allowance.frame_tokens,
        slots={slot: int(share * allowance.tokens) for slot, share in allowance.shares.items()},
    )
    chosen: dict[int, PackItem] = {}
    if room.slots:
        _fill_slots(ordered, room, chosen, allowance.max_items, cost, text)
    drops: list[Drop] = []
    misses = 0
    for rank, candidate in enumerate(ordered):
        if rank in chosen:
            continue
        memory = candidate.memory
        if len(chosen) >= allowance.max_items:
            drops.append(
                Drop(memory_id=memory.id, why=DropReason(cause=DropCause.TOO_MANY, bound=allowance.max_items))
            )
            continue
        item = _fitted(candidate, text(memory), room.left, cost) if misses < MAX_CONSECUTIVE_MISSES else None
        if item is None:
            misses += 1
            drops.append(
                Drop(memory_id=memory.id, why=DropReason(cause=DropCause.NO_ROOM, bound=max(0, room.left)))
            )
            continue
        misses = 0
        chosen[rank] = item
        room.left -= item.tokens
    items = tuple(chosen[rank] for rank in sorted(chosen))
    return Outcome(
        kept=Pack(surface=surface, items=items, budget_tokens=allowance.tokens), drops=tuple(drops)
    )


def _fill_slots(  # noqa: PLR0917 - what a slot is filled from
    ordered: Sequence[Candidate],
    room: _RemainingBudget,
    chosen: dict[int, PackItem],
    max_items: int,
    cost: Callable[[Candidate, str], int],
    text_of: Callable[[Memory], str],
) -> None:
    """Add to `chosen` (rank -> item) each candidate that fits, unshortened, into all slots that it belongs to, and take its tokens off `room`."""
    for rank, candidate in enumerate(ordered):
        if len(chosen) >= max_items:
            return
        slots = [slot for slot in slots_of(candidate) if slot in room.slots]
        if not slots or room.of(slots) <= 0:
            continue
        text = text_of(candidate.memory)
        tokens = cost(candidate, text)
        if tokens <= room.of(slots):
            chosen[rank] = PackItem(candidate=candidate, text=text, tokens=tokens)
            room.take(tokens, slots)


def slots_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the slots that a memory belongs to: its kind, its scope's kind, its band of relevance."""
    memory = candidate.memory
    return (memory.kind, memory.scope.kind.value, band_of(candidate.relevance))


def band_of(relevance: float) -> str:
    """Return the band of a relevance: `high` from 0.7, `medium` from 0.5, else `low`."""
    return "high" if relevance >= BAND_HIGH else "medium" if relevance >= BAND_MEDIUM else "low"


def adjusted_budget(
    base: int,
    *,
    by: Collection[str],
    prompt_tokens: int = 0,
    window_tokens: int = DEFAULT_WINDOW_TOKENS,
    recent_share: float = 0.0,
) -> int:
    """Return the token budget `base`, reduced for a long prompt, a small context window or full recent packs.

        base * (1 - p) * w * (1 - u)

    with p = min(0.5, (prompt_tokens - 5000) / 20000) for longer prompts (source: the typed seed, section 5.2),
    w = window_tokens / 200000 for smaller context windows, u = recent_share / 4; each only where `by` names it
    (`prompt`, `window`, `usage`). The seed names context window and usage without a formula; these two are ours.
    Never less than `LEAST_TOKENS`, nor more than `base`.

    Args:
        base: the surface's own budget.
        by: what may make it smaller.
        prompt_tokens: size of the prompt.
        window_tokens: what the model reads at once.
        recent_share: how full the packs of the last turns were on average, 0-1.
    """
    budget = float(base)
    if "prompt" in by and prompt_tokens > LONG_PROMPT_TOKENS:
        budget *= 1 - min(MOST_PROMPT_CUT, (prompt_tokens - LONG_PROMPT_TOKENS) / PROMPT_SPAN_TOKENS)
    if "window" in by:
        budget *= min(1.0, window_tokens / DEFAULT_WINDOW_TOKENS)
    if "usage" in by:
        budget *= 1 - MOST_USAGE_CUT * min(1.0, max(0.0, recent_share))
    return min(base, max(LEAST_TOKENS, int(budget)))


def diversified(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Order by value with diversity: pinned first, then relevance * 0.85 ** (how many of its kind came before)."""
    count_by_kind: dict[str, int] = {}
    valued: list[tuple[bool, float, float, tuple[int, str], Candidate]] = []
    for candidate in _by_relevance(candidates):
        memory = candidate.memory
        count = count_by_kind.get(memory.kind, 0)
        count_by_kind[memory.kind] = count + 1
        value = candidate.relevance * DIVERSITY**count
        valued.append((not _first(candidate), -value, -candidate.fused, memory.newest_first, candidate))
    valued.sort(key=lambda entry: entry[:4])
    return tuple(entry[4] for entry in valued)


def by_breadth(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return all candidates in the order for breadth: pinned first, then the best of every kind, then the rest by relevance.

    Source: the typed seed, section 5.3 (at least one from each type, if possible).
    """
    seen_kinds: set[str] = set()
    ranked: list[tuple[bool, bool, int, Candidate]] = []
    for rank, candidate in enumerate(_by_relevance(candidates)):
        kind = candidate.memory.kind
        ranked.append((not _first(candidate), kind in seen_kinds, rank, candidate))
        seen_kinds.add(kind)
    ranked.sort(key=lambda entry: entry[:3])
    return tuple(entry[3] for entry in ranked)


def by_value(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Order by relevance alone, pinned first."""
    return tuple(sorted(_by_relevance(candidates), key=lambda c: not _first(c)))


def as_ranked(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Keep the order given, but pinned memories first."""
    return tuple(sorted(candidates, key=lambda c: not _first(c)))


def leaders_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates so that no memory stands before one that takes precedence over it.

    `Memory.ranks_behind` names the memory that takes precedence. If it stands later, it is moved to right
    before the other one; all else keeps its order.
    """
    ordered = list(candidates)
    by_id = {candidate.memory.id: candidate for candidate in candidates}
    for candidate in candidates:
        leader = by_id.get(candidate.memory.ranks_behind)
        if leader is not None and ordered.index(leader) > (place := ordered.index(candidate)):
            ordered.remove(leader)
            ordered.insert(place, leader)
    return ordered


ORDERS: dict[str, Order] = {
    "diverse": diversified,
    "breadth": by_breadth,
    "value": by_value,
    AS_RANKED: as_ranked,
}


def _by_relevance(candidates: Sequence[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda c: (-c.relevance, -c.fused, c.memory.newest_first))


def _first(candidate: Candidate) -> bool:
    return candidate.memory.pinned or PINNED in candidate.reasons


def _fitted(
    candidate: Candidate, text: str, tokens_left: int, cost: Callable[[Candidate, str], int]
) -> PackItem | None:
    tokens = cost(candidate, text)
    if tokens <= tokens_left:
        return PackItem(candidate=candidate, text=text, tokens=tokens)
    if tokens_left <= 0:
        return None
    short = shorten_at_sentence(text, lambda shortened: cost(candidate, shortened) <= tokens_left)
    if not short or short == text:
        return None
    return PackItem(candidate=candidate, text=short, tokens=cost(candidate, short), shortened=True)


# Packing by category: each has tokens of its own. In: candidates by category, budgets. Out: items, none over budget. Pure.
#
# Source: REQ-P5-02 and EC-P5-05 of the multispace seed (what a category leaves flows to the next; one that nobody is in gives
# its tokens to those before it), and the budgets of the scoped seed (nothing is handed on, a reserve takes the best of the rest).

_LOG = logging.getLogger(__name__)

MARK = "..."
LEAST_CUT = 12
"""With fewer tokens left a memory is left out rather than cut."""
LEAST_WORDS_CHARS = 40
"""A text cut to fewer characters than this is left out: it would not say what the memory says."""


@frozen
class CategoryEntry:
    """A candidate for a category; the entries of a category are packed by `value`, highest first, then newest, then by text."""

    candidate: Candidate
    text: str
    category: str
    value: float
    shortened: bool = False


@dataclass(slots=True, kw_only=True)
class Filling:
    """A pack while it is filled, category by category; mutable.

    Attributes:
        cost: gives the tokens of the line of (entry, text).
        total: token budget of the whole.
        items: what was added so far.
    """

    cost: Callable[[CategoryEntry, str], int]
    total: int
    items: list[PackItem] = field(default_factory=list[PackItem])

    @property
    def left(self) -> int:
        """Tokens that are left of the whole pack's budget."""
        return self.total - sum(item.tokens for item in self.items)

    def fill(self, entries: Sequence[CategoryEntry], budget: int) -> tuple[int, list[CategoryEntry]]:
        """Add the entries that fit into `budget`, best first; return the tokens used and the entries left out.

        One that does not fit is shortened to what is left; smaller ones behind it may still fit.
        """
        used = 0
        out: list[CategoryEntry] = []
        for entry in sorted(entries, key=lambda e: (-e.value, e.candidate.memory.newest_first, e.text)):
            item = self._fitted(entry, min(budget - used, self.left))
            if item is None:
                out.append(entry)
            else:
                self.items.append(item)
                used += item.tokens
        return used, out

    def _fitted(self, entry: CategoryEntry, room: int) -> PackItem | None:
        text, shortened = entry.text, entry.shortened
        if self.cost(entry, text) > room:
            if room < LEAST_CUT:
                return None
            text = cut_to_fit(text, lambda short: self.cost(entry, short) <= room)
            shortened = True
        if not text:
            return None
        return PackItem(
            candidate=entry.candidate,
            text=text,
            tokens=self.cost(entry, text),
            shortened=shortened,
            category=entry.category,
        )


def cut_to_fit(text: str, fits: Callable[[str], bool]) -> str:
    """Return the start of `text` that `fits`, with "..." added: whole sentences, else whole words; "" = fewer than 40 characters fit.

    A text that fits whole is returned as it is.
    """
    sentences = shorten_at_sentence(text, lambda shortened: fits(f"{shortened}{MARK}"))
    if sentences:
        return sentences if sentences == text else f"{sentences.rstrip('.')}{MARK}"
    words = text.split()
    low, high = 0, len(words) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(" ".join(words[:middle]) + MARK) else (low, middle - 1)
    start = " ".join(words[:low])
    return start + MARK if len(start) >= LEAST_WORDS_CHARS else ""


def shorten_long_text(text: str, *, above: int, to: int, count: Callable[[str], int]) -> tuple[str, bool]:
    """Return the text, cut to at most `to` tokens if it has more than `above`, and whether it was cut.

    If nothing sensible fits, the whole text comes back.
    """
    if count(text) <= above:
        return text, False
    return cut_to_fit(text, lambda shortened: count(shortened) <= to) or text, True


def pack_with_carryover(
    entries: Sequence[CategoryEntry], *, order: Sequence[tuple[str, int]], carried: int, filling: Filling
) -> tuple[Drop, ...]:
    """Fill categories in `order` of (name, budget); what one leaves goes to the next. Return the drops.

    A category without entries also lends its budget to those before it, except the last category.

    Args:
        entries: all candidates.
        order: memory categories, most important first.
        carried: tokens that a section before them left.
        filling: the pack to fill.
    """
    by_category: dict[str, list[CategoryEntry]] = {}
    for entry in entries:
        by_category.setdefault(entry.category, []).append(entry)
    drops: list[Drop] = []
    lent: set[str] = set()
    for number, (name, budget) in enumerate(order):
        own = by_category.get(name, [])
        if not own:
            carried += 0 if name in lent else budget
            continue
        spare = [(later, tokens) for later, tokens in order[number + 1 : -1] if later not in by_category]
        lent.update(later for later, _ in spare)
        allowed = budget + carried + sum(tokens for _, tokens in spare)
        used, out = filling.fill(own, allowed)
        carried = allowed - used
        drops += drops_for_no_room(out)
    return tuple(drops)


def fill_strict(
    entries: Sequence[CategoryEntry], *, budgets: Mapping[str, int], reserve: int, filling: Filling
) -> list[CategoryEntry]:
    """Fill each category with its own budget, then `reserve` tokens (0 = none) with the best of what did not fit. Return what is left out."""
    unplaced: list[CategoryEntry] = []
    for name, budget in budgets.items():
        unplaced += filling.fill([entry for entry in entries if entry.category == name], budget)[1]
    return filling.fill(unplaced, reserve)[1] if reserve else unplaced


def drops_for_no_room(entries: Sequence[CategoryEntry]) -> tuple[Drop, ...]:
    """Return a drop for each of `entries`, with the cause NO_ROOM and its category as detail."""
    return tuple(
        Drop(memory_id=e.candidate.memory.id, why=DropReason(cause=DropCause.NO_ROOM, detail=e.category))
        for e in entries
    )


def finish_pack(
    query: Query,
    items: Sequence[PackItem],
    drops: Sequence[Drop],
    sections: Sections,
    *,
    count: Callable[[str], int],
) -> Outcome[Pack]:
    """Make the pack of `items` and return it with `drops`; each shortened memory is logged, and noted with its sizes in tokens before and after."""
    facts = tuple(
        Note(
            cause=NoteCause.SHORTENED,
            detail=item.candidate.memory.id,
            count=count(item.text),
            of=count(item.candidate.memory.content),
        )
        for item in items
        if item.shortened
    )
    for fact in facts:
        _LOG.info("Truncated memory %s from %s to %s tokens", fact.detail, fact.of, fact.count)
    pack = Pack(
        surface=query.surface, items=tuple(items), budget_tokens=query.budget_tokens, sections=sections
    )
    return Outcome(kept=pack, drops=tuple(drops), facts=facts)
