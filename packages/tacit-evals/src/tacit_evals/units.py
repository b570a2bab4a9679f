"""Measures what an account, an entry, a memory, a push and a search cost the server: `python -m tacit_evals.units [--tenants 2000]`.

It starts PostgreSQL and one process of `tacit-server serve`, and fills both through the product's own interfaces. Bytes are the growth of the database with
indexes, after a vacuum. Processor time is that of all processes of PostgreSQL, and of the server's process, read from /proc. The database does not wait for
its disk, so times are of processors and not of disks. A device pushes real encrypted entries of 120 characters, one at a time, and reads the heads after
each push as a syncing device does. `--waiting` devices wait for news for `--seconds`; use 50 to measure what real devices cost, which ask again after that time. What both
processes use while nobody asks is measured before, and does not count as a cost of these devices. `--new-device 5000` measures the first sync of a home instead: of statements of
random letters, which have three times as many tokens as real ones, or with `--real` of those in `packages/tacit-evals/searches`, each with a number.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import httpx2 as httpx
import msgspec
import numpy as np
import psycopg
from rich.console import Console
from rich.table import Table

from tacit.app.wiring import open_engine
from tacit.model.changes import Add
from tacit.model.scope import UNIVERSAL
from tacit.sync.entry import Entry, StateBody, append_entry
from tacit.sync.keys import AccountKey, DeviceKey
from tacit_evals.server_process import kill, start_server, stat_of, used_s
from tacit_evals.team_search import EMBEDDER, SEARCHES, RandomTeam, memory_of, nothing, opened, search
from tacit_server.app import PREFIX
from tacit_server.logs import Login
from tacit_server.main import DATABASE
from tacit_server.postgres.connection import Connections
from tacit_server.postgres.memories import TeamMemories
from tacit_server.postgres.roles import APPLICATION, OWNER, create_roles
from tacit_server.postgres.schema import migrate
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.postgres_process import end_process, start_process, wait_until_ready

IDLE_S = 10.0
"""How long the processes are measured without requests."""
_NOW_MS = int(time.time() * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A measured figure with its unit."""

    what: str
    value: str


class LoggedDevice:
    """A device of an account, with its log."""

    def __init__(self, logs: PostgresLogs, account: str) -> None:
        self.key, self.secret = DeviceKey.new(), AccountKey.new()
        self.log: list[Entry] = []
        login = Login(
            code=logs.add_account(account, now_ms=_NOW_MS),
            key=self.secret.account,
            device=self.key.device,
            name="laptop",
            signature=self.key.sign(self.key.device.encode()),
        )
        self.token = logs.log_in(login, now_ms=_NOW_MS).token
        self.who = logs.principal(self.token, now_ms=_NOW_MS)

    def entry(self, text: str) -> Entry:
        """Append an encrypted entry to the log of the device, and return it. Its memory holds in every project."""
        previous = self.log[-1].id if self.log else ""
        body = StateBody(memory=replace(memory_of(f"mem_{len(self.log)}", text), scope=UNIVERSAL))
        made = append_entry(
            body, number=len(self.log) + 1, previous=previous, device=self.key, account=self.secret
        )
        self.log.append(made)
        return made


class ServerBench:
    """One server, and the measurements on it."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self._postgres_folder = folder / "p"
        self._postgres_folder.mkdir()
        self.postgres = start_process(self._postgres_folder, shared_buffers="256MB")
        wait_until_ready(self.postgres, self._postgres_folder)
        with psycopg.connect(self.dsn("postgres", "postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE main")
        create_roles(self.dsn("postgres"))
        migrate(self.dsn(OWNER))
        self.connections = Connections(self.dsn(APPLICATION), min_size=2, max_size=4)
        self.logs = PostgresLogs(self.connections)
        self.world = RandomTeam(seed=1)
        self._server: subprocess.Popen[bytes] | None = None
        self.units: list[Unit] = []

    def dsn(self, user: str, database: str = "main") -> str:
        return f"host={self._postgres_folder} user={user} dbname={database}"

    def note(self, what: str, value: float, unit: str) -> None:
        digits = 0 if value >= 100 else 1 if value >= 10 else 2
        self.units.append(Unit(what=what, value=f"{value:,.{digits}f} {unit}"))

    def grown(self, work: Callable[[], None]) -> int:
        """Return by how many bytes `work` makes the database grow."""
        before = self._size()
        work()
        return self._size() - before

    def _size(self) -> int:
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            row = connection.execute(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind IN ('r', 'm')"
            ).fetchone()
        assert row is not None
        return int(row[0])

    def postgres_s(self) -> float:
        """Return the processor time of all running processes of PostgreSQL, in seconds."""
        return sum(map(used_s, [self.postgres.pid, *_children(self.postgres.pid)]))

    def end(self) -> None:
        self.connections.close()
        kill(self._server)
        end_process(self.postgres)

    # --- what is measured

    def bytes_of_accounts(self, tenants: int) -> list[LoggedDevice]:
        """Create `tenants` accounts with one device each, then push thirty entries to some of them. Return the devices."""
        devices: list[LoggedDevice] = []
        grown = self.grown(
            lambda: devices.extend(LoggedDevice(self.logs, f"u{number}") for number in range(tenants))
        )
        self.note("an account with a device, without entries", grown / tenants, "bytes")
        some = devices[:100]

        def push() -> None:
            for device in some:
                self.logs.push(device.who, [device.entry(text) for text in self.texts(30)], now_ms=_NOW_MS)

        self.note("an entry (an encrypted memory)", self.grown(push) / (30 * len(some)), "bytes")
        return devices

    def texts(self, count: int) -> list[str]:
        return [text[:120] for text in self.world.texts(count)]

    def bytes_of_stores(self, tenants: int, memories: int) -> list[TeamMemories]:
        stores = [opened(self.connections, f"store-{number}") for number in range(tenants)]

        def fill() -> None:
            for store in stores:
                added = [
                    Add(memory=memory_of(f"mem_{place}", text))
                    for place, text in enumerate(self.texts(memories))
                ]
                store.apply(added, vectors=self.world.vectors(memories), identity=EMBEDDER, beside=nothing)

        self.note(
            "a shared memory, with its vector and its words",
            self.grown(fill) / (tenants * memories),
            "bytes",
        )
        return stores

    def search(self, stores: Sequence[TeamMemories], count: int) -> None:
        texts, vectors = self.texts(count), self.world.vectors(count)
        used, own = self.postgres_s(), time.process_time()
        for place, text in enumerate(texts):
            search(stores[place % len(stores)], text, vectors[place])
        self.note(
            "a search by meaning and by words, PostgreSQL",
            (self.postgres_s() - used) / count * 1000,
            "ms of a processor",
        )
        self.note(
            "a search by meaning and by words, the process that asks",
            (time.process_time() - own) / count * 1000,
            "ms of a processor",
        )

    def serve(self) -> str:
        """Start a process of the server, and return the URL of its endpoints."""
        environment = {**os.environ, DATABASE: self.dsn(APPLICATION)}
        self._server, address = start_server(environment, log=self._postgres_folder.parent / "server.log")
        return f"{address}{PREFIX}"

    def exchange(self, url: str, devices: Sequence[LoggedDevice], seconds: float) -> None:
        """Measure pushes of one entry over HTTP with a request for the heads after each, and such requests alone."""
        assert self._server is not None
        with httpx.Client(timeout=20) as client:
            self._pushes(client, url, devices[:50], 2.0)
            used, served = self.postgres_s(), used_s(self._server.pid)
            count, took_ms = self._pushes(client, url, devices, seconds)
            self.note(
                "a push and a look at the heads, PostgreSQL",
                (self.postgres_s() - used) / count * 1000,
                "ms of a processor",
            )
            self.note(
                "a push and a look at the heads, tacit-server",
                (used_s(self._server.pid) - served) / count * 1000,
                "ms of a processor",
            )
            self.note("a push and a look at the heads, as a device sees it", took_ms, "ms (median)")
            self.note("pushes and looks of one client, one after the other", count / seconds, "a second")
            used, served = self.postgres_s(), used_s(self._server.pid)
            looked = 0
            until = time.monotonic() + seconds / 2
            while time.monotonic() < until:
                device = devices[looked % len(devices)]
                client.get(
                    f"{url}/heads", headers={"Authorization": f"Bearer {device.token}"}
                ).raise_for_status()
                looked += 1
            self.note(
                "a look at the heads alone, PostgreSQL",
                (self.postgres_s() - used) / looked * 1000,
                "ms of a processor",
            )
            self.note(
                "a look at the heads alone, tacit-server",
                (used_s(self._server.pid) - served) / looked * 1000,
                "ms of a processor",
            )

    def wait(self, url: str, devices: Sequence[LoggedDevice], seconds: float) -> None:
        """Measure devices that wait for changes, and the memory of the server after that."""
        assert self._server is not None
        asyncio.run(self._waiting(url, devices, seconds))
        self.note("tacit-server, resident", _status_kb(self._server.pid, "VmRSS") / 1024, "MB")

    async def _waiting(self, url: str, devices: Sequence[LoggedDevice], seconds: float) -> None:
        """Measure devices that wait for changes, as every device does while it is online."""
        assert self._server is not None
        # The server ends idle connections after 5 s.
        limits = httpx.Limits(max_connections=len(devices), keepalive_expiry=1.0)
        async with httpx.AsyncClient(timeout=300, limits=limits) as client:

            async def wait(device: LoggedDevice, seconds: float) -> None:
                asked = {"wait": seconds, "known": len(device.log)}
                answer = await client.get(
                    f"{url}/heads", params=asked, headers={"Authorization": f"Bearer {device.token}"}
                )
                answer.raise_for_status()

            used, served = self.postgres_s(), used_s(self._server.pid)
            await asyncio.sleep(IDLE_S)
            idle_s = (self.postgres_s() - used) / IDLE_S, (used_s(self._server.pid) - served) / IDLE_S

            async def stay(device: LoggedDevice, begins_s: float) -> None:
                await asyncio.sleep(begins_s)
                while True:
                    await wait(device, seconds)

            staying = [
                asyncio.create_task(stay(device, seconds * index / len(devices)))
                for index, device in enumerate(devices)
            ]
            await asyncio.sleep(seconds + 1)  # all of them wait now
            used, served, began = self.postgres_s(), used_s(self._server.pid), time.monotonic()
            await asyncio.sleep(seconds)  # each of them asks once more
            took_s = time.monotonic() - began
            busy_s = (self.postgres_s() - used) / took_s, (used_s(self._server.pid) - served) / took_s
            failed = [task for task in staying if task.done()]
            for task in staying:
                task.cancel()
            await asyncio.gather(*staying, return_exceptions=True)
            assert not failed, f"{len(failed)} devices were refused: {failed[0]}"
        unit = "ms of a processor a second"
        for name, idle, busy in zip(("PostgreSQL", "tacit-server"), idle_s, busy_s, strict=True):
            self.note(f"nobody asks, {name}", idle * 1000, unit)
            self.note(f"a device that waits for news, {name}", (busy - idle) / len(devices) * 1000, unit)
            self.note(
                f"{len(devices)} devices that wait for news, {name}", (busy - idle) * 100, "% of a processor"
            )

    def _pushes(
        self, client: httpx.Client, url: str, devices: Sequence[LoggedDevice], seconds: float
    ) -> tuple[int, float]:
        times: list[float] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            device = devices[len(times) % len(devices)]
            entry = device.entry(self.texts(1)[0])
            headers = {"Authorization": f"Bearer {device.token}"}
            began = time.perf_counter()
            client.post(
                f"{url}/entries", content=msgspec.json.encode({"entries": [entry]}), headers=headers
            ).raise_for_status()
            client.get(f"{url}/heads", headers=headers).raise_for_status()
            times.append((time.perf_counter() - began) * 1000)
        return len(times), float(np.median(times))

    def new_device(self, url: str, entries: int, *, real: bool) -> None:
        """Measure the first sync of a home with the shipped embedder, whose account has `entries` entries of another device.

        The first figure ends when all memories are stored and a question in a memory's words finds it, the second when all have their vectors.
        """
        first = LoggedDevice(self.logs, "first")
        texts = real_statements(entries) if real else self.texts(entries)
        for start in range(0, entries, 500):
            page = [first.entry(text) for text in texts[start : start + 500]]
            self.logs.push(first.who, page, now_ms=_NOW_MS)
        code, address = self.logs.add_account("first", now_ms=_NOW_MS), url.removesuffix(PREFIX)
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            engine = open_engine(Path(folder))
            try:
                engine.sync.start = lambda: None  # this thread syncs, and nothing beside it
                began = time.monotonic()
                engine.sync.log_in(address, code=code, phrase=first.secret.phrase)
                applied = engine.sync.run().applied
                asked_s = time.monotonic()
                found = engine.recall(" ".join(texts[-1].split()[2:]), most=1).pack.items
                if [item.candidate.memory.content for item in found] != texts[-1:]:
                    raise SystemExit("The new device does not find a memory by its words.")
                done_s = time.monotonic()
                self.note(
                    f"a new device: {applied:,} memories are stored and found by words", done_s - began, "s"
                )
                self.note("of this, the first question", done_s - asked_s, "s")
                made = engine.sync.make_vectors()
                self.note(
                    f"a new device: {made:,} memories have their vectors", time.monotonic() - began, "s"
                )
            finally:
                engine.close()

    def connection(self) -> None:
        """Measure the memory of an idle connection, without the memory that all connections share."""
        kept = [psycopg.connect(self.dsn(APPLICATION), autocommit=True) for _ in range(10)]
        for connection in kept:
            connection.execute("SELECT count(*) FROM memories WHERE tenant = 1")
        sizes = [_private_kb(connection.info.backend_pid) for connection in kept]
        self.note("an idle connection in PostgreSQL, of its own", sum(sizes) / len(sizes) / 1024, "MB")
        for connection in kept:
            connection.close()


def real_statements(count: int) -> list[str]:
    """Return statements that people wrote, again and again, each with a number of its own."""
    rows = (SEARCHES / "memories.jsonl").read_text().splitlines()
    written = [json.loads(row)["content"] for row in rows]
    return [f"{written[place % len(written)]} (Ticket {place + 100})" for place in range(count)]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if int(stat_of(int(path.name))[1]) == pid:
                found.append(int(path.name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def _status_kb(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _private_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(
        int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:"))
    )


def _measure(bench: ServerBench, chosen: argparse.Namespace) -> None:
    """Measure what an account, an entry, a memory, a push and a search cost, or with `--only-waiting` devices that wait."""
    devices = bench.bytes_of_accounts(chosen.tenants)
    if not chosen.only_waiting:
        bench.search(bench.bytes_of_stores(20, 500), 1_000)
    url = bench.serve()
    if not chosen.only_waiting:
        bench.exchange(url, devices, chosen.seconds)
    bench.wait(url, devices[: chosen.waiting], chosen.seconds)
    if not chosen.only_waiting:
        bench.connection()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the costs as a table."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.units", description=__doc__)
    parser.add_argument("--tenants", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--waiting", type=int, default=200)
    parser.add_argument("--only-waiting", action="store_true")
    parser.add_argument("--new-device", type=int, metavar="ENTRIES", default=0, help="measure this alone")
    parser.add_argument("--real", action="store_true", help="with --new-device: statements that people wrote")
    chosen = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="tu-", dir="/tmp"))
    bench = None
    try:
        bench = ServerBench(folder)
        if chosen.new_device:
            bench.new_device(bench.serve(), chosen.new_device, real=chosen.real)
        else:
            _measure(bench, chosen)
    finally:
        if bench is not None:
            bench.end()
        shutil.rmtree(folder, ignore_errors=True)
    table = Table("what", "cost")
    for unit in bench.units if bench else ():
        table.add_row(unit.what, unit.value)
    Console(width=120).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
