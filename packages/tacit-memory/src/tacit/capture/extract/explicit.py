"""What the user marks as lasting in a prompt, found in real time. In: prompt text. Out: statements.

Reads the sentences that the user speaks in their own voice with `capture.marks`. Questions, one-off orders, quotations and pasted
matter stay out. Never reads files, never calls a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tacit.capture.marks import (
    Marked,
    goes_on,
    is_one_off,
    is_question,
    is_requirement,
    lead_free,
    only_marks,
    read_marked,
)
from tacit.capture.meant import why_not_earnest, why_not_own
from tacit.capture.prose import Sentence, hide_quotes, pasted_document, show_quotes, spoken_sentences
from tacit.text.natural_language import natural_language_of

_OUTRIGHT = frozenset({"remember", "remember_last", "label", "marked beside it"})
_CONFIDENCE = {True: 0.95, False: 0.85}
_INVISIBLE = re.compile("[\ufeff\u200b\u2060]")
_BUILDS = re.compile(
    r"\W*(?:(?:please|now|can you|could you|let['\u2019]?s|i want you to) )*(?:add|build|implement|create|make|design|develop)\s",
    re.IGNORECASE,
)
"""Orders something to be built: what a later sentence says that things must be is how it is to be built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement found in speech.

    Attributes:
        content: the sentence, beginning with a capital and without a final full stop.
        span: the verbatim sentence.
        kind: its kind.
        confidence: 0-1, how sure we are that it is meant to last.
        cue: which mark it has, for the trace.
        everywhere: it was said to hold in all projects.
        doubtful: it may belong to a text that the user handed over, so that it waits for them.
    """

    content: str
    span: str
    kind: str
    confidence: float
    cue: str
    everywhere: bool = False
    doubtful: bool = False


@lru_cache(4)  # a prompt is read for what it states, and then for whether all that it asks to keep was kept
def find_explicit(text: str) -> tuple[Statement, ...]:
    """What a prompt marks as lasting, in order, without repeats."""
    text = _INVISIBLE.sub("", text)
    sentences = [sentence for sentence in spoken_sentences(text) if not sentence.doubted]
    pasted = pasted_document(text)
    language = natural_language_of(text)
    found: dict[str, Statement] = {}
    heads = _heads(sentences)
    for at in range(len(sentences)):
        statement = None if why_not_earnest(sentences, at) else _statement(sentences, at, heads[at], language)
        if statement is None:
            continue
        if statement.cue not in _OUTRIGHT and (pasted or why_not_own(sentences, at)):
            continue
        if (
            statement.cue in ("always", "never", "dont")
            and is_requirement(statement.span)
            and any(_BUILDS.match(sentence.text) for sentence in sentences[:at])
        ):
            continue
        for other in [key for key, earlier in found.items() if earlier.span in statement.span]:
            del found[other]  # it goes on with that one
        found.setdefault(statement.content, statement)
    return tuple(found.values())


def asks_to_keep(text: str) -> bool:
    """Tell whether a prompt marks something as lasting, even if only by "remember this", whatever became of it."""
    language = natural_language_of(text)
    return bool(find_explicit(text)) or any(
        sentence.own and not sentence.doubted and only_marks(sentence.text, language) is not None
        for sentence in spoken_sentences(_INVISIBLE.sub("", text))
    )


def _heads(sentences: Sequence[Sentence]) -> list[str]:
    """For each sentence the line with a colon at its end that it is an item below of, or "" for none."""
    heads: list[str] = []
    head = ""
    for sentence in sentences:
        ends = sentence.text.rstrip("* ").endswith((":", "\uff1a"))
        if not sentence.item or ends:
            heads.append("")
            head = sentence.text if ends else ""
        else:
            heads.append(head)
    return heads


def _statement(sentences: Sequence[Sentence], at: int, head: str, language: str) -> Statement | None:
    sentence = sentences[at]
    if only_marks(sentence.text, language):
        return None
    words, quotes = hide_quotes(sentence.text)
    span = sentence.text
    before = sentences[at - 1] if at else None
    marked = _marked_beside(sentences, at, head, language)
    read = read_marked(words, language=language)
    if read is None and marked:
        read = read_marked(words, marked=True, language=language)
    if read is None and head:
        lead = head.rstrip(" *:\uff1a")
        read = read_marked(f"{lead} {lead_free(words, language)}", language=language)
    if (
        read is None
        and before is not None
        and not before.item
        and goes_on(words)
        and not is_one_off(before.text)
    ):
        hidden, more = hide_quotes(before.text)
        if not is_question(hidden):
            span, quotes = f"{before.text} {span}", (*more, *quotes)
            read = read_marked(f"{hidden} {words}", marked=True, language=language)
    if read is None:
        return None
    return _made(read, span, quotes, doubtful=not sentence.own)


def _marked_beside(sentences: Sequence[Sentence], at: int, head: str, language: str) -> bool:
    """Whether a sentence beside it says that this one is to be remembered."""
    if head and only_marks(head, language):
        return True
    before = only_marks(sentences[at - 1].text, language) if at else None
    after = only_marks(sentences[at + 1].text, language) if at + 1 < len(sentences) else None
    last = at + 2 == len(sentences) and not sentences[-1].text.endswith((":", "\uff1a"))
    return (before is not None and (not before.before or at == 1)) or (
        after is not None and (after.before or last)
    )


def _made(read: Marked, span: str, quotes: tuple[str, ...], *, doubtful: bool) -> Statement:
    return Statement(
        content=show_quotes(read.text, quotes),
        span=span,
        kind=read.kind,
        confidence=_CONFIDENCE[read.mark in _OUTRIGHT],
        cue=read.mark,
        everywhere=read.everywhere,
        doubtful=doubtful,
    )


def normalize_statement(content: str) -> str:
    """Make the text one line with a capital first letter (unless it opens with code or a name of a file) and no final full stop."""
    text = " ".join(content.split()).strip(" ,;:-\u2013\u2014")
    text = re.sub(r"(?<![.])[.!]+$", "", text).strip()
    first = text.split(" ", 1)[0]
    return text if not text[:1].isalpha() or re.search(r"[/_]|\.\w", first) else text[:1].upper() + text[1:]
