"""Wakes devices that wait for changes. In: notifications of PostgreSQL. Out: events in one event loop. It carries numbers of tenants, never what changed.

A transaction that changes a tenant notifies the channel `CHANNEL` with the number of the tenant. Each process of the server listens on one connection. While
it is not connected, `listening` is false, and who waits reads the database now and then instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

import psycopg

from tacit_server.postgres.transaction import CHANNEL

_LOG = logging.getLogger(__name__)
RETRY_S = 2.0
"""Seconds between two attempts to connect."""


class News:
    """Tells who waits for which tenants. For use in one event loop only."""

    def __init__(self, dsn: str = "") -> None:
        """Listen on the database `dsn`; "" = never listen."""
        self.listening = False
        self.stopped = False
        self.changes = 0
        """How many notifications came."""
        self.heard: Callable[[int | None], None] = _ignore
        """Called with the tenant of each notification, before anybody is woken; None = any tenant may have changed."""
        self._dsn = dsn
        self._waiting: dict[int, set[asyncio.Event]] = {}

    @contextmanager
    def watching(self, tenants: Iterable[int]) -> Generator[asyncio.Event]:
        """Yield an event that is set when one of `tenants` changes, or when the server stops."""
        told, watched = asyncio.Event(), set(tenants)
        for tenant in watched:
            self._waiting.setdefault(tenant, set()).add(told)
        try:
            yield told
        finally:
            for tenant in watched:
                self._waiting[tenant].discard(told)
                if not self._waiting[tenant]:
                    del self._waiting[tenant]

    def tell(self, tenant: int | None) -> None:
        """Wake those who wait for `tenant`; None = wake everybody."""
        self.changes += 1
        self.heard(tenant)
        for told in self._waiting.get(tenant, ()) if tenant is not None else self._everybody():
            told.set()

    def stop(self) -> None:
        """Wake everybody, because the server stops."""
        self.stopped = True
        self.tell(None)

    def _everybody(self) -> set[asyncio.Event]:
        return {told for waiting in self._waiting.values() for told in waiting}

    async def listen(self) -> None:
        """Pass on notifications until the task is canceled. A lost connection is replaced."""
        lost = False
        while self._dsn:
            try:
                async with await psycopg.AsyncConnection.connect(self._dsn, autocommit=True) as connection:
                    await connection.execute(f"LISTEN {CHANNEL}".encode())
                    self.listening, lost = True, False
                    self.tell(None)  # something may have changed while nobody listened
                    async for notice in connection.notifies():
                        self.tell(int(notice.payload))
            except psycopg.Error as error:
                if not lost:  # once, not every two seconds
                    _LOG.warning("not listening for changes, reading the database instead: %s", error)
                lost = True
            finally:
                self.listening = False
                self.heard(None)
            await asyncio.sleep(RETRY_S)


def _ignore(_tenant: int | None) -> None:
    """Do nothing with a notification."""
