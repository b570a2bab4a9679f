"""One embedded PostgreSQL for a whole test run. In: the folder that all workers of the run share. Out: how to connect.

A guard process of its own starts the server and ends it, by its own process id, as soon as nobody of the run is alive who uses it: it
never outlives the tests, not even killed ones. Run as a program, this file is that guard.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

from tacit_server.postgres_process import (
    end_process,
    reason_not_to_start,
    start_process,
    wait_until_ready,
)

if TYPE_CHECKING:
    from tacit.model.memory import Memory
    from tacit_server.postgres.connection import Connections
    from tacit_server.postgres.feed import FeedCursor, FeedEntry
    from tacit_server.postgres.memories import TeamMemories
    from tacit_server.postgres.transaction import Transaction

OWNER, APPLICATION = "tacit_owner", "tacit_app"
DATABASE = "tacit"
_START_S, _POLL_S = 60.0, 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that runs."""

    sockets: str
    guard: int

    def dsn(self, user: str = APPLICATION, database: str = DATABASE) -> str:
        """How to connect; `postgres` is the superuser."""
        return f"host={self.sockets} user={user} dbname={database}"


class OwnServer:
    """A server for one test, which may stop it and start it again."""

    def __init__(self, folder: Path) -> None:
        """Start a server whose files lie in `folder`."""
        self.folder = folder
        self.start()

    def dsn(self, user: str = APPLICATION) -> str:
        """How to connect; `postgres` is the superuser."""
        return f"host={self.folder} user={user} dbname=postgres"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._process = start_process(self.folder)
        wait_until_ready(self._process, self.folder)

    def stop(self) -> None:
        """End the server; does nothing if it has ended."""
        end_process(self._process)


@contextmanager
def own_server() -> Generator[OwnServer]:
    """Yield a server with Tacit's tables, and remove it afterwards."""
    from tacit_server.postgres.roles import create_roles
    from tacit_server.postgres.schema import migrate

    with tempfile.TemporaryDirectory(prefix="tacit-pg-") as folder, ExitStack() as ending:
        made = OwnServer(Path(folder))
        ending.callback(made.stop)
        create_roles(made.dsn("postgres"))
        migrate(made.dsn(OWNER))
        yield made


class SharedServer:
    """The server of a run: started by whoever asks first, ended by whoever leaves last."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / "postgres.lock")
        self._state = folder / "postgres.json"
        self._users = folder / "postgres.users"

    def join(self) -> Server:
        """The server, with roles and tables; starts it where it does not run."""
        from tacit_server.postgres.roles import create_roles
        from tacit_server.postgres.schema import migrate

        with self._lock:
            self._write_users({*_alive(self._users), os.getpid()})
            if not self._state.exists():
                program = [sys.executable, __file__, str(self._folder)]
                os.posix_spawn(sys.executable, program, dict(os.environ))
                _wait_for(self._state)
                server = self._read()
                _create_database(server)
                create_roles(server.dsn("postgres"), owner=OWNER, application=APPLICATION)
                migrate(server.dsn(OWNER))
            return self._read()

    def leave(self) -> None:
        """Use it no longer; the last one waits until it has ended."""
        with self._lock:
            users = _alive(self._users) - {os.getpid()}
            self._write_users(users)
            if users or not self._state.exists():
                return
            os.kill(self._read().guard, signal.SIGTERM)
            until = time.monotonic() + _START_S
            while self._state.exists() and time.monotonic() < until:
                time.sleep(_POLL_S / 4)

    def _read(self) -> Server:
        return Server(**json.loads(self._state.read_text()))

    def _write_users(self, users: set[int]) -> None:
        # The guard reads it at any time, and half a file would look like nobody.
        written = self._users.with_suffix(".users.part")
        written.write_text(json.dumps(sorted(users)))
        written.rename(self._users)


class _Run:
    """What this process has of the server: started at the first use, left when the process ends."""

    def __init__(self) -> None:
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        folder = Path(tempfile.gettempdir()) / f"tacit-postgres-{run}"
        folder.mkdir(exist_ok=True)
        self._shared = SharedServer(folder)
        self.server = self._shared.join()
        atexit.register(self._shared.leave)


@cache
def _run() -> _Run:
    return _Run()


def server() -> Server:
    """The server of this run."""
    if reason := reason_not_to_start():
        pytest.skip(reason)
    return _run().server


@cache
def connections() -> Connections:
    """The connections of this process to the server of this run."""
    from tacit_server.postgres.connection import Connections

    made = Connections(server().dsn(), min_size=1, max_size=4, observe=check_statement)
    atexit.register(made.close)
    return made


_tenants = itertools.count()


def new_tenant_name() -> str:
    """A tenant that nobody has used."""
    return f"tenant-{os.getpid()}-{next(_tenants)}"


def nothing(_transaction: Transaction) -> None:
    """Do nothing beside a change."""


def add(memories: TeamMemories, *added: Memory) -> None:
    """Write memories."""
    from tacit.model.changes import Add

    memories.apply([Add(memory=one) for one in added], beside=nothing)


def changes_of(
    memories: TeamMemories, cursor: FeedCursor | None = None, *, limit: int = 999
) -> tuple[FeedEntry, ...]:
    """The entries of the feed after `cursor`; None = from the beginning."""
    from tacit_server.postgres.feed import FeedCursor, changes_after

    return memories.database.reading(lambda t: changes_after(t, cursor or FeedCursor(), limit=limit))


OWN = re.compile(r"(?:(\w+)\.)?tenant = %\(tenant\)s")


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Where a statement reads a table, with its other name there; where it adds rows, with their first column."""
    from tacit_server.postgres.roles import TENANT_TABLES

    tables = "|".join(TENANT_TABLES)
    read = rf"\b(?:FROM|JOIN|USING|UPDATE) (?:{tables})\b(?: AS (\w+))?"
    return re.compile(read), re.compile(rf"\bINSERT INTO (?:{tables}) \((\w+)")


def check_statement(statement: str) -> None:
    """Refuse a statement that reads or writes a table without naming the tenant for it."""
    reading, adding = _patterns()
    read = Counter(match[1] or "" for match in reading.finditer(statement))
    added = [match[1] for match in adding.finditer(statement)]
    named = Counter(match[1] or "" for match in OWN.finditer(statement))
    unnamed = [alias for alias in read if alias and not named[alias]]
    plain = read[""] - named[""] - sum(count for alias, count in named.items() if alias not in read)
    badly_added = [first for first in added if first != "tenant" or "%(tenant)s" not in statement]
    if unnamed or badly_added or plain > 0 or not (read or added):
        raise AssertionError(f"A statement does not name the tenant of every table: {statement}")


def _create_database(server: Server) -> None:
    import psycopg

    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}")


def _alive(users: Path) -> set[int]:
    """The processes that use the server and still run."""
    try:
        pids = set(json.loads(users.read_text()))
    except (OSError, ValueError):
        return set()
    return {pid for pid in pids if _runs(pid)}


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _wait_for(state: Path) -> None:
    until = time.monotonic() + _START_S
    while not state.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"PostgreSQL did not start in {_START_S:g} seconds.")
        time.sleep(_POLL_S / 4)


def _guard(shared: Path) -> None:
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    state, users = shared / "postgres.json", shared / "postgres.users"
    folder = Path(tempfile.mkdtemp(prefix="tacit-pg-"))
    process = start_process(folder)
    try:
        wait_until_ready(process, folder)
        written = state.with_suffix(".part")
        written.write_text(json.dumps({"sockets": str(folder), "guard": os.getpid()}))
        written.rename(state)
        while not stopped and process.poll() is None and _alive(users):
            time.sleep(_POLL_S)
    finally:
        end_process(process)
        shutil.rmtree(folder, ignore_errors=True)
        state.unlink(missing_ok=True)
        shutil.rmtree(shared, ignore_errors=True)


if __name__ == "__main__":
    _guard(Path(sys.argv[1]))
