"""Bounded work: so many threads, so many jobs in line, and no more.

In: blocking functions from the event loop. Out: their results, `Busy` at once when the line is full, or `TimeoutError`
at the deadline. A job that has not begun by its deadline is taken out of the line; one that runs cannot be stopped, so
every job bounds itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

T = TypeVar("T")


class Busy(Exception):
    """The line is full; whoever asked stays silent."""


class WorkerPool:
    """Threads behind the event loop."""

    def __init__(self, *, threads: int, queue: int) -> None:
        """Allow `threads` jobs at once, as many of those that go ahead, and `queue` more in line."""
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="tacit-worker")
        self._ahead = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="tacit-ahead")
        self._most = threads + queue
        self._count = 0
        self._lock = Lock()

    @property
    def count(self) -> int:
        """Jobs that run or wait."""
        return self._count

    async def run(self, work: Callable[[], T], *, until_s: float | None = None, ahead: bool = False) -> T:
        """Run `work` on a thread.

        Args:
            work: blocking; bounds itself.
            until_s: moment of `time.monotonic()` after which the result is worth nothing; None = wait.
            ahead: somebody's turn waits for it: it stands in a line of its own, with threads of its own.

        Raises:
            Busy: the line is full.
            TimeoutError: the moment has passed.
        """
        import asyncio  # noqa: PLC0415 - whoever waits this way has it loaded; the door's threads do not need it

        with self._lock:
            if self._count >= self._most:
                raise Busy
            self._count += 1
        try:
            future = (self._ahead if ahead else self._executor).submit(work)
        except RuntimeError:  # the pool is shut down: the daemon leaves
            self._leave()
            raise Busy from None
        future.add_done_callback(self._leave)
        if until_s is None:
            return await asyncio.wrap_future(future)
        return await asyncio.wait_for(asyncio.wrap_future(future), max(0.0, until_s - time.monotonic()))

    def _leave(self, _: Future[T] | None = None) -> None:
        with self._lock:
            self._count -= 1

    def close(self, *, timeout_s: float) -> bool:
        """Take no more, drop what waits, give what runs `timeout_s`; whether all of it finished."""
        for executor in (self._executor, self._ahead):
            executor.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + timeout_s
        while self._count and time.monotonic() < until:
            time.sleep(0.01)
        return not self._count
