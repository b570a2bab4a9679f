"""Judged calls on their own, by hand."""

from __future__ import annotations

import pytest

from tacit_evals.action import alone, delivered, lines
from tacit_evals.data import ItemJudgment
from tacit_evals.figures import ItemResult


def call(item: str, judgment: ItemJudgment, **surfaces: tuple[str, ...]) -> ItemResult:
    pack = tuple(memory for one in surfaces.values() for memory in one)
    return ItemResult(
        item=item, session="s", judgment=judgment, start=frozenset(), pack=pack, surfaces=surfaces
    )


CALLS = (
    call("a", ItemJudgment(needed={"m1": 2, "m2": 1}), action=("m1", "m3")),
    call("b", ItemJudgment(needed={"m4": 2}, marginal=frozenset({"m5"})), action=(), failure=("m4", "m5")),
    call("c", ItemJudgment(nothing=True), action=("m1",)),
    call("d", ItemJudgment(nothing=True)),
)


def test_figures_of_calls_on_their_own() -> None:
    found = alone(CALLS)
    assert (found["alone_right"], found["alone_handed"]) == (
        2.0,
        4.0,
    )  # m5 is marginal and counts neither way
    assert found["alone_precision"] == 0.5
    assert (found["alone_delivered_grade2"], found["alone_pairs_grade2"]) == (2.0, 2.0)
    assert found["alone_wrongful_rate"] == 0.5
    # exact interval of 1 of 2 (Clopper and Pearson): 1 - 0.975 ** 0.5 and 0.975 ** 0.5
    assert found["alone_wrongful_low"] == pytest.approx(1 - 0.975**0.5)
    assert found["alone_wrongful_high"] == pytest.approx(0.975**0.5)


def test_the_lines_name_surfaces_simpler_methods_and_what_is_left_out() -> None:
    said = lines("alpha", CALLS, {"BM25, as many": CALLS[2:]}, left_out=1)
    assert "alpha, 4 calls on their own (nothing in context): precision 0.500" in said[0]
    assert "2 of 2 pairs of grade 2 delivered (wanted 7)" in said[0]
    assert "1 of 2 calls that need nothing" in said[0]
    assert said[1] == "surface action: asked at 3 calls, 1 right of 3, 1 pairs of grade 2"
    assert said[2] == "surface failure: asked at 1 calls, 1 right of 1, 1 pairs of grade 2"
    assert said[3] == "BM25, as many: precision 0.000, 0 pairs of grade 2, wrongful 0.500"
    assert "a001" in said[4]
    assert delivered(CALLS[2:]) == 0
