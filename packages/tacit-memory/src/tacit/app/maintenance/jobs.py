"""Long work that goes on by itself, whether or not somebody looks on, and work that a request waits for, while it runs.

In: a job's name. Out: how far it is, and how it ended. One runs at a time; what is begun again while it waits or runs is the
same job. Keeps the last of each in memory, so that a page that was loaded anew finds it; never begins one by itself.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from threading import Event, RLock
from typing import Literal, get_args

from tacit.app.values import Parts
from tacit.errors import StoreError, TacitError
from tacit.upkeep.reindex import reindex

_LOG = logging.getLogger(__name__)

BegunJob = Literal["check", "reindex"]
"""What `Jobs.begin` takes."""
WaitedFor = Literal["backup", "import", "purge", "rescan"]
"""What a request waits for; listed while it runs."""
JobName = Literal["backup", "check", "import", "purge", "reindex", "rescan"]
JobState = Literal["running", "done", "failed"]
ProgressCallback = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One piece of long work.

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
    """The store is being closed: what is done stays, the rest is for another time."""


class Jobs:
    """Runs jobs over one open store, on one thread of its own. Safe to use from several threads."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = RLock()
        self._leaving = Event()
        self._jobs: dict[JobName, Job] = {}
        self._waited_for: Counter[JobName] = Counter()
        self._executor: ThreadPoolExecutor | None = None

    def begin(self, name: BegunJob) -> Job:
        """Begin a job, or join the one of that name that has not ended.

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

    def all(self) -> tuple[Job, ...]:
        """The last job of every name that was begun since the store was opened, by name."""
        with self._lock:
            return tuple(self._jobs[name] for name in get_args(JobName) if name in self._jobs)

    @contextmanager
    def listed(self, name: WaitedFor) -> Generator[ProgressCallback]:
        """List the work of the caller's thread until the block ends; call the value with how far it is."""
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
        """End what runs at its next step, and wait for that."""
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


def _words_of(name: JobName, error: BaseException) -> tuple[str, str]:
    """Describe an error and its remedy. The message of a foreign error may hold the text of a memory, so only its class is named."""
    if isinstance(error, TacitError):
        return error.message, error.hint
    if isinstance(error, _JobCancelled):
        return "The daemon ended before the job was done.", "Start it again; finished parts are kept."
    _LOG.error("the job %s failed: %s", name, type(error).__name__)
    return f"Tacit failed with {type(error).__name__}.", "`tacit logs` has the details."
