"""What capture keeps of real sessions, against the learnings an annotator found in them. In: sessions. Out: a scorecard.

precision         share of what becomes active that matches a gold item of any strength
explicit2_kept    gold items of strength 2 that somebody said outright and that something active matches
recall_strength2  share of the gold items of strength 2 that something active matches; recall_all: of all items
kind_accuracy     of what matches, the share with the kind of the item it is most like
active_per_session, review_per_session: statements that are active, and those that wait for the user

No model of language is asked.
Intervals: bootstrap over sessions. A baseline captures by the patterns of the typed seed (section 4.2) as they stand there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.ports.models import Embedder
from tacit_evals.data.learnings import NEEDED, LabelledSession, Learning, Message, load_learnings
from tacit_evals.data.recognise import folders_of
from tacit_evals.metrics.counts import Array
from tacit_evals.metrics.matching import likeness
from tacit_evals.metrics.resample import percentile_interval, resampled_sums
from tacit_evals.report.scorecard import POOLED, Figures, Listing, Part, Scorecard, macro_of
from tacit_evals.suites.capturing import Captured, Kept, capture_session
from tacit_evals.suites.running import Run

COLUMNS = (
    "precision", "explicit2_kept", "recall_strength2", "recall_all", "kind_accuracy", "active_per_session", "review_per_session",
)  # fmt: skip
FIGURES = tuple(name for name in COLUMNS if name != "explicit2_kept")
"""What has an interval: a count is of these sessions alone."""
JUDGED: Mapping[str, bool] = {
    "precision": True,
    "recall_strength2": True,
    "kind_accuracy": True,
    "review_per_session": False,
}
TYPED = "typed seed's patterns"
LISTED = ("cause", "session", "turns", "kind", "confidence", "words", "gold says")
MOST_LISTED = 400
SHOWN_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What became active of one session, with the gold item each statement is most like, if any.

    Attributes:
        active: the statements.
        matched: the gold item of each of them.
        found: ids of the gold items that something active matches.
        review: how many statements wait for the user.
    """

    session: LabelledSession
    active: tuple[Captured, ...]
    matched: tuple[Learning | None, ...]
    found: frozenset[str]
    review: int = 0

    @property
    def counts(self) -> list[int]:
        """In the order that `_figures` reads."""
        gold = self.session.gold
        strong = [learning for learning in gold if learning.strength >= NEEDED]
        pairs = [
            (captured, item)
            for captured, item in zip(self.active, self.matched, strict=True)
            if item is not None
        ]
        return [
            1,
            len(self.active),
            len(pairs),
            sum(captured.kind == item.kind for captured, item in pairs),
            self.review,
            len(gold),
            len(self.found),
            len(strong),
            sum(learning.id in self.found for learning in strong),
            sum(learning.id in self.found for learning in strong if learning.explicit),
        ]


def run_capture(run: Run) -> Scorecard:
    """Measure every session below the run's folder."""
    sessions = [session for folder in folders_of("capture", run.data) for session in load_learnings(folder)]
    judged: list[Judged] = []
    simpler: list[Judged] = []
    for session in sessions:
        run.say(f"{session.id}: {len(session.turns)} turns, {len(session.gold)} learnings")
        kept = capture_session(session, embedder=run.embedder)
        judged.append(judge(session, kept, embedder=run.embedder))
        simpler.append(
            judge(session, Kept(learnings=by_typed_patterns(session.turns)), embedder=run.embedder)
        )
    return _card(judged, {TYPED: simpler}, run)


def judge(session: LabelledSession, kept: Kept, *, embedder: Embedder) -> Judged:
    """Match what became active with the session's gold."""
    gold, learned = session.gold, kept.learnings
    texts = [*(captured.content for captured in learned), *(item.content for item in gold)]
    vectors = embedder.embed(texts) if texts else np.zeros((0, 1), np.float32)
    cosines = vectors[: len(learned)] @ vectors[len(learned) :].T
    matched: list[Learning | None] = []
    found_ids: set[str] = set()
    for row, captured in enumerate(learned):
        like = [
            (
                likeness(captured.content, span=item.span, gold=item.content, cosine=float(cosines[row, at])),
                item,
            )
            for at, item in enumerate(gold)
            if captured.turns & item.turns
        ]
        matches = [(score, item) for score, item in like if score >= 1.0]
        found_ids.update(item.id for _, item in matches)
        best = max(matches, key=lambda pair: (pair[0], pair[1].strength, pair[1].id), default=None)
        matched.append(best[1] if best else None)
    return Judged(
        session=session,
        active=learned,
        matched=tuple(matched),
        found=frozenset(found_ids),
        review=len(kept.review),
    )


def _card(judged: Sequence[Judged], baselines: Mapping[str, Sequence[Judged]], run: Run) -> Scorecard:
    counts = np.array([result.counts for result in judged], np.float64)
    total = Part(
        name=POOLED,
        metrics=_figures(counts.sum(0)),
        intervals=intervals_of(counts),
        baselines={
            name: _figures(np.array([result.counts for result in own], np.float64).sum(0))
            for name, own in baselines.items()
        },
    )
    projects = sorted({result.session.project for result in judged})
    parts = tuple(
        Part(name=name, metrics=_figures(own.sum(0)), intervals=intervals_of(own))
        for name in projects
        if len(own := counts[[result.session.project == name for result in judged]])
    )
    return Scorecard(
        suite="capture",
        dataset=str(run.data),
        settings={"embedder": str(run.embedder.identity)},
        total=total,
        parts=(*parts, macro_of(parts)) if len(parts) > 1 else (),
        columns=COLUMNS,
        judged=JUDGED,
        listings=(_alarms(judged), _hits(judged), _misses(judged)),
    )


def _figures(sums: Array) -> Figures:
    """Figures of summed counts; None = nothing to measure."""
    sessions, active, right, kind_right, review, gold, found, strong, found2, explicit2 = map(float, sums)
    return {
        "precision": right / active if active else None,
        "explicit2_kept": explicit2,
        "recall_strength2": found2 / strong if strong else None,
        "recall_all": found / gold if gold else None,
        "kind_accuracy": kind_right / right if right else None,
        "active_per_session": active / sessions if sessions else None,
        "review_per_session": review / sessions if sessions else None,
    }


def intervals_of(counts: Array) -> dict[str, tuple[float, float]]:
    """95 % interval of every figure, by resampled sessions; shares without a base are left out."""
    intervals: dict[str, tuple[float, float]] = {}
    drawn = [_figures(sums) for sums in resampled_sums(counts)]
    for name in FIGURES:
        values = [value for sample in drawn if (value := sample[name]) is not None]
        if values:
            intervals[name] = percentile_interval(np.array(values))
    return intervals


def _alarms(judged: Sequence[Judged]) -> Listing:
    rows: list[tuple[str, ...]] = []
    for result in judged:
        for captured, item in zip(result.active, result.matched, strict=True):
            if item is None:
                near = [gold for gold in result.session.gold if gold.turns & captured.turns]
                place = "beside a learning" if near else "where nothing is to be learned"
                rows.append(
                    _row(f"{captured.by}: {place}", result, captured, near[0].content if near else "")
                )
    return _listing("False alarms (active, no learning)", rows)


def _hits(judged: Sequence[Judged]) -> Listing:
    rows = [
        _row(f"{captured.by}: strength {item.strength}", result, captured, item.content)
        for result in judged
        for captured, item in zip(result.active, result.matched, strict=True)
        if item is not None
    ]
    return _listing("Learned (active, a learning)", rows)


def _misses(judged: Sequence[Judged]) -> Listing:
    rows: list[tuple[str, ...]] = []
    for result in judged:
        roles = {turn.i: turn.role for turn in result.session.turns}
        places = {place for captured in result.active for place in captured.turns}
        for item in result.session.gold:
            if item.id in result.found:
                continue
            speakers = "+".join(sorted({roles.get(i, "?") for i in item.turns}))
            how = "other words kept" if places & item.turns else "nothing kept"
            strength = f"strength {item.strength}, {speakers}: {how}"
            rows.append(
                (
                    strength,
                    result.session.id,
                    _places(item.turns),
                    item.kind,
                    "",
                    item.span[:SHOWN_CHARS],
                    item.content[:SHOWN_CHARS],
                )
            )
    return _listing("Misses (a learning, not kept)", rows)


def _row(cause: str, result: Judged, captured: Captured, gold: str) -> tuple[str, ...]:
    return (
        cause,
        result.session.id,
        _places(captured.turns),
        captured.kind,
        f"{captured.confidence:.2f}",
        captured.content[:SHOWN_CHARS],
        gold[:SHOWN_CHARS],
    )


def _places(turns: frozenset[int]) -> str:
    return " ".join(map(str, sorted(turns)))


def _listing(title: str, rows: Sequence[tuple[str, ...]]) -> Listing:
    ordered = sorted(rows)
    counts: dict[str, int] = {}
    for row in ordered:
        counts[row[0]] = counts.get(row[0], 0) + 1
    return Listing(title=title, counts=counts, columns=LISTED, rows=ordered[:MOST_LISTED])


# --- the baseline: patterns of the typed seed

_DECISION = (
    r"(?:decided|choosing|going with|we'll use|opting for)\s+(.+?)(?:\.|$)",
    r"(?:because|reason being)\s+(.+?)(?:\.|$)",
    r"(?:the approach is|strategy is)\s+(.+?)(?:\.|$)",
)
_PREFERENCE = (
    r"(?:always|prefer|should always|never)\s+(.+?)(?:\.|$)",
    r"(?:convention is|style is|standard is)\s+(.+?)(?:\.|$)",
    r"(?:make sure to|remember to always)\s+(.+?)(?:\.|$)",
)
_ERROR = (
    r"(?:the issue was|bug was|problem was|caused by)\s+(.+?)(?:\.|$)",
    r"(?:fixed by|solved by|resolved by)\s+(.+?)(?:\.|$)",
    r"(?:root cause|the reason)\s+(.+?)(?:\.|$)",
)
_FLAGS = re.IGNORECASE | re.MULTILINE
PATTERNS: dict[str, tuple[tuple[str, re.Pattern[str]], ...]] = {
    "assistant": tuple(
        (kind, re.compile(pattern, _FLAGS))
        for kind, patterns in (("decision", _DECISION), ("error_pattern", _ERROR))
        for pattern in patterns
    ),
    "user": tuple(("preference", re.compile(pattern, _FLAGS)) for pattern in _PREFERENCE),
}


def by_typed_patterns(turns: Sequence[Message]) -> tuple[Captured, ...]:
    """What the typed seed's patterns keep of a session, in order."""
    found: dict[tuple[str, str], Captured] = {}
    for turn in turns:
        for kind, pattern in PATTERNS.get(turn.role, ()):
            for match in pattern.finditer(turn.text):
                content = match[0].strip()
                captured = Captured(content=content, kind=kind, turns=frozenset({turn.i}), by=turn.role)
                found.setdefault((kind, content.lower()), captured)
    return tuple(found.values())
