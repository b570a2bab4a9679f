"""The record of uses: what it makes of a relevance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from samples import memory_named
from tacit.model.memory import Memory
from tacit.model.scope import UNIVERSAL
from tacit.recall.score.usage import GREATEST_FACTOR, LEAST_FACTOR, usage_factor, use_rate, with_usage


def memory(shown: int, used: int) -> Memory:
    return replace(memory_named("mem_a", "words", scope=UNIVERSAL), shown_count=shown, use_count=used)


def test_by_hand() -> None:
    assert usage_factor(memory(3, 0), 0.5) == pytest.approx(0.5 / 2.0)
    assert usage_factor(memory(3, 2), 0.5) == pytest.approx(2.5 / 2.0)
    # odds 1 : 1 become 1 : 4
    relevance, reasons = with_usage((0.5, ("words",)), memory(3, 0), 0.5)
    assert relevance == pytest.approx(0.2)
    assert reasons == ("words", "used in 0 of 3 sessions")


def test_a_memory_that_was_never_given_keeps_its_relevance() -> None:
    relevance, reasons = with_usage((0.3, ("words",)), memory(0, 0), 0.4)
    assert relevance == pytest.approx(0.3)
    assert reasons == ("words",)


def test_uses_from_before_sessions_were_counted_say_nothing() -> None:
    assert usage_factor(memory(0, 9), 0.4) == 1.0


def test_the_factor_has_bounds() -> None:
    assert usage_factor(memory(500, 0), 0.4) == LEAST_FACTOR
    assert usage_factor(memory(500, 500), 0.1) == GREATEST_FACTOR
    assert with_usage((1.0, ()), memory(500, 0), 0.4)[0] == 1.0
    assert with_usage((0.0, ()), memory(500, 500), 0.4)[0] == 0.0


def test_a_few_sessions_hardly_move_the_rate_and_many_decide_it() -> None:
    assert use_rate(0, 0) == pytest.approx(0.4)
    assert use_rate(2, 0) == pytest.approx(8 / 22)
    assert use_rate(2_000, 200) == pytest.approx(0.1, abs=0.01)
