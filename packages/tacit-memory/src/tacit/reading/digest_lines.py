"""Lines of a session's digest: their codes, and which of them a later report finishes. Pure; for both pipelines.

Source: the `scoped` seed's session codes. What a later line reports as done is open no more: an item is finished by a report
that holds at least 60 % of its words' stems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacit.text.stemming import statement_stem
from tacit.text.stop_words import DIGEST_STOP_WORDS
from tacit.text.tokens import WORD

FINISHED = 0.6
_LINE = re.compile(r"(?:^|(?<=\s))(impl|dec|block|next|done|fix):\s+")


def lines_of(content: str) -> tuple[tuple[str, str], ...]:
    """Return (code, text) of each line of a digest, in order."""
    pieces = _LINE.split(content)
    pairs = zip(pieces[1::2], pieces[2::2], strict=True)
    return tuple((code, " ".join(text.split())) for code, text in pairs if text.strip())


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of three letters or more, without stop words."""
    words = (word for word in WORD.findall(text.casefold()) if len(word) > 2)
    return frozenset(statement_stem(word) for word in words if word not in DIGEST_STOP_WORDS)


def finished(text: str, reports: Iterable[str]) -> bool:
    """Whether one of `reports` holds at least 60 % of the stems of `text`."""
    own = stems(text)
    return bool(own) and any(len(own & stems(report)) / len(own) >= FINISHED for report in reports)


def without_line(content: str, code: str, text: str) -> str:
    """Return `content` without the lines with `code` that hold `text`, in full or cut short."""
    whole = f"{code}: {' '.join(text.split())}"
    remaining = [
        line
        for line in content.split("\n")
        if line != whole
        and not (line.endswith("...") and whole.startswith(line[:-3]) and len(line) > len(code) + 5)
    ]
    return "\n".join(remaining)


def focus_of(content: str) -> str:
    """Return the subject of a session: its first commit, fix or changed files, else the first line of its digest."""
    lines = [
        (code, text.removeprefix("changed "))
        for code, text in lines_of(content)
        if not (code == "done" and text.endswith((" passed", " commit", " commits")))
    ]
    for wanted in ("done", "fix", "impl"):
        if found := [text for code, text in lines if code == wanted]:
            return found[0]
    return ([text for _, text in lines] or [" ".join(content.split())])[0]
