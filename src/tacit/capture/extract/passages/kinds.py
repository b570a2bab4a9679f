"""Signs of what kind of learning a passage is. In: a passage. Out: numbers, 0 or 1. Pure, English only.

What tells kinds apart stands in the passage (what was done wrong, what is kept, what holds for every time), in what the agent
said before it (it asked, it reported) and in what it answered (it owns up, it opens a task).
"""

from __future__ import annotations

import re

import numpy as np

from tacit.capture.extract.passages.cues import Row
from tacit.capture.extract.passages.cut import Passage
from tacit.capture.wording import kind_of

NEAR_CHARS = 300
"""So much of what was said before and after is looked at."""
_ORDERS = "keep|leave|use|update|remove|drop|rename|change|add|put|move|stick|go with|switch|try|read|run|make|write|fix|do"
_SAID = (
    r"\b(?:create|make|add|open|start|write)\b[^.?!]{0,30}\b(?:tasks?|issues?|tickets?|todo)\b",
    r"^\W*(?:(?:ok(?:ay)?|yes|no|so|and|please|now|then)\W+)?(?:" + _ORDERS + r")\b",
    r"\b(?:always|never|every|each|generally|usually|prefer\w*|pattern|convention|any time|whenever|in general)\b",
    r"\b(?:why (?:are|did|do|is|were)|are you sure|did(?:n'?t)? you|have you|you (?:just|didn'?t|did|are|were|seem|keep|should|don'?t|forgot|missed))\b",
    r"\b(?:let'?s|make sure|be sure|ensure)\b",
    r"\b(?:only|exists?|uses?|carry|stores?|returns?|contains?|means|because|since)\b",
    r"\bshould(?:n'?t| not)?\b",
    r"\b(?:i|we) (?:do ?n'?t )?(?:want|need|like|care|prefer)\b",
    r"\b(?:wrong|incorrect|not right|isn'?t right|not correct|nope|no)\b",
    r"\b(?:isn'?t|not|doesn'?t|didn'?t) work",
    r"\binstead\b",
    r"\b(?:rules?|\.mdc|instructions|claude\.md|readme|docs?)\b",
    r"\b(?:already|again|still|earlier|mentioned|told|said)\b",
    r"\?\s*$",
    r"^\W*(?:yes|ok|sure|mmk|yeah)",
    r"\b(?:task|issue|pr|ticket)\b",
    r"\b(?:tests?|testing|verify|check)\b",
    r"\b(?:leave|keep|stay|remain)\b",
)
_ANSWERED = (
    r"you'?re (?:absolutely )?(?:right|correct)|apolog|sorry|my mistake|thank you for (?:pointing|the)",
    r"^.{0,20}(?:i'?ll|let me|i will|now let) ",
    r"\b(?:created?|creating) (?:a |the )?(?:new )?task",
    r"\b(?:updated?|updating|add(?:ed|ing)?) (?:a |the )?rule",
    r"\b(?:root cause|because|the (?:issue|problem))\b",
    r"\b(?:good (?:point|catch|question|idea)|makes sense|great)\b",
    r"\b(?:done|fixed|removed|changed|updated)\b",
)
_BEFORE = (
    r"\?\W*$",
    r"\b(?:option|would you like|do you want|shall i|should i|prefer)\b",
    r"\b(?:done|completed?|fixed|all tests pass|ready|successfully)\b",
    r"\b(?:recommend\w*|suggest\w*)\b",
    r"\b\d\.\s",
)
_WORDED = ("todo", "anti_pattern", "file_context", "preference", "decision", "fact")
SIGNS = len(_SAID) + len(_ANSWERED) + len(_BEFORE) + len(_WORDED)
"""How many numbers `signs_of` gives."""
_LOOKED_FOR = tuple(
    tuple(re.compile(one, re.IGNORECASE) for one in part) for part in (_SAID, _ANSWERED, _BEFORE)
)


def signs_of(passage: Passage) -> Row:
    """Signs in the passage, in the reply, in what was said before; then what its wording suggests, one of six."""
    text, message = passage.text, passage.message
    texts = (text, message.after[:NEAR_CHARS], message.before[-NEAR_CHARS:])
    found = [bool(one.search(said)) for said, part in zip(texts, _LOOKED_FOR, strict=True) for one in part]
    worded = kind_of(text)
    return np.array([*found, *(worded == kind for kind in _WORDED)], np.float32)
