"""Lines of a session's digest: their codes, and which of them a later report finishes. Pure; for both pipelines.

Source: the `scoped` seed's session codes. What a later line reports as done is open no more: an item is finished by a report
that holds at least 60 % of its words' stems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tacit.model.ids import canonical_text
from tacit.reading.marks import opens_with_verb
from tacit.text.stemming import statement_stem
from tacit.text.stop_words import DIGEST_STOP_WORDS
from tacit.text.tokens import WORD

FINISHED = 0.6
LEAST_PART_STEMS = 2
_JOINT = re.compile(r"(?:[,;]\s+(?:and\s+)?(?:then\s+)?|(?<!\s)\s+(?:and|then)\s+(?:then\s+)?)(?=\S)")
_COMMIT = re.compile(r" \([0-9a-f]{7,12}\)$")
_FAILS = re.compile(r"(`.+`) still fails")
_LINE = re.compile(r"(?:^|(?<=\s))(impl|dec|block|next|done|fix):\s+")


def lines_of(content: str) -> tuple[tuple[str, str], ...]:
    """Return (code, text) of each line of a digest, in order; the codes are impl, dec, block, next, done and fix."""
    pieces = _LINE.split(content)
    pairs = zip(pieces[1::2], pieces[2::2], strict=True)
    return tuple((code, " ".join(text.split())) for code, text in pairs if text.strip())


def stems(text: str) -> frozenset[str]:
    """Return the stems of the words of three letters or more, without stop words."""
    words = (word for word in WORD.findall(text.casefold()) if len(word) > 2)
    return frozenset(statement_stem(word) for word in words if word not in DIGEST_STOP_WORDS)


def finished(text: str, reports: Iterable[str]) -> bool:
    """Whether one of `reports` finishes `text`, an open line of a digest: it holds at least 60 % of its stems, or says that the failing command passed."""
    failing = _FAILS.fullmatch(text)
    if failing:
        return f"{failing[1]} passed" in reports
    own = stems(text)
    return bool(own) and any(len(own & stems(report)) / len(own) >= FINISHED for report in reports)


def parts_of(text: str) -> tuple[str, ...]:
    """Return the tasks that an open item joins ("add the export and write its docs"), each with two stems or more; one = it is not compound."""
    parts: list[str] = []
    start = 0
    for joint in _JOINT.finditer(text):
        head, tail = text[start : joint.start()], text[joint.end() :]
        if opens_with_verb(tail) and min(len(stems(head)), len(stems(tail))) >= LEAST_PART_STEMS:
            parts.append(head.strip())
            start = joint.end()
    return (*parts, text[start:].strip())


def still_open(items: Iterable[str], reports: Sequence[str]) -> tuple[str, ...]:
    """Return the open items without what `reports` finish: whole items, and the finished tasks of a compound one."""
    left: list[str] = []
    for item in items:
        parts = parts_of(item)
        waiting = [part for part in parts if not finished(part, reports)]
        if waiting:
            left.append(item if len(waiting) == len(parts) else " and ".join(waiting))
    return tuple(left)


def told_by(text: str, statements: Iterable[str]) -> bool:
    """Whether one of `statements` says the same as `text`, a line of a digest that may be cut short."""
    own = canonical_text(text.removesuffix("..."))
    return any(
        canonical_text(statement) == own
        or (text.endswith("...") and canonical_text(statement).startswith(own))
        for statement in statements
    )


def still_fails(text: str) -> bool:
    """Whether a `block` line says that a command failed last."""
    return _FAILS.fullmatch(text) is not None


def counts_only(text: str) -> bool:
    """Whether a `done` line only says that a check passed or how many commits there were, and nothing of what was done."""
    return text.endswith((" passed", " commit", " commits"))


def without_decision(content: str, text: str) -> str:
    """Return a digest without the `dec` lines that hold `text`, in full or cut short."""
    whole = f"dec: {' '.join(text.split())}"
    remaining = [
        line
        for line in content.split("\n")
        if line != whole and not (line.endswith("...") and whole.startswith(line[:-3]) and len(line) > 8)
    ]
    return "\n".join(remaining)


def focus_of(content: str) -> str:
    """Return the subject of a session: its first commit, fix or changed files, else the first line of its digest."""
    lines = [
        (code, text.removeprefix("changed "))
        for code, text in lines_of(content)
        if not (code == "done" and counts_only(text))
    ]
    for wanted in ("done", "fix", "impl"):
        if found := [text for code, text in lines if code == wanted]:
            return _COMMIT.sub("", found[0])
    return ([text for _, text in lines] or [" ".join(content.split())])[0]
