"""The relation of a new statement to a stored one, with an explanation. In: two texts. Out: a judgment.

What is said in so many words is certain (`find_explicit_relation`). What else looks like a conflict by its words is only a question to a
person. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tacit.capture.reconcile.compare import WordVerdict, compare, differing_words, marks_change
from tacit.capture.reconcile.explicit_relations import Finding, find_explicit_relation
from tacit.capture.wording import is_negated
from tacit.model.change_reason import ChangeCause
from tacit.statements.same import same_statement
from tacit.text.natural_language import ENGLISH, natural_language_of

Relation = Literal["same", "conflict", "unsure", "apart"]
_SHOWN = 4

_WHY: dict[Finding | Literal["same"], ChangeCause] = {
    "same": ChangeCause.SAYS_SAME,
    "denied": ChangeCause.DENIES,
    "replaced": ChangeCause.REPLACES,
    "value_changed": ChangeCause.GIVES_OTHER_VALUE,
}
_MAY: dict[WordVerdict, ChangeCause] = {
    "reversed": ChangeCause.MAY_BE_OPPOSITE,
    "replaced": ChangeCause.MAY_REPLACE_WORDS,
    "value_changed": ChangeCause.MAY_GIVE_OTHER_VALUE,
    "slot_changed": ChangeCause.MAY_CORRECT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """The relation of the new statement to one stored statement.

    Attributes:
        relation: `same` and `conflict` are said in so many words; `unsure` = both may not hold together, which a person decides.
        verdict: what the words say or look like; `different` = nothing.
        why: the cause of a change that rests on this; None = no change does.
        detail: what tells them apart, for people; may be empty.
    """

    relation: Relation
    verdict: WordVerdict | Finding | Literal["same"]
    why: ChangeCause | None = None
    detail: str = ""


Judge = Callable[[str, str, bool], Judgment]
"""Judges a new statement beside a stored one; the last argument says whether the new one was said as a correction."""


def judge_by_words(new: str, old: str, correction: bool) -> Judgment:
    """Return the explicit relation of two statements, or a possible conflict found by words."""
    if same_statement(new, old):
        return Judgment(relation="same", verdict="same", why=_WHY["same"])
    if not natural_language_of(new) == natural_language_of(old) == ENGLISH:
        return Judgment(relation="apart", verdict="different")
    relation = find_explicit_relation(new, old, correction=correction)
    if relation:
        return Judgment(
            relation="conflict", verdict=relation, why=_WHY[relation], detail=_difference(new, old)
        )
    verdict = compare(new, old)
    # One word differs: "run tests before pushing" beside "run lint before pushing" is no change of mind, unless the
    # statement itself says that it changes something.
    slot = verdict == "slot_changed" and (correction or marks_change(new))
    if slot or verdict in ("reversed", "replaced", "value_changed"):
        return Judgment(relation="unsure", verdict=verdict, why=_MAY[verdict], detail=_difference(new, old))
    return Judgment(relation="apart", verdict="different")


def _difference(new: str, old: str) -> str:
    """Return what one says and the other does not: `8080 -> 9090`, `adds Redis` or `lacks Redis`; about what both speak."""
    come, gone, both = (" ".join(words[:_SHOWN]) for words in differing_words(new, old))
    if gone and come:
        difference = f"{gone} -> {come}"
    else:
        difference = f"adds {come}" if come else f"lacks {gone}" if gone else ""
    if is_negated(new) != is_negated(old):
        difference = f"{difference}, denied" if difference else "denied"
    return f"{difference}; both on {both}" if difference and both else difference
