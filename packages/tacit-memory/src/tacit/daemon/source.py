"""The engine, once it is open.

In: how to open one. Out: the engine, for whoever waits; opening happens on its own thread while the socket answers
already. The engine can be closed for a moment, while the store is replaced. An engine that cannot be opened is tried again later, and everybody is told why meanwhile.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Condition, Lock, Thread
from typing import TYPE_CHECKING, TypeVar

from tacit.errors import DaemonError, DaemonUnavailable, TacitError

if TYPE_CHECKING:
    from tacit.app.engine import Engine

RETRY_S = 5.0
FINISH_S = 30.0
"""Longest wait for requests at work before the store is exchanged under them."""
T = TypeVar("T")

_LOG = logging.getLogger(__name__)


class EngineSource:
    """The holder of the daemon's engine: opens it on a thread of its own, gives it to all who wait, and can reopen it. Thread-safe."""

    def __init__(
        self,
        open_engine: Callable[[], Engine],
        *,
        on_settled: Callable[[Engine | None], None] = lambda _: None,
        on_broken: Callable[[], None] = lambda: None,
        retry_s: float = RETRY_S,
    ) -> None:
        """Remember how to open.

        Args:
            open_engine: opens one; blocking.
            on_settled: called on the opening thread with the engine, or None when it cannot be opened for now.
            on_broken: called when the program itself is broken, so that waiting would not help.
            retry_s: seconds after a failure before the next try.
        """
        self._open = open_engine
        self._on_settled = on_settled
        self._on_broken = on_broken
        self._retry_s = retry_s
        self._lock = Lock()
        self._unused = Condition(self._lock)
        self._users = 0
        self._future: Future[Engine] | None = None
        self._failed_s = 0.0

    @property
    def ready(self) -> Engine | None:
        """The engine if it is open now, else None. Never waits."""
        future = self._future
        return future.result() if future and future.done() and future.exception() is None else None

    def begin(self) -> Future[Engine]:
        """Return a future of the engine. Start opening it on a thread, unless it is open, being opened, or failed less than `retry_s` ago. Does not block."""
        with self._lock:
            future = self._future
            failed = future is not None and future.done() and future.exception() is not None
            if future is None or (failed and time.monotonic() - self._failed_s > self._retry_s):
                future = self._future = Future()
                Thread(target=self._run, args=(future,), name="tacit-open", daemon=True).start()
            return future

    def reopen(self, between: Callable[[], T]) -> T:
        """Close the engine, call `between` while the store is closed, open the engine again, and return the result of `between`. Blocks; requests wait.

        Requests under way (`used`) are waited for, at most `FINISH_S`; the caller may be one of them.

        Raises:
            DaemonUnavailable: if no engine is open.
            TacitError: as `between`; the engine is opened again all the same. Or why it cannot be opened.
        """
        with self._lock:
            engine = self.ready
            if engine is None:
                raise DaemonUnavailable("The store is being opened.", hint="Ask again in a moment.")
            future = self._future = Future()
            self._unused.wait_for(lambda: self._users <= 1, timeout=FINISH_S)
        try:
            engine.close()
            done = between()
        finally:
            self._run(future)
        future.result()
        return done

    @contextmanager
    def used(self, engine: Engine) -> Generator[None]:
        """Return a context manager that keeps `engine` open until its block ends: `reopen` waits for it.

        Raises:
            DaemonUnavailable: the store was exchanged, so `engine` is no longer the open engine.
        """
        with self._lock:
            if self.ready is not engine:
                raise DaemonUnavailable("The store is being exchanged.", hint="Ask again in a moment.")
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                self._unused.notify_all()

    async def get(self, *, until_s: float | None = None) -> Engine:
        """Wait for the engine and return it, opening it if needed.

        Raises:
            DaemonUnavailable: `until_s` (of `time.monotonic()`) has passed.
            TacitError: why it cannot be opened.
        """
        engine = self.ready
        if engine is not None:
            return engine
        import asyncio  # noqa: PLC0415 - whoever waits this way has it loaded; the hook listener's threads do not need it

        waiting = asyncio.shield(asyncio.wrap_future(self.begin()))
        timeout_s = None if until_s is None else max(0.0, until_s - time.monotonic())
        try:
            return await asyncio.wait_for(waiting, timeout_s)
        except TimeoutError:
            raise DaemonUnavailable(
                "The store is still being opened.", hint="Ask again in a moment."
            ) from None

    def _run(self, future: Future[Engine]) -> None:
        try:
            engine = self._open()
        except TacitError as error:
            _LOG.error("the engine cannot be opened: %s (%s)", error.code, type(error).__name__)
            self._failed_s = time.monotonic()
            future.set_exception(error)
            self._on_settled(None)
        # The opening thread's boundary: whoever waits must hear of it, and the process must not hang about.
        except Exception as error:  # noqa: BLE001
            _LOG.exception("the engine is broken")
            self._failed_s = time.monotonic()
            detail = f"Tacit cannot open its store: {type(error).__name__}."
            future.set_exception(DaemonError(detail, hint="`tacit status --log` has the details."))
            self._on_broken()
        else:
            future.set_result(engine)
            self._on_settled(engine)
