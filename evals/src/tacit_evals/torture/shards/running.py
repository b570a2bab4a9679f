"""Accounts and stores over three PostgreSQL servers, moved while they write: `python -m tacit_evals.torture.shards [--seconds 60] [--seed 1]`.

Two processes of `tacit-server serve` answer devices of several accounts, which push entries and purges over HTTP. Writer processes add, edit and purge
memories of several stores. Meanwhile a third shard is added, movers move accounts and stores back and forth, and movers, servers and writers are killed
(SIGKILL). A writer notes what it is about to do, and that it was acknowledged.

Out: counts, and every error that is found after `tacit-server move` has finished the interrupted moves: acknowledged writes that are lost, rows that exist
twice (on one shard or on two), purged rows that have returned, and stores whose check reports a problem. Exit code 1 if there is any error.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psycopg

from tacit.backends.postgres import PostgresStore, create_roles, migrate
from tacit.backends.postgres.connection import Connections
from tacit.backends.postgres.roles import APPLICATION, OWNER
from tacit.backends.postgres.shards.moving import move_tenant
from tacit.config.databases import OWNER_DATABASE
from tacit.errors import TacitError
from tacit.providers.clock import SystemClock
from tacit.server.shards import FROM_ENVIRONMENT, owner_url
from tacit.sync.entry import Entry
from tacit_evals.postgres_search.embedded import end_process, start_process, wait_until_ready
from tacit_evals.postgres_search.server_process import kill, run_command, start_server
from tacit_evals.torture.outcome import Outcome
from tacit_evals.torture.shards.writers import PATIENCE_S, SEEN, Device, noted, write_stores

NAMES = ("main", "b", "c")
MOVERS = 2
_PROCESSES = multiprocessing.get_context("forkserver")
"""Movers are processes, so that they can be killed. They are forked, because starting Python for each would take too long."""


@dataclass(slots=True, kw_only=True)
class ShardOutcome(Outcome):
    """What a run did and found.

    Attributes:
        unanswered: number of requests that were repeated because no server answered.
        moves: number of moves, by result.
        waits_ms: how long each request took, with its repetitions.
    """

    unanswered: int = 0
    moves: Counter[str] = field(default_factory=Counter[str])
    waits_ms: list[float] = field(default_factory=list[float])


class Databases:
    """Three PostgreSQL servers, each with a database of its own."""

    def __init__(self, folder: Path) -> None:
        self._folders = {name: folder / name for name in NAMES}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        folder.chmod(0o755)
        for name, own in self._folders.items():
            own.mkdir()
            self._processes[name] = start_process(own)
        for name, own in self._folders.items():
            wait_until_ready(self._processes[name], own)
            with psycopg.connect(self.dsn(name, "postgres", "postgres"), autocommit=True) as connection:
                connection.execute("CREATE DATABASE tacit")
            create_roles(self.dsn(name, "postgres"))
        migrate(self.dsn("main", OWNER))

    def dsn(self, name: str, user: str, database: str = "tacit") -> str:
        return f"host={self._folders[name]} user={user} dbname={database}"

    def environment(self) -> dict[str, str]:
        """Return the environment variables of every process of the server."""
        found = {}
        for name in NAMES:
            middle = "DATABASE" if name == "main" else f"SHARD_{name.upper()}"
            found[f"TACIT_{middle}_URL"] = self.dsn(name, APPLICATION)
            found[f"TACIT_{middle}_OWNER_URL"] = self.dsn(name, OWNER)
        return found

    def rows(self, name: str, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement as a superuser sees them."""
        with psycopg.connect(self.dsn(name, "postgres")) as connection:
            return connection.execute(statement.encode()).fetchall()

    def end(self) -> None:
        for process in self._processes.values():
            end_process(process)


class Torture:
    """One run."""

    def __init__(self, folder: Path, *, seed: int, accounts: int, stores: int, writers: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.outcome = ShardOutcome()
        self.stopped = threading.Event()
        self.shards = ["main", "b"]
        self.databases = Databases(folder)
        self.environment = {**os.environ, **self.databases.environment()}
        os.environ.update(self.databases.environment())
        _PROCESSES.set_forkserver_preload([__name__])
        self.command("shards", "add", "b")
        self._servers: list[subprocess.Popen[bytes]] = []
        self._urls: list[str] = []
        for _ in range(2):
            self._start_server()
        self.stores = [f"store-{number}" for number in range(stores)]
        self._writers = [self._start_writer(number) for number in range(writers)]
        self.devices: list[Device] = []
        for number in range(accounts):
            code = self.command("invite", f"ana-{number}").strip()
            self.devices.append(Device(self, f"ana-{number}", code, self.chance.randrange(1 << 30)))

    # --- processes

    def command(self, *arguments: str) -> str:
        """Run `tacit-server` and return what it prints."""
        return run_command(self.environment, *arguments)

    def _start_server(self, place: int | None = None) -> None:
        process, url = start_server(self.environment, log=self.folder / "server.log")
        if place is None:
            self._servers.append(process)
            self._urls.append(url)
        else:
            self._servers[place], self._urls[place] = process, url

    def server_url(self, chance: random.Random) -> str:
        return chance.choice(self._urls)

    def _start_writer(self, number: int) -> subprocess.Popen[bytes]:
        seed = self.chance.randrange(1 << 30)
        arguments = [
            "--run-writer",
            str(self.folder),
            "--number",
            str(number),
            "--seed",
            str(seed),
            "--stores",
            str(len(self.stores)),
        ]
        with (self.folder / f"writer-{number}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tacit_evals.torture.shards", *arguments],
                env=self.environment, stdout=log, stderr=log,
            )  # fmt: skip

    def _kill_server(self) -> None:
        place = self.chance.randrange(len(self._servers))
        kill(self._servers[place])
        self._start_server(place)
        self.outcome.kills["server"] += 1

    def _kill_writer(self) -> None:
        place = self.chance.randrange(len(self._writers))
        kill(self._writers[place])
        self._writers[place] = self._start_writer(place)
        self.outcome.kills["writer"] += 1

    # --- the run

    def run(self, seconds: float) -> ShardOutcome:
        for device in self.devices:
            device.start()
        movers = [
            threading.Thread(target=self._move_on, args=(self.chance.randrange(1 << 30),))
            for _ in range(MOVERS)
        ]
        for mover in movers:
            mover.start()
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            if "c" not in self.shards and passed > seconds / 3:
                self.command("shards", "add", "c")
                self.shards.append("c")
            self.stopped.wait(seconds / 12)
            self.chance.choice([self._kill_server, self._kill_writer])()
        self.stopped.set()
        for mover in movers:
            mover.join()
        (self.folder / "stop").touch()
        for device in self.devices:
            device.join()
        for writer in self._writers:
            writer.wait(PATIENCE_S)
        for line in self.interrupted():
            self.outcome.moves["ended afterwards"] += 1
            self.command("move", line.partition(" is on its way")[0], "main", "--quiet")
        self._examine()
        return self.outcome

    def interrupted(self) -> list[str]:
        return [line for line in self.command("shards").splitlines() if " is on its way" in line]

    def _move_on(self, seed: int) -> None:
        """Move one tenant after another until the run is over."""
        chance = random.Random(seed)
        while not self.stopped.is_set():
            self._move(chance)

    def _move(self, chance: random.Random) -> None:
        """Move a random tenant. Half of the movers are killed at a random step."""
        shard = chance.choice(self.shards)
        name = chance.choice(
            [
                *(f"account:{device.account}" for device in self.devices),
                *(f"torture:{name}" for name in self.stores),
            ]
        )
        steps, tell = _PROCESSES.Pipe(duplex=False)
        mover = _PROCESSES.Process(target=_move, args=(name, shard, tell))
        mover.start()
        tell.close()
        last = 99 if chance.random() < 0.5 else chance.randrange(1, 10)
        told: list[str] = []
        with contextlib.suppress(EOFError):
            while len(told) < last:
                told.append(steps.recv())
        if last < 99 and not told[-1].startswith("done:"):
            time.sleep(chance.choice([0, 0, 0.003, 0.02]))
            mover.kill()
            self.outcome.kills[f"mover behind `{told[-1]}`"] += 1
        else:
            done = told[-1].removeprefix("done: ")
            if done.startswith("refused") and "No tenant" not in done:
                sys.stderr.write(f"move {name} {shard}: {done}\n")
            self.outcome.moves[done.partition(":")[0]] += 1
        mover.join()
        mover.close()
        steps.close()

    # --- the end

    def _examine(self) -> None:
        for device in self.devices:
            self.outcome.lost += device.wrong
            self._examine_account(device)
        with contextlib.closing(
            Connections(self.environment["TACIT_DATABASE_URL"], max_size=4, addresses=FROM_ENVIRONMENT)
        ) as connections:
            for name in self.stores:
                self._examine_store(connections, name)
        for name in NAMES:
            self._examine_leftovers(name)

    def _examine_account(self, device: Device) -> None:
        rows = [
            row
            for name in NAMES
            if _has_tables(self.databases, name)
            for row in self.databases.rows(
                name,
                "SELECT number, id, sealed <> '' FROM entries JOIN tenants USING (tenant)"
                f" WHERE name = 'account:{device.account}' ORDER BY number",
            )
        ]
        held = Counter(str(row[1]) for row in rows)
        expected = device.log[: device.acknowledged]
        ids = {entry.id for entry in expected}
        self.outcome.acknowledged["entries"] += len(expected)
        self.outcome.lost += [
            f"{device.account}: entry {entry.number}" for entry in expected if not held[entry.id]
        ]
        self.outcome.doubled += [
            f"{device.account}: {name} is there {count} times" for name, count in held.items() if count > 1
        ]
        gone = _purged_entries(expected)
        maybe_gone = _purged_entries(device.log)  # a purge that was not acknowledged may be stored
        self.outcome.returned += [
            f"{device.account}: the body of entry {row[0]}" for row in rows if row[2] and row[1] in gone
        ]
        self.outcome.lost += [
            f"{device.account}: the body of entry {row[0]}"
            for row in rows
            if not row[2] and row[1] in ids - maybe_gone
        ]

    def _examine_store(self, connections: Connections, name: str) -> None:
        done, begun = noted(self.folder, name)
        store = PostgresStore(connections, f"torture:{name}", clock=SystemClock())
        texts = Counter[str]()
        purged = {note["id"] for note in done if note["op"] == "purge"}
        maybe_purged = {note["id"] for note in begun if note["op"] == "purge"}
        for note in done:
            self.outcome.acknowledged[f"memories: {note['op']}"] += 1
        ids = sorted({str(note["id"]) for note in begun})
        for start in range(0, len(ids), 500):
            for memory in store.get(ids[start : start + 500], scope=SEEN):
                if memory.id in purged:
                    self.outcome.returned.append(f"{name}: {memory.id}")
        for note_id in ids:
            texts.update(memory.content for memory in store.history(note_id, scope=SEEN))
        for note in done:
            if note["op"] != "purge" and note["id"] not in maybe_purged and not texts[note["text"]]:
                self.outcome.lost.append(f"{name}: {note['op']} {note['id']}")
        self.outcome.doubled += [
            f"{name}: {text!r} {count} times" for text, count in texts.items() if count > 1
        ]
        self.outcome.unsound += [f"{name}: {problem}" for problem in store.check()]
        held_on = [
            shard for shard in NAMES
            if _has_tables(self.databases, shard)
            and self.databases.rows(shard, f"SELECT 1 FROM tenants WHERE name = 'torture:{name}'")
        ]  # fmt: skip
        if len(held_on) != 1:
            self.outcome.doubled.append(f"{name} lies on {held_on}")

    def _examine_leftovers(self, name: str) -> None:
        """Look for rows of tenants that a shard does not have."""
        if not _has_tables(self.databases, name):
            return
        for table in ("memories", "versions", "postings", "entries", "devices", "scopes", "purges"):
            ((count,),) = self.databases.rows(
                name, f"SELECT count(*) FROM {table} WHERE tenant NOT IN (SELECT tenant FROM tenants)"
            )
            if count:
                self.outcome.unsound.append(f"{name}: {count} rows of {table} are of no tenant")

    def end(self) -> None:
        """End every process."""
        self.stopped.set()
        for process in (*self._servers, *self._writers):
            kill(process)
        self.databases.end()


def _purged_entries(log: Sequence[Entry]) -> set[str]:
    """Return the ids of the entries in a log whose bodies are removed by a purge in the log."""
    subjects = {entry.subject for entry in log if entry.kind == "purge"}
    return {entry.id for entry in log if entry.kind == "state" and entry.subject in subjects}


def _move(name: str, shard: str, tell: Connection) -> None:
    """Move a tenant in a process of its own. Send every step to `tell`, then the result."""
    try:
        moved = move_tenant(
            name, shard, owner_url=lambda each: owner_url(os.environ[OWNER_DATABASE], each), step=tell.send
        )
        tell.send("done: already there" if moved.source == shard else "done: moved")
    except TacitError as error:
        tell.send(f"done: refused: {error}")


def _has_tables(databases: Databases, name: str) -> bool:
    return databases.rows(name, "SELECT to_regclass('tenants') IS NOT NULL")[0][0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with the options of the command line. Return the exit code: 1 if there is any error."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.torture.shards", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--accounts", type=int, default=6)
    parser.add_argument("--stores", type=int, default=4)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--run-writer", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.run_writer:
        write_stores(chosen.run_writer, chosen.number, seed=chosen.seed, stores=chosen.stores)
        return 0
    folder = Path(tempfile.mkdtemp(prefix="ts-", dir="/tmp"))
    torture = None
    try:
        torture = Torture(
            folder, seed=chosen.seed, accounts=chosen.accounts, stores=chosen.stores, writers=chosen.writers
        )
        outcome = torture.run(chosen.seconds)
    finally:
        if torture is not None:
            torture.end()
        shutil.rmtree(folder, ignore_errors=True)
    waits = sorted(outcome.waits_ms)
    print(f"acknowledged: {dict(outcome.acknowledged)}; killed: {dict(outcome.kills)}")
    print(f"moves: {dict(outcome.moves)}; requests that were repeated: {outcome.unanswered}")
    print(
        f"answer of a request, ms: median {statistics.median(waits):.0f}, 99 of 100 {waits[len(waits) * 99 // 100]:.0f}, longest {waits[-1]:.0f}"
    )
    outcome.print_errors()
    return 0 if outcome.sound else 1
