"""What capture keeps of real sessions, against the learnings an annotator found in them. In: sessions. Out: a scorecard.

precision         share of what was kept that matches a gold item of any strength
recall_strength2  share of the gold items of strength 2 that something kept matches; recall_all: of all items
kind_accuracy     of what matches, the share with the kind of the item it is most like
junk_per_session  kept statements that match nothing, a session
active_precision, active_recall_strength2: the same of what is active at once, without what waits for review

Intervals: bootstrap over sessions. Kept is what is active or waits for review.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.capture.extract.passages.model import PassageModel, shipped_passages
from tacit.ports.models import Embedder
from tacit_evals.data.learnings import GOLD, NEEDED, LabelledSession, Learning, load_learnings
from tacit_evals.data.recognise import folders_of
from tacit_evals.fit.passages import LabelledPassage, digest, fit_passages, labelled_passages, without
from tacit_evals.metrics.counts import Array
from tacit_evals.metrics.matching import likeness
from tacit_evals.metrics.resample import percentile_interval, resampled_sums
from tacit_evals.report.scorecard import POOLED, Figures, Listing, Part, Scorecard
from tacit_evals.suites.capturing import Captured, Kept, capture_session
from tacit_evals.suites.running import Run
from tacit_evals.suites.typed_patterns import by_typed_patterns

COLUMNS = (
    "precision", "recall_strength2", "recall_all", "kind_accuracy", "junk_per_session", "kept_per_session",
    "waiting_per_session", "active_precision", "active_recall_strength2",
)  # fmt: skip
FIGURES = (
    "precision", "recall_strength2", "recall_all", "kind_accuracy", "junk_per_session", "active_precision", "active_recall_strength2",
)  # fmt: skip
TYPED = "typed seed's patterns"
LISTED = ("cause", "session", "turns", "kind", "confidence", "words", "gold says")
MOST_LISTED = 400
SHOWN_CHARS = 300
_COLUMNS = (
    "right", "kept", "found2", "needed2", "found", "needed", "kind_right", "sessions", "active_right", "active", "active_found2",
)  # fmt: skip
Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What was kept of one session, with the gold item each is most like, if any.

    Attributes:
        kept: what is active, then what waits for review.
        matched: the gold item of each of them.
        found: ids of the gold items that something kept matches.
        found_active: those that something active matches.
        waiting: how many of `kept` wait.
    """

    session: LabelledSession
    kept: tuple[Captured, ...]
    matched: tuple[Learning | None, ...]
    found: frozenset[str]
    found_active: frozenset[str]
    waiting: int = 0

    @property
    def counts(self) -> list[int]:
        """In the order of the counted columns."""
        gold = self.session.gold
        active = len(self.kept) - self.waiting
        strong = [one for one in gold if one.strength >= NEEDED]
        pairs = [(one, item) for one, item in zip(self.kept, self.matched, strict=True) if item is not None]
        return [
            len(pairs),
            len(self.kept),
            sum(one.id in self.found for one in strong),
            len(strong),
            len(self.found),
            len(gold),
            sum(one.kind == item.kind for one, item in pairs),
            1,
            sum(item is not None for item in self.matched[:active]),
            active,
            sum(one.id in self.found_active for one in strong),
        ]


def run_capture(run: Run) -> Scorecard:
    """Measure every session below the run's folder."""
    sessions = [one for folder in folders_of("capture", run.data) for one in load_learnings(folder)]
    weights = _Weights(run)
    judged: list[Judged] = []
    simpler: list[Judged] = []
    for session in sessions:
        run.say(f"{session.id}: {len(session.turns)} turns, {len(session.gold)} learnings")
        model = weights.without(session)
        kept = capture_session(session, embedder=run.embedder, passages=model)
        judged.append(judge(session, kept, embedder=run.embedder))
        simpler.append(
            judge(session, Kept(learnings=by_typed_patterns(session.turns)), embedder=run.embedder)
        )
    return _card(judged, {TYPED: simpler}, run, weights)


class _Weights:
    """The weights for every session: never fitted on a label of that session, unless the shipped ones were asked for."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known = shipped_passages().sessions
        self._rows: list[LabelledPassage] | None = None
        self.fitted = 0

    def without(self, session: LabelledSession) -> PassageModel | None:
        """None = what ships."""
        if self._run.as_shipped or not (self._run.fit or digest(session.id) in self._known):
            return None
        if self._rows is None:
            data = self._run.data
            folders = self._run.fit or ((data.parent if (data / GOLD).is_file() else data),)
            self._run.say(f"labelled passages of {', '.join(map(str, folders))}")
            self._rows = labelled_passages(folders, embedder=self._run.embedder)
        self.fitted += 1
        return fit_passages(without(self._rows, session.id), embedder=str(self._run.embedder.identity))

    def described(self) -> str:
        """What stands on the scorecard."""
        return "without the session, in turn" if self.fitted else "shipped"


def judge(session: LabelledSession, kept: Kept, *, embedder: Embedder) -> Judged:
    """Match what was kept with the session's gold."""
    gold, learned = session.gold, (*kept.learnings, *kept.review)
    texts = [*(one.content for one in learned), *(one.content for one in gold)]
    vectors = embedder.embed(texts) if texts else np.zeros((0, 1), np.float32)
    cosines = vectors[: len(learned)] @ vectors[len(learned) :].T
    matched: list[Learning | None] = []
    found: set[str] = set()
    found_active: set[str] = set()
    for row, one in enumerate(learned):
        like = [
            (likeness(one.content, span=item.span, gold=item.content, cosine=float(cosines[row, at])), item)
            for at, item in enumerate(gold)
            if one.turns & item.turns
        ]
        right = [(score, item) for score, item in like if score >= 1.0]
        found.update(item.id for _, item in right)
        if row < len(kept.learnings):
            found_active.update(item.id for _, item in right)
        best = max(right, key=lambda pair: (pair[0], pair[1].strength, pair[1].id), default=None)
        matched.append(best[1] if best else None)
    return Judged(
        session=session,
        kept=learned,
        matched=tuple(matched),
        found=frozenset(found),
        found_active=frozenset(found_active),
        waiting=len(kept.review),
    )


def _card(
    judged: Sequence[Judged], baselines: Mapping[str, Sequence[Judged]], run: Run, weights: _Weights
) -> Scorecard:
    counts = np.array([one.counts for one in judged], np.float64)
    total = Part(
        name=POOLED,
        metrics={
            **_figures(counts.sum(0)),
            "kept_per_session": float(counts[:, 1].mean()),
            "waiting_per_session": float(np.mean([one.waiting for one in judged])),
        },
        intervals=intervals_of(counts),
        baselines={
            name: _figures(np.array([one.counts for one in own], np.float64).sum(0))
            for name, own in baselines.items()
        },
    )
    projects = sorted({one.session.project for one in judged})
    parts = tuple(
        Part(name=name, metrics=_figures(own.sum(0)), intervals=intervals_of(own))
        for name in projects
        if len(own := counts[[one.session.project == name for one in judged]])
    )
    return Scorecard(
        suite="capture",
        dataset=str(run.data),
        settings={"embedder": str(run.embedder.identity), "passages": weights.described()},
        total=total,
        parts=parts if len(parts) > 1 else (),
        columns=COLUMNS,
        listings=(_alarms(judged), _misses(judged)),
    )


def _figures(sums: Array) -> Figures:
    """Figures of summed counts; None = nothing to measure."""
    right, kept, found2, needed2, found, needed, kind_right, sessions, *rest = map(float, sums)
    active_right, active, active_found2 = rest
    return {
        "precision": right / kept if kept else None,
        "recall_strength2": found2 / needed2 if needed2 else None,
        "recall_all": found / needed if needed else None,
        "kind_accuracy": kind_right / right if right else None,
        "junk_per_session": (kept - right) / sessions if sessions else None,
        "active_precision": active_right / active if active else None,
        "active_recall_strength2": active_found2 / needed2 if needed2 else None,
    }


def intervals_of(counts: Array) -> dict[str, tuple[float, float]]:
    """95 % interval of every figure, by resampled sessions; shares without a base are left out."""
    found: dict[str, tuple[float, float]] = {}
    drawn = [_figures(sums) for sums in resampled_sums(counts)]
    for name in FIGURES:
        values = [value for one in drawn if (value := one[name]) is not None]
        if values:
            found[name] = percentile_interval(np.array(values))
    return found


def _alarms(judged: Sequence[Judged]) -> Listing:
    rows: list[tuple[str, ...]] = []
    for one in judged:
        for captured, item in zip(one.kept, one.matched, strict=True):
            if item is None:
                near = [gold for gold in one.session.gold if gold.turns & captured.turns]
                cause = f"{captured.by}: " + (
                    "beside a learning" if near else "where nothing is to be learned"
                )
                rows.append(_row(cause, one, captured, near[0].content if near else ""))
    return _listing("False alarms (kept, no learning)", rows)


def _misses(judged: Sequence[Judged]) -> Listing:
    rows: list[tuple[str, ...]] = []
    for one in judged:
        roles = {turn.i: turn.role for turn in one.session.turns}
        kept = {place for captured in one.kept for place in captured.turns}
        for item in one.session.gold:
            if item.id in one.found:
                continue
            speakers = "+".join(sorted({roles.get(i, "?") for i in item.turns}))
            how = "other words kept" if kept & item.turns else "nothing kept"
            strength = f"strength {item.strength}, {speakers}: {how}"
            rows.append(
                (
                    strength,
                    one.session.id,
                    _places(item.turns),
                    item.kind,
                    "",
                    item.span[:SHOWN_CHARS],
                    item.content[:SHOWN_CHARS],
                )
            )
    return _listing("Misses (a learning, not kept)", rows)


def _row(cause: str, one: Judged, captured: Captured, gold: str) -> tuple[str, ...]:
    return (
        cause,
        one.session.id,
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
