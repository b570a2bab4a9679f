"""What may wait until an answer is out. In: jobs of the thread that owes it. Out: the same jobs, done once it has gone.

Waking another thread first would have it take the processor just when the answer is ready. Loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import local

_HERE = local()


@contextmanager
def answering() -> Generator[None, None, None]:
    """While inside, this thread owes somebody an answer; what `when_answered` is given is done at the end, whatever happened."""
    jobs: list[Callable[[], None]] = []
    _HERE.jobs = jobs
    try:
        yield
    finally:
        _HERE.jobs = None
        for job in jobs:
            job()


def when_answered(job: Callable[[], None]) -> None:
    """Do `job` once this thread has answered; at once where it owes no answer."""
    jobs: list[Callable[[], None]] | None = getattr(_HERE, "jobs", None)
    if jobs is None:
        job()
    else:
        jobs.append(job)
