"""Corrects a relevance by the uses of the memory. Part of stage 5. Pure.

A memory that sessions got and never used is less likely to be needed; one that they used is more likely. What looks like a use may be
chance: the agent touches a file or says a word that a memory holds, with or without the memory. How often that happens is measured on
memories of the same place that were not given (`state.counted.Totals`).

The uses of a memory that was given in n sessions are modeled as a Poisson count of mean n * (need * true + chance), where

    chance = share of the memories that were not given and look used
    true   = share of the given memories that look used, less chance
    need   = how much more than the average memory this one is needed: a gamma prior of mean 1 and shape k = `PRIOR_USES`

The odds of the gate are multiplied by the posterior mean of `need`. Each use is either true or chance, so the posterior is a mixture of gamma
distributions over the number j of true uses:

    mean = sum of w(j) * (k + j) / (k + n * true),   w(j) = C(uses, j) * true^j * chance^(uses - j) * Gamma(k + j) / (k + n * true)^(k + j)

Source: Gelman et al., Bayesian data analysis, section 2.6, with a known background rate. Without chance this is (k + uses) / (k + n * true).
Where given memories look used no more often than others, the factor is 1: nothing is learned from noise. In: candidates. Out: relevance.

Replayed on seven projects in the order of their sessions (`python -m tacit_evals.suites.replay`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.model.memory import Memory
from tacit.recall.stage import Judgment, UseCounts

PRIOR_USES = 0.5
"""The weight of the gate beside the record, in uses: the greater, the more sessions it takes to change a relevance."""
EXPECTED_RATE, EXPECTED_CHANCE, EXPECTED_MEMORIES = 0.4, 0.25, 20
"""A new home starts with these rates, as if so many memories had been given and so many not given there already."""
LEAST_FACTOR, GREATEST_FACTOR = 0.1, 3.0
MOST_SESSIONS = 200
"""A longer record counts as one of so many sessions with the same share of uses."""
TOLD_FROM = 1.25
"""A factor of so much, or its inverse, is told as a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UseRates:
    """How often a given memory looks used beyond chance (`true`), and how often any memory does by chance."""

    true: float
    chance: float


def use_rates(counts: UseCounts) -> UseRates:
    """The rates of a home, drawn to what is expected while its counts are few."""
    expected = EXPECTED_MEMORIES
    rate = (counts.used + EXPECTED_RATE * expected) / (counts.shown + expected)
    chance = (counts.control_used + EXPECTED_CHANCE * expected) / (counts.control_shown + expected)
    return UseRates(true=max(0.0, rate - chance), chance=min(rate, chance))


def usage_factor(memory: Memory, rates: UseRates) -> float:
    """What the odds of `memory` are multiplied by; 1 for one that was never given."""
    sessions = memory.shown_count
    uses = min(memory.use_count, sessions)  # uses of a store from before sessions were counted say nothing
    if sessions > MOST_SESSIONS:
        sessions, uses = MOST_SESSIONS, round(uses * MOST_SESSIONS / sessions)
    if not sessions or rates.true <= 0.0:
        return 1.0
    factor = _posterior_need(sessions, uses, rates)
    return min(GREATEST_FACTOR, max(LEAST_FACTOR, factor))


def _posterior_need(sessions: int, uses: int, rates: UseRates) -> float:
    shape = PRIOR_USES
    scale = shape + sessions * rates.true
    if rates.chance <= 0.0:
        return (shape + uses) / scale
    # The weights relative to the one before, which is what is known of each; their sum is scaled as it grows.
    weight = total = 1.0
    mean = shape / scale
    for true_uses in range(uses):
        weight *= (
            (uses - true_uses) / (true_uses + 1) * (rates.true / rates.chance) * (shape + true_uses) / scale
        )
        total += weight
        mean += weight * (shape + true_uses + 1) / scale
        if total > 1e200:
            weight, total, mean = weight / total, 1.0, mean / total
    return mean / total


def with_usage(judged: Judgment, memory: Memory, rates: UseRates) -> Judgment:
    """The judgment with the record of uses in its relevance, and among its reasons where it counts."""
    relevance, reasons = judged
    factor = usage_factor(memory, rates)
    if not 1 / TOLD_FROM < factor < TOLD_FROM:
        reasons = (*reasons, f"used in {memory.use_count} of {memory.shown_count} sessions")
    return relevance * factor / (1.0 - relevance + relevance * factor), reasons
