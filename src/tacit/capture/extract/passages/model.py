"""The probability that a passage is worth keeping. In: a passage with its features. Out: a probability. Fitted, constant.

The formula (own; `tacit_evals.fit.passages`): one logistic regression per speaker over the passage's cues and its words
(binary, over the root of their number), then a line that makes its logit a chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.capture.extract.passages.features import MARKS, Row, SentenceFeatures
from tacit.capture.extract.passages.segmentation import Message, Passage
from tacit.capture.turn import Role
from tacit.fitted import Artifact, load_fitted
from tacit.fitted.matrices import MatrixValues, WeightMatrices
from tacit.reading.classifier.features import WordRows

MAX_CUE_LOGIT = 2.8
"""So much, as a logit, how something is said adds to its words and place; more than nearly every passage of an agent has."""
MOST_PROMISING, LEAST_PROMISE = 8, 0.0
"""So many sentences of an agent's message are read at all, and none whose words speak against it."""
MAX_CACHED_WORDS = 20_000


class PassageModel:
    """Fitted weights, ready to use. Safe to share between threads."""

    __slots__ = ("_seen", "_words", "weights")

    def __init__(self, weights: WeightMatrices) -> None:
        self.weights = weights
        self._words = WordRows(weights.names["words"])
        self._seen: dict[Role, dict[str, tuple[float, ...]]] = {"user": {}, "assistant": {}}

    @property
    def sessions(self) -> frozenset[str]:
        """Digests of the sessions whose labels it was fitted on."""
        return frozenset(self.weights.names.get("sessions", ()))

    def chance(self, passage: Passage, reading: SentenceFeatures) -> float:
        """Chance that `passage` teaches something that lasts, 0 to 1."""
        return self.chances((passage,), reading)[0]

    def chances(self, passages: Sequence[Passage], reading: SentenceFeatures) -> list[float]:
        """The same for several passages of one message."""
        if not passages:
            return []
        inputs = self._said(passages, reading)
        return self._as_chances(inputs + self._how(passages, reading), reading.message.turn.role)

    def likely(
        self, passages: Sequence[Passage], reading: SentenceFeatures, least: float
    ) -> list[tuple[float, Passage]]:
        """Chance and passage of those that reach `least`, in their order.

        Of those whose words and place alone leave it out of reach of how they are said (`MAX_CUE_LOGIT`), the rest is not looked at.
        """
        role = reading.message.turn.role
        if not passages:
            return []
        inputs = self._said(passages, reading)
        near = [at for at, low in enumerate(self._as_chances(inputs + MAX_CUE_LOGIT, role)) if low >= least]
        if not near:
            return []
        passages = [passages[at] for at in near]
        chances = self._as_chances(inputs[near] + self._how(passages, reading), role)
        return [
            (chance, passage) for chance, passage in zip(chances, passages, strict=True) if chance >= least
        ]

    def promising(self, message: Message) -> frozenset[int]:
        """Places of the sentences of a message whose single words promise most; a cheap look before the exact one."""
        role = message.turn.role
        promises = [self._promise(role, sentence) for sentence in message.sentences]
        best = sorted(range(len(promises)), key=lambda at: (-promises[at], at))[:MOST_PROMISING]
        return frozenset(at for at in best if promises[at] >= LEAST_PROMISE)

    def _rows(self, passage: Passage, reading: SentenceFeatures) -> list[int]:
        of_stems = self._words.of_stems
        own = [reading.rows(place, of_stems) for place in range(passage.first, passage.last)]
        return own[0] if len(own) == 1 else sorted(set[int]().union(*own))

    def _said(self, passages: Sequence[Passage], reading: SentenceFeatures) -> Row:
        """The part of the logits that words and places give."""
        role, matrices = reading.message.turn.role, self.weights.matrices
        weights = matrices[f"{role}.word"][:, 0]
        logits = (
            reading.places(passages) @ matrices[f"{role}.cue"][MARKS:, 0] + matrices[f"{role}.bias"][0, 0]
        )
        for at, passage in enumerate(passages):
            rows = self._rows(passage, reading)
            if rows:
                logits[at] += np.add.reduce(weights.take(rows)) * np.float32(len(rows) ** -0.5)
        return logits

    def _how(self, passages: Sequence[Passage], reading: SentenceFeatures) -> Row:
        """The part that the cues of how it is said give."""
        return reading.marks(passages) @ self.weights.matrices[f"{reading.message.turn.role}.cue"][:MARKS, 0]

    def _as_chances(self, logits: Row, role: Role) -> list[float]:
        slope, bias = self.weights.matrices[f"{role}.line"][0]
        return (1.0 / (1.0 + np.exp(-(slope * logits + bias)))).tolist()

    def _promise(self, role: Role, sentence: str) -> float:
        cached = self._seen[role]
        values: list[float] = []
        for word in sentence.split():
            value = cached.get(word)
            values += self._of_word(role, word) if value is None else value
        return sum(values) / len(values) ** 0.5 if values else 0.0

    def _of_word(self, role: Role, word: str) -> tuple[float, ...]:
        """Weights of the known words in what stands between two spaces; kept, at most `MAX_CACHED_WORDS`."""
        cached = self._seen[role]
        value = cached.get(word)
        if value is None:
            rows = self._words.single(word)
            value = tuple(self.weights.matrices[f"{role}.word"][rows, 0].tolist())
            if len(cached) < MAX_CACHED_WORDS:
                cached[word] = value
        return value


def _passages_from(artifact: Artifact[MatrixValues]) -> PassageModel:
    return PassageModel(WeightMatrices.of_artifact(artifact))


def shipped_passages() -> PassageModel:
    """The weights that ship.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return load_fitted("passages", MatrixValues, _passages_from)
