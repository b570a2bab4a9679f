"""Figures of a suite, how sure they are, and whether predicted relevance means what it says. In: what each item was handed. Out: named figures.

Every figure is a ratio of two sums over items, so that resampling items needs only their counts.

    coverage            needed memories in context / needed memories
    prompt precision    right ones of what was handed / what was handed, marginal ones in neither
    wrongful rate       items that need nothing and got anything / items that need nothing

Intervals: percentile bootstrap over items (Efron, 1979) with a fixed seed; the exact binomial interval (Clopper and Pearson, 1934). P-values: paired
randomization test (Smucker, Allan and Carterette, 2007): the two methods' values of an item change places.

Calibration:

    ECE = sum over bins of (pairs in bin / pairs) * |mean prediction - share needed|

with bins of equal mass (Nguyen and O'Connor, 2015; Roelofs et al., 2022). Pairs predicted below `LEAST` are left out: nearly
all pairs are irrelevant and predicted so, and would hide every error. Ties of the prediction are broken by the pair's key.

Risk against coverage, one point per threshold:

    coverage  needed memories handed / needed memories that the start pack left
    risk      1 - precision of what is handed
    area      integral of risk over coverage from 0 to 1; what is never found counts with risk 1

Form: El-Yaniv and Wiener, 2010; with coverage over needs the area is 1 - average precision. Budgets are left aside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tacit.model.trigger import Situation
from tacit_evals.data import ItemJudgment

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """What one item was handed.

    Attributes:
        item: id of the prompt or call.
        session: its session; the start pack is paid once for each.
        judgment: what it needed.
        start: memory ids of the start pack.
        start_tokens: what that cost.
        pack: memory ids handed at the item, in order.
        tokens: what they cost.
        predicted: relevance by memory id of everything that was scored, in context or not.
        read: what was read as about to happen; None = recall was not asked.
        surfaces: what each surface that was asked handed over, by its name.
    """

    item: str
    session: str
    judgment: ItemJudgment
    start: frozenset[str]
    start_tokens: int = 0
    pack: tuple[str, ...] = ()
    tokens: int = 0
    predicted: Mapping[str, float] = field(default_factory=dict[str, float])
    read: Situation | None = None
    surfaces: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def counted(self) -> tuple[str, ...]:
        """What was handed, without the marginal ones."""
        return tuple(m for m in self.pack if m not in self.judgment.marginal)

    @property
    def right(self) -> int:
        """How many of what was handed were needed."""
        return sum(m in self.judgment.needed for m in self.pack)


COLUMNS = (
    "needed", "needed2", "needed_learned", "start", "start2", "start_learned", "both", "both2", "both_learned",
    "pack_only", "counted", "right", "handed", "tokens", "items", "nothing", "wrongful", "start_tokens",
)  # fmt: skip
RATIOS: dict[str, tuple[str, str]] = {
    "coverage_all": ("both", "needed"),
    "coverage_grade2": ("both2", "needed2"),
    "coverage_learned": ("both_learned", "needed_learned"),
    "start_coverage_all": ("start", "needed"),
    "start_coverage_grade2": ("start2", "needed2"),
    "start_coverage_learned": ("start_learned", "needed_learned"),
    "prompt_coverage_all": ("pack_only", "needed"),
    "start_tokens": ("start_tokens", "items"),
    "prompt_tokens": ("tokens", "items"),
    "prompt_precision": ("right", "counted"),
    "wrongful_rate": ("wrongful", "nothing"),
    "injections_per_prompt": ("handed", "items"),
}
"""Figure -> (numerator, denominator), both sums of columns over items."""


def count(handed: Sequence[ItemResult], *, learned: frozenset[str]) -> Array:
    """Counts, one row per item, in the order of `COLUMNS`."""
    rows: list[tuple[float, ...]] = []
    for result in handed:
        needed = result.judgment.needed
        grade2 = {m for m, grade in needed.items() if grade == 2}
        own = set(needed) & learned
        context = result.start | set(result.pack)
        rows.append(
            (
                len(needed),
                len(grade2),
                len(own),
                len(result.start & needed.keys()),
                len(result.start & grade2),
                len(result.start & own),
                len(context & needed.keys()),
                len(context & grade2),
                len(context & own),
                len((context - result.start) & needed.keys()),
                len(result.counted),
                result.right,
                len(result.pack),
                result.tokens,
                1,
                float(result.judgment.nothing),
                float(result.judgment.nothing and bool(result.pack)),
                result.start_tokens,
            )
        )
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(COLUMNS))


def figure(sums: Array, name: str) -> Array:
    """The figure `name` from sums of columns (last axis in the order of `COLUMNS`); 0 where nothing could be counted."""
    top, bottom = (sums[..., COLUMNS.index(column)] for column in RATIOS[name])
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def figures(counts: Array) -> dict[str, float]:
    """All figures of a set of items."""
    sums = counts.sum(axis=0)
    return {name: float(figure(sums, name)) for name in RATIOS}


def tokens_per_need(handed: Sequence[ItemResult]) -> float:
    """Tokens paid for each needed memory that was in context: start packs once a session, prompt packs each time."""
    starts = {result.session: result.start_tokens for result in handed}
    covered = sum(len((result.start | set(result.pack)) & result.judgment.needed.keys()) for result in handed)
    paid = sum(starts.values()) + sum(result.tokens for result in handed)
    return paid / covered if covered else 0.0


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
    from scipy.stats import binomtest  # loads for a second, and every process of the tests loads this module

    interval = binomtest(hits, trials).proportion_ci(confidence_level=0.95, method="exact")
    return float(interval.low), float(interval.high)


def paired_p(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Two-sided p-value that the sums of two methods over the same items differ by chance; 1 when fewer than two items differ."""
    mine, other = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    differs = mine != other
    if differs.sum() < 2:
        return 1.0
    from scipy.stats import permutation_test

    result = permutation_test(
        (mine[differs], other[differs]),
        lambda a, b, axis: (a - b).sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        rng=np.random.default_rng(SEED),
    )
    return float(result.pvalue)


LEAST = 0.1
BINS = 10
CALIBRATION_RESAMPLES = 500
Pairs = Sequence[tuple[float, bool]]


def pairs_of(result: ItemResult, *, least: float = LEAST) -> list[tuple[float, bool]]:
    """Predictions of one item with their truth; marginal pairs are left out."""
    return [
        (value, memory in result.judgment.needed)
        for memory, value in sorted(result.predicted.items())
        if value >= least and memory not in result.judgment.marginal
    ]


def calibration_bins(pairs: Pairs, *, bins: int = BINS) -> list[tuple[int, float, float]]:
    """(pairs, mean prediction, share needed) of each bin, lowest predictions first; no more bins than pairs."""
    if not pairs:
        return []
    ordered = sorted(range(len(pairs)), key=lambda at: (pairs[at][0], at))
    groups = np.array_split(np.array(ordered), min(bins, len(pairs)))
    values = np.array([value for value, _ in pairs])
    truth = np.array([float(hit) for _, hit in pairs])
    return [(len(group), float(values[group].mean()), float(truth[group].mean())) for group in groups]


def calibration_error(pairs: Pairs, *, bins: int = BINS) -> float:
    """Expected calibration error; 0 without pairs."""
    size = len(pairs)
    return sum(n / size * abs(mean - share) for n, mean, share in calibration_bins(pairs, bins=bins))


def constant_error(pairs: Pairs, constant: float) -> float:
    """The same for one that always predicts `constant`: it has a single bin."""
    return abs(constant - share_needed(pairs)) if pairs else 0.0


def share_needed(pairs: Pairs) -> float:
    """Share of pairs that were needed; 0 without pairs."""
    return sum(hit for _, hit in pairs) / len(pairs) if pairs else 0.0


def calibration_interval(items: Sequence[Pairs]) -> Interval:
    """95 % interval by resampling items with all their pairs."""
    if not items:
        return 0.0, 0.0
    chance = np.random.default_rng(SEED)
    values = [
        calibration_error([pair for at in chance.integers(len(items), size=len(items)) for pair in items[at]])
        for _ in range(CALIBRATION_RESAMPLES)
    ]
    return percentile_interval(np.array(values))


def risk_coverage(handed: Sequence[ItemResult]) -> float:
    """The area under risk over coverage; equal predictions count together."""
    remaining = sum(len(result.judgment.needed.keys() - result.start) for result in handed)
    pairs = sorted(
        (-value, memory in result.judgment.needed)
        for result in handed
        for memory, value in result.predicted.items()
        if memory not in result.start and memory not in result.judgment.marginal
    )
    area = before = 0.0
    hits = 0
    for at, (value, hit) in enumerate(pairs):
        hits += hit
        if at + 1 < len(pairs) and pairs[at + 1][0] == value:
            continue
        coverage = hits / remaining if remaining else 0.0
        area += (coverage - before) * (1 - hits / (at + 1))
        before = coverage
    return area + (1 - before)
