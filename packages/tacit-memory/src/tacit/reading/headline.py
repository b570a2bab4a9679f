"""A headline: a statement in at most 60 characters. In: a statement. Out: when it matters, then its beginning; the whole of a short one.

A reader who sees headlines alone decides which statements to fetch. So the condition comes first, filler and reasons go, names that stand
behind the cut are kept, and the cut leaves no word open that says nothing without the next one. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tacit.text.lazy_regex import wording

_PARTS = wording("headlines")

MAX_CHARS = 60
"""Most characters of a headline."""
CUT = "\u2026"
"""Mark where words were left out."""
_LEAST_CLAUSE, _MOST_CONDITION, _CUT_CONDITION, _LEAST_REST = 12, 34, 28, 14
_MOST_NAMES = 3
_LEAST_USED = 0.4
"""Share of the space that a text must fill without its reason; else the reason stays."""
_LEAST_BEFORE_NAMES, _LEAST_WORDS_LEFT = 24, 8
_NAME = re.compile(
    r"(?<![\w/.])(?=[\w./@-]{0,255}[A-Za-z])(?:[\w@-]{1,255}[/._])+[\w-]{2,}(?![\w/])|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b|\B--[a-z][\w-]+"
)
_COMMAND = re.compile(r"`[a-z][\w./-]* [^`\n]+`")


@lru_cache(maxsize=16_384)
def headline_of(statement: str) -> str:
    """Return the headline of a memory's statement: the same words where they fit into `MAX_CHARS`, else a shorter text with `CUT` in it."""
    text = " ".join(statement.split())
    if len(text) <= MAX_CHARS:
        return text
    adds = _added(text)
    condition, rest = _split_condition(text.replace("`", ""))
    room = MAX_CHARS - len(adds) - (len(condition) + 2 if condition else 0)
    shortened = _fitted(rest, room)
    return f"{condition}: {shortened}{adds}" if condition else f"{shortened}{adds}"


def _added(text: str) -> str:
    """Return the note at the end of a headline on what the full statement holds besides: ` +command`, ` +fix`, or "" = only more words."""
    if _COMMAND.search(text, MAX_CHARS // 2):
        return " +command"
    return " +fix" if _PARTS.fix.search(text, MAX_CHARS // 2) else ""


def is_whole(headline: str, statement: str) -> bool:
    """Whether a headline says all that the statement says."""
    return headline == " ".join(statement.split())


def _split_condition(text: str) -> tuple[str, str]:
    """Split off the condition at the beginning of a statement, or behind its order: (condition, shortened and with a small first letter; the rest without filler). ("", text without filler) = there is none."""
    plain = _PARTS.filler.sub("", text)
    for match in _PARTS.condition.finditer(plain):
        words = match["condition"].strip()
        rest = f"{plain[: match.start()]}{plain[match.end() :]}".strip(" ,:;.")
        fronts = match.start() == 0 or (
            _PARTS.asks.match(plain) and not plain[: match.start()].endswith("even")
        )
        if fronts and len(words) >= _LEAST_CLAUSE and len(rest) >= _LEAST_REST:
            short = _cut(words, _CUT_CONDITION) if len(words) > _MOST_CONDITION else words
            return short[:1].lower() + short[1:], rest
    return "", plain


def _fitted(text: str, room: int) -> str:
    """Return the beginning of a text, followed by names that the cut would lose, in at most `room` characters."""
    short = _PARTS.reason.sub("", text) if len(text) > room else text
    if len(short) < _LEAST_USED * room:
        short = text
    short = short.rstrip(" .")
    if len(short) <= room:
        return short if short == text.rstrip(" .") or len(short) == room else f"{short}{CUT}"
    names = [name for name in dict.fromkeys(_NAME.findall(text)) if len(name) <= room // 2]
    kept = ""
    for name in names[:_MOST_NAMES]:
        left = room - len(kept) - len(name) - 1
        if left >= _LEAST_BEFORE_NAMES and name not in _cut(short, left):
            kept = f"{kept} {name}"
    return f"{_cut(short, room - len(kept))}{kept}"


def _cut(text: str, room: int) -> str:
    """Return the first words of a text in `room` characters, without a dangling last word."""
    if len(text) <= room:
        return text
    whole = text[: max(0, room - 1)]
    bare = _PARTS.open_end.sub("", whole.rpartition(" ")[0])
    return f"{bare if len(bare) >= _LEAST_WORDS_LEFT else whole}{CUT}"
