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
from tacit.capture.wording import imperative, leading_reference, loose_reference, negated, rule_like
from tacit.reading.classifier.features import prompt_words, stems_of
from tacit.reading.prompts.proposals import read_reply
from tacit.reading.terms import find_paths, identifiers

Row = NDArray[np.float32]

_SAID = (
    # Said about what the other side did.
    r"\b(?:you|u) (?:did ?n[o']?t|do ?n[o']?t|did|just|are|were|should|shouldn'?t|need|forgot|missed|seem|modified|updated|put|added|changed|never|still|haven'?t)\b",
    r"\bwhy (?:are|did|didn'?t|do|don'?t|is|isn'?t|were|would)\b",
    r"^\W*(?:no+|nope|nah|uhh*|hmm+|dude|wait|actually|hm)\b",
    r"\b(?:wrong|incorrect|(?:not|isn'?t) (?:right|correct|true)|mistake|vague|hallucinat\w+|failed|(?:did|does)n'?t work|not working)\b",
    r"\b(?:are you sure|did you|have you)\b",
    r"\b(?:again|already|still|earlier|previous(?:ly)?|before)\b",
    r"\b(?:i apologi[sz]e|sorry|my mistake|you'?re (?:absolutely )?right|good (?:catch|eye|point|call)|should have)\b",
    # Asked for, forbidden, preferred.
    r"\b(?:do ?n'?t|do not|should ?n'?t|should not|never|not|is ?n'?t|are ?n'?t|was ?n'?t|does ?n'?t|did ?n'?t|can'?t|won'?t)\b",
    r"\b(?:should|must|needs? to|have to|has to|always|never|make sure|ensure|required?)\b",
    r"\b(?:want|prefer|would like|rather|i'?d like|expect|like)\b",
    r"\blet'?s\b",
    r"\b(?:instead|rather than|not just|only|except|no longer)\b",
    r"\b(?:convention|pattern|standard|rules?|style|consisten\w+|policy|workflow|by design|deliberate\w*|intentional\w*|house rules?|per (?:your|the))\b",
    r"\b(?:decided|going with|go with|agreed|keep|leave|drop|choose|chose|stick with)\b",
    r"\b(?:option|finding|approach|step|phase|chunk|number) ?[\da-d]\b",
    # Why, what went wrong, what repaired it.
    r"\b(?:because|since|so that|otherwise|due to|that'?s why|which is why|hence|therefore)\b",
    r"\b(?:caused by|root cause|the (?:issue|problem|bug|culprit|reason) (?:is|was)|turns out)\b",
    r"\b(?:errors?|fail(?:s|ed|ures?|ing)?|bugs?|broken|crash\w*|missing|not found|lost|stale|race|invalid)\b",
    r"\b(?:fix(?:ed|es)?|changed|replaced|added|removed|switched|updated|refactored)\b",
    r"\b(?:is|are|lives?|uses?|stores?|contains?|reads?|writes?|runs?|has|needs?|supports?|requires?)\b",
    r"\b(?:todo|remaining|left|later|follow-?up|deferred|not yet|open|next steps?)\b",
    r"(?:\u2705|\b(?:tests? pass(?:es|ed)?|all pass|works|verified|confirmed)\b)",
    # Talk that passes.
    r"^\W*(?:let me|now let|i'?ll|i will|i need|i'?m going|now i|next|first|perfect|great|good|excellent|done|all |looking|i see|i'?ve)\b",
    r"^\W*(?:what|how|where|which|who|when|does|do|is|are|can|could|tell me|explain|look|take a look|check|show|read|run|try|go|continue|proceed|commit|push|create|make|write|add|update|fix|implement)\b",
    r"\b(?:what do (?:you|we) think|thoughts|how about|this one)\b",
    r"^\W*(?:ok(?:ay)?|yes|yup|yep|yeah|sure|great|good|perfect|cool|nice|thanks|mmk|k)\b",
    r"\b(?:now|then|right away)\b",
    r"\b(?:review|comments?|consider|feedback)\b",
    # Who and what.
    r"\bwe(?:'re|'ve|'ll)?\b",
    r"\bour\b",
    r"\bi(?:'m|'ve|'ll|'d)?\b",
    r"\byour?\b",
    r"\btests?\b",
    r"\b(?:commit\w*|pr|branch\w*|merge\w*|push\w*)\b",
    r"\b(?:files?|director(?:y|ies)|folders?|repos?)\b",
    r"\?",
    r"\?\W*$",
    r":\s*$",
    r"!",
    r"\.\.\.|\u2026",
    r"[\u2014\u2013]| - ",
    r"\(",
    r"\"|\u201c",
    r"\d",
    r"`",
    r"\[image|https?://",
    r"(?:\berror:|exit code|command not found|\[\d\d/|\d\d:\d\d)",
)
_CUES = tuple(re.compile(pattern) for pattern in _SAID)
"""For text in lower case: half the time of patterns that ignore case."""
_SHOUTED = re.compile(r"\b[A-Z]{3,}\b")
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
_PER_SENTENCE = len(_CUES) + 8
CUES = _PER_SENTENCE + 24
"""How many numbers `Reading.cues` gives."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A message's sentences as the weights see them, read once."""

    message: Message
    _rows: NDArray[np.float32]
    _words: tuple[frozenset[str], ...]
    _stems: tuple[frozenset[str], ...]
    _counts: Mapping[str, int]
    _sizes: tuple[int, ...]
    _around: tuple[float, ...]
    _before: frozenset[str]
    _after: frozenset[str]

    def words(self, passage: Passage) -> frozenset[str]:
        """Words `w:`, pairs `b:` and first words `f0:`, `f1:`."""
        return _union(self._words[passage.first : passage.last])

    def sentence_words(self) -> tuple[frozenset[str], ...]:
        """The words of every sentence; a passage has those of its sentences."""
        return self._words

    def _elsewhere(self, stems: frozenset[str], first: int, last: int) -> float:
        """Share of `stems` that other sentences of the message have too."""
        own = self._stems[first:last]
        found = sum(self._counts[stem] > sum(stem in one for one in own) for stem in stems)
        return found / len(stems) if stems else 0.0

    def cues(self, passage: Passage) -> Row:
        """`CUES` numbers, most of them 0 or 1."""
        first, last = passage.first, passage.last
        own = self._rows[first:last].max(axis=0)
        stems = self._stems[first] if last - first == 1 else _union(self._stems[first:last])
        count = len(self._sizes)
        words = sum(self._sizes[first:last])
        place = (
            1.0, passage.whole, words < 12, words <= 25, words > 35, words / MAX_WORDS, last - first == 1, first == 0, last == count,
            first / count, min(count, 60) / 30, count <= 3, count - last < 4, _share(stems, self._before), _share(stems, self._after),
            self._elsewhere(stems, first, last),
        )  # fmt: skip
        return np.concatenate([own, np.array([*place, *self._around], np.float32)])


def read_message(message: Message) -> Reading:
    """Look at a message once for all its passages."""
    turn = message.turn
    reply = read_reply(message.after)
    stems = tuple(frozenset(stems_of(one)) for one in message.sentences)
    around = (
        bool(_RIGHT.search(message.after)), bool(_CAUSE.search(message.after)), "?" in message.before[-150:], not message.before,
        not message.after, reply.accepts, reply.refuses or bool(_OBJECTS.match(message.after)), len(turn.text.split()) > 120,
    )  # fmt: skip
    return Reading(
        message,
        np.array([_sentence(one) for one in message.sentences], np.float32).reshape(-1, _PER_SENTENCE),
        tuple(frozenset(prompt_words(one)) for one in message.sentences),
        stems,
        Counter(stem for one in stems for stem in one),
        tuple(len(one.split()) for one in message.sentences),
        tuple(float(one) for one in around),
        frozenset(stems_of(message.before)),
        frozenset(stems_of(message.after)),
    )


def _sentence(text: str) -> tuple[float, ...]:
    lower = text.lower()
    found = [float(cue.search(lower) is not None) for cue in _CUES]
    more = (
        _SHOUTED.search(text) is not None, bool(find_paths(text)), bool(identifiers(text)), imperative(text), negated(text),
        loose_reference(text), leading_reference(text), rule_like(text),
    )  # fmt: skip
    return (*found, *(float(one) for one in more))


def _union(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset(one for own in sets for one in own)


def _share(stems: frozenset[str], others: frozenset[str]) -> float:
    return len(stems & others) / len(stems) if stems else 0.0
