"""Figures of the suites, against values worked out by hand."""

from __future__ import annotations

import pytest

from tacit_evals.data import ItemJudgment
from tacit_evals.figures import (
    COLUMNS,
    RATIOS,
    ItemResult,
    binomial_interval,
    calibration_bins,
    calibration_error,
    calibration_interval,
    constant_error,
    count,
    figures,
    paired_p,
    pairs_of,
    risk_coverage,
    tokens_per_need,
)


def handed(
    item, *, needed=None, marginal=(), nothing=False, start=(), pack=(), predicted=None, session="s", **more
):
    return ItemResult(
        item=item,
        session=session,
        judgment=ItemJudgment(needed=needed or {}, marginal=frozenset(marginal), nothing=nothing),
        start=frozenset(start),
        pack=tuple(pack),
        predicted=predicted or {},
        **more,
    )


THREE = [
    # needs a (2), b (1), c (1); a is in the start pack, b came with the prompt, m is marginal, x is wrong
    handed(
        "p1",
        needed={"a": 2, "b": 1, "c": 1},
        marginal=["m"],
        start="a",
        pack="bmx",
        tokens=30,
        start_tokens=100,
    ),
    handed("p2", nothing=True, start="a", pack="x", tokens=10, start_tokens=100),
    handed("p3", nothing=True, start="a", start_tokens=100),
]


def test_figures_are_ratios_of_sums():
    found = figures(count(THREE, learned=frozenset("bc")))
    assert found == pytest.approx(
        {
            "coverage_all": 2 / 3,
            "coverage_grade2": 1.0,
            "coverage_learned": 1 / 2,
            "start_coverage_all": 1 / 3,
            "start_coverage_grade2": 1.0,
            "start_coverage_learned": 0.0,
            "prompt_coverage_all": 1 / 3,
            "start_tokens": 100.0,
            "prompt_tokens": 40 / 3,
            "prompt_precision": 1 / 3,  # b of b, x, x: the marginal m counts neither way
            "wrongful_rate": 1 / 2,
            "injections_per_prompt": 4 / 3,
        }
    )
    assert set(found) == set(RATIOS)


def test_what_needs_nothing_but_marginal_memories_is_no_silent_prompt():
    item = handed("p", marginal=["m"], pack="m")
    assert figures(count([item], learned=frozenset()))["wrongful_rate"] == 0.0
    assert count([item], learned=frozenset())[0, COLUMNS.index("nothing")] == 0


def test_a_start_pack_is_paid_once_a_session():
    # two sessions of 100 tokens, 40 tokens of prompt packs, two needed memories covered
    items = [*THREE, handed("p4", session="t", start_tokens=100)]
    assert tokens_per_need(items) == (200 + 40) / 2


def test_binomial_interval_is_the_exact_one():
    # Clopper-Pearson for 0 of 10: upper end 1 - (0.025) ** (1 / 10)
    assert binomial_interval(0, 10) == pytest.approx((0.0, 1 - 0.025**0.1))
    assert binomial_interval(0, 0) == (0.0, 1.0)


def test_paired_test_of_three_wins_is_one_in_four():
    # all 2 ** 3 sign changes are equally likely; two of them are as extreme
    assert paired_p([1, 1, 1, 0], [0, 0, 0, 0]) == pytest.approx(2 / 8)
    assert paired_p([1, 2], [1, 2]) == 1.0
    assert paired_p([1, 1, 1], [1, 0, 1]) == 1.0


def test_calibration_error_by_hand():
    pairs = [(0.2, False), (0.4, False), (0.6, True), (0.8, True)]
    assert calibration_bins(pairs, bins=2) == [(2, pytest.approx(0.3), 0.0), (2, pytest.approx(0.7), 1.0)]
    assert calibration_error(pairs, bins=2) == pytest.approx(0.5 * 0.3 + 0.5 * 0.3)
    assert constant_error(pairs, 0.2) == pytest.approx(0.3)
    assert calibration_error([]) == constant_error([], 0.4) == 0.0
    assert calibration_interval([]) == (0.0, 0.0)
    low, high = calibration_interval([[pair] for pair in pairs])
    assert 0.0 <= low <= high <= 1.0


def test_calibration_looks_at_pairs_that_are_worth_it():
    item = handed("p", needed={"a": 1}, marginal=["m"], predicted={"a": 0.5, "b": 0.09, "c": 0.1, "m": 0.9})
    assert pairs_of(item) == [(0.5, True), (0.1, False)]


def test_risk_and_coverage_by_hand():
    items = [
        handed(
            "p1",
            needed={"a": 2, "b": 1, "s": 1},
            start="s",
            predicted={"a": 0.9, "s": 0.95, "x": 0.5, "b": 0.3},
        ),
        handed("p2", nothing=True, predicted={"y": 0.5}),
    ]
    area = risk_coverage(items)  # 0.9: a alone; 0.5: x and y are tied; 0.3: b
    assert area == pytest.approx(0.5 * 0 + 0.5 * 0.5)


def test_what_is_never_found_counts_with_full_risk():
    assert risk_coverage([handed("p", needed={"a": 1, "b": 1}, predicted={"a": 0.4})]) == pytest.approx(0.5)
