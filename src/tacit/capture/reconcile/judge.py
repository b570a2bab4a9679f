"""The relation of a new statement to a stored one, with an explanation. In: two texts. Out: a judgment.

Only what is said in so many words is certain: the same statement, or one that ends the other (`tacit.statements`). Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tacit.model.change_reason import ChangeCause
from tacit.statements.replaces import Replacement, replaces
from tacit.statements.same import same_statement
from tacit.text.stop_words import STATEMENT_STOP_WORDS
from tacit.text.tokens import PATH_WORD

Relation = Literal["same", "conflict", "unsure", "apart"]
_SHOWN = 4
_WHY: dict[Replacement, ChangeCause] = {
    "denies": ChangeCause.DENIES,
    "replaces": ChangeCause.REPLACES,
    "gives_other_value": ChangeCause.GIVES_OTHER_VALUE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """The relation of the new statement to one stored statement.

    Attributes:
        relation: `same` and `conflict` are said in so many words, or by a model that writes up; `unsure` = such a model says that both
            may not hold together, which a person decides.
        why: the cause of a change that rests on this; None = no change does.
        detail: what tells them apart, for people; may be empty.
    """

    relation: Relation
    why: ChangeCause | None = None
    detail: str = ""


Judge = Callable[[str, str, bool], Judgment]
"""Judges a new statement beside a stored one; the last argument says whether the new one was said as a correction."""


def judge_by_words(new: str, old: str, correction: bool) -> Judgment:
    """Return how two statements relate, as far as their words say so."""
    if same_statement(new, old):
        return Judgment(relation="same", why=ChangeCause.SAYS_SAME)
    found = replaces(new, old, correction=correction)
    if found is None:
        return Judgment(relation="apart")
    return Judgment(relation="conflict", why=_WHY[found], detail=_difference(new, old))


def _difference(new: str, old: str) -> str:
    """Return what one says and the other does not: `8080 -> 9090`, `adds Redis` or `lacks Redis`; about what both speak."""
    mine, theirs = _words(new), _words(old)
    come = " ".join([word for key, word in mine.items() if key not in theirs][:_SHOWN])
    gone = " ".join([word for key, word in theirs.items() if key not in mine][:_SHOWN])
    both = " ".join([word for key, word in mine.items() if key in theirs][:_SHOWN])
    if gone and come:
        difference = f"{gone} -> {come}"
    else:
        difference = f"adds {come}" if come else f"lacks {gone}" if gone else ""
    return f"{difference}; both on {both}" if difference and both else difference


def _words(text: str) -> dict[str, str]:
    found = ((word.casefold(), word) for word in PATH_WORD.findall(text))
    return {key: word for key, word in found if key not in STATEMENT_STOP_WORDS}
