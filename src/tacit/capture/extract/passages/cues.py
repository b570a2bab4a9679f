"""What the weights look at in a passage: its words and cues of how it is said. In: a message. Out: words, numbers. Pure.

Cues are found once a sentence; a passage has what one of its sentences has. Used alike when fitting and when reading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.capture.extract.passages.cut import MAX_WORDS, Message, Passage
from tacit.capture.extract.passages.marks import MARKS, marks_of
from tacit.reading.classifier.features import HEAD_CHARS, prompt_words, shortened, stems_of
from tacit.reading.prompts.proposals import read_reply

Row = NDArray[np.float32]

_RIGHT = re.compile(
    r"\byou(?:'|\u2019)?re (?:absolutely |completely |quite )?(?:right|correct)|apolog|sorry|my mistake|good (?:catch|eye|point|call)"
    r"|i (?:misunderstood|missed|should have|was wrong)|fair (?:point|enough)|understood|exactly",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"root cause|the (?:issue|problem|bug|culprit|reason) (?:is|was)|found (?:it|the)|that'?s why|caused by|because",
    re.IGNORECASE,
)
_OBJECTS = re.compile(r"^\W*(?:no+|nope|not|wrong|why|still|uh+|hmm+|wait|that'?s not)\b", re.IGNORECASE)
_BITS = np.arange(MARKS)
CUES = MARKS + 24
"""How many numbers `Reading.cues` gives."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A message's sentences as the weights see them, read once."""

    message: Message
    _rows: NDArray[np.float32]
    stems: tuple[tuple[str, ...], ...]
    _stems: tuple[frozenset[str], ...]
    _again: frozenset[str]
    _counts: Mapping[str, int]
    _sizes: tuple[int, ...]
    _around: tuple[float, ...]
    _before: frozenset[str]
    _after: frozenset[str]

    def words(self, passage: Passage) -> frozenset[str]:
        """Words `w:`, pairs `b:` and first words `f0:`, `f1:`."""
        sentences = self.message.sentences[passage.first : passage.last]
        return frozenset(word for one in sentences for word in prompt_words(one))

    def _elsewhere(self, stems: frozenset[str], first: int, last: int) -> float:
        """Share of `stems` that other sentences of the message have too."""
        own = self._stems[first:last]
        again = stems & self._again
        if last - first == 1:
            found = len(again)
        else:
            found = sum(self._counts[stem] > sum(stem in one for one in own) for stem in again)
        return found / len(stems) if stems else 0.0

    def cues(self, passage: Passage) -> Row:
        """`CUES` numbers, most of them 0 or 1."""
        return self.table((passage,))[0]

    def table(self, passages: Sequence[Passage]) -> NDArray[np.float32]:
        """The same of several passages, one row each."""
        firsts = np.array([one.first for one in passages], np.intp)
        lasts = np.array([one.last for one in passages], np.intp)
        own = self._rows[firsts]
        for more in range(1, int((lasts - firsts).max(initial=1))):
            longer = lasts - firsts > more
            own[longer] = np.maximum(own[longer], self._rows[firsts[longer] + more])
        place = np.array([(*self._place(one), *self._around) for one in passages], np.float32)
        return np.concatenate([own, place], axis=1)

    def _place(self, passage: Passage) -> tuple[float, ...]:
        first, last = passage.first, passage.last
        stems = self._stems[first] if last - first == 1 else _union(self._stems[first:last])
        count = len(self._sizes)
        words = sum(self._sizes[first:last])
        return (
            1.0, passage.whole, words < 12, words <= 25, words > 35, words / MAX_WORDS, last - first == 1, first == 0, last == count,
            first / count, min(count, 60) / 30, count <= 3, count - last < 4, _share(stems, self._before), _share(stems, self._after),
            self._elsewhere(stems, first, last),
        )  # fmt: skip


def read_message(message: Message) -> Reading:
    """Look at a message once for all its passages."""
    turn = message.turn
    reply = read_reply(message.after)
    ordered = tuple(tuple(stems_of(shortened(one))) for one in message.sentences)
    stems = tuple(
        frozenset(own if len(one) <= HEAD_CHARS else stems_of(one))
        for own, one in zip(ordered, message.sentences, strict=True)
    )
    counts = Counter(stem for one in stems for stem in one)
    around = (
        bool(_RIGHT.search(message.after)), bool(_CAUSE.search(message.after)), "?" in message.before[-150:], not message.before,
        not message.after, reply.accepts, reply.refuses or bool(_OBJECTS.match(message.after)), len(turn.text.split()) > 120,
    )  # fmt: skip
    return Reading(
        message,
        _rows(message.sentences),
        ordered,
        stems,
        frozenset(stem for stem, count in counts.items() if count > 1),
        counts,
        tuple(len(one.split()) for one in message.sentences),
        tuple(float(one) for one in around),
        frozenset(stems_of(message.before)),
        frozenset(stems_of(message.after)),
    )


def _rows(sentences: Sequence[str]) -> NDArray[np.float32]:
    """One row of `MARKS` numbers, 0 or 1, a sentence."""
    marks = np.array([marks_of(one) for one in sentences], np.int64)
    return (marks[:, None] >> _BITS & 1).astype(np.float32)


def _union(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset(one for own in sets for one in own)


def _share(stems: frozenset[str], others: frozenset[str]) -> float:
    return len(stems & others) / len(stems) if stems else 0.0
