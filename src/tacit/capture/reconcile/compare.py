"""The relation of two statements, by their words. In: two texts. Out: a verdict.

Pure and symmetric where it can be; English only. Never decides what is stored: `reconcile` does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tacit.capture.reconcile.reversals import ended_thing, ends_order
from tacit.capture.wording import denials, strip_negation
from tacit.model.ids import normalize_text
from tacit.text.lazy_regex import keyword_regex, lazy_regex
from tacit.text.stemming import statement_stem
from tacit.text.stop_words import STATEMENT_STOP_WORDS
from tacit.text.tokens import STATEMENT_WORD

WordVerdict = Literal["value_changed", "reversed", "replaced", "slot_changed", "different"]

SUBJECT_OVERLAP = 0.6
"""Least Jaccard overlap of the words around values, negations or a slot for two statements to share a subject."""

CACHED_STATEMENTS = 128
"""Parsed statements that are kept, about 5 KB each: more than one new statement is compared with."""

_NUMBER = lazy_regex(
    r"^[v~<>=]*\d[\d.,:xX%_-]*(?:ms|s|m|h|d|px|kb|mb|gb|k|am|pm|st|nd|rd|th)?$", re.IGNORECASE
)
_IDENTIFIER = lazy_regex(r"[/_@]|\w\.\w|[a-z][A-Z]|^--?\w|::|\(\)")
_CHANGE = keyword_regex(
    r"\b(?:no longer|instead|rather than|from now on|anymore|switch(?:ed|ing)? to|moved? to|migrated? to|replaced?"
    r"|changed? to|now|not|dropped|deprecated)\b",
    "longer instead rather now anymore switch switched switching move moved migrate migrated replace replaced change changed not"
    " dropped deprecated",
)
_REJECTED = keyword_regex(
    r"(?:\binstead of|\brather than|\bin place of|\bno longer (?:use[ds]?|using|support(?:s|ed)?|need(?:s|ed)?|run|on|in)?"
    r"|\b(?:switch|mov|migrat|chang)\w* (?:away )?from|\breplac\w+|\bdrop(?:ped)?|,\s*(?:and )?not|,\s*never)\s+"
    r"(?P<old>(?:[^,.;()]|\.(?=\w)){2,60}?)(?=\s+(?:to|with|by|for|in|on|as|because|anymore|any more|when|since)\b|[,;()]|\.(?!\w)|$)",
    "instead rather longer from drop dropped not never",
    parts=("in place of", "replac"),
)


_ORDINAL = keyword_regex(
    r"(?:\b(?:issue|adr|rfc|pr|mr|ticket|task|sprint|milestone|step|phase|stage|section|chapter|page|line|number|no|nr|case"
    r"|rule|item|row|test|example|figure|table|team|group|shard|node|replica|worker)s?[ .#:-]*|#)(?P<number>\d[\w.]*)",
    "issue issues adr adrs rfc rfcs pr prs mr mrs ticket tickets task tasks sprint sprints milestone milestones step steps phase"
    " phases stage stages section sections chapter chapters page pages line lines number numbers no nos nr nrs case cases rule"
    " rules item items row rows test tests example examples figure figures table tables team teams group groups shard shards"
    " node nodes replica replicas worker workers",
    parts=("#",),
)
_ADDITIVE = frozenset(
    {"support", "allow", "availabl", "test", "work", "compatibl", "run", "include", "includ"}
)
"""Stems of words after which several values may hold at once: "Python 3.11 is supported"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedStatement:
    """A statement taken apart.

    Attributes:
        text: normalized text.
        words: content words, lightly stemmed, without values and negations.
        order: all content words in order, values included.
        numbers, names: values: numbers with units, identifiers and paths.
        content: all of these, for telling quickly that two statements have nothing in common.
        negative: whether it forbids or denies.
        rejected: content words of what it says is no longer used.
    """

    text: str
    words: frozenset[str]
    order: tuple[str, ...]
    numbers: frozenset[str]
    names: frozenset[str]
    content: frozenset[str]
    negative: bool
    rejected: frozenset[str]


@lru_cache(maxsize=CACHED_STATEMENTS)
def parse_statement(text: str) -> ParsedStatement:
    """Parse a statement into what a comparison needs: word stems, numbers, identifiers, negation, rejected alternatives."""
    rejected: set[str] = set()
    for match in _REJECTED.finditer(text):
        rejected.update(_stems(STATEMENT_WORD.findall(match["old"])))
    plain = _REJECTED.sub(" ", text)
    raw = STATEMENT_WORD.findall(plain)
    negations = denials(plain)
    order = tuple(_stems(STATEMENT_WORD.findall(strip_negation(plain)) if negations else raw))
    numbers = frozenset(word.lower().rstrip(".,:") for word in raw if _is_number(word))
    names = frozenset(word.lower() for word in raw if is_identifier(word))
    return ParsedStatement(
        text=normalize_text(text).rstrip(".!"),
        words=frozenset(word for word in order if not _is_number(word)),
        order=order,
        numbers=numbers,
        names=names,
        content=numbers.union(order, names, rejected),
        negative=negations % 2 == 1,
        rejected=frozenset(rejected),
    )


def is_identifier(word: str) -> bool:
    """Whether a word looks like a path, an option or a name in code."""
    if word.isalpha() and (word.islower() or word.istitle()):
        return False  # known without the pattern, as nearly every word is
    return _IDENTIFIER.search(word) is not None


def differing_words(new: str, old: str) -> tuple[list[str], list[str], list[str]]:
    """Content words, as they are written, that only `new` has, that only `old` has, and that both have."""
    mine, theirs = _words_by_stem(new), _words_by_stem(old)
    return (
        [word for stem, word in mine.items() if stem not in theirs],
        [word for stem, word in theirs.items() if stem not in mine],
        [word for stem, word in mine.items() if stem in theirs],
    )


def _words_by_stem(text: str) -> dict[str, str]:
    words: dict[str, str] = {}
    for word in (token.rstrip(".:") for token in STATEMENT_WORD.findall(strip_negation(text))):
        if word.lower() not in STATEMENT_STOP_WORDS:
            words.setdefault(statement_stem(word.lower()), word)
    return words


def marks_change(text: str) -> bool:
    """Whether a statement says itself that something changed."""
    return _CHANGE.search(text) is not None


def find_ordinals(text: str) -> frozenset[str]:
    """Numbers that say which one is meant ("issue 12", "step 3"), not how much."""
    asserted = _REJECTED.sub(" ", text)
    return frozenset(match["number"].lower().rstrip(".,:") for match in _ORDINAL.finditer(asserted))


def _stems(raw: Sequence[str]) -> list[str]:
    words = [word.lower().rstrip(".:") for word in raw]
    return [statement_stem(word) for word in words if word not in STATEMENT_STOP_WORDS]


def _is_number(word: str) -> bool:
    # Nearly every word is one of letters, which is known without the pattern.
    return not word.isalpha() and _NUMBER.match(word) is not None


def overlap(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard overlap, 0-1; two empty sets have none."""
    return len(left & right) / len(left | right) if left or right else 0.0


def compare(new: str, old: str) -> WordVerdict:
    """Judge how `new` relates to `old`.

    Args:
        new: the later statement.
        old: the earlier one.

    Returns:
        `value_changed`: same subject, another number or name. `reversed`: same subject,
        one denies what the other says. `replaced`: `new` says that what `old` asks for is no longer used.
        `slot_changed`: one word differs, and nothing says which way it is meant. Else `different`.
    """
    a = parse_statement(new)
    if not _may_relate(a, new, old):
        return "different"
    b = parse_statement(old)
    if a.text == b.text or (a.content.isdisjoint(b.content) and not ends_order(new, old)):
        return "different"  # every other verdict needs a word or value that both have
    common = overlap(a.words, b.words)
    if _replaces(a, b) or ends_order(new, old):
        return "replaced"
    if common >= SUBJECT_OVERLAP and a.negative != b.negative and a.numbers == b.numbers:
        return "reversed"
    return _changed(new, old) if a.negative == b.negative else "different"


def _may_relate(a: ParsedStatement, new: str, old: str) -> bool:
    """Whether a verdict other than `different` is possible. Most stored statements share too few words, and need not be parsed.

    Every stem is the beginning of its word. A stem that does not occur in the text `old` therefore belongs to none of its words.
    Statements with too few common words are related only if `new` rejects or ends what `old` names, or if a text is not plain ASCII.
    """
    if not (new.isascii() and old.isascii()):
        return True
    lower = old.lower()
    ended = (*((a.rejected,) if a.rejected else ()), *ended_thing(new))
    if any(all(word in lower for word in words) for words in ended):
        return True
    missing = {word for word in a.order if word not in lower}
    frame = a.words - a.names
    return (
        len(missing) < 2
        or _share_left(a.words, missing) >= SUBJECT_OVERLAP
        or _share_left(frame, missing) >= SUBJECT_OVERLAP
    )


def _share_left(words: frozenset[str], missing: set[str]) -> float:
    """The greatest overlap that is possible without `missing`."""
    return len(words - missing) / len(words) if words else 0.0


def _replaces(new: ParsedStatement, old: ParsedStatement) -> bool:
    """`new` rejects what `old` asks for: every rejected word stands in `old`, which does not reject it itself."""
    if not new.rejected or not new.rejected <= set(old.order) or old.rejected & new.rejected:
        return False
    remainder = frozenset(old.order) - new.rejected
    mine = frozenset(new.order)
    return not remainder or bool(remainder & mine)


def _changed(new_text: str, old_text: str) -> WordVerdict:
    new, old = parse_statement(new_text), parse_statement(old_text)
    values_new, values_old = new.numbers | new.names, old.numbers | old.names
    if len(values_new - values_old) == 1 == len(values_old - values_new):
        frame_new, frame_old = new.words - new.names, old.words - old.names
        # A word of its own on both sides ("billing", "search") makes two subjects, and two values may both hold.
        one_subject = frame_new <= frame_old or frame_old <= frame_new
        many_values = bool((frame_new | frame_old) & _ADDITIVE)
        ordinals = find_ordinals(new_text) | find_ordinals(old_text)
        numbered = bool(ordinals & (values_new ^ values_old))
        if (
            one_subject
            and not many_values
            and not numbered
            and overlap(frame_new, frame_old) >= SUBJECT_OVERLAP
        ):
            return "value_changed" if frame_new & frame_old else "different"
        if numbered or many_values:
            return "different"
    if len(new.order) == len(old.order) >= 3:
        differing = [i for i, pair in enumerate(zip(new.order, old.order, strict=True)) if pair[0] != pair[1]]
        if len(differing) == 1:
            return "slot_changed"
    return "different"
