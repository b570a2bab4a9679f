"""Background maintenance of the store: rescans for secrets, upkeep; and long work that goes on by itself. In: the parts. Out: reports."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Condition, Event, RLock
from typing import Literal, get_args

from tacit.app.values import OpenStore, Parts
from tacit.capture.fixes import without_old
from tacit.capture.importing.safe_files import is_database
from tacit.errors import InvalidInput, StoreError, StoreFull, StoreReadOnly, TacitError
from tacit.frozen import frozen
from tacit.model.memory import Sensitivity
from tacit.model.scope import Scope
from tacit.state.counted import Totals
from tacit.state.registry import COPIES, PENDING, TOTALS
from tacit.upkeep.backups import Outcome, make_backup
from tacit.upkeep.reindex import reindex
from tacit.upkeep.rescan import Rescan, note_copy, replaced_databases, rescan
from tacit.upkeep.rounds import (
    DAY_MS,
    DecayCounts,
    RetentionCounts,
    Statistics,
    apply_retention,
    run_upkeep_round,
    statistics,
)

# Long work that goes on by itself, whether or not somebody looks on, and work that a request waits for, while it runs.
#
# In: a job's name. Out: how far it is, and how it ended. One runs at a time; what is begun again while it waits or runs is the
# same job. Keeps the last of each in memory, so that a page that was loaded anew finds it; never begins one by itself.

_LOG = logging.getLogger(__name__)
PENDING_FIX_DAYS = 45
"""Days that an unresolved failure waits for its fix; then upkeep deletes it."""

BegunJob = Literal["check", "reindex"]
"""Names of the jobs that `JobRunner.begin` can start."""
WaitedFor = Literal["backup", "import", "purge", "rescan"]
"""Names of work that a request itself does; it is listed as a job while it runs."""
JobName = Literal["backup", "check", "import", "purge", "reindex", "rescan"]
JobState = Literal["running", "done", "failed"]
ProgressCallback = Callable[[int, int], None]


@frozen
class Job:
    """One piece of long work, with its progress and its result.

    Attributes:
        name: `reindex` renews vectors of another embedder, `check` reads the whole store for damage; `backup`, `import`, `purge`
            and `rescan` are listed only while they run.
        state: how it stands.
        done, whole: vectors, steps of the check, pages of the backup, statements of the import, bytes of what is cleaned; `whole` 0 = not known yet.
        began_ms, ended_ms: since the epoch; None = it goes on.
        problems: what the check found, as sentences.
        error, hint: why it failed and what to do; "" = it did not.
    """

    name: JobName
    state: JobState
    done: int
    whole: int
    began_ms: int
    ended_ms: int | None = None
    problems: tuple[str, ...] = ()
    error: str = ""
    hint: str = ""


class _JobCancelled(Exception):
    """Raised inside a job to stop it, because the store is being closed; finished parts stay."""


class JobRunner:
    """Runs jobs over one open store, on one thread of its own. Safe to use from several threads."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = RLock()
        self._ended = Condition(self._lock)
        self._leaving = Event()
        self._jobs: dict[JobName, Job] = {}
        self._waited_for: Counter[JobName] = Counter()
        self._executor: ThreadPoolExecutor | None = None

    def begin(self, name: BegunJob) -> Job:
        """Start a job in the background and return it; if one of that name has not ended, return that one.

        Raises:
            StoreError: if the store is being closed.
        """
        with self._lock:
            if self._leaving.is_set():
                raise StoreError("The store is being closed.", hint="Ask again in a moment.")
            running = self._jobs.get(name)
            if running is not None and running.state == "running":
                return running
            if self._executor is None:
                self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-job")
            job = Job(name=name, state="running", done=0, whole=0, began_ms=self._parts.clock.now_ms())
            self._jobs[name] = job
            work = {"check": self._check, "reindex": self._reindex}[name]
            self._executor.submit(work, partial(self._tell, name)).add_done_callback(partial(self._end, name))
            return job

    def run(self, name: BegunJob) -> Job:
        """Start a job as `begin` does, and return it when it has ended.

        Raises:
            StoreError: if the store is being closed.
        """
        self.begin(name)
        with self._ended:
            self._ended.wait_for(lambda: self._jobs[name].state != "running")
            return self._jobs[name]

    def all(self) -> tuple[Job, ...]:
        """Return the last job of each name since the store was opened, including the requests' work that runs now."""
        with self._lock:
            return tuple(self._jobs[name] for name in get_args(JobName) if name in self._jobs)

    @contextmanager
    def listed(self, name: WaitedFor) -> Generator[ProgressCallback]:
        """List the caller's own work as a running job until the block ends; yields the function that reports its progress."""
        began_ms = self._parts.clock.now_ms()
        with self._lock:
            self._waited_for[name] += 1

        def tell(done: int, whole: int) -> None:
            with self._lock:
                self._jobs[name] = Job(
                    name=name, state="running", done=min(done, whole or done), whole=whole, began_ms=began_ms
                )

        tell(0, 0)
        try:
            yield tell
        finally:
            with self._lock:
                self._waited_for[name] -= 1
                if not self._waited_for[name]:  # two requests may do the same work at once
                    del self._jobs[name]

    @property
    def running(self) -> bool:
        """Whether a job runs or waits for another; it keeps an idle daemon alive."""
        with self._lock:
            return any(job.state == "running" for job in self._jobs.values())

    def close(self) -> None:
        """Stop the running job at its next step and wait for that; no job can begin any more."""
        with self._lock:
            self._leaving.set()
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def _reindex(self, progress: ProgressCallback) -> tuple[str, ...]:
        reindex(self._parts.store, self._parts.embedder, progress=progress)
        return ()

    def _check(self, progress: ProgressCallback) -> tuple[str, ...]:
        return self._parts.store.check(progress=progress)

    def _tell(self, name: JobName, done: int, whole: int) -> None:
        if self._leaving.is_set():
            raise _JobCancelled
        with self._lock:
            self._jobs[name] = replace(self._jobs[name], done=done, whole=whole)

    def _end(self, name: JobName, work: Future[tuple[str, ...]]) -> None:
        error = _JobCancelled() if work.cancelled() else work.exception()
        with self._lock:
            job = replace(self._jobs[name], ended_ms=self._parts.clock.now_ms())
            if error is None:
                job = replace(job, state="done", problems=work.result())
            else:
                message, hint = _words_of(name, error)
                job = replace(job, state="failed", error=message, hint=hint)
            self._jobs[name] = job
            self._ended.notify_all()


def _words_of(name: JobName, error: BaseException) -> tuple[str, str]:
    """Return the message and the remedy of a failed job. A foreign error may quote a memory, so only its class is named."""
    if isinstance(error, TacitError):
        return error.message, error.hint
    if isinstance(error, _JobCancelled):
        return "The daemon ended before the job was done.", "Start it again; finished parts are kept."
    _LOG.error("the job %s failed: %s", name, type(error).__name__)
    return f"Tacit failed with {type(error).__name__}.", "`tacit status --log` has the details."


# Background maintenance of the store: rescans for secrets, upkeep. In: the parts. Out: reports.
#
# Never decides what is injected; never touches a memory that the user stated but to take a secret out of it.


@frozen
class UpkeepReport:
    """The result of one round of upkeep: deleted records, checked memories, expired pending failures."""

    records: RetentionCounts
    tended: DecayCounts
    pending: int


@frozen
class StoreUse:
    """What is stored, and how much of it was used.

    `rate` = share of what was handed over that was used, `baseline` = the same share of what was not handed over; None =
    nothing to tell by.
    """

    store: Statistics
    impact: Totals
    rate: float | None
    baseline: float | None


@frozen
class StoreCopy:
    """A file that `tacit restore` takes.

    Attributes:
        path: where it is.
        origin: who made it; `replaced` = it was the store and was moved aside, damaged or for a restore.
        bytes: its size.
        at_ms: when it was written.
    """

    path: str
    origin: Literal["automatic", "requested", "replaced"]
    bytes: int
    at_ms: int


class Maintenance:
    """Looks after one open store: rescans for secrets, backups, upkeep, counts."""

    def __init__(self, opened: OpenStore) -> None:
        self._parts, self._settle, self._changed = opened.parts, opened.settle, opened.changed
        self.jobs = JobRunner(opened.parts)

    def rescan(self, *, dry_run: bool) -> Rescan:
        """Remove from everything stored what today's redaction rules find, and drop the start blocks; with `dry_run` only count it.

        Raises:
            StoreError: if the store cannot be written; nothing of it is changed then.
        """
        self._settle()
        redactors = self._parts.redactor
        cleaners: dict[str, Callable[[str], str]] = {}

        def clean(text: str, scope: str) -> str:
            if scope not in cleaners:
                redactor = redactors.at(Scope.parse(scope)) if scope else redactors
                cleaners[scope] = lambda words: redactor.redact(words).text
            return cleaners[scope](text)

        with self.jobs.listed("rescan") as tell:
            report = rescan(self._parts.store, self._parts.home, clean, dry_run=dry_run, progress=tell)
        if report.rows and not dry_run:
            reindex(self._parts.store, self._parts.embedder)
        if not dry_run:
            self._changed()
        return report

    def reindex(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Recompute the vectors that another embedder made; return how many."""
        return reindex(self._parts.store, self._parts.embedder, progress=progress)

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the store to `target`, and remember where.

        Raises:
            InvalidInput: `target` exists.
            StoreError: it cannot be written.
        """
        if target.exists():
            raise InvalidInput(
                f"{target} exists already; a backup never replaces a file.", hint="Choose another name."
            )
        self._settle()
        with self.jobs.listed("backup") as tell:
            self._parts.store.backup(target, progress=tell)
        note_copy(self._parts.store, target.absolute())

    def copies(self) -> tuple[StoreCopy, ...]:
        """Return the copies of the store that this home knows of, newest first."""
        home, store = self._parts.home, self._parts.store
        origins: dict[Path, Literal["automatic", "requested", "replaced"]] = {
            **dict.fromkeys(map(Path, COPIES.read(store)), "requested"),
            **dict.fromkeys(home.automatic_backups(), "automatic"),
            **dict.fromkeys(replaced_databases(home), "replaced"),
        }
        found = [
            StoreCopy(
                path=str(path),
                origin=origin,
                bytes=path.stat().st_size,
                at_ms=path.stat().st_mtime_ns // 1_000_000,
            )
            for path, origin in origins.items()
            if is_database(path)
        ]
        return tuple(sorted(found, key=lambda copy: copy.at_ms, reverse=True))

    def back_up_if_due(self, *, interrupted: Callable[[], bool]) -> Outcome:
        """Write the automatic backup of the day if one is due, and return the outcome; deletes backups beyond `backup.keep`.

        Raises:
            StoreError: as the store; older backups stay.
        """
        parts = self._parts
        return make_backup(
            lambda target: parts.store.backup(target, interrupted=interrupted),
            parts.home,
            keep=parts.settings.current().backup.keep,
            clock=parts.clock,
        )

    def upkeep(self, *, interrupted: Callable[[], bool] = lambda: False) -> UpkeepReport:
        """Write the backup of the day, then delete expired data; what the user stated stays.

        Running it again at once changes nothing more. `interrupted` says when the process has to leave.

        Raises:
            StoreError: as the store; what was done before it stays done.
        """
        parts = self._parts
        try:
            outcome = self.back_up_if_due(interrupted=interrupted)
            _LOG.log(
                logging.WARNING if outcome == "no space" else logging.DEBUG, "automatic backup: %s", outcome
            )
        except (StoreFull, StoreReadOnly) as error:
            _LOG.warning("automatic backup: %s", error)
        settings = parts.settings.current().retention
        records = apply_retention(parts.store, settings, clock=parts.clock)
        tended = run_upkeep_round(parts.store, parts.kinds, clock=parts.clock)
        parts.store.tidy()
        return UpkeepReport(records=records, tended=tended, pending=self._age_pending())

    def _age_pending(self) -> int:
        """Delete pending failures older than `PENDING_FIX_DAYS`; return how many."""
        store, forgotten = self._parts.store, 0
        before_ms = int(self._parts.clock.now_ms() - PENDING_FIX_DAYS * DAY_MS)
        for name in PENDING.names(store):
            pending = PENDING.parse(store.get_value(name)) or ()
            recent = without_old(pending, before_ms=before_ms)
            if recent != pending:
                forgotten += len(pending) - len(recent)
                store.put_value(name, PENDING.text(recent))
        return forgotten

    def statistics(self, *, levels: tuple[Sensitivity, ...] | None = None) -> StoreUse:
        """Count what is stored of these sensitivities (None = any), and how much of what was injected was used."""
        self._settle()
        store = self._parts.store
        totals = TOTALS.read(store)
        return StoreUse(
            store=statistics(store, self._parts.kinds, levels=levels),
            impact=totals,
            rate=totals.rate,
            baseline=totals.baseline,
        )
