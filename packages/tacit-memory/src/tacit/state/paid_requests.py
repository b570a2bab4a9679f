"""Sends paid requests, keeps to the daily token limit, and waits after a failure. In: requests. Out: answers.

Each use of a model has an account of its own: a named value that holds a `Spending`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Lock
from typing import TypeVar

from tacit.errors import ProviderError, StoreError
from tacit.ports.clock import Clock
from tacit.ports.store import Step, ValueChanges, ValueStore, no_step
from tacit.ports.writer import Writer, WriterAnswer, WriterRequest
from tacit.state.counted import PAUSE_MS, Spending
from tacit.state.registry import NamedValue

_LOG = logging.getLogger(__name__)
T = TypeVar("T")


class PaidModel:
    """Asks one model for one store and keeps the account. Whoever asks holds `asking` from `begin` to the end."""

    def __init__(
        self,
        *,
        writer: Writer,
        account: NamedValue[Spending],
        tokens_per_day: int,
        store: ValueStore,
        clock: Clock,
        pause_ms: int = PAUSE_MS,
        step: Step = no_step,
    ) -> None:
        """Ask `writer`, at most for `tokens_per_day` input tokens; nothing for `pause_ms` after a failure, longer after more."""
        self.asking = Lock()
        self.writer = writer
        self._account = account
        self._tokens_per_day = tokens_per_day
        self._pause_ms = pause_ms
        self._store = store
        self._clock = clock
        self._step = step
        self._stopped = Event()

    def stop(self) -> None:
        """Ask for nothing more: the store is being closed. A request that is ended by that is no failure."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether nothing is asked any more."""
        return self._stopped.is_set()

    def begin(self, *, at_once: bool) -> Spending | None:
        """Return the tokens spent today; None = no request is allowed now. `at_once` = also in the pause after a failure."""
        now_ms = self._clock.now_ms()
        spent = self._account.read(self._store).on(now_ms)
        if self.stopped or (now_ms < spent.paused_until_ms and not at_once):
            return None
        return spent

    def reserve(self, tokens: int, spent: Spending) -> Spending | None:
        """The account with `tokens` set apart for a request, kept; None = the day's tokens do not suffice."""
        if spent.tokens + tokens > self._tokens_per_day:
            self._keep(replace(spent, over_budget=spent.over_budget + 1))
            return None
        reserved = replace(
            spent, tokens=spent.tokens + tokens, asked=spent.asked + 1, paused_until_ms=0, error=""
        )
        self._keep(reserved)
        self._step("tokens reserved")
        return reserved

    def ask(
        self, request: WriterRequest, reserved: Spending, *, read: Callable[[str], T]
    ) -> tuple[WriterAnswer, T]:
        """The answer, and what `read` makes of its text.

        Raises:
            ProviderError: as the writer and `read`; the failure is on the account then, unless the store is being closed.
        """
        try:
            answer = self.writer.write(request)
            content = read(answer.text)
        except ProviderError as error:
            if not self.stopped:
                _LOG.warning(
                    "the writer failed: %s", error.reason or error.code, extra={"detail": str(error)}
                )
                self.fail(reserved, str(error))
            raise
        self._step("answer read")
        return answer, content

    def fail(self, reserved: Spending, error: str) -> None:
        """Put a request without a usable answer on the account."""
        self._keep(reserved.after_failure(error, now_ms=self._clock.now_ms(), pause_ms=self._pause_ms))

    @contextmanager
    def counting_surprises(self) -> Generator[None]:
        """Inside, an error of no known kind is put on the account before it goes on; what was reserved for the request stays."""
        done = False
        try:
            yield
            done = True
        finally:
            if not done:
                self._fail_unexpectedly(sys.exception())

    def _fail_unexpectedly(self, error: BaseException | None) -> None:
        _LOG.error("a request to a model broke: %s", type(error).__name__, extra={"detail": str(error)})
        if not (self.stopped or isinstance(error, StoreError)):
            spent = self._account.read(self._store).on(self._clock.now_ms())
            self.fail(spent, f"The writer broke: {type(error).__name__}.")

    def settled(
        self, answer: WriterAnswer, tokens: int, *, reserved: Spending, accepted: int, dropped: int
    ) -> ValueChanges:
        """The account after an answer, to be stored with what it brought; `tokens` = what was set apart for it."""
        return self._account.change(
            replace(_counted(answer, tokens, reserved, accepted, dropped), in_a_row=0)
        )

    def settle(
        self,
        answer: WriterAnswer,
        tokens: int,
        *,
        reserved: Spending,
        accepted: int,
        dropped: int,
        failure: str = "",
    ) -> None:
        """Store the account after an answer; `failure` = why it could not be used."""
        counted = _counted(answer, tokens, reserved, accepted, dropped)
        if failure:
            self.fail(counted, failure)
        else:
            self._keep(replace(counted, in_a_row=0))

    def _keep(self, spending: Spending) -> None:
        self._account.write(self._store, spending)


def _counted(answer: WriterAnswer, tokens: int, reserved: Spending, accepted: int, dropped: int) -> Spending:
    return replace(
        reserved,
        tokens=reserved.tokens - tokens + (answer.tokens_in or tokens),
        tokens_out=reserved.tokens_out + answer.tokens_out,
        kept=reserved.kept + accepted,
        dropped=reserved.dropped + dropped,
    )
