"""What a language model's write-up of real sessions brings, with recorded answers. In: sessions, answers. Out: a scorecard.

Every session goes through the shipped write path with a store of its own: captured, cut, asked, checked, reconciled, stored.

precision, recall_strength2, kind_accuracy: as in the suite `capture`, of all that is known of the session afterwards: what the model wrote, what
                was stored without it, what waits
precision_at_80, recall_strength2_at_80: the same of those with a confidence of .8 and more
active_precision, active_recall_strength2: of all that became active, also what was learned without the model
review_per_session: statements that wait for the user
checked_share   share of the statements of the answers that passed the checks
cut_keeps_turns share of the evidence turns of the learnings of strength 2 that are sent at all
cut_keeps_spans share of those learnings whose words are sent
tokens_per_session: input tokens of the request, estimated

Intervals: bootstrap over sessions.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.app.maintenance.writing import REQUEST_MARGIN
from tacit.app.user_words import vouch
from tacit.backends.sqlite import open_sqlite_store
from tacit.capture.backfill import BackfillOptions
from tacit.capture.pipeline import CapturePipeline
from tacit.capture.write_up.session_writer import PreparedRequest, SessionWriter, WriterAccess
from tacit.config.home import Home
from tacit.config.reload import SettingsWatcher
from tacit.config.settings import WriterSettings
from tacit.errors import InvalidInput
from tacit.hosts.transcripts.rows import TranscriptInfo
from tacit.model.kinds import KindRegistry
from tacit.ports.models import Embedder
from tacit.ports.store import MemoryFilter, ProjectRecord, Store
from tacit.ports.writer import Writer
from tacit.providers.clock import FakeClock
from tacit.providers.tokens import EstimateCounter
from tacit.safety.redact import Redactor
from tacit.state.registry import SPENDING
from tacit_evals.data.cassettes import ReplayWriter
from tacit_evals.data.learnings import NEEDED, LabelledSession, Learning, load_learnings
from tacit_evals.data.recognise import folders_of
from tacit_evals.metrics.counts import Array
from tacit_evals.metrics.resample import percentile_interval, resampled_sums
from tacit_evals.report.scorecard import POOLED, Figures, Part, Scorecard, macro_of
from tacit_evals.suites.capture import Judged, judge
from tacit_evals.suites.capturing import HOST, NOTES, TASKS, Kept, captured_of
from tacit_evals.suites.running import Run

SURE = 0.8
STEPS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85)
COLUMNS = (
    "precision", "recall_strength2", "kind_accuracy", "precision_at_80", "recall_strength2_at_80", "active_precision", "active_recall_strength2",
    "review_per_session", "checked_share", "cut_keeps_turns", "cut_keeps_spans", "tokens_per_session",
)  # fmt: skip
JUDGED: Mapping[str, bool] = {
    "precision": True,
    "recall_strength2": True,
    "kind_accuracy": True,
    "review_per_session": False,
}
_NOW_MS = 1_767_225_600_000
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The write path over an empty store, after the session was captured."""

    writer: SessionWriter
    store: Store

    @property
    def prepared(self) -> PreparedRequest | None:
        """The request for the session; None = it is not worth one."""
        waiting = next(iter(self.writer.waiting(past=True)), None)
        return self.writer.prepare(waiting) if waiting is not None else None


@contextmanager
def captured(session: LabelledSession, writer: Writer, *, embedder: Embedder) -> Generator[Bench]:
    """Capture `session` so that it waits for `writer`.

    Raises:
        InvalidInput: if the file cannot be captured.
    """
    with tempfile.TemporaryDirectory(prefix="tacit-eval-") as folder:
        home = Home(Path(folder))
        home.ensure()
        settings = SettingsWatcher(home, environ={}).current()
        redactor = Redactor(settings.privacy)
        clock = FakeClock(now_ms=_NOW_MS)
        store = open_sqlite_store(home, clock=clock)
        root = f"/work/{session.project or 'project'}"
        model = WriterAccess(
            writer=writer,
            prepare=lambda text: redactor.redact(text).text,
            tokens=EstimateCounter(margin=REQUEST_MARGIN),
            settings=WriterSettings(provider="fake", least_chars=0),
            vouches=lambda content, words, prompts: vouch(content, words, prompts).statement,
        )
        pipeline = CapturePipeline(
            store=store,
            embedder=embedder,
            tokens=EstimateCounter(),
            clock=clock,
            redactor=redactor,
            kinds=KindRegistry(),
            settings=settings.capture,
            identify=lambda cwd: ProjectRecord(id="evaluated", name="evaluated", root=cwd),
            model=model,
        )
        info = TranscriptInfo(
            host=HOST,
            path=session.path,
            size_bytes=0,
            modified_ms=0,
            sessions=1,
            session_ids=(session.id,),
            cwd=root,
        )
        try:
            if (
                pipeline.backfill([info], wanted=BackfillOptions(write_up=True)).failed
                or not pipeline.session_writer
            ):
                raise InvalidInput(f"{session.path} could not be captured.")
            yield Bench(writer=pipeline.session_writer, store=store)
        finally:
            store.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What became of one session: `written` = all that is stored, also without the model, `active` = all of that which became active."""

    written: Judged
    active: Judged
    review: int
    said: int
    checked: int
    tokens: int
    turns: tuple[int, int]
    spans: tuple[int, int]

    @property
    def counts(self) -> list[float]:
        """In the order that `_figures` reads."""
        return [
            *_of(self.written, 0.0), *_of(self.written, SURE), *_of(self.active, 0.0), self.review, self.said, self.checked,
            self.tokens, *self.turns, *self.spans, 1,
        ]  # fmt: skip


def run_written(run: Run) -> Scorecard:
    """Write up every session below the run's folder with the answers of the run's folder of answers.

    Raises:
        InvalidInput: for an answer that is missing or made for another request.
    """
    if run.answers is None:
        raise InvalidInput("--answers is missing.")
    writer = ReplayWriter(run.answers, requests=run.requests)
    sessions = [session for folder in folders_of("capture", run.data) for session in load_learnings(folder)]
    measured: list[_Written] = []
    missing: list[InvalidInput] = []
    for session in sessions:
        run.say(f"{session.id}: {len(session.turns)} turns, {len(session.gold)} learnings")
        writer.session = session.path.stem
        try:
            measured.append(_written(session, writer, run))
        except InvalidInput as error:  # go on, so that all requests are written that wait for an answer
            missing.append(error)
    if missing:
        raise InvalidInput(
            f"{len(missing)} of {len(sessions)} sessions have no answer. {missing[0]}", hint=missing[0].hint
        )
    return _card(measured, run, plain=writer.plain)


def _written(session: LabelledSession, writer: ReplayWriter, run: Run) -> _Written:
    with captured(session, writer, embedder=run.embedder) as bench:
        prepared = bench.prepared
        if prepared is not None:
            done = bench.writer.write_up_next(past=True, at_once=True)
            if done is not None and done.error:
                raise InvalidInput(f"{session.id}: {done.error}")
        memories = bench.store.list_memories(
            MemoryFilter(statuses=None), scope=bench.store.scopes(), limit=10_000
        )
        learned = [
            memory for memory in memories if memory.kind not in NOTES and not memory.content.startswith(TASKS)
        ]
        spent = SPENDING.read(bench.store)
    learnings = [captured_of(memory, session.turns) for memory in learned]
    active = [captured_of(memory, session.turns) for memory in learned if memory.status == "active"]
    return _Written(
        written=judge(session, Kept(learnings=tuple(learnings)), embedder=run.embedder),
        active=judge(session, Kept(learnings=tuple(active)), embedder=run.embedder),
        review=sum(memory.status == "quarantined" for memory in learned),
        said=spent.kept + spent.dropped,
        checked=spent.kept,
        tokens=prepared.tokens if prepared else 0,
        turns=_turns_kept(session, prepared),
        spans=_spans_kept(session, prepared),
    )


def _needed(session: LabelledSession) -> list[Learning]:
    return [item for item in session.gold if item.strength >= NEEDED]


def _turns_kept(session: LabelledSession, prepared: PreparedRequest | None) -> tuple[int, int]:
    """Evidence turns of learnings of strength 2 of which something is sent, and all of them."""
    sent = [_words(message.text) for message in prepared.sent] if prepared else []
    texts = {message.i: _words(message.text) for message in session.turns}
    turns = {i for item in _needed(session) for i in item.turns if texts.get(i, "").strip()}
    sent_turns = [i for i in turns if _holds_some(texts[i], sent)]
    return len(sent_turns), len(turns)


def _spans_kept(session: LabelledSession, prepared: PreparedRequest | None) -> tuple[int, int]:
    """Learnings of strength 2 whose words are sent, of those whose words stand in the session."""
    sent = [_words(message.text) for message in prepared.sent] if prepared else []
    texts = [_words(message.text) for message in session.turns]
    spans = [
        words for item in _needed(session) if any((words := _words(item.span)) in text for text in texts)
    ]
    return sum(any(span in text for text in sent) for span in spans), len(spans)


def _holds_some(text: str, sent: Sequence[str]) -> bool:
    """Whether a run of eight words of a text, or the whole of a shorter one, was sent."""
    words = text.split()
    runs = [" ".join(words[at : at + 8]) for at in range(max(1, len(words) - 7))]
    return any(run in message for run in runs for message in sent)


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _of(judged: Judged, least: float) -> list[float]:
    """Right, kept, found and needed of strength 2, right kinds: of statements with this confidence and more."""
    pairs = [
        (statement, item)
        for statement, item in zip(judged.active, judged.matched, strict=True)
        if statement.confidence >= least
    ]
    matches = [(statement, item) for statement, item in pairs if item is not None]
    found_ids = {item.id for _, item in matches} if least else judged.found
    needed = _needed(judged.session)
    return [
        len(matches),
        len(pairs),
        sum(item.id in found_ids for item in needed),
        len(needed),
        sum(statement.kind == item.kind for statement, item in matches),
    ]


def _card(measured: Sequence[_Written], run: Run, *, plain: bool) -> Scorecard:
    counts = np.array([result.counts for result in measured], np.float64)
    projects = sorted({result.written.session.project for result in measured})
    curve = [
        {
            "confidence": least,
            **_shares(np.array([_of(result.written, least) for result in measured], np.float64).sum(0)),
        }
        for least in STEPS
    ]
    total = Part(
        name=POOLED,
        metrics=_figures(counts.sum(0)),
        intervals=_intervals(counts),
        curves={"by confidence": curve},
    )
    parts = tuple(
        Part(name=name, metrics=_figures(own.sum(0)))
        for name in projects
        if len(own := counts[[result.written.session.project == name for result in measured]])
    )
    return Scorecard(
        suite="capture",
        dataset=str(run.data),
        settings={
            "embedder": str(run.embedder.identity),
            "answers": f"{'plain, not made for these requests' if plain else 'recorded'}: {run.answers}",
        },
        total=total,
        parts=(*parts, macro_of(parts)) if len(parts) > 1 else (),
        columns=COLUMNS,
        judged=JUDGED,
    )


def _shares(sums: Array) -> dict[str, float | None]:
    right, kept, found, needed, kinds = map(float, sums)
    return {
        "precision": right / kept if kept else None,
        "recall_strength2": found / needed if needed else None,
        "kind_accuracy": kinds / right if right else None,
    }


def _figures(sums: Array) -> Figures:
    whole, sure, active = _shares(sums[:5]), _shares(sums[5:10]), _shares(sums[10:15])
    review, said, checked, tokens, turns, all_turns, spans, all_spans, sessions = map(float, sums[15:])
    return {
        **whole,
        "precision_at_80": sure["precision"],
        "recall_strength2_at_80": sure["recall_strength2"],
        "active_precision": active["precision"],
        "active_recall_strength2": active["recall_strength2"],
        "review_per_session": review / sessions if sessions else None,
        "checked_share": checked / said if said else None,
        "cut_keeps_turns": turns / all_turns if all_turns else None,
        "cut_keeps_spans": spans / all_spans if all_spans else None,
        "tokens_per_session": tokens / sessions if sessions else None,
    }


def _intervals(counts: Array) -> dict[str, tuple[float, float]]:
    drawn = [_figures(sums) for sums in resampled_sums(counts)]
    intervals: dict[str, tuple[float, float]] = {}
    for name in COLUMNS[:7]:
        values = [value for sample in drawn if (value := sample[name]) is not None]
        if values:
            intervals[name] = percentile_interval(np.array(values))
    return intervals
