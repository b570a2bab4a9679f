"""Judged calls on their own, by hand."""

from __future__ import annotations

import pytest

from tacit_evals.action import alone
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
