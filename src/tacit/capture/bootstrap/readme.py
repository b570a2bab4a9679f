"""A README. In: its Markdown. Out: what the project is, in its own first sentence, and the commands it shows.

The rest of a README is for people who do not know the project yet, or sells it; nothing of that is kept.
"""

from __future__ import annotations

import re

from tacit.capture.bootstrap.markdown import RuleLine, read_rules
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex

MAX_COMMANDS = 20
_MAX_WORDS = 40
_TITLE = lazy_regex(r"^#\s+(?P<title>.+?)\s*#*\s*$", re.MULTILINE)
_MARKS = lazy_regex(r"!\[[^\]]*\]\([^)]*\)|<[^>]+>|\*\*|__|\[\s*\]\([^)]*\)")
_LINK = lazy_regex(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])")
_NO_LABEL = lazy_regex(r"^(?:or\b|then\b|optional|alternatively|and\b|also\b|example)", re.IGNORECASE)
_ELSEWHERE = lazy_regex(r"`[^`]*\b(?:curl|wget|sudo|git clone|brew install|apt(?:-get)? install)\b")
"""How the project gets onto a machine that has it already."""


def read_readme(text: str) -> tuple[RuleLine, ...]:
    """Return the description of the project, then its commands in order."""
    body = text.replace("\r\n", "\n").lstrip("\ufeff")
    rules = read_rules(body, rules_only=True)
    commands = [
        line
        for line in rules.lines
        if line.command and not _NO_LABEL.match(line.content) and not _ELSEWHERE.search(line.content)
    ]
    about = _about(body)
    return (*((about,) if about else ()), *commands[:MAX_COMMANDS])


def _about(body: str) -> RuleLine | None:
    title = _TITLE.search(body)
    if title is None:
        return None
    name = _plain(title["title"])
    for paragraph in body[title.end() :].split("\n\n")[:6]:
        lines = [line for line in paragraph.split("\n") if line.strip()]
        if lines and lines[0].startswith("##"):
            break  # behind the first section nothing says what the project is
        if not lines or lines[0].lstrip().startswith(("#", "|", "```", "-", "*", ">", "1.")):
            continue
        sentences = split_sentences(_plain(" ".join(lines)))
        if not sentences or not 5 <= len(sentences[0].split()) <= _MAX_WORDS:
            continue
        first = sentences[0].rstrip(".")
        content = first if first.lower().startswith(name.lower()) else f"{name}: {first}"
        number = body[: body.find(lines[0])].count("\n") + 1
        return RuleLine(content=content, line=number, span=lines[0][:200], command=True)
    return None


def _plain(text: str) -> str:
    return " ".join(_LINK.sub(r"\1", _MARKS.sub("", text)).split())
