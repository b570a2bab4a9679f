"""The explicit relation of two statements. In: a later and an earlier statement. Out: a relation, or none.

Only what needs no judgment: both say the same; the later one denies the earlier one word for word, names what it replaces, or states
another value of the same thing as a change. Whatever else the two have in common is left to a person. English only; pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tacit.capture.reconcile.compare import find_ordinals, is_identifier
from tacit.capture.reconcile.reversals import (
    ended_thing,
    ends_order,
    is_limited,
    orders_for_a_purpose,
    runs_command,
)
from tacit.text.lazy_regex import keyword_regex, lazy_regex
from tacit.text.stemming import wording_stem
from tacit.text.stop_words import WORDING_STOP_WORDS

Finding = Literal["denied", "replaced", "value_changed"]

_TOKEN = lazy_regex(r"[^\s,;()\"“”„«»]+|\?(?=\s|$)")
_CODE = lazy_regex(r"`([^`\n]+)`")
_NOT = "not"
_NEGATION = keyword_regex(
    r"\b(?:(?:do|does|did|is|are|was|were|must|should|can|could|will|would|shall|may|need)(?:\s+not|n['’]t)|cannot|don['’]t|can['’]t|won['’]t|never|not|avoid"
    r"|do\s+not\s+ever|don['’]t\s+ever)\b",
    "t not never avoid cannot",
)
_LINK_FORMS = (
    "of to in on at for with by from as into onto or but this these those it its their his her they he she me us them now then just"
    " also only more any anymore longer instead rather than which who while because since when if"
)
"""Words that link others: what they link must stand in both statements, they themselves need not."""
_NEUTRAL_FORMS = "use used run ran live sit stay store stored keep kept located listen put place placed have has had go do did was were must should shall will would can"
"""Verbs that any statement of where, what or by what may be worded with."""

_END = (
    r"(?=\s+(?:to|with|by|for|in|on|at|as|because|any ?more|any longer|when|whenever|while|where|if|since|from now on|now|and|or|so|but|which|that|is|are"
    r"|was|were)\b|\s+[-–—]|[,;:()?!]|\.(?!\w)|$)"
)
_THING = r"(?P<gone>(?:[^\s,;:()?!]+\s+){0,4}?[^\s,;:()?!]*[^\s,;:()?!.])"
_REPLACES = (
    keyword_regex(rf"\b(?:instead of|rather than|in place of)\s+(?:using\s+)?{_THING}{_END}", "instead rather place"),
    keyword_regex(rf"[,;]\s*(?:and\s+)?not\s+(?:with\s+|in\s+|on\s+|at\s+|by\s+)?{_THING}{_END}", "not"),
    keyword_regex(rf"\breplac(?:e|ed|es|ing)\s+(?!by\b|with\b){_THING}(?=\s+(?:with|by|in|for)\b|[,;:()?!]|\.(?!\w)|$)", "", parts=("replac",)),
    keyword_regex(rf"\b(?:switch|mov|migrat|chang|renam)(?:e|ed|es|ing)?\b[^.;:?!]{{0,60}}?\bfrom\s+{_THING}(?=\s+to\b)", "from"),
    keyword_regex(
        rf"(?:^|[,;:.]\s+)(?:the |our |formerly |previously |originally )*{_THING}\s+(?:was|were|is|are|has been|have been|got)\s+(?:now\s+)?replaced(?=\s+(?:by|with)\b)",
        "", parts=("replac",),
    ),
)  # fmt: skip
"""What names the thing that is replaced."""
_COMING = lazy_regex(rf"^\s+(?:to|with|by)\s+{_THING.replace('gone', 'come')}{_END}", re.IGNORECASE)
"""What comes in the place of what was named."""
_OPENING = lazy_regex(
    r"^\W*(?:(?:no|ok(?:ay)?|please|remember(?: that)?|note(?: that)?|from now on|as of now|now|that'?s wrong|correction)\b[\s,.:!-]*)+",
    re.IGNORECASE,
)
_CLAUSE = lazy_regex(r"[;:?!]|\.(?!\w)|,\s|\s(?:because|since|--|–|—)\s")
_HEDGED = keyword_regex(
    r"\b(?:except\w*|unless|until|apart from|other than|but|however|though|although|maybe|perhaps|sometimes|usually|mostly|temporarily|for now|today"
    r"|this (?:time|once|session|week|sprint)|would|could|might|if|consider\w*|propos\w+|suggest\w*|wonder\w*|try|whether|someday)\b",
    "unless until apart other but however though although maybe perhaps sometimes usually mostly temporarily now today this would could might if try whether someday",
    parts=("except", "consider", "propos", "suggest", "wonder"),
)
"""Exceptions, conditions, proposals: what is said with them ends nothing."""
_PLAIN_CHOICE = lazy_regex(
    r"^(?:(?:we|i|you|please|always|must|should|will|to|shall|now|all)\s+)*(?P<verb>use|run)\s+(?:[^\s,;:.?!]|\.(?=\w)){1,40}(?:\s+(?:[^\s,;:.?!]|\.(?=\w)){1,40}){0,3}?\s*"
    r"(?:,\s*(?:and\s+)?not|instead of|rather than)\s+(?P<gone>[^\s,;:()?!]+(?:\s+[^\s,;:()?!]+){0,3}?)(?:\s*,?\s*(?:from now on|now|please|everywhere|always|any ?more))*[.!]*$",
    re.IGNORECASE,
)
"""An order to use one thing and not another, for anything: nothing behind it says what for, where or when."""
_PLAIN_SWITCH = lazy_regex(
    r"^we(?:['\u2019]ve| have)?\s+(?:(?:now|just|recently|all|finally)\s+)?(?:(?:switched|moved|migrated)(?:\s+over)?\s+from|replaced)\s+(?P<gone>\S+(?:\s+\S+)?)\s+(?:to|with|by)\s+"
    r"[^\s,;:?!]+(?:\s+[^\s,;:?!]+)?(?:\s+(?:now|everywhere))?[.!]*$",
    re.IGNORECASE,
)
"""The same as a change that has happened."""
_NO_MORE = keyword_regex(
    r"\bno longer\b|(?:\b(?:do|does|is|are|will|must|should|can)(?:\s+not|n['’]t)|\bnever|\bnot)\b.{1,120}?\b(?:any ?more|any longer)\b",
    "longer more anymore",
)
_PAST = lazy_regex(
    r"\b(?:formerly|previously|originally|used to|back then|in the past|at first|earlier|once was|until|before (?:that|the)|was|were|had)\b",
    re.IGNORECASE,
)
_NOW = lazy_regex(
    r"(?<=\w)\s+(?:now|currently)\b|\b(?:raised|lowered|increased|decreased|reduced|changed|moved|set|bumped|extended|shortened|switched|renamed)\b[^.;:?!]{0,60}?\bto\b",
    re.IGNORECASE,
)
"""What says that a value is a new one."""
_CHANGE_WORDS = frozenset(
    [
        "now",
        "currently",
        "raised",
        "lowered",
        "increased",
        "decreased",
        "reduced",
        "changed",
        "moved",
        "set",
        "bumped",
        "extended",
        "shortened",
        "switched",
        "renamed",
    ]
)
_ADDS = lazy_regex(
    r"\b(?:also|too|as well|in addition|additionally|another|plus|both|support\w*|allow\w*|compatible|include\w*|available|test(?:s|ed)?|works?)\b",
    re.IGNORECASE,
)
_NUMBER = lazy_regex(r"^[v~<>=$]*\d[\d.,:_]*(?:%|[a-z]{1,3})?$", re.IGNORECASE)
_PLACE_WORDS = frozenset(
    [
        "for",
        "in",
        "on",
        "at",
        "to",
        "when",
        "whenever",
        "while",
        "if",
        "inside",
        "within",
        "during",
        "under",
        "with",
        "by",
        "before",
        "after",
        "where",
    ]
)
_INSTRUMENTS = frozenset({"with", "by"})
"""Before what replaces something they name the thing itself: "lint with ruff instead of flake8"."""
_STANDS = r"\b(?:lives?|is|are|sits?|stays?|located|stored|kept|called|named|defined|moved|renamed)\s+(?:now\s+)?(?:(?:in|at|under|to)\s+)?(?:the\s+)?`?"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ParsedStatement:
    """A statement: its words in order, and what they make of it.

    Attributes:
        words: all words.
        positive: the same without denials.
        denials: how many there are.
        content: words that mean something by themselves.
        frame: all words but links, verbs that anything is worded with, and words that say that something changed.
        asks: whether it is a question.
        hedged: whether it names an exception or a condition, or only proposes something.
    """

    words: tuple[str, ...]
    positive: tuple[str, ...]
    denials: int
    content: frozenset[str]
    frame: tuple[str, ...]
    asks: bool
    hedged: bool


def find_explicit_relation(new: str, old: str, *, correction: bool = False) -> Finding | None:
    """Return the explicit relation of `new` to `old`; None = there is none, or it is uncertain.

    Args:
        new: the later statement.
        old: the earlier one.
        correction: whether `new` was said as a correction: another value is a change then, also without a word for it.
    """
    mine = _parse_statement(new)
    if not _may_relate(mine, new, old):
        return None
    theirs = _parse_statement(old)
    if not mine.words or not theirs.words:
        return None
    if mine.asks or theirs.asks or mine.hedged or mine.content.isdisjoint(theirs.content):
        return None
    if mine.positive == theirs.positive and {mine.denials, theirs.denials} == {0, 1}:
        return "denied"
    if ends_order(new, old) or _denies(new, theirs):
        return "denied"
    if _replaces(new, old):
        return "replaced"
    return "value_changed" if _gives_new_value(new, old, correction=correction) else None


def _may_relate(mine: _ParsedStatement, new: str, old: str) -> bool:
    """Whether anything can be found. Most stored statements share too few words, and need not be parsed.

    Every stem is the beginning of its word, so a stem that does not occur in the text `old` belongs to none of its words. Where
    more than one word of `new` is missing, `new` has to name what it ends or replaces.
    """
    if not (new.isascii() and old.isascii()):
        return True
    lower = old.lower()
    missing = 0
    for word in mine.frame:
        missing += word.lower() not in lower
        if missing > 1:
            return any(all(word in lower for word in words) for words in _ended_things(new))
    return True


def names_what_ends(text: str) -> bool:
    """Whether a statement names something that it replaces or that is done no more."""
    return bool(_ended_things(text))


@lru_cache(maxsize=16)
def _ended_things(text: str) -> tuple[frozenset[str], ...]:
    """Words of each thing that a statement replaces or ends, in lower case; an empty set may be anything."""
    if _NO_MORE.search(text):
        return (frozenset(),)
    swapped = [
        frozenset(word.lower() for word in swap.gone if word not in _LINKS)
        for swap in _find_replacements(text)
    ]
    return (*swapped, *ended_thing(text))


@lru_cache(maxsize=256)
def _parse_statement(text: str) -> _ParsedStatement:
    flat = _OPENING.sub("", " ".join(text.split()))
    code = {word for span in _CODE.findall(flat) for word in span.split()}
    marked = _NEGATION.sub(f" {_NOT} ", flat)
    words = tuple(_words(marked, code))
    positive = tuple(word for word in words if word != _NOT)
    return _ParsedStatement(
        words=words,
        positive=positive,
        denials=len(words) - len(positive),
        content=frozenset(positive) - _LINKS,
        frame=tuple(word for word in words if word not in _FRAMELESS),
        asks="?" in words,
        hedged=_HEDGED.search(text) is not None,
    )


def _words(text: str, code: set[str] | frozenset[str] = frozenset()) -> list[str]:
    """The words of `text`, lightly stemmed; what is code stays as it is written."""
    words: list[str] = []
    for token in _TOKEN.findall(text):
        word = token.strip("`'’*").rstrip(".,:!`'’*") or token.strip("`'’")
        if word.endswith("?") and len(word) > 1:
            words += [wording_stem(word.rstrip("?").lower()), "?"]
            continue
        if word in code:
            words.append(word)
        elif word.lower() not in WORDING_STOP_WORDS and not set(word) <= set("-–—"):
            words.append(wording_stem(word.lower()))
    return words


def _is_number(word: str) -> bool:
    return _NUMBER.match(word) is not None


# Stemmed as the statements are.
_NEUTRAL = frozenset(wording_stem(word) for word in _NEUTRAL_FORMS.split())
_LINKS = frozenset(wording_stem(word) for word in _LINK_FORMS.split())
_FRAMELESS = _LINKS | _NEUTRAL | _CHANGE_WORDS


def _content(text: str) -> frozenset[str]:
    return _parse_statement(text).content


# --- what is named as replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replacement:
    """The part of a statement that is replaced, and the rest of it. `limits` = words that say where, when or what for."""

    gone: tuple[str, ...]
    rest: frozenset[str]
    limits: frozenset[str]


@lru_cache(maxsize=256)
def _find_replacements(text: str) -> tuple[_Replacement, ...]:
    flat = _OPENING.sub("", " ".join(text.split()))
    replacements: list[_Replacement] = []
    for pattern in _REPLACES:
        for match in pattern.finditer(flat):
            gone = _parse_statement(match["gone"])
            if gone.denials or not gone.content:
                continue
            before, behind = flat[: match.start()], flat[max(match.end("gone"), match.end()) :]
            coming = _COMING.match(behind)
            limits = _limits(before, _PLACE_WORDS - _INSTRUMENTS) | _limits(
                behind[coming.end() :] if coming else behind
            )
            value = _words(before)[-1:]
            if value and _is_number(value[0]) and any(_is_number(word) for word in gone.words):
                limits -= set(value)  # "on 8080 instead of 8081": the new value limits nothing
            replacements.append(
                _Replacement(gone=gone.words, rest=_content(f"{before} {behind}"), limits=limits)
            )
    return tuple(replacements)


def _limits(text: str, places: frozenset[str] = _PLACE_WORDS) -> frozenset[str]:
    """Content words behind the first word that says where, when or what for, up to the end of each clause."""
    limits: set[str] = set()
    for clause in _CLAUSE.split(text):
        tokens = clause.split()
        at = next((place for place, word in enumerate(tokens) if word.lower() in places), len(tokens))
        limits |= _content(" ".join(tokens[at:]))
    return frozenset(limits) - _NEUTRAL


def _replaces(new: str, old: str) -> bool:
    """Whether `new` names what `old` asks for as replaced, and speaks of the same matter in the same places."""
    swaps = _find_replacements(new)
    if not swaps:
        return False
    theirs = _parse_statement(old)
    own = _find_replacements(old)
    choice = _plain_choice(new)
    if theirs.denials > len([swap for swap in own if swap.gone]) or _NO_MORE.search(old):
        return False
    content = theirs.content
    for swap in own:
        content -= frozenset(swap.gone) - swap.rest
    for swap in swaps:
        gone = frozenset(swap.gone) - _LINKS
        if not gone <= content or not _in_order(swap.gone, theirs.positive):
            continue
        remainder = content - gone - _NEUTRAL
        if remainder <= swap.rest and swap.limits <= content:
            # With nothing but the thing itself in common, the later one must be as plain as the earlier one.
            if remainder or choice:
                return True
        elif choice and (orders_for_a_purpose(*choice, old) or runs_command(choice[1], old)):
            return True
    return False


def _plain_choice(text: str) -> tuple[str, str] | None:
    """The verb and what is not to be used any more, where `text` is nothing but an order to use another thing."""
    flat = _OPENING.sub("", " ".join(text.split()))
    switched = _PLAIN_SWITCH.match(flat)
    if switched is not None:
        return "use", switched["gone"]
    match = _PLAIN_CHOICE.match(flat)
    if match is None or not _PLACE_WORDS.isdisjoint(flat[: match.end("gone")].lower().split()):
        return None
    return match["verb"], match["gone"]


def _in_order(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether `part` stands in `whole` as it is."""
    size = len(part)
    return any(whole[at : at + size] == part for at in range(len(whole) - size + 1))


# --- what is denied


def _denies(new: str, old: _ParsedStatement) -> bool:
    """Whether a clause of `new` says that what `old` says is so no more, with all words of it and no others."""
    if old.denials:
        return False
    flat = _OPENING.sub("", " ".join(new.split()))
    match = _NO_MORE.search(flat)
    if match is None or flat.endswith("?"):
        return False
    starts = [match.end() for match in _CLAUSE.finditer(flat, 0, match.start())]
    begin = starts[-1] if starts else 0
    stop = _CLAUSE.search(flat, match.end())
    clause = flat[begin : stop.start() if stop else len(flat)]
    if is_limited(flat[stop.start() :] if stop else ""):
        return False
    content = _content(clause) - _NEUTRAL
    theirs = old.content - _NEUTRAL
    return len(content) > 1 and content == theirs


# --- another value


def _gives_new_value(new: str, old: str, *, correction: bool) -> bool:
    """Whether both are one sentence but for one value, and `new` says that its value is a new one."""
    mine, theirs = _parse_statement(new).frame, _parse_statement(old).frame
    if len(mine) != len(theirs) or len(mine) < 2:
        return False
    differing = [at for at, (word, other) in enumerate(zip(mine, theirs, strict=True)) if word != other]
    if len(differing) != 1 or differing[0] == 0:
        return False
    value, before = mine[differing[0]], theirs[differing[0]]
    numbers = _is_number(value) and _is_number(before)
    if not numbers and not (_is_place(value, new) and _is_place(before, old)):
        return False
    if _ADDS.search(new) or _ADDS.search(old) or _NO_MORE.search(f"{new} {old}"):
        return False
    if value in find_ordinals(new) or before in find_ordinals(old):
        return False
    if correction and numbers and not _PAST.search(new):
        return differing[0] >= len(mine) - 2
    match = _NOW.search(new)
    if match is None or (_PAST.search(new) and not match[0].endswith("to")):
        return False
    behind = new[match.end() :].lower()
    return value.lower() in " ".join(behind.split()[:4])


def _is_place(value: str, text: str) -> bool:
    """Whether `text` says that something is or is called `value`, which looks like a path or a name in code."""
    return is_identifier(value) and re.search(_STANDS + re.escape(value), text, re.IGNORECASE) is not None
