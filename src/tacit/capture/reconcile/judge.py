"""How a new statement relates to stored ones, with the words for it. In: texts and cosines. Out: one judgment each.

Firm rules first (`compare`); where they see nothing, the fitted model. Pure but for the embedder's word matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol

from tacit.capture.reconcile.compare import Verdict, compare, marks_change
from tacit.capture.reconcile.features import WordMatches, pair_rows
from tacit.capture.reconcile.model import OUTCOMES, PairModel, shipped_model
from tacit.capture.reconcile.words import Parts, other_subject, parts_of, shared_matter
from tacit.capture.wording import negated
from tacit.ports.models import Embedder, TokenEmbedder

Relation = Literal["same", "conflict", "unsure", "apart"]
_SHOWN = 4
FAR = 0.3
"""Statements of a lesser cosine are about different things; the model was fitted on hardly any such pair."""
SHARED = 0.15
"""Two statements with a lesser share of telling words in common are left alone, whatever their vectors say: of written pairs
that say the same 1 in 300 has less, of those that cannot both hold 1 in 20, of those that stand beside each other 1 in 4."""
MOST_READ = 12
"""Most neighbours that the model reads, the nearest first: about a millisecond each."""

_WHY: dict[Verdict, str] = {
    "same": "says the same as",
    "reversed": "says the opposite of",
    "replaced": "replaces what is said in",
    "value_changed": "gives another value than",
    "slot_changed": "corrects",
    "different": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """How the new statement relates to one stored statement.

    Attributes:
        relation: `unsure` = likelier a conflict than anything else, but not likely enough to act on.
        verdict: what the firm rules saw; `different` = nothing, the model spoke.
        why: words that end before the stored memory's id ("gives another value than").
        detail: what tells them apart, for people; may be empty.
        chance: of the relation, 0-1; 1 for a firm rule.
        ask: whether an unsure conflict is worth a person's look by itself.
    """

    relation: Relation
    verdict: Verdict
    why: str = ""
    detail: str = ""
    chance: float = 1.0
    ask: bool = False


class Judge(Protocol):
    """Judges a statement beside stored ones."""

    def __call__(
        self, new: str, others: Sequence[tuple[str, float]], *, near: float, correction: bool
    ) -> tuple[Judgment, ...]:
        """One judgment for each (stored text, cosine); `near` = least cosine of a near duplicate by words and cosine."""
        ...


def word_matches(embedder: Embedder) -> WordMatches | None:
    """How well words match, where the embedder knows tokens; it may stand behind caches."""
    inner: object = embedder
    while not isinstance(inner, TokenEmbedder):
        inner = getattr(inner, "inner", None)
        if inner is None:
            return None
    return inner.token_cosines


def judge_by_rules(
    new: str, others: Sequence[tuple[str, float]], *, near: float, correction: bool
) -> tuple[Judgment, ...]:
    """The firm rules alone."""
    return tuple(_by_rule(new, old, cosine, near=near, correction=correction) for old, cosine in others)


class PairJudge:
    """The firm rules, then the fitted model."""

    def __init__(self, matches: WordMatches | None, *, model: PairModel | None = None) -> None:
        self._matches = matches
        self._model = model

    def __call__(
        self, new: str, others: Sequence[tuple[str, float]], *, near: float, correction: bool
    ) -> tuple[Judgment, ...]:
        """See `Judge`."""
        judged = list(judge_by_rules(new, others, near=near, correction=correction))
        unclear = (
            place
            for place, one in enumerate(judged)
            if one.relation == "apart"
            and not 0.0 < others[place][1] < FAR
            and shared_matter(new, others[place][0]) >= SHARED
            and not other_subject(new, others[place][0])
        )
        open_ = list(islice(unclear, MOST_READ))
        if open_:
            model = self._model or shipped_model()
            rows = pair_rows(new, [others[at] for at in open_], matches=self._matches)
            for place, chances in zip(open_, model.chances(rows), strict=True):
                judged[place] = _by_chance(
                    new, others[place][0], chances.tolist(), model, correction=correction
                )
        return tuple(judged)


def _by_rule(new: str, old: str, cosine: float, *, near: float, correction: bool) -> Judgment:
    verdict = compare(new, old, cosine=cosine, near=near)
    if verdict == "same":
        return Judgment(relation="same", verdict=verdict, why=_WHY[verdict])
    # One word differs: "run tests before pushing" beside "run lint before pushing" is no change of mind, unless the
    # statement itself says that it changes something.
    slot = verdict == "slot_changed" and (correction or marks_change(new))
    if slot or verdict in ("reversed", "replaced", "value_changed"):
        return Judgment(relation="conflict", verdict=verdict, why=_WHY[verdict], detail=_difference(new, old))
    return Judgment(relation="apart", verdict=verdict)


def _by_chance(
    new: str, old: str, chances: Sequence[float], model: PairModel, *, correction: bool
) -> Judgment:
    same, conflict, apart = (chances[OUTCOMES.index(name)] for name in ("same", "conflict", "apart"))
    needed = model.thresholds
    if same >= needed.same and same >= max(conflict, apart):
        return Judgment(relation="same", verdict="different", why=_WHY["same"], chance=same)
    if conflict < needed.possible or conflict < max(same, apart):
        return Judgment(relation="apart", verdict="different", chance=apart)
    detail = _difference(new, old)
    # What is said as a correction corrects something: the nearest conflict needs no more than to be the likeliest.
    if correction or conflict >= needed.conflict:
        return Judgment(
            relation="conflict", verdict="different", why="cannot hold beside", detail=detail, chance=conflict
        )
    ask = conflict >= needed.review
    return Judgment(
        relation="unsure", verdict="different", why="may contradict", detail=detail, chance=conflict, ask=ask
    )


def _difference(new: str, old: str) -> str:
    """What one says and the other does not: `8080 -> 9090`; about what both speak."""
    a, b = parts_of(new), parts_of(old)
    gone = _shown(b, b.words - a.words)
    come = _shown(a, a.words - b.words)
    both = _shown(a, a.words & b.words)
    told = f"{' '.join(gone) or '-'} -> {' '.join(come) or '-'}" if gone or come else ""
    if negated(new) != negated(old):
        told = f"{told}, denied" if told else "denied"
    return f"{told}; both on {' '.join(both)}" if told and both else told


def _shown(parts: Parts, words: frozenset[str]) -> list[str]:
    """The first of `words`, as they were said."""
    found = dict(
        reversed([(key, raw) for key, raw in zip(parts.order, parts.said, strict=True) if key in words])
    )
    return [raw for _, raw in reversed(found.items())][:_SHOWN]
