"""Look after the store: statistics, purge, rescan, tuning, jobs."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tacit.app.admin.purging import Purged
from tacit.app.admin.series import BUCKETS_MS, DAY_MS, Series
from tacit.app.engine import Engine
from tacit.app.maintenance.maintenance import BegunJob
from tacit.app.stats import Holdout
from tacit.app.tuning import TuneReport
from tacit.app.values import Caller
from tacit.upkeep.rescan import Rescan
from tacit.verbs.answers import JobList, OneJob, Stats
from tacit.verbs.requests import Folder, Millis, NoBody, Request, SessionName


class Tune(Request):
    """A request to fit the levels before a prompt to this store and, for an embedder of the user's own, the cosine bars of the preset."""

    bound: float = Field(
        default=0.12,
        ge=0.01,
        le=0.5,
        description="greatest rate of injections into prompts that deserve nothing, at the level `balanced`; `quiet` keeps 5/12 of it, `eager` 25/12",
    )
    apply: bool = Field(default=False, description="keep the levels and the bars")


class BeginRescan(Request):
    """A request to redact everything stored by today's rules."""

    dry_run: bool = Field(default=False, description="only count what would change")


class Purge(Request):
    """A request to remove memories for good: by ids, project, session, source or exact words. Exactly one of these must be given."""

    ids: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(
        default=(), max_length=10_000, description="memories, by id or its beginning"
    )
    shown: bool = Field(
        default=False, description="`ids` are whole and were listed before: missing ones are no error"
    )
    project: Folder = Field(
        default="", description="everything of this folder's project, including its sessions"
    )
    session: SessionName | None = Field(
        default=None, description="all memories learned from this session, and its record"
    )
    source: str | None = Field(
        default=None, min_length=1, max_length=200, description="all memories from this source"
    )
    text: str | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="all memories with exactly these words",
    )
    cwd: Folder = Field(
        default="", description="for `source` and `text`: only what may be seen from this folder"
    )
    dry_run: bool = Field(default=False, description="only list what would be removed")

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        selectors = (
            bool(self.ids),
            bool(self.project),
            self.session is not None,
            self.source is not None,
            self.text is not None,
        )
        if sum(selectors) != 1:
            raise ValueError("one of ids, project, session, source and text")
        words = (*self.ids, *(text for text in (self.source, self.text) if text is not None))
        if not all(word.strip() for word in words):
            raise ValueError("ids, source and text that are not blank")
        if self.cwd and self.source is None and self.text is None:
            raise ValueError("cwd with source or text alone")
        if self.shown and not self.ids:
            raise ValueError("shown with ids alone")
        return self


class AskStats(Request):
    """A request for statistics: which ones, the span of time, and the length of its buckets."""

    part: tuple[Literal["use", "series", "holdout"], ...] = Field(
        default=("use", "series", "holdout"), min_length=1, max_length=3, description="only these parts"
    )
    since_ms: Millis | None = Field(
        default=None, description="of `series`: from this time on; default: 30 days, or 2 by the hour"
    )
    until_ms: Millis | None = Field(default=None, description="before this time; default: now")
    days: int | None = Field(
        default=None,
        ge=1,
        le=730,
        description="so many days back instead of `since_ms`, and of `holdout` at least 90",
    )
    bucket: Literal["hour", "day"] = Field(
        default="day", description="of `series`: length of a bucket (UTC); at most 800 buckets"
    )
    holdout_since_ms: Millis | None = Field(
        default=None, description="of `holdout`: from this time on; default: 90 days"
    )


class BeginJob(Request):
    """A request to begin a background job: `reindex` or `check`."""

    name: BegunJob = Field(
        description="`reindex` renews vectors of another embedder, `check` reads the whole store for damage"
    )
    wait: bool = Field(default=False, description="answer when it has ended")


FIRST_DAYS = {"hour": 2, "day": 30}
HOLDOUT_DAYS = 90


def get_stats(engine: Engine, caller: Caller, request: AskStats) -> Stats:
    """Get counts of what is stored and used, numbers over time, and a comparison of sessions with and without memory.

    `use` has the share of injected memories that sessions used, and as `baseline` the same share of memories that
    were not injected. `series` has injections and silences, latency, tokens by kind, verdicts and used memories,
    summed by hour or day (UTC). `holdout` compares repeated failures, turns and tokens of sessions with memory and
    of the share that `recall.holdout` left without it, to see what memory is worth.
    """
    now = engine.clock.now_ms() + 1
    until = request.until_ms if request.until_ms is not None else now
    return Stats(
        use=engine.maintenance.statistics(levels=engine.visibility(caller.speaker).levels)
        if "use" in request.part
        else None,
        series=_series(engine, request, until) if "series" in request.part else None,
        holdout=_holdout(engine, request, until) if "holdout" in request.part else None,
    )


def _series(engine: Engine, request: AskStats, until: int) -> Series:
    days = request.days or FIRST_DAYS[request.bucket]
    since = request.since_ms if request.since_ms is not None else until - days * DAY_MS
    series = engine.admin.charts.series(
        since_ms=max(0, since), until_ms=until, bucket_ms=BUCKETS_MS[request.bucket]
    )
    marks = engine.admin.marks.between(series.since_ms, series.until_ms)
    return dataclasses.replace(series, marks=marks)


def _holdout(engine: Engine, request: AskStats, until: int) -> Holdout:
    since = request.holdout_since_ms
    if since is None:
        since = max(0, until - max(HOLDOUT_DAYS, request.days or 0) * DAY_MS)
    return engine.holdout.holdout(since_ms=since, until_ms=until, share=engine.settings.recall.holdout)


def tune(engine: Engine, caller: Caller, request: Tune) -> TuneReport:
    """Fit the levels before a prompt to this store, without labels.

    It measures how often prompts meet memories that do not belong to them, and fits the levels `quiet`,
    `balanced` and `eager` to bounded rates of such injections. Without `apply` it only reports.

    Raises:
        EmbedderMismatch: the stored vectors belong to another embedder.
    """
    return engine.tune(bound=request.bound, apply=request.apply)


def rescan(engine: Engine, caller: Caller, request: BeginRescan) -> Rescan:
    """Take secrets out of tables, indexes, traces, logs, start blocks, and known backups and exports.

    It applies the redaction rules that hold now to everything that is stored. With `dry_run` it only counts
    what would change.
    """
    return engine.maintenance.rescan(dry_run=request.dry_run)


def purge_memories(engine: Engine, caller: Caller, request: Purge) -> Purged:
    """Remove memories, or all of a project, session or source, from all stored data. This cannot be undone.

    Name what to remove by exactly one of `ids`, `project`, `session`, `source` and `text`. With `dry_run` the
    answer lists what would be removed. Backups and exports that this home made are cleaned as well.

    Raises:
        NotFound: nothing fits.
    """
    purging = engine.admin.purging
    if request.ids and request.shown:
        purge_target = purging.still_there(request.ids)
    elif request.ids:
        purge_target = purging.named(request.ids)
    elif request.project:
        purge_target = purging.of_project(engine.project(request.project))
    elif request.session is not None:
        purge_target = purging.of_session(request.session.key)
    else:
        scope = engine.visible(request.cwd) if request.cwd else None
        purge_target = purging.matching(scope=scope, source=request.source, text=request.text)
    return purging.purge(purge_target, dry_run=request.dry_run)


def begin_job(engine: Engine, caller: Caller, request: BeginJob) -> OneJob:
    """Begin a background job, and return at once with its state; `GET /v1/jobs` shows its progress.

    A job that is already running is joined, not begun again. With `wait` the answer comes when it has ended. Of a
    check, `problems` are sentences; without any the store is sound.
    """
    jobs = engine.maintenance.jobs
    return OneJob(job=jobs.run(request.name) if request.wait else jobs.begin(request.name))


def list_jobs(engine: Engine, caller: Caller, request: NoBody) -> JobList:
    """List the background jobs, with their progress or result.

    There is one job of each name: the last one since the daemon started.
    """
    return JobList(jobs=engine.maintenance.jobs.all())
