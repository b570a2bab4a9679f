"""How sure a figure is. In: counts per item. Out: intervals and p-values.

- Percentile bootstrap over items (Efron, 1979), 2,000 resamples with a fixed seed.
- Exact binomial interval (Clopper and Pearson, 1934), by scipy.
- Paired randomisation test (Smucker, Allan and Carterette, 2007): the two methods' values of an item change places.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import binomtest, permutation_test

from tacit_evals.metrics.counts import RATIOS, Array, figure

RESAMPLES = 2_000
PERMUTATIONS = 5_000
SEED = 7
Interval = tuple[float, float]


def resampled_sums(counts: Array, *, seed: int = SEED) -> Array:
    """Sums of columns over resampled items: one row per resample."""
    chance = np.random.default_rng(seed)
    size = counts.shape[0]
    weights = chance.multinomial(size, np.full(size, 1.0 / size), size=RESAMPLES).astype(np.float64)
    return weights @ counts


def percentile_interval(values: Array) -> Interval:
    """The middle 95 % of resampled values."""
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def intervals(counts: Array) -> dict[str, Interval]:
    """95 % interval of every figure of one set of items."""
    sums = resampled_sums(counts)
    return {name: percentile_interval(figure(sums, name)) for name in RATIOS}


def macro_intervals(projects: Sequence[Array]) -> dict[str, Interval]:
    """95 % interval of the mean over projects; items are resampled within each."""
    sums = [resampled_sums(counts, seed=SEED + number) for number, counts in enumerate(projects)]
    return {
        name: percentile_interval(np.mean([figure(draws, name) for draws in sums], axis=0)) for name in RATIOS
    }


def binomial_interval(hits: int, trials: int) -> Interval:
    """Exact 95 % interval of a rate; (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    interval = binomtest(hits, trials).proportion_ci(confidence_level=0.95, method="exact")
    return float(interval.low), float(interval.high)


def paired_p(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Two-sided p-value that the sums of two methods over the same items differ by chance; 1 when fewer than two items differ."""
    mine, other = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    differs = mine != other
    if differs.sum() < 2:
        return 1.0
    result = permutation_test(
        (mine[differs], other[differs]),
        lambda a, b, axis: (a - b).sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        rng=np.random.default_rng(SEED),
    )
    return float(result.pvalue)
