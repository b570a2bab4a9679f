"""The relation of a new statement to stored ones, with an explanation. In: texts and cosines. Out: one judgment each.

What is said in so many words is certain (`find_explicit_relation`). What else looks like a conflict by its words is only a question to a
person. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tacit.capture.reconcile.compare import WordVerdict, adds_little, compare, differing_words, marks_change
from tacit.capture.reconcile.explicit_relations import Finding, find_explicit_relation, is_hedged
from tacit.capture.wording import is_negated
from tacit.model.change_reason import ChangeCause
from tacit.model.ids import normalize_text
from tacit.text.natural_language import ENGLISH, natural_language_of

Relation = Literal["same", "conflict", "unsure", "apart"]
_SHOWN = 4

_WHY: dict[Finding, ChangeCause] = {
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
    verdict: WordVerdict | Finding
    why: ChangeCause | None = None
    detail: str = ""


class Judge(Protocol):
    """Judges a statement beside stored ones."""

    def __call__(
        self, new: str, others: Sequence[tuple[str, float]], *, near: float, correction: bool
    ) -> tuple[Judgment, ...]:
        """Judge each (stored text, cosine); `near` = least cosine of a near duplicate by words and cosine."""
        ...


def judge_by_words(
    new: str, others: Sequence[tuple[str, float]], *, near: float, correction: bool
) -> tuple[Judgment, ...]:
    """Return one judgment per stored statement: an explicit relation, or a possible conflict found by words."""
    return tuple(_judge_pair(new, old, cosine, near=near, correction=correction) for old, cosine in others)


def find_repetition(new: str, texts: Sequence[tuple[str, float]], *, near: float) -> int | None:
    """The place of the first (text, cosine) that `new` repeats; None = it repeats none."""
    for place, (old, cosine) in enumerate(texts):
        if not _comparable(new, old):
            if _plain(new) == _plain(old):
                return place
        elif find_explicit_relation(new, old) == "same" or _adds_nothing(new, old, cosine, near=near):
            return place
    return None


def _comparable(new: str, old: str) -> bool:
    """Whether two statements can be compared: the comparison knows only English."""
    return natural_language_of(new) == natural_language_of(old) == ENGLISH


def _plain(text: str) -> str:
    return normalize_text(text).rstrip(".!\u3002\uff01 ")


def _adds_nothing(new: str, old: str, cosine: float, *, near: float) -> bool:
    return cosine >= near and adds_little(new, old) and is_hedged(new) == is_hedged(old)


def _judge_pair(new: str, old: str, cosine: float, *, near: float, correction: bool) -> Judgment:
    if not _comparable(new, old):
        same = _plain(new) == _plain(old)
        return (
            Judgment(relation="same", verdict="same", why=_WHY["same"])
            if same
            else Judgment(relation="apart", verdict="different")
        )
    relation = find_explicit_relation(new, old, correction=correction)
    if relation == "same" or _adds_nothing(new, old, cosine, near=near):
        return Judgment(relation="same", verdict="same", why=_WHY["same"])
    if relation:
        return Judgment(
            relation="conflict", verdict=relation, why=_WHY[relation], detail=_difference(new, old)
        )
    verdict = compare(new, old, cosine=cosine)
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
