"""What becomes of stored memories when a new statement meets them. In: judged cases. Out: a scorecard.

The stored ones go into a throw-away store, prepared as capture prepares them, a project for every case; the new one goes
through the write path as it ships. A case is right when every stored memory of it has the right fate.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tacit.app.reasons import change_text
from tacit.backends.sqlite import open_sqlite_store
from tacit.capture.pipeline import CapturePipeline
from tacit.capture.prepare import Preparer
from tacit.capture.write_up.session_writer import WriterAccess
from tacit.capture.write_up.statement_comparer import LIVE
from tacit.config.home import Home
from tacit.config.settings import CaptureSettings, PrivacySettings, WriterSettings
from tacit.errors import InvalidInput
from tacit.model.change_reason import ChangeCause
from tacit.model.changes import Add, Change, Contradict, Draft, Edit, Merge, Skip, Supersede
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Provenance, TrustTier
from tacit.model.scope import project_scope
from tacit.ports.models import Embedder
from tacit.ports.store import Store
from tacit.ports.writer import Writer
from tacit.providers.clock import FakeClock
from tacit.providers.tokens import EstimateCounter
from tacit.safety.redact import Redactor
from tacit.statements.near import word_overlap
from tacit.statements.same import same_statement
from tacit_evals.data.cassettes import ReplayWriter
from tacit_evals.data.recognise import folders_of
from tacit_evals.data.updates import FATES, Fate, Statement, UpdateCase, load_updates
from tacit_evals.metrics.counts import Array
from tacit_evals.metrics.resample import paired_p, percentile_interval, resampled_sums
from tacit_evals.report.scorecard import POOLED, Listing, Part, Scorecard, macro_of
from tacit_evals.suites.running import Run

DAY_MS = 86_400_000
METRICS = ("case_accuracy", "pair_accuracy", "wrongful_supersession")
COLUMNS = (
    "cases", "pairs", *METRICS, "supersede_precision", "supersede_recall", "merge_recall", "contradict_recall", "keep_recall",
)  # fmt: skip
Fates = Mapping[str, Fate]
KEEP: Fate = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """One case with what was said of it, by stored id; `why` is the reason that was given."""

    case: UpdateCase
    fates: Fates
    why: str

    @property
    def right(self) -> bool:
        """Whether every stored memory has the right fate."""
        return all(self.fates[name] == fate for name, fate in self.case.fates.items())


def run_update(run: Run) -> Scorecard:
    """Measure all cases below the run's folder."""
    cases = [case for folder in folders_of("update", run.data) for case in load_updates(folder)]
    run.say(f"{len(cases)} cases")
    methods: dict[str, list[Fates]] = {
        "word overlap, its threshold fitted here": by_overlap(cases),
        "always keep": [dict.fromkeys(case.fates, KEEP) for case in cases],
    }
    writer = ReplayWriter(run.answers, requests=run.requests) if run.answers else None
    decided = decide_all(cases, run.embedder, writer=writer)
    return _card(
        decided,
        {name: _decided(cases, fates) for name, fates in methods.items()},
        dataset=str(run.data),
        settings={"embedder": str(run.embedder.identity)},
    )


def _decided(cases: Sequence[UpdateCase], fates: Sequence[Fates]) -> list[Decided]:
    return [
        Decided(case=case, fates=case_fates, why="") for case, case_fates in zip(cases, fates, strict=True)
    ]


# --- ours


class MovedClock(FakeClock):
    """A clock that goes to the day of each statement, also back: every case is a world of its own."""

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self.at_ms = now_ms

    def now_ms(self) -> int:
        """The time it was last set to."""
        return self.at_ms


def decide_all(
    cases: Sequence[UpdateCase], embedder: Embedder, *, writer: Writer | None = None
) -> list[Decided]:
    """Let the write path decide on every case, each in a store of its own; with a writer it compares what reconciliation left.

    Raises:
        InvalidInput: if the writer has no answer.
    """
    moments = [statement.created_ms or 0 for case in cases for statement in (*case.existing, case.new)]
    today = max(moments) + DAY_MS
    decided: list[Decided] = []
    missing: list[InvalidInput] = []
    for case in cases:
        try:
            decided.append(_decide(case, embedder, today=today, writer=writer))
        except InvalidInput as error:  # go on, so that all requests are written that wait for an answer
            missing.append(error)
    if missing:
        raise InvalidInput(
            f"{len(missing)} of {len(cases)} cases have no answer. {missing[0]}", hint=missing[0].hint
        )
    return decided


def _decide(case: UpdateCase, embedder: Embedder, *, today: int, writer: Writer | None) -> Decided:
    asked_ms = case.new.created_ms or today
    clock = MovedClock(now_ms=asked_ms)
    redactor, kinds, tokens = Redactor(PrivacySettings()), KindRegistry(), EstimateCounter()
    model = writer and WriterAccess(
        writer=writer,
        prepare=str,
        tokens=tokens,
        settings=WriterSettings(provider="fake"),
        vouches=lambda *_: "",
    )
    names: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="tacit-eval-") as folder:
        home = Home(Path(folder))
        home.ensure()
        store = open_sqlite_store(home, clock=clock)
        try:
            capture = CapturePipeline(
                store=store,
                embedder=embedder,
                tokens=tokens,
                clock=clock,
                redactor=redactor,
                kinds=kinds,
                settings=CaptureSettings(),
                model=model,
            )
            preparer = Preparer(redactor=redactor, kinds=kinds, tokens=tokens, clock=clock)
            for number, statement in enumerate(case.existing):
                # The data knows days; of two statements of one day the later one is known to be later.
                clock.at_ms = (statement.created_ms or asked_ms - DAY_MS) + number * 1000
                memory = preparer.prepare(draft_of(statement, case.id, later_ms=number * 1000))
                if isinstance(memory, Memory):
                    vectors = embedder.embed([memory.content])
                    store.apply([Add(memory=memory)], vectors=vectors, identity=embedder.identity)
                    names[memory.id] = statement.id
            if capture.comparer is not None:
                capture.comparer.compare_next(at_once=True)  # what is there by now is not compared
            later_ms = len(case.existing) * 1000
            clock.at_ms = asked_ms + later_ms
            changes = capture.store_drafts([draft_of(case.new, case.id, later_ms=later_ms)])
            fates = fates_of(case, changes, names)
            if capture.comparer is not None:
                done = capture.comparer.compare_next(at_once=True)
                if done is not None:
                    changes = (*changes, *done.changes)
                    fates |= _compared(store, done.changes, names)
                    fates |= _settled(store, fates, names)
        finally:
            store.close()
    return Decided(case=case, fates=fates, why=_why(changes))


def _settled(store: Store, fates: Mapping[str, Fate], names: Mapping[str, str]) -> dict[str, Fate]:
    """The pairs that words alone took for a contradiction, and that are no question any more."""
    edges = store.relations(list(names), scope=store.scopes())
    contested = {
        name
        for edge in edges
        if edge.type == "contradicts" and edge.weight > 0
        for name in (edge.source_id, edge.target_id)
    }
    return {key: KEEP for name, key in names.items() if fates[key] == "contradict" and name not in contested}


def _compared(store: Store, changes: Sequence[Change], names: Mapping[str, str]) -> dict[str, Fate]:
    """What comparing did to the stored memories of the case."""
    fates: dict[str, Fate] = {}
    for change in changes:
        if isinstance(change, Merge) and change.memory.id in names:
            fates[names[change.memory.id]] = "merge"
        elif isinstance(change, Edit) and change.memory.id in names:
            same = change.reason.cause is ChangeCause.SAYS_SAME
            fates[names[change.memory.id]] = "merge" if same else "supersede"
        elif isinstance(change, Edit) and change.memory.status in LIVE:
            edges = store.relations([change.memory.id], scope=store.scopes())
            contested = [edge.target_id for edge in edges if edge.type == "contradicts" and edge.weight > 0]
            fates.update({names[name]: "contradict" for name in contested if name in names})
    return fates


def draft_of(statement: Statement, case: str, *, later_ms: int = 0) -> Draft:
    """The statement as capture would have found it."""
    return Draft(
        content=statement.content,
        kind=statement.kind,
        scope=project_scope(case),
        provenance=Provenance(
            tier=statement.tier,
            source="session",
            host="evaluation",
            session_id=f"{case}/{statement.id}",
            span=statement.content,
        ),
        at_ms=statement.created_ms + later_ms if statement.created_ms else 0,
        dated=statement.created_ms is not None,
        explicit=statement.tier is TrustTier.USER,
    )


def fates_of(case: UpdateCase, changes: Sequence[Change], names: Mapping[str, str]) -> dict[str, Fate]:
    """What the changes did to the stored memories of the case; `names` has their ids in the data."""
    fates: dict[str, Fate] = dict.fromkeys(case.fates, KEEP)

    def put(memory_id: str, fate: Fate) -> None:
        if memory_id in names:
            fates[names[memory_id]] = fate

    for change in changes:
        match change:
            case Merge():
                put(change.memory.id, "merge")
            case Supersede():
                for name in (change.old_id, *change.further):
                    put(name, "supersede")
                for name in change.contested:
                    put(name, "contradict")
            case Contradict():
                for name in (change.other_id, *change.further):
                    put(name, "contradict")
            case _:
                pass
    return fates


def _why(changes: Sequence[Change]) -> str:
    return "; ".join(
        change.content if isinstance(change, Skip) else change_text(change.reason) for change in changes
    )


# --- simpler


def by_overlap(cases: Sequence[UpdateCase]) -> list[Fates]:
    """Equal words merge, an overlap above a threshold supersedes; the threshold is the best for these very pairs."""
    pairs = [(case, old) for case in cases for old in case.existing]
    common = np.array([word_overlap(case.new.content, old.content) for case, old in pairs])
    same = np.array([same_statement(case.new.content, old.content) for case, old in pairs])
    truth = [case.fates[old.id] for case, old in pairs]

    def fates(threshold: float) -> list[Fate]:
        return [
            "merge" if equal else "supersede" if value >= threshold else "keep"
            for value, equal in zip(common.tolist(), same.tolist(), strict=True)
        ]

    def right(threshold: float) -> int:
        return sum(fate == label for fate, label in zip(fates(threshold), truth, strict=True))

    best = max(sorted({*common.tolist(), 1.1}), key=lambda threshold: (right(threshold), threshold))
    said_of: dict[str, dict[str, Fate]] = {case.id: {} for case in cases}
    for (case, old), fate in zip(pairs, fates(best), strict=True):
        said_of[case.id][old.id] = fate
    return [said_of[case.id] for case in cases]


# --- figures


def _counts(decided: Sequence[Decided]) -> Array:
    """One row per case: cases, cases right, pairs, pairs right, and of each fate pairs said, pairs labelled, pairs both."""
    rows: list[list[float]] = []
    for decision in decided:
        pairs = [(decision.fates[name], fate) for name, fate in decision.case.fates.items()]
        row: list[float] = [1, decision.right, len(pairs), sum(said == fate for said, fate in pairs)]
        for fate in FATES:
            row += [
                sum(said == fate for said, _ in pairs),
                sum(label == fate for _, label in pairs),
                sum(said == label == fate for said, label in pairs),
            ]
        rows.append(row)
    return np.array(rows, dtype=np.float64)


def _figures(sums: Array) -> dict[str, Array]:
    """Every figure from sums of columns (last axis); 0 where nothing could be counted."""

    def share(top: Array, bottom: Array) -> Array:
        return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)

    def of(fate: Fate) -> tuple[Array, Array, Array]:
        first = 4 + 3 * FATES.index(fate)
        return sums[..., first], sums[..., first + 1], sums[..., first + 2]

    said, labelled, both = of("supersede")
    values = {
        "cases": sums[..., 0],
        "pairs": sums[..., 2],
        "case_accuracy": share(sums[..., 1], sums[..., 0]),
        "pair_accuracy": share(sums[..., 3], sums[..., 2]),
        "wrongful_supersession": share(said - both, sums[..., 2] - labelled),
        "wrongful_of_all_pairs": share(said - both, sums[..., 2]),
        "supersede_precision": share(both, said),
    }
    for fate in FATES:
        said, labelled, both = of(fate)
        values[f"{fate}_recall"] = share(both, labelled)
    return values


def _card(
    decided: Sequence[Decided],
    simpler: Mapping[str, Sequence[Decided]],
    *,
    dataset: str,
    settings: dict[str, object],
) -> Scorecard:
    counts = _counts(decided)
    total = replace(
        _part(POOLED, counts),
        baselines={
            name: {key: float(value) for key, value in _figures(_counts(rival).sum(axis=0)).items()}
            for name, rival in simpler.items()
        },
        p_values={
            name: {
                "case_accuracy": paired_p(
                    [decision.right for decision in decided], [decision.right for decision in rival]
                ),
            }
            for name, rival in simpler.items()
        },
        curves={"confusion": confusion(decided)},
    )
    projects = sorted({decision.case.project for decision in decided})
    parts = tuple(
        _part(name, counts[[decision.case.project == name for decision in decided]]) for name in projects
    )
    return Scorecard(
        suite="update",
        dataset=dataset,
        settings=settings,
        total=total,
        parts=(*parts, macro_of(parts)) if len(parts) > 1 else (),
        columns=COLUMNS,
        judged={"case_accuracy": True, "wrongful_supersession": False},
        notes=(
            "a case is right when every stored memory has the right fate",
            "wrongful_supersession = pairs that were superseded, of those labelled otherwise",
        ),
        listings=_listings(decided),
    )


def _part(name: str, counts: Array) -> Part:
    sums = _figures(resampled_sums(counts))
    return Part(
        name=name,
        metrics={figure: float(value) for figure, value in _figures(counts.sum(axis=0)).items()},
        intervals={figure: percentile_interval(values) for figure, values in sums.items()},
    )


def confusion(decided: Sequence[Decided]) -> dict[str, dict[str, int]]:
    """Pairs by label and by what was said."""
    counted = Counter(
        (fate, decision.fates[name]) for decision in decided for name, fate in decision.case.fates.items()
    )
    return {label: {said: counted[label, said] for said in FATES} for label in FATES}


def _listings(decided: Sequence[Decided]) -> tuple[Listing, ...]:
    """Pairs with a wrong fate, by label and what was said instead; texts stand on the page alone."""
    rows = [
        (
            f"{fate}, said {decision.fates[name]}",
            decision,
            next(old for old in decision.case.existing if old.id == name),
        )
        for decision in decided
        for name, fate in decision.case.fates.items()
        if decision.fates[name] != fate
    ]
    counted = Counter(cause for cause, _, _ in rows)
    return (
        Listing(
            title="pairs with a wrong fate",
            counts=dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))),
            columns=("cause", "case", "stored", "new", "why"),
            rows=[
                (cause, decision.case.id, old.content, decision.case.new.content, decision.why)
                for cause, decision, old in rows
            ],
        ),
        Listing(
            title="pairs by label and fate",
            counts={
                f"{label} -> {said}": number
                for label, by_fate in confusion(decided).items()
                for said, number in by_fate.items()
                if number
            },
            columns=(),
            rows=(),
        ),
    )
