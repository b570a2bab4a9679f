"""Agreement of the spaces on a memory: the sum of topic weights over the spaces that reach their `high`, 0 to 8.5.

Source: SPEC section 5 and the multispace seed. Spaces of time (recent, periodic, sequence) weigh nothing: they are no topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tacit.recall.spaces import SPACES


def weighted_agreement(scores: Mapping[str, float] | Iterable[tuple[str, float]]) -> float:
    """Sum of topic weights of the spaces whose score reaches that space's `high`.

    Args:
        scores: score by space, as in `Candidate.scores`; an unknown space counts nothing.
    """
    return sum(
        SPACES[name].topic_weight
        for name, value in dict(scores).items()
        if name in SPACES and value >= SPACES[name].high
    )
