"""Postponement of work until an answer is sent. In: jobs of the answering thread; calls that no turn waits for.

Out: the same jobs, done once the answer has gone, and those calls, begun when no answer is owed.
Waking another thread first would have it take the processor just when the answer is ready. Loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Condition, local

MAX_WAIT_S = 0.25
"""Longest time, in seconds, that other work waits for pending answers."""

_THREAD = local()


class _PendingAnswers:
    """Counts the answers that all threads have pending, and lets threads wait until there are none."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._count = 0

    def add(self, change: int) -> None:
        with self._changed:
            self._count += change
            if not self._count:
                self._changed.notify_all()

    def wait(self, most_s: float) -> bool:
        if not self._count:  # read without the lock: a hook that begins just now is met either way
            return True
        with self._changed:
            return self._changed.wait_for(lambda: not self._count, timeout=most_s)


_PENDING = _PendingAnswers()


@contextmanager
def pending_answer() -> Generator[None, None, None]:
    """Return a context manager: inside, this thread owes an answer. At its end, also by an error, the jobs that it gave to `run_after_answer` run in this thread, which blocks."""
    jobs: list[Callable[[], None]] = []
    _THREAD.jobs = jobs
    _PENDING.add(1)
    try:
        yield
    finally:
        _PENDING.add(-1)
        _THREAD.jobs = None
        for job in jobs:
            job()


def run_after_answer(job: Callable[[], None]) -> None:
    """Run `job` in this thread when its `pending_answer` ends; now if this thread owes no answer."""
    jobs: list[Callable[[], None]] | None = getattr(_THREAD, "jobs", None)
    if jobs is None:
        job()
    else:
        jobs.append(job)


def wait_for_pending_answers(most_s: float = MAX_WAIT_S) -> bool:
    """Block until no thread owes an answer, at most `most_s` seconds; return whether none does. Call it without holding a lock."""
    return _PENDING.wait(most_s)
