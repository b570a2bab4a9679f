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
    """The queue of jobs is full, so the job was not taken."""


class _BoundedPool:
    """A thread pool with a bounded queue: at most `threads` jobs run and `queue` more wait. Thread-safe."""

    def __init__(self, name: str, *, threads: int, queue: int) -> None:
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix=name)
        self._most = threads + queue
        self._lock = Lock()
        self.count = 0

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Run `work` on a thread, now or when one is free; return its future. Does not block.

        Raises:
            Busy: the queue is full, or the pool is shut.
        """
        with self._lock:
            if self.count >= self._most:
                raise Busy
            self.count += 1
        try:
            future = self._executor.submit(work)
        except RuntimeError:  # shut down: the daemon leaves
            self._leave()
            raise Busy from None
        future.add_done_callback(self._leave)
        return future

    def _leave(self, _: object = None) -> None:
        with self._lock:
            self.count -= 1

    def shut(self) -> None:
        """Take no more jobs and cancel those that wait. Does not block."""
        self._executor.shutdown(wait=False, cancel_futures=True)


class WorkerPool:
    """The daemon's worker threads for blocking work of the event loop, in two pools: for urgent jobs (`ahead`) and for the rest."""

    def __init__(self, *, threads: int, queue: int) -> None:
        """Create two pools; in each, `threads` jobs run at once and `queue` more may wait."""
        self._rest = _BoundedPool("tacit-worker", threads=threads, queue=queue)
        self._ahead = _BoundedPool("tacit-ahead", threads=threads, queue=queue)

    @property
    def count(self) -> int:
        """Number of jobs that run or wait, in both pools."""
        return self._rest.count + self._ahead.count

    async def run(self, work: Callable[[], T], *, until_s: float | None = None, ahead: bool = False) -> T:
        """Run `work` on a thread, and return its result to the event loop that awaits it.

        Args:
            work: may block; must limit its own time, because it cannot be stopped once it runs.
            until_s: moment of `time.monotonic()` after which the result is not needed; None = wait without limit.
            ahead: urgent: it uses a pool of its own, which other work cannot fill.

        Raises:
            Busy: the queue is full, or the pool is closed.
            TimeoutError: `until_s` has passed.
        """
        import asyncio  # noqa: PLC0415 - whoever waits this way has it loaded; the hook listener's threads do not need it

        future = (self._ahead if ahead else self._rest).submit(work)
        if until_s is None:
            return await asyncio.wrap_future(future)
        return await asyncio.wait_for(asyncio.wrap_future(future), max(0.0, until_s - time.monotonic()))

    def close(self, *, timeout_s: float) -> bool:
        """Take no more jobs, cancel those that wait, and wait up to `timeout_s` for those that run. Return whether all of them finished. Blocks."""
        for line in (self._rest, self._ahead):
            line.shut()
        until = time.monotonic() + timeout_s
        while self.count and time.monotonic() < until:
            time.sleep(0.01)
        return not self.count
