"""What two statements have in common and what they differ in, as numbers. In: two texts, their cosine. Out: one row.

Pure; English only. The numbers are for a fitted model: alone none of them decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from tacit.capture.reconcile import words
from tacit.capture.reconcile.compare import overlap, take_apart
from tacit.capture.reconcile.packed import packed_cache
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
class _Near:
    """What one statement has that is near to the words that only the other has.

    Attributes:
        match_new, match_old: mean match of all words of one side in the other.
        weak_new, weak_old: how many words of one side the other has nothing near for.
        filler: how well the words that only the new statement has match the words that only the old one has; a mean, 0-1.
    """

    match_new: float
    match_old: float
    weak_new: int
    weak_old: int
    filler: float


def _near_by_letters(both: _Both) -> _Near:
    """Words match that are equal."""
    a, b, only_new, only_old = both.a.words, both.b.words, both.only_new, both.only_old
    return _Near(
        match_new=1 - len(only_new) / len(a) if a else 0.0,
        match_old=1 - len(only_old) / len(b) if b else 0.0,
        weak_new=len(only_new),
        weak_old=len(only_old),
        filler=0.3 if only_new and only_old else 0.0,
    )


def _near_by_tokens(pairs: Sequence[_Both], matches: WordMatches) -> list[_Near]:
    """Words match as well as their tokens do. For all `pairs` of one new statement at once: every word is compared once."""
    new = pairs[0].a.words
    mine = sorted(new)
    theirs = sorted(frozenset[str]().union(*(both.b.words for both in pairs)))
    found = matches(mine, theirs)
    mine_tokens, their_tokens = np.diff(found.asked), np.diff(found.held)
    # Which words stand where, each of shape (words, pairs).
    row_of = {word: row for row, word in enumerate(theirs)}
    held = np.zeros((len(theirs), len(pairs)), np.bool_)
    for place, both in enumerate(pairs):
        held[[row_of[word] for word in both.b.words], place] = True
    only_new = np.ones((len(mine), len(pairs)), np.bool_)
    for row, word in enumerate(mine):
        if word in row_of:
            only_new[row] = ~held[row_of[word]]
    only_old = held.copy()
    only_old[[row_of[word] for word in new if word in row_of]] = False
    in_old = _by_word(_best(found.cosines, held.repeat(their_tokens, axis=0)), mine_tokens)
    in_new = _by_word(found.back.max(axis=1, initial=0.0).clip(max=1.0)[:, None], their_tokens)
    fillers = _best(found.cosines, only_old.repeat(their_tokens, axis=0))
    asked = only_new.repeat(mine_tokens, axis=0)
    filler = (fillers * asked).sum(axis=0) / np.maximum(asked.sum(axis=0), 1)
    sums_new, sums_old = (in_old * only_new).sum(axis=0), (in_new * only_old).sum(axis=0)
    weak_new, weak_old = ((in_old < _WEAK) & only_new).sum(axis=0), ((in_new < _WEAK) & only_old).sum(axis=0)
    numbers = zip(*(one.tolist() for one in (sums_new, sums_old, weak_new, weak_old, filler)), strict=True)
    return [
        _Near(
            match_new=_mean_match(len(both.a.words), len(both.only_new), matched_new),
            match_old=_mean_match(len(both.b.words), len(both.only_old), matched_old),
            weak_new=lacking_new,
            weak_old=lacking_old,
            filler=between,
        )
        for both, (matched_new, matched_old, lacking_new, lacking_old, between) in zip(
            pairs, numbers, strict=True
        )
    ]


def _mean_match(words: int, only: int, matched: float) -> float:
    return (words - only + matched) / words if words else 0.0


def _best(cosines: NDArray[np.float32], columns: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The greatest of every row among the columns of each pair, 0-1, shape (rows, pairs); 0 where there is none."""
    best = np.zeros((len(cosines), columns.shape[1]))
    counts = columns.sum(axis=0)
    filled = counts.nonzero()[0]
    if len(filled) and len(cosines):
        starts = np.cumsum(counts) - counts
        best[:, filled] = np.maximum.reduceat(cosines[:, columns.T.nonzero()[1]], starts[filled], axis=1)
    return best.clip(0.0, 1.0)


def _by_word(best: NDArray[np.float64], tokens: NDArray[np.intp]) -> NDArray[np.float64]:
    """The mean over the tokens of each word, shape (words, pairs); 0 for a word without tokens."""
    means = np.zeros((len(tokens), best.shape[1]))
    filled = tokens.nonzero()[0]
    if len(filled):
        starts = np.cumsum(tokens) - tokens
        means[filled] = np.add.reduceat(best, starts[filled], axis=0) / tokens[filled, None]
    return means


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


@packed_cache(_Patterns)
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
    pairs: list[_Both] = []
    for old, _ in olds:
        b = parts_of(old)
        pairs.append(
            _Both(new=new, old=old, a=a, b=b, only_new=a.words - b.words, only_old=b.words - a.words)
        )
    near = _near_by_tokens(pairs, matches) if matches and pairs else map(_near_by_letters, pairs)
    rows: list[list[float]] = []
    for (_, cosine), both, one in zip(olds, pairs, near, strict=True):
        found = {
            **_likeness(both, cosine),
            **_fillers(both, one),
            **_values(both),
            **_stances(both),
        }
        found |= _together(found)
        rows.append([found[name] for name in NAMES])
    return np.array(rows, np.float64).reshape(-1, len(NAMES))


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


def _fillers(both: _Both, near: _Near) -> Numbers:
    """Words that only one side has: what is near them on the other, and whether they stand at the head (another subject)."""
    a, b = both.a, both.b
    head_a = [word for word in a.order if word not in VAGUE][:_HEAD]
    head_b = [word for word in b.order if word not in VAGUE][:_HEAD]
    apart = bool(head_a) and bool(head_b) and head_a[0] not in b.words and head_b[0] not in a.words
    place_new, place_old = _place(a, both.only_new), _place(b, both.only_old)
    late = min(place_new, place_old)
    return {
        "match_old": near.match_old,
        "match_new": near.match_new,
        "weak_old": min(near.weak_old, 6) / 6,
        "weak_new": min(near.weak_new, 6) / 6,
        "weak_both": min(near.weak_old, near.weak_new, 4) / 4,
        "filler": near.filler,
        "filler_late": near.filler * late,
        "filler_head": near.filler * (1 - late),
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
