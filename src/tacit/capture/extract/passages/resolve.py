"""Making a passage say by itself what it is about. In: a passage. Out: its content. Pure; adds names, never words.

Where it points at something ("it", "that file"), the files and identifiers that were named last before it
are put behind it: of the message itself, else of the end of what the other side said before, else of the reply. A name is a
path or an identifier of code and nothing else, so that nobody's sentence can ride along.
"""

from __future__ import annotations

import re

from tacit.capture.extract.explicit import tidy
from tacit.capture.extract.passages.cut import MAX_WORDS, Passage
from tacit.capture.wording import loose_reference
from tacit.late_pattern import late_pattern
from tacit.reading.terms import find_paths, identifiers

MOST_NAMES = 2
_CHARS = 60
_NAME = late_pattern(r"[\w./@~+-]{3,60}(?:\(\))?")
_OPENING = late_pattern(
    r"^(?:(?:ok(?:ay)?|so|and|also|well|hey|k|hmm+|mmk|uh+|please|thanks|cool|alright|btw)\b[\s,.:;!\u2026-]+)+(?=\w)",
    re.IGNORECASE,
)


def content_of(passage: Passage) -> str:
    """The passage as a statement of its own."""
    text = passage.text
    bare = _OPENING.sub("", text)
    content = tidy(bare if len(bare.split()) >= 4 else text)
    if not loose_reference(content):
        return content
    lower = content.lower()
    room = MAX_WORDS - len(content.split())
    names = [name for name in _named_around(passage) if name.lower() not in lower][: min(MOST_NAMES, room)]
    return f"{content} ({', '.join(names)})" if names else content


def names_in(text: str) -> tuple[str, ...]:
    """Paths and identifiers of `text`, in order, without repeats."""
    found = (*find_paths(text), *identifiers(text))
    return tuple(dict.fromkeys(name for name in found if len(name) <= _CHARS and _NAME.fullmatch(name)))


def _named_around(passage: Passage) -> tuple[str, ...]:
    """Names said before the passage, the last one first; then those of the reply, the first one first."""
    message = passage.message
    own = " ".join(message.sentences[: passage.first])
    around = (own, message.before)
    before = (name for text in around for name in reversed(names_in(text)))
    return tuple(dict.fromkeys((*before, *names_in(message.after))))
