"""Words that tell how statements differ: what changes, ends, permits, forbids; a statement taken apart. English only.

In: one statement. Out: its parts, and whether patterns find something in it. Pure; never compares two statements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tacit.capture.reconcile.packed import packed_cache
from tacit.late_pattern import late_pattern, worded_pattern

_CODE = late_pattern(r"`([^`\n]+)`")
_TOKEN = late_pattern(r"[A-Za-z0-9][\w'+#./:@*~$%<>=-]*[\w+#*%/]|[A-Za-z0-9]|--?[a-z][\w-]*")
_NUMBER = late_pattern(r"^[v~<>=$]*(\d[\d.,:_]*)(%|[a-z]{1,3})?$", re.IGNORECASE)
_IDENTIFIER = late_pattern(r"[/_@]|\w\.\w|[a-z][A-Z]|^--?\w|::|\(\)")
_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        ["zero", "-", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"]
    )
    if word != "-"
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "hundred": "100", "thousand": "1000", "both": "2",
     "twice": "2", "once": "1"}  # fmt: skip
_STOP_WORDS = (
    "a about again all also always an and any are as at be been being but by can could did do does doesn't don't each"
    " ever every for from further get gets go goes got had has have he her here his how i if in into is it its just"
    " may me might more most must my need needs never no not now of on once only or other our out over own please"
    " really same shall she should so some such than that the their them then there these they this those through to"
    " under until up us use used uses using very was we were what when where which while who whom whose why will with"
    " would you your"
)
_STOP = frozenset(_STOP_WORDS.split())
STRONG_CHANGE = worded_pattern(
    r"\b(?:no longer|any ?more|any longer|instead|from now on|switch(?:ed|ing)? (?:to|from|back)|moved?|migrat\w+|replac\w+"
    r"|changed? (?:to|from)|renamed?|dropped|deprecated|removed|deleted|retired|is gone|are gone|was gone|went back|go back"
    r"|cancelled|handed over|rewritten|rewrote|raised|lowered|reverted?|abandoned|superseded?|obsolete|outdated"
    r"|as of|since (?:the|v?\d)|up from|down from|used to|formerly|previously|no more|now)\b",
    "longer more anymore instead now switch switched switching move moved change changed rename renamed dropped deprecated removed"
    " deleted retired gone back cancelled handed rewritten rewrote raised lowered reverte reverted abandoned supersede superseded"
    " obsolete outdated as since from used formerly previously",
    parts=("migrat", "replac"),
)
PERMITS = worded_pattern(
    r"\b(?:may|fine|okay|ok|optional|optionally|allowed|freely|acceptable|welcome|enough|without asking|no need|need not"
    r"|needn't|not (?:needed|required|necessary)|unnecessary)\b",
    "may fine okay ok optional optionally allowed freely acceptable welcome enough asking need needn needed required necessary"
    " unnecessary",
)
DEMANDS = worded_pattern(
    r"\b(?:must|always|never|required?|requires|mandatory|have to|has to|need to|needs to|ensure|make sure|forbidden)\b",
    "must always never require required requires mandatory have has need needs ensure sure forbidden",
)
FORBIDS = worded_pattern(
    r"\b(?:never|don'?t|do not|must not|may not|mustn't|cannot|can't|should not|shouldn't|forbidden|prohibited|banned|not allowed"
    r"|disallowed|avoid|no longer|stop|refrain|free of|nobody|no one)\b|^(?:no|not)\b",
    "never don dont not mustn cannot can shouldn forbidden prohibited banned disallowed avoid longer stop refrain free nobody no",
)
ENDS = worded_pattern(
    r"(?P<gone>(?:[^\s,;:.]|\.(?=\w)){2,}(?:\s+(?:[^\s,;:.]|\.(?=\w)){2,}){0,2}?)\s+(?:is|are|was|were|has been|have been|got)\s+(?:now |being )?"
    r"(?:gone|removed|deleted|dropped|replaced|deprecated|retired|cancelled|renamed|closed|moved|migrated|abandoned|obsolete|outdated|fixed"
    r"|handed over|switched off|disabled|merged)\b"
    r"|\b(?:no longer|not any more|dropped|removed|left|leave|moved off|moved out of|instead of|rather than|replaces|replacing|drop|remove|not|without"
    r"|moved|abandoned|never|no|away from|out of|switched from|migrated from|moved from)\s+(?P<old>(?:[\w`./@*-]+\s*){1,4})",
    "gone removed deleted dropped replaced deprecated retired cancelled renamed closed moved migrated abandoned obsolete outdated"
    " fixed handed switched disabled merged longer not left leave instead rather replaces replacing drop remove without never no"
    " away out",
)
NEVER_MORE = worded_pattern(
    r"\b(?:no|not|never|\w+n't)\b.{0,60}\b(?:any ?more|any longer|more than)\b|\bno longer\b",
    "anymore more longer",
)
ORDERED = worded_pattern(
    r"\b(?:before|after|then|first|prior|until|afterwards|once)\b",
    "before after then first prior until afterwards once",
)
UNIT = late_pattern(r"\d[\d.,]*\s*(%|[a-z]+)", re.IGNORECASE)
ADDS = worded_pattern(
    r"\b(?:also|too|as well|in addition|additionally|besides|another|plus|both)\b",
    "also too well addition additionally besides another plus both",
)
EXCEPTS = worded_pattern(
    r"\b(?:except|unless|other than|apart from|but not)\b", "except unless other apart but"
)
_SCOPE = late_pattern(
    r"\b(?:in|for|on|at|when|if|inside|within|during|under|of|from|whenever|while)\s+(?:the |a |an |our |all |every |each |your )?"
    r"(`?[\w./*-]+`?(?:\s+[\w./*-]+)?)",
    re.IGNORECASE,
)
_OPPOSITES_TEXT = (
    "always/never after/before disable/enable disabled/enabled off/on allow/forbid allowed/forbidden"
    " optional/required mandatory/optional may/must automatic/manual automatically/manually automatically/hand"
    " generated/hand private/public asynchronous/synchronous async/sync exclude/include with/without add/remove"
    " first/last afterwards/first less/more collapsed/expanded plural/singular lowercase/uppercase above/below"
    " maximum/minimum at-least/at-most daily/weekly daily/hourly monthly/weekly hourly/nightly spaces/tabs"
    " double/single local/remote loose/strict end/start merge/rebase external/internal absolute/relative closed/open"
    " fast/slow detailed/short long/short brief/detailed concise/detailed delete/keep keep/remove accept/reject"
    " ascending/descending inline/separate optimistic/pessimistic composition/inheritance default/opt-in"
    " blacklist/whitelist allowlist/denylist merge/squash client/server latest/pinned early/late large/small"
    " one/several multiple/single separate/shared global/local flat/nested eager/lazy camelcase/snake_case"
    " kebab-case/snake_case camelcase/kebab-case integers/strings decimals/integers milliseconds/seconds hours/minutes"
    " days/hours per-package/root sentence/title branch/directly hard/soft safe/unsafe beta/stable"
)
_OPPOSITES_OF: dict[str, list[str]] = {}
for _one, _other in (pair.split("/") for pair in _OPPOSITES_TEXT.split()):
    _OPPOSITES_OF.setdefault(_one, []).append(_other)
    _OPPOSITES_OF.setdefault(_other, []).append(_one)
_LEMMA = {
    "tests": "test", "testing": "test", "tested": "test", "ran": "run", "written": "write", "wrote": "write", "kept": "keep",
    "built": "build", "sent": "send", "made": "make", "chosen": "choose", "chose": "choose", "held": "hold", "lives": "live",
    "directory": "folder", "dir": "folder", "directories": "folder", "repo": "repository", "docs": "documentation",
    "db": "database", "prs": "pr", "e-mail": "email", "e-mails": "email", "forbidden": "forbid", "megabytes": "mb",
    "config": "configuration", "settings": "setting", "env": "environment", "deps": "dependency", "dependencies": "dependency",
    "auth": "authentication", "2fa": "two-factor", "percent": "%", "euros": "eur", "js": "javascript", "ts": "typescript",
}  # fmt: skip
VAGUE = frozenset(
    {"use", "run", "write", "keep", "code", "file", "set", "add", "new", "old", "test", "call", "make", "it", "long", "longer", "want", "like", "user",
     "project", "time", "work", "default"}
)  # fmt: skip
"""Words that many statements share whatever they are about."""


_SUBJECT = 2
"""Content words from the start among which a sentence names what it speaks of."""
_IN_PLACE = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A statement taken apart for comparing: content words in order (and as they were said), values, where it holds.

    `telling` = the words that few statements share.
    """

    order: tuple[str, ...]
    said: tuple[str, ...]
    words: frozenset[str]
    telling: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    scope: frozenset[str]

    @property
    def values(self) -> frozenset[str]:
        """Numbers and names."""
        return self.numbers | self.names


@packed_cache(Parts)
def parts_of(text: str) -> Parts:
    """Read a statement."""
    coded: set[str] = set()
    for span in _CODE.finditer(text):
        coded.update(match[0].lower().strip(".,:;") for match in _TOKEN.finditer(span[1]))
    order: list[str] = []
    said: list[str] = []
    numbers: set[str] = set()
    names: set[str] = set()
    opening = True
    for match in _TOKEN.finditer(text):
        raw = match[0].rstrip(".,:;")
        low = raw.lower()
        number = None if raw.isalpha() else _NUMBER.match(raw)
        if number:
            value = number[1].replace(",", "").replace("_", "").rstrip(".:")
            numbers.add(value)
            order.append(value)
            said.append(raw)
        elif low in _NUMBER_WORDS:
            numbers.add(_NUMBER_WORDS[low])
            order.append(_NUMBER_WORDS[low])
            said.append(raw)
        elif low not in _STOP or low in coded:
            if low in coded or is_identifier(raw) or (raw[:1].isupper() and not opening and len(raw) > 1):
                names.add(_key(low))
            order.append(_key(low))
            said.append(raw)
        opening = text.startswith((". ", ": ", "; "), match.end())
    places = {word.strip("`.,") for found in _SCOPE.finditer(text) for word in found[1].lower().split()}
    scope = {_key(word) for word in places if word and word not in _STOP}
    return Parts(
        order=tuple(order), said=tuple(said), words=frozenset(order), telling=frozenset(order) - VAGUE,
        numbers=frozenset(numbers), names=frozenset(names), scope=frozenset(scope),
    )  # fmt: skip


def is_identifier(word: str) -> bool:
    """Whether a word looks like a path, an option or a name in code."""
    if word.isalpha() and (word.islower() or word.istitle()):
        return False  # known without the pattern, as nearly every word is
    return _IDENTIFIER.search(word) is not None


@lru_cache(maxsize=4096)
def _key(word: str) -> str:
    word = _LEMMA.get(word, word)
    if not word.isalpha() or len(word) < 4:
        return word
    if word.endswith("ies") and len(word) > 5:
        return word[:-3] + "y"
    for ending in ("ingly", "edly", "ing", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word.rstrip("e") if len(word) > 3 else word


def shared_matter(new: str, old: str) -> float:
    """Share of the telling words that both have: the mean of both sides' shares, 0-1."""
    mine, theirs = parts_of(new).telling, parts_of(old).telling
    both = len(mine & theirs)
    return (both / max(len(mine), 1) + both / max(len(theirs), 1)) / 2


def other_subject(new: str, old: str) -> bool:
    """Whether both are one sentence said of two subjects: "the lexer is made by A in 3", "the parser is made by B in 5".

    The same number of content words, at least two in five of them equal and in place; another word (no number) among the
    first two, and a different exchange behind words that both share; nothing in the new one says that something changed.
    """
    a, b = parts_of(new), parts_of(old)
    if len(a.order) != len(b.order) or STRONG_CHANGE.search(new):
        return False
    pairs = list(zip(a.order, b.order, strict=True))
    differing = [place for place, (mine, theirs) in enumerate(pairs) if mine != theirs]
    if not differing or differing[0] >= _SUBJECT or len(differing) > (1 - _IN_PLACE) * len(pairs):
        return False
    first, last = differing[0], differing[-1]
    mine, theirs = pairs[first]
    own = mine not in b.words and theirs not in a.words and not {mine, theirs} & (a.numbers | b.numbers)
    several = len({pairs[place] for place in differing}) > 1
    return own and several and len(differing) < last - first + 1


def opposed(new: str, old: str) -> bool:
    """Whether each uses one word of a pair of opposites, and not the same one."""
    mine, theirs = _opposites_in(new), _opposites_in(old)
    return bool(mine and theirs) and any(
        other in theirs and other not in mine and word not in theirs
        for word in mine
        for other in _OPPOSITES_OF[word]
    )


@lru_cache(maxsize=256)
def _opposites_in(text: str) -> frozenset[str]:
    return frozenset(_OPPOSITES_OF.keys() & re.findall(r"[a-z][a-z_-]*[a-z]", text.lower()))
