"""What two statements have in common and what they differ in, as numbers. In: two texts, their cosine. Out: one row.

Pure; English only. The numbers are for a fitted model: alone none of them decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

import numpy as np
from numpy.typing import NDArray

from tacit.capture.reconcile import words
from tacit.capture.reconcile.compare import overlap, take_apart
from tacit.capture.reconcile.words import VAGUE, Parts, parts_of
from tacit.capture.wording import negated
from tacit.ports.models import TokenCosines

WordMatches = Callable[[Sequence[str], Sequence[str]], TokenCosines]
"""Cosines of the tokens of two lists of words."""

NAMES = (
    # how alike
    "cosine", "cosine_high", "cosine_low", "overlap", "old_in_new", "new_in_old", "order", "equal_sets", "informative",
    "informative_old", "informative_new", "length_new", "length_ratio", "one_word", "words_swapped", "turned",
    # words that only one side has
    "match_old", "match_new", "weak_old", "weak_new", "weak_both", "filler", "filler_late", "filler_head", "place_new", "place_old",
    "head", "head_apart", "first_same",
    # values and places
    "values_shared", "values_none", "values_swapped", "values_only_new", "values_only_old", "numbers_swapped", "numbers_equal",
    "names_swapped", "names_shared", "unit_same", "scope_same", "scope_only_new", "scope_apart",
    # what is asked, permitted, ended
    "polarity", "negated_both", "opposite", "forbids_one", "permits_one", "stance", "permits_demands", "changes", "rejects",
    "rejects_all", "ends", "ends_new", "never_more", "adds", "excepts",
    # both together
    "cosine_swapped", "cosine_unswapped", "cosine_polarity", "cosine_changes", "cosine_ends", "cosine_stance", "match_changes",
    "match_swapped", "match_unswapped", "informative_stance", "informative_ends", "informative_filler",
)  # fmt: skip
"""What each number of a row is, in order."""
_HEAD = 3
_WEAK = 0.5
"""A word whose best match is less has nothing near it on the other side."""

Numbers = dict[str, float]


class _Matches:
    """How well the words of one new statement and of several old ones match; every word is compared once."""

    def __init__(self, new: Parts, olds: Sequence[Parts], matches: WordMatches) -> None:
        mine = sorted(new.words)
        theirs = sorted(frozenset[str]().union(*(old.words for old in olds)))
        found = matches(mine, theirs)
        self._mine, self._theirs = _tokens_of(mine, found.asked), _tokens_of(theirs, found.held)
        self._cosines = found.cosines
        self._in_new = _by_word(_best(found.back), self._theirs)

    def in_new(self) -> Mapping[str, float]:
        """Mean match of each word of the old statements in the new one."""
        return self._in_new

    def in_old(self, old: Parts) -> Mapping[str, float]:
        """Mean match of each word of the new statement in `old`."""
        return _by_word(_best(self._cosines[:, self._columns(old.words)]), self._mine)

    def between(self, new: frozenset[str], old: frozenset[str]) -> float:
        """Mean match of the tokens of some words of the new statement in some of an old one."""
        rows = [place for word in new for place in self._mine[word]]
        return _mean(_best(self._cosines[rows][:, self._columns(old)]))

    def _columns(self, words: frozenset[str]) -> list[int]:
        return [place for word in words for place in self._theirs[word]]


def _tokens_of(words: Sequence[str], starts: Sequence[int]) -> dict[str, range]:
    return {word: range(starts[at], starts[at + 1]) for at, word in enumerate(words)}


def _best(cosines: NDArray[np.float32]) -> NDArray[np.float32]:
    """The greatest of every row, 0-1; 0 where there is none."""
    best: NDArray[np.float32] = cosines.max(axis=1, initial=0.0)
    return np.minimum(best, 1.0, out=best)


def _by_word(best: NDArray[np.float32], tokens: Mapping[str, range]) -> dict[str, float]:
    values = best.tolist()
    return {word: sum(values[at.start : at.stop]) / len(at) if at else 0.0 for word, at in tokens.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Both:
    """The new and the old statement with what only one of them has."""

    new: str
    old: str
    a: Parts
    b: Parts
    only_new: frozenset[str]
    only_old: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patterns:
    """What patterns find in one statement. `gone` = words of what it says is over."""

    forbids: bool
    permits: bool
    demands: bool
    changes: bool
    ends: bool
    never_more: bool
    adds: bool
    excepts: bool
    ordered: bool
    negated: bool
    gone: frozenset[str]
    units: frozenset[str]


@lru_cache(maxsize=256)
def _patterns_in(text: str) -> _Patterns:
    gone: set[str] = set()
    ends = list(words.ENDS.finditer(text))
    for match in ends:
        gone |= parts_of((match["gone"] or match["old"] or "").strip()).words
    return _Patterns(
        forbids=bool(words.FORBIDS.search(text)),
        permits=bool(words.PERMITS.search(text)),
        demands=bool(words.DEMANDS.search(text)),
        changes=bool(words.STRONG_CHANGE.search(text)),
        ends=bool(ends),
        never_more=bool(words.NEVER_MORE.search(text)),
        adds=bool(words.ADDS.search(text)),
        excepts=bool(words.EXCEPTS.search(text)),
        ordered=bool(words.ORDERED.search(text)),
        negated=negated(text),
        gone=frozenset(gone),
        units=frozenset(unit.lower().rstrip("s") for unit in words.UNIT.findall(text)),
    )


def pair_rows(
    new: str, olds: Sequence[tuple[str, float]], *, matches: WordMatches | None = None
) -> NDArray[np.float64]:
    """The numbers of every pair of `new` and one of `olds` (a text and its cosine), shape (len(olds), len(NAMES)).

    Columns are in the order of `NAMES`. `matches` None = words are compared by their letters alone.
    """
    a = parts_of(new)
    parts = [parts_of(old) for old, _ in olds]
    matched = _Matches(a, parts, matches) if matches and parts else None
    rows = np.empty((len(olds), len(NAMES)), np.float64)
    for row, (old, cosine), b in zip(rows, olds, parts, strict=True):
        both = _Both(new=new, old=old, a=a, b=b, only_new=a.words - b.words, only_old=b.words - a.words)
        found = {
            **_likeness(both, cosine),
            **_fillers(both, matched),
            **_values(both),
            **_stances(both),
        }
        found |= _together(found)
        row[:] = [found[name] for name in NAMES]
    return rows


def pair_row(new: str, old: str, *, cosine: float, matches: WordMatches | None = None) -> NDArray[np.float64]:
    """The numbers of one pair; see `pair_rows`."""
    return pair_rows(new, [(old, cosine)], matches=matches)[0]


def _likeness(both: _Both, cosine: float) -> Numbers:
    a, b = both.a, both.b
    common = a.words & b.words
    mine, theirs = a.telling, b.telling
    told = mine & theirs
    order = _common_order(a.order, b.order)
    shared = overlap(a.words, b.words)
    in_order = _patterns_in(both.new).ordered and _patterns_in(both.old).ordered
    return {
        "cosine": cosine,
        "cosine_high": max(0.0, cosine - 0.75),
        "cosine_low": max(0.0, 0.6 - cosine),
        "overlap": shared,
        "old_in_new": _share(len(common), len(b.words)),
        "new_in_old": _share(len(common), len(a.words)),
        "order": order,
        "equal_sets": float(a.words == b.words),
        "informative": overlap(mine, theirs),
        "informative_old": _share(len(told), len(theirs)),
        "informative_new": _share(len(told), len(mine)),
        "length_new": min(len(a.order), 30) / 30,
        "length_ratio": log((len(a.order) + 2) / (len(b.order) + 2)),
        "one_word": float(len(both.only_new) == 1 == len(both.only_old)),
        "words_swapped": float(bool(both.only_new) and bool(both.only_old)),
        "turned": shared * (1 - order) * float(in_order),
    }


def _fillers(both: _Both, matched: _Matches | None) -> Numbers:
    """Words that only one side has: what is near them on the other, and whether they stand at the head (another subject)."""
    a, b = both.a, both.b
    match_old, weak_old = _matched(both.only_old, b.words, matched and matched.in_new())
    match_new, weak_new = _matched(both.only_new, a.words, matched and matched.in_old(b))
    head_a = [word for word in a.order if word not in VAGUE][:_HEAD]
    head_b = [word for word in b.order if word not in VAGUE][:_HEAD]
    apart = bool(head_a) and bool(head_b) and head_a[0] not in b.words and head_b[0] not in a.words
    place_new, place_old = _place(a, both.only_new), _place(b, both.only_old)
    filler = 0.0
    if both.only_new and both.only_old:
        filler = 0.3 if matched is None else matched.between(both.only_new, both.only_old)
    late = min(place_new, place_old)
    return {
        "match_old": match_old,
        "match_new": match_new,
        "weak_old": min(weak_old, 6) / 6,
        "weak_new": min(weak_new, 6) / 6,
        "weak_both": min(weak_old, weak_new, 4) / 4,
        "filler": filler,
        "filler_late": filler * late,
        "filler_head": filler * (1 - late),
        "place_new": place_new,
        "place_old": place_old,
        "head": min(sum(word in b.words for word in head_a), sum(word in a.words for word in head_b)) / _HEAD,
        "head_apart": float(apart),
        "first_same": float(bool(a.order) and bool(b.order) and a.order[0] == b.order[0]),
    }


def _values(both: _Both) -> Numbers:
    a, b = both.a, both.b
    values_new, values_old = a.values - b.words, b.values - a.words
    numbers_new, numbers_old = a.numbers - b.words, b.numbers - a.words
    scope = a.scope | b.scope
    moved, stayed = bool(a.scope - b.words), bool(b.scope - a.words)
    units = _patterns_in(both.new).units & _patterns_in(both.old).units
    return {
        "values_shared": overlap(a.values, b.values),
        "values_none": float(not a.values and not b.values),
        "values_swapped": float(bool(values_new) and bool(values_old)),
        "values_only_new": min(len(values_new), 4) / 4,
        "values_only_old": min(len(values_old), 4) / 4,
        "numbers_swapped": float(bool(numbers_new) and bool(numbers_old)),
        "numbers_equal": float(bool(a.numbers) and a.numbers == b.numbers),
        "names_swapped": float(bool(a.names - b.words) and bool(b.names - a.words)),
        "names_shared": len(a.names & b.names) / 4,
        "unit_same": float(bool(units) and bool(a.numbers - b.numbers) and bool(b.numbers - a.numbers)),
        "scope_same": len(a.scope & b.scope) / len(scope) if scope else 0.5,
        "scope_only_new": float(moved and not b.scope),
        "scope_apart": float(moved and stayed),
    }


def _stances(both: _Both) -> Numbers:
    """What is asked for, permitted, forbidden; whether the new statement ends, rejects or changes what the old one says."""
    rejected = take_apart(both.new).rejected
    new, old = _patterns_in(both.new), _patterns_in(both.old)
    rejects = rejects_all = False
    if rejected:
        theirs = take_apart(both.old)
        rejects = not rejected.isdisjoint(theirs.order) and rejected.isdisjoint(theirs.rejected)
        rejects_all = rejects and rejected.issubset(theirs.order)
    forbids = new.forbids != old.forbids
    permits = new.permits != old.permits
    told = new.gone - VAGUE
    ended = 0.0 if old.ends else _share(len(told & both.b.words), len(told))
    return {
        "polarity": float(new.negated != old.negated),
        "negated_both": float(new.negated and old.negated),
        "opposite": float(words.opposed(both.new, both.old)),
        "forbids_one": float(forbids),
        "permits_one": float(permits),
        "stance": float(forbids or permits),
        "permits_demands": float(permits and new.demands != old.demands),
        "changes": float(new.changes and not old.changes),
        "rejects": float(rejects),
        "rejects_all": float(rejects_all),
        "ends": ended,
        "ends_new": float(bool(told)),
        "never_more": float(new.never_more and not old.never_more),
        "adds": float(new.adds),
        "excepts": float(new.excepts),
    }


def _together(found: Numbers) -> Numbers:
    cosine, informative, swapped = found["cosine"], found["informative"], found["values_swapped"]
    match = min(found["match_old"], found["match_new"])
    changes = max(found["changes"], found["rejects"])
    return {
        "cosine_swapped": cosine * swapped,
        "cosine_unswapped": cosine * (1 - swapped),
        "cosine_polarity": cosine * max(found["polarity"], found["opposite"]),
        "cosine_changes": cosine * changes,
        "cosine_ends": cosine * found["ends"],
        "cosine_stance": cosine * found["stance"],
        "match_changes": match * changes,
        "match_swapped": match * swapped,
        "match_unswapped": match * (1 - swapped),
        "informative_stance": informative * found["stance"],
        "informative_ends": informative * found["ends"],
        "informative_filler": informative * found["filler"],
    }


def _matched(
    only: frozenset[str], every: frozenset[str], best: Mapping[str, float] | None
) -> tuple[float, int]:
    """Mean match of all words of one side in the other, and how many of them the other has nothing near for."""
    if not every:
        return 0.0, 0
    if not only:
        return 1.0, 0
    if best is None:
        return 1 - len(only) / len(every), len(only)
    found = [best[word] for word in sorted(only)]
    return (len(every) - len(only) + sum(found)) / len(every), sum(one < _WEAK for one in found)


def _common_order(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Longest common subsequence of content words over the longer side.

    Bit by bit (Hyyro, Bit-parallel LCS-length computation revisited, 2004): a bit that is cleared is a longer subsequence.
    """
    if not one or not other:
        return 0.0
    places: dict[str, int] = {}
    for place, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << place
    everywhere = (1 << len(other)) - 1
    row = everywhere
    for word in one:
        found = row & places.get(word, 0)
        row = (row + found | row - found) & everywhere
    return (len(other) - row.bit_count()) / max(len(one), len(other))


def _place(parts: Parts, only: frozenset[str]) -> float:
    """Mean place of `only` in the statement, 0 = first to 1 = last; 0.5 where there are none."""
    places = [place for place, word in enumerate(parts.order) if word in only]
    return sum(places) / len(places) / max(len(parts.order) - 1, 1) if places else 0.5


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _mean(values: NDArray[np.float32]) -> float:
    return float(values.mean()) if len(values) else 0.0
