"""Features of a passage: its words, and cues of its wording. In: a message. Out: words, numbers. Pure.

Cues are found once a sentence, and only where they are asked for; a passage has what one of its sentences has. Used alike when
fitting and when reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.capture.extract.passages.segmentation import MAX_WORDS, Message, Passage
from tacit.capture.extract.passages.speech_cues import MARKS, marks_of
from tacit.reading.classifier.features import prompt_words, shortened, stems_of
from tacit.reading.prompts.proposals import read_reply
from tacit.text.lazy_regex import lazy_regex

Row = NDArray[np.float32]

_RIGHT = lazy_regex(
    r"\byou(?:'|\u2019)?re (?:absolutely |completely |quite )?(?:right|correct)|apolog|sorry|my mistake|good (?:catch|eye|point|call)"
    r"|i (?:misunderstood|missed|should have|was wrong)|fair (?:point|enough)|understood|exactly",
    re.IGNORECASE,
)
_CAUSE = lazy_regex(
    r"root cause|the (?:issue|problem|bug|culprit|reason) (?:is|was)|found (?:it|the)|that'?s why|caused by|because",
    re.IGNORECASE,
)
_OBJECTS = lazy_regex(r"^\W*(?:no+|nope|not|wrong|why|still|uh+|hmm+|wait|that'?s not)\b", re.IGNORECASE)
_BITS = np.arange(MARKS)
CUES = MARKS + 23
"""How many numbers `SentenceFeatures.cues` gives."""


class SentenceFeatures:
    """A message's sentences as the weights see them; each is read once, when it is first asked for."""

    __slots__ = ("_after", "_around", "_before", "_marks", "_rows", "_sets", "_sizes", "_stems", "message")

    def __init__(self, message: Message) -> None:
        self.message = message
        reply = read_reply(message.after)
        around = (
            bool(_RIGHT.search(message.after)),
            bool(_CAUSE.search(message.after)),
            "?" in message.before[-150:],
            not message.before,
            not message.after,
            reply.accepts,
            reply.refuses or bool(_OBJECTS.match(message.after)),
            len(message.turn.text.split()) > 120,
        )
        self._around = tuple(float(value) for value in around)
        self._sizes = tuple(len(sentence.split()) for sentence in message.sentences)
        self._before = _stem_set(message.before)
        self._after = _stem_set(message.after)
        self._stems: dict[int, list[str]] = {}
        self._sets: dict[int, frozenset[str]] = {}
        self._rows: dict[int, list[int]] = {}
        self._marks: dict[int, int] = {}

    def words(self, passage: Passage) -> frozenset[str]:
        """Words `w:`, pairs `b:` and first words `f0:`, `f1:`."""
        sentences = self.message.sentences[passage.first : passage.last]
        return frozenset(word for sentence in sentences for word in prompt_words(sentence))

    def stems(self, place: int) -> list[str]:
        """Stems of sentence `place`, in order."""
        if place not in self._stems:
            self._stems[place] = stems_of(shortened(self.message.sentences[place]))
        return self._stems[place]

    def rows(self, place: int, rows_of: Callable[[Sequence[str]], list[int]]) -> list[int]:
        """Return what `rows_of` makes of the stems of sentence `place`; the result is kept."""
        if place not in self._rows:
            self._rows[place] = rows_of(self.stems(place))
        return self._rows[place]

    def cues(self, passage: Passage) -> Row:
        """`CUES` numbers, most of them 0 or 1: what is said first, then where it stands."""
        return np.concatenate([self.marks((passage,)), self.places((passage,))], axis=1)[0]

    def marks(self, passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Cues of the wording: `MARKS` numbers, 0 or 1, per passage."""
        cue_bits = np.array([self._marks_of(passage) for passage in passages], np.int64)
        return (cue_bits[:, None] >> _BITS & 1).astype(np.float32)

    def places(self, passages: Sequence[Passage]) -> NDArray[np.float32]:
        """Return the numbers for its place and its surroundings."""
        return np.array([(*self._place(passage), *self._around) for passage in passages], np.float32)

    def _marks_of(self, passage: Passage) -> int:
        marks = 0
        for place in range(passage.first, passage.last):
            if place not in self._marks:
                self._marks[place] = marks_of(self.message.sentences[place])
            marks |= self._marks[place]
        return marks

    def _place(self, passage: Passage) -> tuple[float, ...]:
        first, last = passage.first, passage.last
        stems = self._set(first)
        if last - first > 1:
            stems = stems.union(*map(self._set, range(first + 1, last)))
        count = len(self._sizes)
        words = sum(self._sizes[first:last])
        return (
            1.0,
            passage.whole,
            words < 12,
            words <= 25,
            words > 35,
            words / MAX_WORDS,
            last - first == 1,
            first == 0,
            last == count,
            first / count,
            min(count, 60) / 30,
            count <= 3,
            count - last < 4,
            _share(stems, self._before),
            _share(stems, self._after),
        )

    def _set(self, place: int) -> frozenset[str]:
        if place not in self._sets:
            self._sets[place] = frozenset(self.stems(place))
        return self._sets[place]


@lru_cache(maxsize=16)  # what stands before one message stands behind another
def _stem_set(text: str) -> frozenset[str]:
    return frozenset(stems_of(text))


def _share(stems: AbstractSet[str], other_stems: AbstractSet[str]) -> float:
    return len(stems & other_stems) / len(stems) if stems else 0.0
