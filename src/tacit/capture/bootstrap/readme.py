"""A README. In: its Markdown. Out: what the project is, in its own first sentence, and the commands it shows.

The rest of a README is for people who do not know the project yet, or sells it; nothing of that is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.capture.bootstrap.markdown import Block, RuleLine, blocks_of, read_rules
from tacit.reading.sentences import split_sentences
from tacit.text.lazy_regex import lazy_regex

MAX_COMMANDS = 20
_MAX_WORDS = 40
_NO_LABEL = lazy_regex(r"^(?:or\b|then\b|optional|alternatively|and\b|also\b|example)", re.IGNORECASE)
_ELSEWHERE = lazy_regex(r"`[^`]*\b(?:curl|wget|sudo|git clone|brew install|apt(?:-get)? install)\b")
"""How the project gets onto a machine that has it already."""


def read_readme(text: str) -> tuple[RuleLine, ...]:
    """Return the description of the project, then its commands in order."""
    commands = [
        line
        for line in read_rules(text, rules_only=True).lines
        if line.command and not _NO_LABEL.match(line.content) and not _ELSEWHERE.search(line.content)
    ]
    about = _about(blocks_of(text))
    return (*((about,) if about else ()), *commands[:MAX_COMMANDS])


def _about(blocks: Sequence[Block]) -> RuleLine | None:
    """What the first paragraphs below the title say; behind the first section nothing says what the project is."""
    name = ""
    for block in blocks:
        if block.kind == "heading":
            if name:
                return None
            name = block.text if block.level == 1 else ""
        if not name or block.kind != "text" or block.quote or block.level:
            continue
        sentences = split_sentences(block.text)
        if sentences and 5 <= len(sentences[0].split()) <= _MAX_WORDS:
            first = sentences[0].rstrip(".")
            content = first if first.lower().startswith(name.lower()) else f"{name}: {first}"
            return RuleLine(content=content, line=block.line, span=block.span[:200], command=True)
    return None
