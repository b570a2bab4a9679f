"""The record of uses: what it makes of a relevance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from samples import memory_named
from tacit.model.memory import Memory
from tacit.model.scope import UNIVERSAL
from tacit.recall.score import (
    GREATEST_FACTOR,
    LEAST_FACTOR,
    PRIOR_USES,
    UseRates,
    usage_factor,
    use_rates,
    with_usage,
)
from tacit.recall.stage import UseCounts


def memory(shown: int, used: int) -> Memory:
    return replace(memory_named("mem_a", "words", scope=UNIVERSAL), shown_count=shown, use_count=used)


HALF = UseRates(true=0.5, chance=0.0)


def test_by_hand() -> None:
    assert usage_factor(memory(3, 0), HALF) == pytest.approx(0.5 / 2.0)
    assert usage_factor(memory(3, 2), HALF) == pytest.approx(2.5 / 2.0)
    # odds 1 : 1 become 1 : 4
    relevance, reasons = with_usage((0.5, ("words",)), memory(3, 0), HALF)
    assert relevance == pytest.approx(0.2)
    assert reasons == ("words", "used in 0 of 3 sessions")


@pytest.mark.parametrize("uses", [0, 1, 3, 8])
def test_with_chance_it_is_the_posterior_mean(uses: int) -> None:
    """Beside a numeric integral over the need: gamma prior, Poisson count with a known background."""
    sessions, true, chance = 8, 0.3, 0.2
    root = np.linspace(1e-6, 9.0, 400_000)  # of the need, whose density has no bound at 0
    need = root**2
    log_density = (
        (2 * PRIOR_USES - 1.0) * np.log(root)
        - PRIOR_USES * need
        + uses * np.log(need * true + chance)
        - sessions * true * need
    )
    density = np.exp(log_density - log_density.max())
    expected = float((need * density).sum() / density.sum())
    factor = usage_factor(memory(sessions, uses), UseRates(true=true, chance=chance))
    assert factor == pytest.approx(min(GREATEST_FACTOR, max(LEAST_FACTOR, expected)), rel=1e-3)


def test_a_use_counts_less_the_likelier_it_is_chance() -> None:
    factors = [usage_factor(memory(4, 2), UseRates(true=0.3, chance=chance)) for chance in (0.0, 0.1, 0.4)]
    assert factors == sorted(factors, reverse=True)
    assert factors[0] > factors[-1]


def test_nothing_is_learned_where_given_memories_look_used_no_more_than_others() -> None:
    rates = use_rates(UseCounts(shown=2_000, used=700, control_shown=2_000, control_used=740))
    assert rates.true == 0.0
    assert usage_factor(memory(40, 0), rates) == usage_factor(memory(40, 40), rates) == 1.0


def test_a_long_record_is_no_heavier_and_no_slower_than_its_bound() -> None:
    rates = UseRates(true=0.2, chance=0.2)
    long, bound = usage_factor(memory(100_000, 40_000), rates), usage_factor(memory(200, 80), rates)
    assert long == bound == pytest.approx(1.0, abs=0.2)


def test_a_memory_that_was_never_given_keeps_its_relevance() -> None:
    relevance, reasons = with_usage((0.3, ("words",)), memory(0, 0), HALF)
    assert relevance == pytest.approx(0.3)
    assert reasons == ("words",)


def test_uses_from_before_sessions_were_counted_say_nothing() -> None:
    assert usage_factor(memory(0, 9), HALF) == 1.0


def test_the_factor_has_bounds() -> None:
    rare = UseRates(true=0.1, chance=0.0)
    assert usage_factor(memory(500, 0), HALF) == LEAST_FACTOR
    assert usage_factor(memory(500, 500), rare) == GREATEST_FACTOR
    assert with_usage((1.0, ()), memory(500, 0), HALF)[0] == 1.0
    assert with_usage((0.0, ()), memory(500, 500), rare)[0] == 0.0


def test_a_few_sessions_hardly_move_the_rates_and_many_decide_them() -> None:
    assert use_rates(UseCounts()) == UseRates(true=pytest.approx(0.15), chance=0.25)
    few = use_rates(UseCounts(shown=2, control_shown=2))
    assert few.true + few.chance == pytest.approx(8 / 22)
    many = use_rates(UseCounts(shown=2_000, used=600, control_shown=2_000, control_used=200))
    assert many.true == pytest.approx(0.2, abs=0.01)
    assert many.chance == pytest.approx(0.1, abs=0.01)
