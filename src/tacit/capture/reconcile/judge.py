"""How a new statement relates to stored ones, with the words for it. In: texts and cosines. Out: one judgment each.

What is said in so many words is certain (`find_certain`). What else looks like a conflict, by words or to the fitted model, is only a
question to a person. Pure but for the embedder's word matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol

from tacit.capture.reconcile.certain import Finding, find_certain
from tacit.capture.reconcile.compare import Verdict, compare, marks_change
from tacit.capture.reconcile.features import WordMatches, pair_rows
from tacit.capture.reconcile.model import OUTCOMES, PairModel, Thresholds, shipped_model
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

_WHY: dict[Finding, str] = {
    "same": "says the same as",
    "denied": "denies what is said in",
    "replaced": "replaces what is said in",
    "value_changed": "gives another value than",
}
_MAY: dict[Verdict, str] = {
    "reversed": "may say the opposite of",
    "replaced": "may replace what is said in",
    "value_changed": "may give another value than",
    "slot_changed": "may correct",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """How the new statement relates to one stored statement.

    Attributes:
        relation: `same` and `conflict` are said in so many words; `unsure` = both may not hold together, which a person decides.
        verdict: what the words say or look like; `different` = nothing, the model spoke.
        why: words that end before the stored memory's id ("gives another value than").
        detail: what tells them apart, for people; may be empty.
        chance: of a conflict where the model spoke, 0-1; else 1.
    """

    relation: Relation
    verdict: Verdict | Finding
    why: str = ""
    detail: str = ""
    chance: float = 1.0


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
    """What is said in so many words, and what words alone make look like a conflict."""
    return tuple(_by_rule(new, old, cosine, near=near, correction=correction) for old, cosine in others)


class PairJudge:
    """The rules, then the fitted model, which only finds what to ask about."""

    def __init__(self, matches: WordMatches | None, *, model: PairModel | None = None) -> None:
        self._matches = matches
        self._model = model

    def __call__(
        self, new: str, others: Sequence[tuple[str, float]], *, near: float, correction: bool
    ) -> tuple[Judgment, ...]:
        """See `Judge`."""
        judged = list(judge_by_rules(new, others, near=near, correction=correction))
        open_ = [place for place, one in enumerate(judged) if one.relation == "apart"]
        chances = self._chances(new, others, open_)
        needed = self._needed.review if chances else 1.0
        for place, (_, conflict) in chances.items():
            if conflict >= needed:
                judged[place] = Judgment(
                    relation="unsure", verdict="different", why="may contradict",
                    detail=_difference(new, others[place][0]), chance=conflict,
                )  # fmt: skip
        return tuple(judged)

    def says_again(self, new: str, others: Sequence[tuple[str, float]]) -> int | None:
        """The place of a statement that `new` repeats, if only in other words, as far as the model can tell; None = of none."""
        for place, (old, _) in enumerate(others):
            if find_certain(new, old) == "same":
                return place
        chances = self._chances(new, others, range(len(others)))
        needed = self._needed.same if chances else 1.0
        return next(
            (place for place, (same, conflict) in chances.items() if same >= max(needed, conflict)), None
        )

    @property
    def _needed(self) -> Thresholds:
        return (self._model or shipped_model()).thresholds

    def _chances(
        self, new: str, others: Sequence[tuple[str, float]], places: Iterable[int]
    ) -> dict[int, tuple[float, float]]:
        """Chances that `new` says the same, and that both cannot hold, for the nearest of `places` that are near at all."""
        unclear = (
            place
            for place in places
            if not 0.0 < others[place][1] < FAR
            and shared_matter(new, others[place][0]) >= SHARED
            and not other_subject(new, others[place][0])
        )
        open_ = list(islice(unclear, MOST_READ))
        if not open_:
            return {}
        model = self._model or shipped_model()
        rows = pair_rows(new, [others[at] for at in open_], matches=self._matches)
        same, conflict = OUTCOMES.index("same"), OUTCOMES.index("conflict")
        return {
            place: (chances[same], chances[conflict])
            for place, chances in zip(open_, model.chances(rows).tolist(), strict=True)
        }


def _by_rule(new: str, old: str, cosine: float, *, near: float, correction: bool) -> Judgment:
    found = find_certain(new, old, correction=correction)
    if found == "same":
        return Judgment(relation="same", verdict="same", why=_WHY["same"])
    if found:
        return Judgment(relation="conflict", verdict=found, why=_WHY[found], detail=_difference(new, old))
    verdict = compare(new, old, cosine=cosine, near=near)
    # One word differs: "run tests before pushing" beside "run lint before pushing" is no change of mind, unless the
    # statement itself says that it changes something.
    slot = verdict == "slot_changed" and (correction or marks_change(new))
    if slot or verdict in ("reversed", "replaced", "value_changed"):
        return Judgment(relation="unsure", verdict=verdict, why=_MAY[verdict], detail=_difference(new, old))
    return Judgment(relation="apart", verdict="different")


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
