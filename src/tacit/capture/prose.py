"""The sentences a person spoke in a prompt. In: prompt text. Out: sentences with their place.

Leaves out what was pasted rather than said: code, quotes, logs, stack traces, tables, diffs, mark-up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tacit.reading.sentences import split_sentences

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_ELEMENT = re.compile(r"<([a-zA-Z][\w-]*)\b[^>\n]*>.*?</\1\s*>", re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*+\u2022]|\d{1,2}[.)])\s+")
_NOT_PROSE = re.compile(
    r"^\s*>"  # quoted
    r"|^(?: {4,}|\t)(?![-*+\d])"  # indented code
    r"|^\s*[|+][-|+=\s]"  # table frame
    r"|^\s*\|.*\|\s*$"  # table row
    r"|^\s*(?:\d{4}[-/]\d{2}[-/]\d{2}[T ]|\[?\d{2}:\d{2}:\d{2}|\w{3} \d{1,2} \d{2}:\d{2}:\d{2})"  # log line
    r"|^\s*\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b[\]:]?\s"
    r"|^\s*(?:at .+[(:]\d+|File \".+\", line \d+|Traceback|\w+(?:Error|Exception)\b:|error(?:\[\w+\])?:|warning:)"
    r"|^\s*(?:\$|>>>|%|PS [A-Z]:)\s"  # shell
    r"|^\s*(?:@@|\+\+\+|---|diff --git|index [0-9a-f]{6,})\s"  # diff
    r"|^\s*(?:#!|//|/\*|\*/|import |from \S+ import |def |class |function |const |let \w+ ?=|var |return\b.*;|<\w|}\s*$)"
    r"|[;{}]\s*$|^\s*https?://\S+\s*$"
)
_QUOTED = re.compile(r"\"[^\"\n]{12,}\"|\u201c[^\u201d\n]{12,}\u201d")
_CHATTY = re.compile(r"(?<=[A-Za-z]{3}[.!?])\s+(?=[a-z]+[ ,])")
"""Where a sentence ends for people who write without capitals."""
_MANY_HEADINGS = re.compile(r"^#{1,6}\s+\S", re.MULTILINE)
_HIDDEN = '""'
PASTED_WORDS = 400
"""A prompt of more words that has several headings is a pasted document, not speech."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence, `text` verbatim; `lead` = it is the first one of the prompt; `item` = it stands in a list."""

    text: str
    lead: bool = False
    item: bool = False


def pasted_document(text: str) -> bool:
    """Whether the prompt is mostly a document that was pasted (a plan, a specification, a page)."""
    return len(text.split()) > PASTED_WORDS and len(_MANY_HEADINGS.findall(text)) >= 3


def spoken_sentences(text: str) -> tuple[Sentence, ...]:
    """Sentences that the person wrote, in order."""
    bare = _ELEMENT.sub("\n", _FENCE.sub("\n", text))
    found: list[Sentence] = []
    for paragraph, item in _paragraphs(bare):
        hidden, quotes = hide_quotes(
            paragraph
        )  # a quotation may hold the end of a sentence, but is no end itself
        left = list(quotes)
        for part in (part.strip() for whole in split_sentences(hidden) for part in _CHATTY.split(whole)):
            mine = [left.pop(0) for _ in range(min(part.count(_HIDDEN), len(left)))]
            sentence = show_quotes(part, tuple(mine))
            if sentence:
                found.append(Sentence(text=sentence, lead=not found, item=item))
    return tuple(found)


def hide_quotes(sentence: str) -> tuple[str, tuple[str, ...]]:
    """The sentence with `""` for longer stretches in double quotes, which are someone else's words, and these stretches."""
    return _QUOTED.sub(_HIDDEN, sentence), tuple(match[0] for match in _QUOTED.finditer(sentence))


def show_quotes(text: str, quotes: tuple[str, ...]) -> str:
    """Put back what `hide_quotes` hid, in order."""
    for quote in quotes:
        text = text.replace(_HIDDEN, quote, 1)
    return text


def _paragraphs(text: str) -> list[tuple[str, bool]]:
    """Runs of prose lines joined with spaces; every list item stands alone."""
    found: list[tuple[str, bool]] = []
    lines: list[str] = []
    item = False

    def flush() -> None:
        if lines:
            found.append((" ".join(lines), item))
            lines.clear()

    for line in text.split("\n"):
        if not line.strip() or _NOT_PROSE.search(line) or line.lstrip().startswith("#"):
            flush()
            item = False
            continue
        bullet = _BULLET.match(line)
        if bullet:
            flush()
            item = True
        lines.append(line[bullet.end() if bullet else 0 :].strip())
    flush()
    return found
