"""The thread that tells the memory of finished turns, so that a program need not wait. In: jobs. Out: nothing. Never raises for a job."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

_LOG = logging.getLogger("tacit.app.library.tacit")
WAITING = 256
"""Most conversations' ends that wait to be told; more are dropped, with a line in the log."""


class Background:
    """Jobs one after another. Safe to use from several threads."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-library")
        self._waiting = 0
        self._lock = Lock()
        self.closed = False

    def later(self, job: Callable[[], object]) -> None:
        """Run `job` behind those that wait; with too many of them, or after the end, it is dropped with a line in the log."""
        with self._lock:
            if self.closed or self._waiting >= WAITING:
                _LOG.warning("a turn is not learned from: %s", "closed" if self.closed else "too many wait")
                return
            self._waiting += 1
            # Under the lock, so that `close` of another thread does not come between.
            self._thread.submit(self._run, job)

    def flush(self) -> None:
        """Wait for the jobs so far. After the end it does nothing."""
        with self._lock:
            if self.closed:
                return
            told = self._thread.submit(lambda: None)
        told.result()

    def close(self) -> bool:
        """Finish the jobs; False = it was closed before."""
        with self._lock:
            if self.closed:
                return False
            self.closed = True
        self._thread.shutdown(wait=True)
        return True

    def _run(self, job: Callable[[], object]) -> None:
        try:
            job()
        finally:
            with self._lock:
                self._waiting -= 1
