"""Packing by category: each has tokens of its own. In: candidates by category, budgets. Out: items, none over budget. Pure.

Source: REQ-P5-02 and EC-P5-05 of the multispace seed (what a category leaves flows to the next; one that nobody is in gives
its tokens to those before it), and the budgets of the scoped seed (nothing is handed on, a reserve takes the best of the rest).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.model.evidence import Candidate
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Pack, PackItem
from tacit.model.query import Query
from tacit.model.sections import Sections
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.reading.sentences import shorten_at_sentence
from tacit.recall.stage import Outcome, RecallState

_LOG = logging.getLogger(__name__)

MARK = "..."
LEAST_CUT = 12
"""Tokens below which a rest of a budget is not worth the beginning of a memory."""
LEAST_WORDS_CHARS = 40
"""Characters below which the first words of a sentence do not say what the memory says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A candidate that may stand in a category; `value` orders within it, best first, ties by memory id and text."""

    candidate: Candidate
    text: str
    category: str
    value: float
    shortened: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What things cost in tokens.

    Attributes:
        line: of an entry's line.
        heading: of a category's heading, paid by its first entry.
        count: of a bare text.
    """

    line: Callable[[Entry, str], int]
    heading: Callable[[str], int]
    count: Callable[[str], int]


@dataclass(slots=True, kw_only=True)
class Filling:
    """A pack while it is filled."""

    costs: Costs
    total: int
    items: list[PackItem] = field(default_factory=list[PackItem])
    headed: set[str] = field(default_factory=set[str])

    @property
    def left(self) -> int:
        """Tokens left of the whole."""
        return self.total - sum(item.tokens for item in self.items)

    def fill(self, entries: Sequence[Entry], budget: int) -> tuple[int, list[Entry]]:
        """Take what fits into `budget`, best first; return the tokens used and what was left out.

        One that does not fit is shortened to what is left; smaller ones behind it may still fit.
        """
        used = 0
        out: list[Entry] = []
        for entry in sorted(entries, key=lambda e: (-e.value, e.candidate.memory.newest_first, e.text)):
            head = 0 if entry.category in self.headed else self.costs.heading(entry.category)
            room = min(budget - used, self.left) - head
            item = self._fitted(entry, room)
            if item is None:
                out.append(entry)
                continue
            self.headed.add(entry.category)
            self.items.append(
                PackItem(
                    candidate=item.candidate,
                    text=item.text,
                    tokens=item.tokens + head,
                    shortened=item.shortened,
                    category=entry.category,
                )
            )
            used += item.tokens + head
        return used, out

    def _fitted(self, entry: Entry, room: int) -> PackItem | None:
        tokens = self.costs.line(entry, entry.text)
        if tokens <= room:
            return PackItem(
                candidate=entry.candidate, text=entry.text, tokens=tokens, shortened=entry.shortened
            )
        if room < LEAST_CUT:
            return None
        text = cut_to_fit(entry.text, lambda shortened: self.costs.line(entry, shortened) <= room)
        if not text:
            return None
        return PackItem(
            candidate=entry.candidate, text=text, tokens=self.costs.line(entry, text), shortened=True
        )


def cut_to_fit(text: str, fits: Callable[[str], bool]) -> str:
    """The longest run of whole sentences of `text` that fits with the mark of a cut, else of whole words; "" for none or few words."""
    sentences = shorten_at_sentence(text, lambda shortened: fits(f"{shortened}{MARK}"))
    if sentences:
        return sentences if sentences == text else f"{sentences}{MARK}"
    words = text.split()
    low, high = 0, len(words) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(" ".join(words[:middle]) + MARK) else (low, middle - 1)
    start = " ".join(words[:low])
    return start + MARK if len(start) >= LEAST_WORDS_CHARS else ""


def shorten_long_text(text: str, *, above: int, to: int, count: Callable[[str], int]) -> tuple[str, bool]:
    """A text of more than `above` tokens cut to about `to` of them, and whether it was; `above` 0 = never."""
    if not above or count(text) <= above:
        return text, False
    return cut_to_fit(text, lambda shortened: count(shortened) <= to) or text, True


def pack_with_carryover(
    entries: Sequence[Entry], *, order: Sequence[tuple[str, int]], carried: int, filling: Filling
) -> tuple[Drop, ...]:
    """Fill categories in `order` of (name, budget); what one leaves flows to the next.

    A category that no entry is in gives its budget to those before it as well, the last category aside.

    Args:
        entries: all candidates.
        order: memory categories, most important first.
        carried: tokens that a section before them left.
        filling: the pack to fill.
    """
    by_category: dict[str, list[Entry]] = {}
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
        drops += [
            Drop(memory_id=e.candidate.memory.id, why=DropReason(cause=DropCause.NO_ROOM, detail=name))
            for e in out
        ]
    return tuple(drops)


def pack_strict(
    entries: Sequence[Entry], *, budgets: Mapping[str, int], reserve: int, filling: Filling
) -> tuple[Drop, ...]:
    """Fill each category with its own budget; then `reserve` takes the best of what did not fit."""
    unplaced: list[Entry] = []
    for name, budget in budgets.items():
        unplaced += filling.fill([entry for entry in entries if entry.category == name], budget)[1]
    out = filling.fill(unplaced, reserve)[1] if reserve else unplaced
    return tuple(
        Drop(memory_id=e.candidate.memory.id, why=DropReason(cause=DropCause.NO_ROOM, detail=e.category))
        for e in out
    )


def memory_costs(state: RecallState) -> Costs:
    """What lines of memories cost. Headings belong to the frame of these layouts and are paid there."""
    return Costs(
        line=lambda entry, text: state.line_tokens(entry.candidate, text),
        heading=lambda _name: 0,
        count=state.count,
    )


def packed(
    query: Query,
    items: Sequence[PackItem],
    drops: Sequence[Drop],
    sections: Sections,
    *,
    count: Callable[[str], int],
) -> Outcome[Pack]:
    """The pack of `items`; the log and the facts name what was shortened, both sizes without what stands around it."""
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
