"""Coverage, precision and silence from counts per item. In: what each item was handed. Out: named figures.

Every figure is a ratio of two sums over items, so that resampling items needs only their counts.

    coverage            needed memories in context / needed memories
    prompt precision    right ones of what was handed / what was handed, marginal ones in neither
    wrongful rate       items that need nothing and got anything / items that need nothing
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tacit.model.situation import Situation
from tacit_evals.data.judged import Judgment

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
        fates: by memory id the stage that let it go, and its reason.
        surfaces: what each surface that was asked handed over, by its name.
    """

    item: str
    session: str
    judgment: Judgment
    start: frozenset[str]
    start_tokens: int = 0
    pack: tuple[str, ...] = ()
    tokens: int = 0
    predicted: Mapping[str, float] = field(default_factory=dict[str, float])
    read: Situation | None = None
    fates: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
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
