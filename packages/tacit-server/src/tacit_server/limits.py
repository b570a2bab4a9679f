"""Counts events of the present minute, for rate limits. In: keys such as a hashed address. Out: how often each occurred. Counts are forgotten after the minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from tacit_server.postgres.connection import Connections, TenantDatabase

WINDOW_S = 60

_ADD = """
    INSERT INTO limits (tenant, key, minute, count) VALUES (%(tenant)s, %(key)s, %(minute)s, %(count)s)
    ON CONFLICT (tenant, key, minute) DO UPDATE SET count = limits.count + excluded.count RETURNING count"""
_DROP_OLD = "DELETE FROM limits WHERE tenant = %(tenant)s AND minute < %(minute)s"


class Counts(Protocol):
    """Counts events by key. Safe to share between threads."""

    def add(self, key: str, count: int) -> int:
        """Add `count` events of `key`, and return how many there were in the present minute."""
        ...


class LocalCounts:
    """Counts the events of one process."""

    def __init__(self, *, now_s: Callable[[], float] = time.time) -> None:
        """Count from now on. `now_s` returns the current time."""
        self._now_s = now_s
        self._minute = 0
        self._counts: dict[str, int] = {}

    def add(self, key: str, count: int) -> int:
        """See `Counts`."""
        minute = int(self._now_s() // WINDOW_S)
        if minute != self._minute:
            self._minute, self._counts = minute, {}
        counts = self._counts
        counts[key] = counts.get(key, 0) + count
        return counts[key]


class SharedCounts:
    """Counts the events of all processes that use a database."""

    TENANT = "server"

    def __init__(self, connections: Connections, *, now_s: Callable[[], float] = time.time) -> None:
        """Count in the database of `connections`. `now_s` returns the current time."""
        self._database = TenantDatabase(connections, self.TENANT)
        self._now_s = now_s
        self._minute = 0

    def add(self, key: str, count: int) -> int:
        """See `Counts`."""
        minute = int(self._now_s() // WINDOW_S)
        values = {"key": key, "count": count, "minute": minute}
        if minute != self._minute:
            self._minute = minute
            self._database.writing(lambda transaction: transaction.execute(_DROP_OLD, values), alone=False)
        return self._database.writing(lambda transaction: transaction.number(_ADD, values), alone=False)
