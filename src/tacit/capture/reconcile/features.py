"""What two statements have in common and what they differ in, as numbers. In: two texts, their cosine. Out: one row.

Pure; English only. The numbers are for a fitted model: alone none of them decides anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.capture.reconcile import words
from tacit.capture.reconcile.compare import overlap, take_apart
from tacit.capture.reconcile.words import VAGUE, Parts, parts_of
from tacit.capture.wording import negated

WordMatches = Callable[[str, str], NDArray[np.float32]]
"""Best cosine (0-1) of each token of the first text in the second."""

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


def pair_row(new: str, old: str, *, cosine: float, matches: WordMatches | None = None) -> NDArray[np.float64]:
    """The numbers of a pair, in the order of `NAMES`. `matches` None = words are compared by their letters alone."""
    a, b = parts_of(new), parts_of(old)
    both = _Both(new=new, old=old, a=a, b=b, only_new=a.words - b.words, only_old=b.words - a.words)
    found = {
        **_likeness(both, cosine),
        **_fillers(both, matches),
        **_values(both),
        **_stances(both),
    }
    found |= _together(found)
    return np.array([found[name] for name in NAMES], np.float64)


def _likeness(both: _Both, cosine: float) -> Numbers:
    a, b = both.a, both.b
    common = a.words & b.words
    mine, theirs = a.words - VAGUE, b.words - VAGUE
    told = mine & theirs
    order = _common_order(a.order, b.order)
    shared = overlap(a.words, b.words)
    in_order = bool(words.ORDERED.search(both.new)) and bool(words.ORDERED.search(both.old))
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
        "length_ratio": float(np.log((len(a.order) + 2) / (len(b.order) + 2))),
        "one_word": float(len(both.only_new) == 1 == len(both.only_old)),
        "words_swapped": float(bool(both.only_new) and bool(both.only_old)),
        "turned": shared * (1 - order) * float(in_order),
    }


def _fillers(both: _Both, matches: WordMatches | None) -> Numbers:
    """Words that only one side has: what is near them on the other, and whether they stand at the head (another subject)."""
    a, b = both.a, both.b
    match_old, weak_old = _matched(both.only_old, b.words, a, matches)
    match_new, weak_new = _matched(both.only_new, a.words, b, matches)
    head_a = [word for word in a.order if word not in VAGUE][:_HEAD]
    head_b = [word for word in b.order if word not in VAGUE][:_HEAD]
    apart = bool(head_a) and bool(head_b) and head_a[0] not in b.words and head_b[0] not in a.words
    place_new, place_old = _place(a, both.only_new), _place(b, both.only_old)
    filler = 0.0
    if both.only_new and both.only_old:
        told, gone = " ".join(sorted(both.only_new)), " ".join(sorted(both.only_old))
        filler = 0.3 if matches is None else _mean(matches(told, gone))
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
    units = _units(both.new) & _units(both.old)
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
    new, old = both.new, both.old
    x, y = take_apart(new), take_apart(old)
    rejects = bool(x.rejected & set(y.order)) and not y.rejected & x.rejected
    forbids = bool(words.FORBIDS.search(new)) != bool(words.FORBIDS.search(old))
    permits = bool(words.PERMITS.search(new)) != bool(words.PERMITS.search(old))
    demands = bool(words.DEMANDS.search(new)) != bool(words.DEMANDS.search(old))
    gone: set[str] = set()
    for match in words.ENDS.finditer(new):
        gone |= parts_of((match["gone"] or match["old"] or "").strip()).words
    told = gone - VAGUE
    ended = 0.0 if words.ENDS.search(old) else _share(len(told & both.b.words), len(told))
    return {
        "polarity": float(negated(new) != negated(old)),
        "negated_both": float(negated(new) and negated(old)),
        "opposite": float(words.opposed(new, old)),
        "forbids_one": float(forbids),
        "permits_one": float(permits),
        "stance": float(forbids or permits),
        "permits_demands": float(permits and demands),
        "changes": float(bool(words.STRONG_CHANGE.search(new)) and not words.STRONG_CHANGE.search(old)),
        "rejects": float(rejects),
        "rejects_all": float(rejects and x.rejected <= set(y.order)),
        "ends": ended,
        "ends_new": float(bool(told)),
        "never_more": float(bool(words.NEVER_MORE.search(new)) and not words.NEVER_MORE.search(old)),
        "adds": float(bool(words.ADDS.search(new))),
        "excepts": float(bool(words.EXCEPTS.search(new))),
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
    only: frozenset[str], every: frozenset[str], other: Parts, matches: WordMatches | None
) -> tuple[float, int]:
    """Mean match of all words of one side in the other, and how many of them the other has nothing near for."""
    if not every:
        return 0.0, 0
    if not only:
        return 1.0, 0
    if matches is None:
        return 1 - len(only) / len(every), len(only)
    place = " ".join(other.order)
    best = [_mean(matches(word, place)) for word in sorted(only)]
    return (len(every) - len(only) + sum(best)) / len(every), sum(one < _WEAK for one in best)


def _common_order(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Longest common subsequence of content words over the longer side."""
    if not one or not other:
        return 0.0
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for place, there in enumerate(other, start=1):
            kept = row[place]
            row[place] = before + 1 if word == there else max(row[place], row[place - 1])
            before = kept
    return row[-1] / max(len(one), len(other))


def _place(parts: Parts, only: frozenset[str]) -> float:
    """Mean place of `only` in the statement, 0 = first to 1 = last; 0.5 where there are none."""
    places = [place for place, word in enumerate(parts.order) if word in only]
    return sum(places) / len(places) / max(len(parts.order) - 1, 1) if places else 0.5


def _units(text: str) -> frozenset[str]:
    return frozenset(unit.lower().rstrip("s") for unit in words.UNIT.findall(text))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _mean(values: NDArray[np.float32]) -> float:
    return float(values.mean()) if len(values) else 0.0
