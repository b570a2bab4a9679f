"""Comparing a new statement with stored ones quickly changes nothing: against slow and simple counterparts of the same."""

from __future__ import annotations

import json
import re
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.capture.reconcile import words
from tacit.capture.reconcile.compare import take_apart
from tacit.capture.reconcile.features import NAMES, pair_row, pair_rows
from tacit.capture.reconcile.model import MOST_LEAVES, read_model, shipped_model
from tacit.capture.reconcile.packed import PACKED, UNPACKED
from tacit.capture.reconcile.words import opposed, parts_of
from tacit.errors import InvalidInput
from tacit.ports.models import TokenCosines

SAID = (
    "Always use npm to install packages", "Never use npm, use pnpm instead", "The port is 8080", "The port is 9090 from now on",
    "Retry three times before `net/retry.py` gives up", "Do not retry more than 2 times", "", "...", "Tabs", "Use spaces, not tabs",
)  # fmt: skip


def walked(trees: list[tuple[int, list[list[float]]]], start: list[float], row: list[float]) -> list[float]:
    """Chances by walking every tree from its root."""
    sums = list(start)
    for outcome, nodes in trees:
        place = 0
        while nodes[place][0] >= 0:
            feature, threshold, left, right, _ = nodes[place]
            place = int(left if row[int(feature)] <= threshold else right)
        sums[outcome] += nodes[place][4]
    powers = np.exp(np.array(sums) - max(sums))
    return (powers / powers.sum()).tolist()


@st.composite
def grown_tree(draw: st.DrawFn) -> list[list[float]]:
    """A tree of up to `MOST_LEAVES` leaves, however lopsided."""
    nodes: list[list[float]] = [[-1, 0, 0, 0, draw(st.floats(-2, 2))]]
    for _ in range(draw(st.integers(0, MOST_LEAVES - 1))):
        leaves = [place for place, node in enumerate(nodes) if node[0] < 0]
        place = draw(st.sampled_from(leaves))
        nodes[place] = [
            draw(st.integers(0, 3)),
            draw(st.sampled_from([0.0, 0.25, 0.5])),
            len(nodes),
            len(nodes) + 1,
            0,
        ]
        nodes += [[-1, 0, 0, 0, draw(st.floats(-2, 2))] for _ in range(2)]
    return nodes  # fmt: skip


def model_text(trees: list[tuple[int, list[list[float]]]]) -> str:
    thresholds = {"same": 0.5, "review": 0.6}
    document = {"manifest": {}, "features": list(NAMES), "start": [0.1, 0.2, 0.3], "trees": trees}
    return json.dumps({**document, "thresholds": thresholds})


@given(
    st.lists(st.tuples(st.integers(0, 2), grown_tree()), min_size=1, max_size=6),
    st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.3, 0.5, 1.0]), min_size=4, max_size=4), max_size=4),
)
def test_trees_asked_at_once_answer_as_trees_that_are_walked(trees, numbers) -> None:
    rows = np.zeros((len(numbers), len(NAMES)))
    rows[:, :4] = np.array(numbers).reshape(-1, 4)
    expected = [walked(trees, [0.1, 0.2, 0.3], row) for row in rows.tolist()]
    found = read_model(model_text(trees)).chances(rows)
    assert np.allclose(found, np.array(expected).reshape(-1, 3), atol=1e-12)


def test_a_tree_of_too_many_leaves_is_refused() -> None:
    nodes: list[list[float]] = []
    for step in range(MOST_LEAVES):
        nodes += [[0, step / 10, 2 * step + 1, 2 * step + 2, 0], [-1, 0, 0, 0, 1.0]]
    nodes.append([-1, 0, 0, 0, 1.0])
    with pytest.raises(InvalidInput, match="leaves"):
        read_model(model_text([(0, nodes)]))


def by_letters_of_tokens(asked: list[str], held: list[str]) -> TokenCosines:
    """Tokens are pieces of two letters; their cosine is the share of letters in common. A word of one letter has none."""
    mine, theirs = ([re.findall("..", word) for word in side] for side in (asked, held))
    flat_mine, flat_theirs = [t for ts in mine for t in ts], [t for ts in theirs for t in ts]
    table = [[len(set(a) & set(b)) / len(set(a) | set(b)) for b in flat_theirs] for a in flat_mine]
    cosines = np.array(table, np.float32).reshape(len(flat_mine), len(flat_theirs))
    return TokenCosines(
        cosines=cosines, back=cosines.T, asked=[*accumulate(map(len, mine), initial=0)],
        held=[*accumulate(map(len, theirs), initial=0)],
    )  # fmt: skip


def test_pairs_measured_together_are_as_pairs_measured_alone() -> None:
    model = shipped_model()
    for new in SAID:
        others = [(old, 0.5 + place / 100) for place, old in enumerate(SAID)]
        together = pair_rows(new, others, matches=by_letters_of_tokens)
        alone = [pair_row(new, old, cosine=cosine, matches=by_letters_of_tokens) for old, cosine in others]
        assert np.allclose(together, np.array(alone), atol=1e-6)
        assert np.isfinite(model.chances(together)).all()


def test_matches_are_means_of_the_best_tokens() -> None:
    row = dict(
        zip(NAMES, pair_row("tabs here", "rabs there", cosine=0.5, matches=by_letters_of_tokens), strict=True)
    )
    # tabs = ta bs, rabs = ra bs: "ta" shares one of three letters with "ra", "bs" is the same.
    new, old = parts_of("tabs here").words, parts_of("rabs there").words
    found = by_letters_of_tokens(sorted(new), sorted(old))
    best = found.cosines.max(axis=1)
    means = [
        best[start:end].mean() if end > start else 0.0
        for start, end in zip(found.asked, found.asked[1:], strict=False)
    ]
    assert row["match_new"] == pytest.approx(sum(means) / len(new))
    assert row["weak_new"] == sum(mean < 0.5 for mean in means) / 6


@given(st.text(max_size=80))
def test_a_statement_reads_the_same_again_from_its_bytes(text: str) -> None:
    first, parts = take_apart(text), parts_of(text)
    for number in range(UNPACKED + 1):  # the records are gone now, the bytes are not
        take_apart(f"other {number}")
        parts_of(f"other {number}")
    assert take_apart(text) == first
    assert parts_of(text) == parts
    assert UNPACKED < PACKED


def test_opposites_are_opposed_both_ways_and_only_where_each_side_has_one() -> None:
    pairs = [tuple(pair.split("/")) for pair in words._OPPOSITES_TEXT.split()]
    for one, other in pairs:
        assert opposed(f"do {one} it", f"do {other} it")
        assert opposed(f"do {other} it", f"do {one} it")
        assert not opposed(f"do {one} it", f"do {one} it")
        assert not opposed(f"{one} or {other}", f"do {other} it") or any(
            {one, other} != set(pair) and set(pair) & {one, other} for pair in pairs
        )
