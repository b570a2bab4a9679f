"""The wording of statements: orders and references. In: one statement. Out: values. Pure, English only.

Shared by the extractors and the rule-file import. Never decides whether something is worth keeping.
"""

from __future__ import annotations

import re

from tacit.text.lazy_regex import lazy_regex
from tacit.text.tokens import LATIN_WORD

_IMPERATIVES = (
    "add adhere align allow always annotate append apply ask assert avoid bump build bundle call catch check choose"
    " clean close commit configure confirm consider consult convert copy create cut declare default define delete"
    " delegate deploy derive describe disable discuss do document drop emit enable enforce ensure escape exclude"
    " execute expect explain export expose extend extract fail favor favour fetch file filter fix flag focus follow"
    " format generate get give go group guard handle have hide ignore implement import include indent inject inline"
    " insert inspect install introduce invoke isolate keep label leave let limit link list load log look make mark"
    " match measure mention merge migrate minimize mock modify move name never note offer omit only open organize"
    " override pass pin place post prefer preserve prefix print propose provide publish pull push put quote raise"
    " read rebase record reduce refactor refer reference register regenerate release rely remove rename render repeat"
    " replace report request require resolve respect respond return reuse revert review rewrite round run sanitize"
    " save scope search select send separate serve set share show sign simplify skip sort spell split squash stage"
    " start state stay stick stop store strip structure submit suggest surface switch sync tag take target tell test"
    " throw track translate treat trim try turn type understand update upgrade use validate verify version wait wrap"
    " write"
)
IMPERATIVES = frozenset(_IMPERATIVES.split())
"""Base forms that open an instruction."""

_ANTI = lazy_regex(
    r"^(?:\W*)(?:please\s+|you\s+(?:should\s+|must\s+)?|we\s+(?:should\s+|must\s+)?|i\s+)?"
    r"(?:(?:do not|don'?t|never|avoid|stop|must not|mustn'?t|should not|shouldn'?t|refrain from|no more)\b"
    r"|no\s+\w+)",
    re.IGNORECASE,
)
_INNER_ANTI = lazy_regex(
    r"\b(?:must never|must not|mustn'?t|should never|should not|shouldn'?t|never|do not|don'?t (?:ever|want|use|add"
    r"|write|commit|create|make|put|run)|is forbidden|are forbidden|is not allowed|are not allowed|prohibited)\b",
    re.IGNORECASE,
)
_RULE = lazy_regex(
    r"\b(?:always|must|should|shall|make sure|ensure|required?|mandatory|needs? to|has to|have to|only)\b|^\W*(?:every|each|all)\b",
    re.IGNORECASE,
)
_OWN = r"(?:project|repo|repository|code ?base|app|application|package|workspace|library|service|monorepo|team|company|machine|product)"
_LEADING_LOOSE = lazy_regex(
    r"^(?:it|its|it's|they|them|these|those|this|that|he|she|here|there|such|both|one)\b"
    rf"(?!\s+{_OWN}\b)",
    re.IGNORECASE,
)


def imperative(content: str) -> bool:
    """Whether the statement opens with an instruction, also behind a label or a condition."""
    if opens_with_verb(content):
        return True
    return any(mark in content and opens_with_verb(content.split(mark, 1)[1]) for mark in (": ", ", "))


def opens_with_verb(content: str) -> bool:
    """Whether its first word is the base form of a verb that opens instructions."""
    first = LATIN_WORD.search(content.lower())
    return first is not None and first[0] in IMPERATIVES


def rule_like(content: str) -> bool:
    """Whether the statement asks for or forbids something."""
    return bool(_RULE.search(content) or _ANTI.match(content) or _INNER_ANTI.search(content)) or imperative(
        content
    )


def has_leading_reference(content: str) -> bool:
    """Whether the statement opens with a pronoun whose meaning lies outside it."""
    return bool(_LEADING_LOOSE.match(content))


def word_count(text: str) -> int:
    """Words, where a code span or path counts as one."""
    return len(text.split())
