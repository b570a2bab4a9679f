"""How likely a passage is worth keeping, and as what. In: a passage as read. Out: a chance, a kind. Fitted; never changes.

The formula (own; `tacit_evals.fit.passages`): one logistic regression per speaker over the passage's cues and its words
(binary, over the root of their number), then a line that makes its logit a chance; the kind is the likeliest of one logistic
regression each over the same and the speaker.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from tacit.capture.extract.passages.cues import Reading, Row
from tacit.capture.extract.passages.cut import Passage
from tacit.capture.turn import Role
from tacit.reading.classifier.features import WordRows
from tacit.reading.classifier.weights import WeightFile, unpack

SHIPPED_FILE = Path(__file__).parent / "passages.weights"


class PassageModel:
    """Fitted weights, ready to use. Safe to share between threads."""

    __slots__ = ("_words", "file", "kinds")

    def __init__(self, file: WeightFile) -> None:
        self.file = file
        self.kinds = file.names["kinds"]
        self._words = WordRows(file.names["words"])

    @property
    def sessions(self) -> frozenset[str]:
        """Digests of the sessions whose labels it was fitted on."""
        return frozenset(self.file.names.get("sessions", ()))

    def chance(self, passage: Passage, reading: Reading) -> float:
        """Chance that `passage` teaches something that lasts, 0 to 1."""
        return self.chances((passage,), reading)[0]

    def chances(self, passages: Sequence[Passage], reading: Reading) -> list[float]:
        """The same for several passages of one message."""
        if not passages:
            return []
        role = reading.message.turn.role
        matrices = self.file.matrices
        slope, bias = matrices[f"{role}.line"][0]
        weights = matrices[f"{role}.word"][:, 0]
        known = [frozenset(self._words.of_stems(one)) for one in reading.stems]
        cues = reading.table(passages)
        logits = (cues @ matrices[f"{role}.cue"])[:, 0] + matrices[f"{role}.bias"][0, 0]
        for at, one in enumerate(passages):
            rows = sorted({row for own in known[one.first : one.last] for row in own})
            if rows:
                logits[at] += weights[rows].sum() * np.float32(len(rows) ** -0.5)
        return (1.0 / (1.0 + np.exp(-(slope * logits + bias)))).tolist()

    def kind(self, passage: Passage, reading: Reading) -> str:
        """The likeliest kind; ties by their order in the file."""
        role: Role = passage.message.turn.role
        logits = self._logits("kind", passage, reading) + self.file.matrices["kind.role"][int(role == "user")]
        return self.kinds[int(logits.argmax())]

    def _logits(self, name: str, passage: Passage, reading: Reading) -> Row:
        matrices = self.file.matrices
        logits = matrices[f"{name}.bias"][0] + reading.cues(passage) @ matrices[f"{name}.cue"]
        rows = sorted(
            {row for one in reading.stems[passage.first : passage.last] for row in self._words.of_stems(one)}
        )
        if rows:
            logits = logits + matrices[f"{name}.word"][rows].sum(axis=0) * np.float32(len(rows) ** -0.5)
        return logits


@lru_cache(maxsize=1)
def shipped_passages() -> PassageModel:
    """The weights that ship.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return PassageModel(unpack(SHIPPED_FILE.read_bytes()))
