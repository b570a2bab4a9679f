"""What only large scopes do: pick candidates by their signs and triggers by a sample, and find what looking at everything finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.backends.sqlite.memory_index import FOREVER, MemoryRows, Rows
from tacit.backends.sqlite.vector_index import ExactVectors, SignBitVectors
from tacit.backends.sqlite.writing import ALWAYS

DIMENSIONS = 64
WANT = 20
NOW = 1_000


def rows_of(size: int, *, ends: np.ndarray | None = None) -> Rows:
    rows = Rows()
    names = [f"m{number:06d}".encode() for number in range(size)]
    valid_to = np.full(size, FOREVER) if ends is None else ends
    rows.extend(np.arange(size), names, np.zeros(size, np.int64), valid_to, np.zeros(size, np.uint32))
    return rows


def some_ended(size: int) -> np.ndarray:
    chance = np.random.default_rng(3)
    return np.where(chance.random(size) < 0.4, NOW, FOREVER)


@pytest.mark.parametrize("start", [0, 5])
def test_rows_added_one_by_one_are_found_as_if_they_had_been_there(start: int) -> None:
    vectors = np.random.default_rng(4).normal(size=(200, DIMENSIONS)).astype(np.float16)
    whole, grown = ExactVectors(rows_of(200), vectors), ExactVectors(rows_of(200), vectors[:start])
    for row in range(start, 200):
        grown.append(vectors[row : row + 1])
    asked = vectors[150].astype(np.float32)
    for one, other in zip(whole.nearest(asked, WANT, NOW), grown.nearest(asked, WANT, NOW), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(whole.sampled(asked), grown.sampled(asked))


def test_among_more_rows_more_are_compared_in_full() -> None:
    """In 40,000 rows 220 look nearer by their signs than the one that is nearest; 256 are compared in full."""
    vectors = np.random.default_rng(2).normal(size=(40_000, DIMENSIONS)).astype(np.float16)
    vectors[:220] = 0.01
    vectors[:220, 0] = -1.0
    vectors[300] = 1.0
    vectors[300, :4] = -0.01
    index = SignBitVectors(rows_of(len(vectors)), vectors)
    positions, scores = index.nearest(np.ones(DIMENSIONS, np.float32), 1, NOW)
    assert positions.tolist() == [300]
    assert scores.tolist() == [pytest.approx(59.96, abs=0.01)]


@pytest.mark.parametrize("ended", [False, True], ids=["all hold", "some ended"])
class TestSignBits:
    SIZE = 20_000

    def nearest_by_all(
        self, vectors: np.ndarray, asked: np.ndarray, usable: np.ndarray, want: int
    ) -> set[int]:
        distance = ((vectors >= 0) != (asked >= 0)).sum(axis=1)
        last = np.sort(distance[usable])[want - 1]
        return set(np.flatnonzero((distance <= last) & usable).tolist())

    def test_the_nearest_signs_are_those_that_counting_everything_finds(self, ended: bool) -> None:
        vectors = np.random.default_rng(1).normal(size=(self.SIZE, DIMENSIONS)).astype(np.float16)
        rows = rows_of(self.SIZE, ends=some_ended(self.SIZE) if ended else None)
        index = SignBitVectors(rows, vectors)
        usable = rows.usable(NOW)
        assert (usable is not None) == ended
        asked = vectors[7].astype(np.float32)
        found = index._near_signs(asked, 200, usable)
        holds = np.ones(self.SIZE, np.bool_) if usable is None else usable
        expected = self.nearest_by_all(vectors, asked, holds, 200)
        assert len(expected) <= 800
        assert set(found.tolist()) == expected

    def test_equal_vectors_are_as_good_as_one_another(self, ended: bool) -> None:
        """Half of the vectors are one and the same: there is no distance below which few lie."""
        vectors = np.ones((self.SIZE, DIMENSIONS), np.float16)
        vectors[::2] *= -1
        rows = rows_of(self.SIZE, ends=some_ended(self.SIZE) if ended else None)
        positions, scores = SignBitVectors(rows, vectors).nearest(np.ones(DIMENSIONS, np.float32), WANT, NOW)
        assert len(positions) == WANT
        assert set((positions % 2).tolist()) == {1}
        assert set(scores.tolist()) == {DIMENSIONS}


def made_rows(size: int, *, share: float, ended: bool) -> MemoryRows:
    chance = np.random.default_rng(2)
    weights = np.where(
        chance.random((6, size)) < share, chance.choice([200, 134, 66], size=(6, size)), 0
    ).astype(np.uint8)
    weights[ALWAYS] = np.where(chance.random(size) < 0.06, 50, 0)
    return MemoryRows(rows=rows_of(size, ends=some_ended(size) if ended else None), weights=weights)


@pytest.mark.parametrize("ended", [False, True], ids=["all hold", "some ended"])
@pytest.mark.parametrize("share", [0.1, 0.0001], ids=["usual", "hardly any trigger"])
def test_fitting_triggers_are_those_that_looking_at_everything_finds(share: float, ended: bool) -> None:
    part = made_rows(20_000, share=share, ended=ended)
    probabilities = {ALWAYS: 1.0, 1: 0.8, 2: 0.5, 4: 0.05, 5: 0.0, 99: 1.0}
    positions, scores = part.fitting(probabilities, want=WANT, now_ms=NOW)
    products = [
        part.weights[action].astype(np.int64) * round(p * 325)
        for action, p in probabilities.items()
        if action < 6
    ]
    whole = np.max(products, axis=0)
    usable = part.rows.usable(NOW)
    if usable is not None:
        whole = np.where(usable, whole, 0)
    order = np.lexsort((-np.arange(len(whole)), -whole))[:WANT]  # ids follow positions
    order = order[whole[order] > 0]
    assert sorted(positions.tolist()) == sorted(order.tolist())
    assert dict(zip(positions.tolist(), scores.tolist(), strict=True)) == pytest.approx(
        {int(at): whole[at] / 65_000 for at in order}
    )


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12)), min_size=1, max_size=6),
    st.lists(st.integers(0, 12), min_size=1, max_size=8),
    st.sets(st.integers(0, 5)),
)
def test_a_kept_mask_is_that_of_the_moment(
    spans: list[tuple[int, int]], moments: list[int], gone: set[int]
) -> None:
    rows = Rows()
    numbers = list(range(len(spans)))
    starts, ends = [one[0] for one in spans], [one[1] for one in spans]
    rows.extend(numbers, [b"%d" % number for number in numbers], starts, ends, [0] * len(numbers))
    for turn, now in enumerate(moments):
        if turn == len(moments) // 2:
            rows.remove(sorted(gone))
        removed = gone if turn >= len(moments) // 2 else set()
        expected = [start <= now < end and n not in removed for n, (start, end) in enumerate(spans)]
        usable = rows.usable(now)
        assert (np.ones(len(spans), np.bool_) if usable is None else usable).tolist() == expected
