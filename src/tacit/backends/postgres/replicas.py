"""A read replica: a copy of a database that PostgreSQL keeps up to date. In: a connection string, the largest lag that is allowed. Out: connections.

It serves reads for which a state of some seconds ago is enough. A replica that cannot be reached, is too far behind, or is no longer a replica is not used for
some seconds, and its readers use the primary. Never waits long, and never connects as a role that row-level security does not bind.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import psycopg
from psycopg_pool import ConnectionPool

from tacit.backends.postgres.roles import refuse_unbound_role
from tacit.backends.postgres.schema import refuse_other_schema
from tacit.backends.postgres.shards.routing import refuse_other_database
from tacit.errors import StoreError

MAX_LAG_S = 5.0
"""A replica that is further behind is not used."""
LOOK_S = 1.0
"""How long the result of a check of the replica is valid, and how long a reader waits for a connection to it."""
_AWAY_S = 5.0
"""How long a replica that failed is not used."""

_LOG = logging.getLogger(__name__)
_Connection = psycopg.Connection[tuple[Any, ...]]

# If everything that was received was replayed and the receiver runs, the lag is 0: an idle primary must not look like a lag.
_LAG = """
    SELECT pg_is_in_recovery(), CASE
        WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND EXISTS (SELECT 1 FROM pg_stat_wal_receiver) THEN 0
        ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END"""


class Replica:
    """A pool of connections to a replica. Safe to share between threads."""

    def __init__(
        self,
        dsn: str,
        *,
        keywords: Mapping[str, Any],
        shard: str,
        directory: str,
        max_size: int,
        max_lag_s: float,
    ) -> None:
        """Prepare a pool. Nothing is connected yet.

        Args:
            dsn: connection string as the application's role.
            keywords: keyword arguments of every connection.
            shard: the name of the shard that it must be a replica of.
            directory: the id of the directory of that shard.
            max_size: largest number of connections.
            max_lag_s: the replica is not used if it is further behind its primary, in seconds.
        """
        self.max_lag_s = max_lag_s
        self._dsn = dsn
        self._keywords: dict[str, Any] = {**keywords, "connect_timeout": 2}
        self._shard, self._directory = shard, directory
        self._pool: ConnectionPool[_Connection] = ConnectionPool(
            dsn, min_size=0, max_size=max_size, timeout=LOOK_S, kwargs=self._keywords, open=False
        )
        self._opened = False
        self._good_until = self._away_until = 0.0

    def usable(self) -> bool:
        """Return whether the replica can be used now. It is checked at most once in `LOOK_S` seconds."""
        now = time.monotonic()
        if now < self._away_until:
            return False
        if now < self._good_until:
            return True
        try:
            lag_s = self._look()
        except (psycopg.Error, StoreError) as error:
            self.leave_alone(str(error).strip())
            return False
        if lag_s is None or lag_s > self.max_lag_s:
            self.leave_alone("it is not a replica" if lag_s is None else f"it is {lag_s:.0f} s behind")
            return False
        self._good_until = time.monotonic() + LOOK_S
        return True

    def _look(self) -> float | None:
        """Return how many seconds the replica is behind its primary; None = it is not a replica."""
        if not self._opened:
            # The first connection is made outside the pool, because the pool would hide why it failed.
            with psycopg.connect(self._dsn, **self._keywords) as connection:
                refuse_other_schema(connection)
                refuse_unbound_role(connection)
                refuse_other_database(connection, self._shard, self._directory)
            self._pool.open()
            self._opened = True
        connection = self.borrow()
        try:
            row = connection.execute(_LAG).fetchone()
        finally:
            self.give_back(connection)
        assert row is not None
        if not row[0]:
            return None
        return self.max_lag_s + 1 if row[1] is None else float(row[1])

    def borrow(self) -> _Connection:
        """Return a connection.

        Raises:
            psycopg.Error: no connection could be made.
        """
        return self._pool.getconn(timeout=LOOK_S)

    def give_back(self, connection: _Connection) -> None:
        """End the transaction of a borrowed connection, and give it back."""
        with suppress(psycopg.Error):
            connection.rollback()
        self._pool.putconn(connection)

    def leave_alone(self, reason: str) -> None:
        """Do not use the replica for some seconds, and log the reason."""
        _LOG.warning("The replica of the shard %s is not used: %s.", self._shard, reason)
        self._good_until, self._away_until = 0.0, time.monotonic() + _AWAY_S
        if self._opened:
            with suppress(psycopg.Error):
                self._pool.check()

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()
