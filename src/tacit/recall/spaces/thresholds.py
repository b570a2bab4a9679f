"""The spaces' thresholds as they were derived. In: the shipped file. Out: (low, high) by space, each on its space's own scale.

At or above `high` a score speaks for a memory, below `low` against it. Source: quantiles of the scores of pairs that nobody
needed, on real prompts; `python -m tacit_evals.fit` writes the file byte for byte again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tacit.fitted import load_fitted, values_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceThresholds:
    """The thresholds of one space.

    Attributes:
        low, high: see above.
        by: `data` = quantiles; `hand` = set by hand, where too few pairs speak.
        pairs: pairs that nobody needed, of which the space says something.
        others_at_high, needed_at_high: share of those pairs, and of needed pairs, at or above `high`.
    """

    low: float
    high: float
    by: Literal["data", "hand"]
    pairs: int = 0
    others_at_high: float = 0.0
    needed_at_high: float = 0.0


def shipped_thresholds() -> Mapping[str, SpaceThresholds]:
    """What ships."""
    return load_fitted("space_thresholds", dict[str, SpaceThresholds], values_of)


SPACE_THRESHOLDS = {name: (one.low, one.high) for name, one in shipped_thresholds().items()}
