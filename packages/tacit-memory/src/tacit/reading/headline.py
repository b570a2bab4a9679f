"""A headline: a statement in at most 60 characters. In: a statement. Out: when it matters, then its beginning; the whole of a short one.

A reader who sees headlines alone decides which statements to fetch. So the condition comes first, filler and reasons go, names that stand
behind the cut are kept, and the cut leaves no word open that says nothing without the next one. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tacit.text.lazy_regex import lazy_regex

MAX_CHARS = 60
"""Most characters of a headline."""
CUT = "\u2026"
"""Stands where words are left out."""
_LEAST_CLAUSE, _MOST_CONDITION, _CUT_CONDITION, _LEAST_REST = 12, 34, 28, 14
_MOST_NAMES = 3
_LEAST_USED = 0.4
"""Share of the room that a text without its reason must fill; else the reason stays."""
_LEAST_BEFORE_NAMES, _LEAST_WORDS_LEFT = 24, 8
_FILLER = lazy_regex(
    r"^(?:(?:please|note that|remember (?:that|to)|we (?:have )?(?:decided|agreed) (?:that|to|on)|make sure (?:that |to )?|be sure to|in this (?:project|repo(?:sitory)?),?|for this project,?"
    r"|the user (?:wants|prefers|asked)(?: (?:that|to))?|bitte|wir haben (?:entschieden|beschlossen),? dass|dans ce (?:projet|d\u00e9p\u00f4t),?)\s+)+",
    re.IGNORECASE,
)
_CONDITION = lazy_regex(
    r"(?:^|\s)(?P<condition>(?:(?:when(?:ever)?|if|before|after|while|until|unless)\s|(?:(?<=^)|(?<=, ))(?:once|wenn|falls|sobald|bevor|nachdem|w\u00e4hrend|quand|lorsque?|avant|apr\u00e8s|si)\s)(?:[^,;:.()]|\.(?=\w))+)",
    re.IGNORECASE,
)
_ASKS = lazy_regex(
    r"^(?:add|always|answer|ask|assume|avoid|build|call|check|commit|compare|copy|create|delete|deploy|describe|do|don['\u2019]?t|document|ensure|fetch|fix|follow|format|generate|give|group"
    r"|handle|ignore|include|inform|keep|leave|let|list|log|make|mark|mention|migrate|mock|move|name|never|only|open|output|pass|pin|prefer|propose|provide|pull|push|put|raise|read|rebase|refer"
    r"|reject|release|remove|rename|replace|reply|report|reproduce|rerun|restart|return|reuse|review|run|say|send|set|show|skip|sort|split|start|state|stop|store|suggest|switch|tag|take|tell|test"
    r"|treat|try|update|use|validate|verify|wait|wrap|write|bau\w*|benutz\w*|frag\w*|halte?|immer|lass\w*|lauf\w*|leg\w*|l\u00f6sch\w*|nie\w*|nimm|nutze?|pr\u00fcfe?|schreib\w*|setze?|starte?|teste?"
    r"|verwende?|brich|ajoute\w*|appelle\w*|demande\w*|\u00e9cri[st]\w*|faites?|fais|garde\w*|lance\w*|mets|mettez|n['\u2019]|ne|pose\w*|pr\u00e9f\u00e8re\w*|toujours|utilise\w*|v\u00e9rifie\w*)\b",
    re.IGNORECASE,
)
"""Begins an order: what it asks for may stand behind the condition."""
_REASON = lazy_regex(
    r"(?:[,;]?\s+(?:because|since|so that|as otherwise|otherwise|weil|da(?:mit)?|sonst|parce que|car|afin)\s|\s+[\u2013\u2014-]\s|\s*;\s|\s+\().*$",
    re.IGNORECASE | re.DOTALL,
)
_OPEN_END = lazy_regex(
    r"(?:[\s,:;(\u2013\u2014-]+(?:a|an|the|to|of|in|on|at|by|for|from|with|without|and|or|not|no|never|only|is|are|be|as|its|their|that|which|into|instead|rather|than|use|via|when|if"
    r"|der|die|das|den|dem|ein\w*|zu|von|mit|ohne|und|oder|nicht|kein\w*|nur|ist|sind|le|la|les|un|une|de|du|des|et|ou|pas|ne|est|sans|avec|pour))*[\s,:;(\u2013\u2014`-]*$",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<![\w/.])(?=[\w./@-]*[A-Za-z])(?:[\w@-]+[/._])+[\w-]{2,}(?![\w/])|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b|\B--[a-z][\w-]+"
)
_COMMAND = re.compile(r"`[a-z][\w./-]* [^`\n]+`")
_FIX = lazy_regex(r"\b(?:fix(?:ed)?(?: by|:)|fix is|behoben durch|corrig\u00e9 (?:par|en))", re.IGNORECASE)
_BLANKS = re.compile(r"\s+")


@lru_cache(maxsize=16_384)
def headline_of(statement: str, *, most_chars: int = MAX_CHARS) -> str:
    """Return the headline of a statement: the same words where they fit, else a shorter text with `CUT` in it.

    Args:
        statement: what a memory says.
        most_chars: most characters.
    """
    text = _BLANKS.sub(" ", statement).strip()
    if len(text) <= most_chars:
        return text
    adds = _added(text)
    condition, rest = _parted(text.replace("`", ""))
    room = most_chars - len(adds) - (len(condition) + 2 if condition else 0)
    shortened = _fitted(rest, room)
    return f"{condition}: {shortened}{adds}" if condition else f"{shortened}{adds}"


def _added(text: str) -> str:
    """What fetching a long statement adds, in a word: a command, or how an error is fixed; "" = more of the same."""
    if _COMMAND.search(text, MAX_CHARS // 2):
        return " +command"
    return " +fix" if _FIX.search(text, MAX_CHARS // 2) else ""


def is_whole(headline: str, statement: str) -> bool:
    """Tell whether a headline says all that a statement says."""
    return headline == _BLANKS.sub(" ", statement).strip()


def _parted(text: str) -> tuple[str, str]:
    """The condition under which a statement holds, in lower case and shortened, and the rest; "" where it begins with none and asks for nothing."""
    plain = _FILLER.sub("", text)
    for match in _CONDITION.finditer(plain):
        words = match["condition"].strip()
        rest = f"{plain[: match.start()]}{plain[match.end() :]}".strip(" ,:;.")
        fronts = match.start() == 0 or (_ASKS.match(plain) and not plain[: match.start()].endswith("even"))
        if fronts and len(words) >= _LEAST_CLAUSE and len(rest) >= _LEAST_REST:
            short = _cut(words, _CUT_CONDITION) if len(words) > _MOST_CONDITION else words
            return short[:1].lower() + short[1:], rest
    return "", plain


def _fitted(text: str, room: int) -> str:
    """The beginning of a text in `room` characters, with the names that stand behind it."""
    short = _REASON.sub("", text) if len(text) > room else text
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
    """The first words of a text in `room` characters, without words at its end that say nothing alone."""
    if len(text) <= room:
        return text
    whole = text[: max(0, room - 1)]
    bare = _OPEN_END.sub("", whole.rpartition(" ")[0])
    return f"{bare if len(bare) >= _LEAST_WORDS_LEFT else whole}{CUT}"
