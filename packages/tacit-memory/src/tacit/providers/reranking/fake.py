"""A second-stage model for tests and trials: the share of the asked words that a text holds. In: two texts. Out: 0 to 1."""

from __future__ import annotations

from tacit.text.tokens import WORD


class FakeReranker:
    """Ready at once, unless it is told to be loading."""

    name = "fake-reranker@1"

    def __init__(self, *, ready: bool = True) -> None:
        self.ready = ready

    def score(self, text: str, other: str) -> float:
        """Words of `text` that stand in `other`, as a share of all of them; 0 without words."""
        words = set(WORD.findall(text.casefold()))
        return len(words & set(WORD.findall(other.casefold()))) / len(words) if words else 0.0
