"""Accounts and stores over three PostgreSQL servers, moved while they write: `python -m tacit_evals.torture.shards [--seconds 60] [--seed 1]`.

Two processes of `tacit-server serve` answer devices of several accounts, which push entries and purges over HTTP. Processes of their own add, edit and purge
memories of several stores. Meanwhile a third shard is added, `tacit-server move` moves accounts and stores back and forth, and movers,
servers and writers are killed (-9). A writer notes what it is about to do, and that it was acknowledged.

Out: counts, and what is wrong at the end, when interrupted moves were ended by the same command: acknowledged writes that are lost, rows
that are there twice (on one shard or on two), purged ones that have returned, and stores whose examination finds something. Exit code 1
where anything is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import msgspec
import psycopg

from tacit.backends.postgres import PostgresStore, create_roles, migrate
from tacit.backends.postgres.connection import Connections
from tacit.backends.postgres.roles import APPLICATION, OWNER
from tacit.errors import TacitError
from tacit.model.changes import Add, Edit, Removal
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import ScopeFilter, project_scope
from tacit.providers.clock import SystemClock
from tacit.server.app import PREFIX
from tacit.server.shards import FROM_ENVIRONMENT
from tacit.sync.entry import Entry, EntryKind, digest_of
from tacit.sync.keys import AccountKey, DeviceKey
from tacit_evals.postgres_search.embedded import end_process, start_process, wait_until_ready

NAMES = ("main", "b", "c")
SCOPE = project_scope("torture")
SEEN = ScopeFilter.of(SCOPE)
MOVERS = 2
_PATIENCE_S = 60.0


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a run did and found."""

    acknowledged: Counter[str] = field(default_factory=Counter[str])
    unanswered: int = 0
    moves: Counter[str] = field(default_factory=Counter[str])
    kills: Counter[str] = field(default_factory=Counter[str])
    waits_ms: list[float] = field(default_factory=list[float])
    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    returned: list[str] = field(default_factory=list[str])
    unsound: list[str] = field(default_factory=list[str])

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.lost or self.doubled or self.returned or self.unsound)


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
        """What every process of the server is started with."""
        found = {}
        for name in NAMES:
            middle = "DATABASE" if name == "main" else f"SHARD_{name.upper()}"
            found[f"TACIT_{middle}_URL"] = self.dsn(name, APPLICATION)
            found[f"TACIT_{middle}_OWNER_URL"] = self.dsn(name, OWNER)
        return found

    def rows(self, name: str, statement: str) -> list[tuple[Any, ...]]:
        """What a superuser sees."""
        with psycopg.connect(self.dsn(name, "postgres")) as connection:
            return connection.execute(statement.encode()).fetchall()

    def end(self) -> None:
        for process in self._processes.values():
            end_process(process)


class Device(threading.Thread):
    """A device of an account: pushes entries, again and again until they are acknowledged."""

    def __init__(self, run: Torture, account: str, code: str, seed: int) -> None:
        super().__init__(name=account)
        self.account, self._run, self._code = account, run, code
        self._chance = random.Random(seed)
        self.key, self._secret = DeviceKey.new(), AccountKey.new()
        self.log: list[Entry] = []
        self.acknowledged = 0
        self.wrong: list[str] = []
        self._token = ""

    def run(self) -> None:
        login = {
            "code": self._code,
            "key": self._secret.account,
            "device": self.key.device,
            "name": "torture",
            "signature": self.key.sign(self.key.device.encode()),
        }
        with httpx.Client(timeout=20.0) as client:
            answer = self._ask(client, "POST", "/login", login)
            self._token = str(answer.get("token", ""))
            while not self._run.stopped.is_set() and not self.wrong:
                new = [self._entry() for _ in range(self._chance.randrange(1, 4))]
                self._ask(client, "POST", "/entries", {"entries": new})
                if not self.wrong:
                    self.acknowledged = len(self.log)
                if self._chance.random() < 0.2:
                    heads = self._ask(client, "GET", "/heads").get("heads", {})
                    if heads.get(self.key.device, 0) < self.acknowledged:
                        self.wrong.append(
                            f"{self.account}: a read after {self.acknowledged} entries showed {heads}"
                        )
                time.sleep(self._chance.random() * 0.2)

    def _entry(self) -> Entry:
        """The next entry; one in eight purges an earlier subject. The server cannot read bodies, so noise does."""
        held = [entry.subject for entry in self.log if entry.kind == "state"]
        purges = held and self._chance.random() < 0.12
        kind: EntryKind = "purge" if purges else "state"
        sealed = self._chance.randbytes(self._chance.randrange(40, 400))
        unsigned = Entry(
            device=self.key.device,
            number=len(self.log) + 1,
            previous=self.log[-1].id if self.log else "",
            kind=kind,
            subject=self._chance.choice(held) if purges else self._chance.randbytes(16).hex(),
            digest=digest_of(sealed),
            sealed=sealed,
            signature=b"",
        )
        self.log.append(replace(unsigned, signature=self.key.sign(unsigned.id.encode())))
        return self.log[-1]

    def _ask(self, client: httpx.Client, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Ask one server or the other until one answers."""
        content = None if body is None else msgspec.json.encode(body)
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        began = time.monotonic()
        while time.monotonic() < began + _PATIENCE_S:
            try:
                reply = client.request(
                    method,
                    f"{self._run.server_url(self._chance)}{PREFIX}{path}",
                    content=content,
                    headers=headers,
                )
            except httpx.HTTPError:
                self._run.outcome.unanswered += 1
                time.sleep(0.1)
                continue
            if reply.status_code >= 500:
                self._run.outcome.unanswered += 1
                time.sleep(0.1)
                continue
            self._run.outcome.waits_ms.append((time.monotonic() - began) * 1000)
            if reply.status_code != 200:
                self.wrong.append(
                    f"{self.account}: {path} was answered with {reply.status_code}: {reply.text[:200]}"
                )
                return {}
            return msgspec.json.decode(reply.content) if reply.content else {}
        self.wrong.append(f"{self.account}: {path} was not answered in {_PATIENCE_S:g} s")
        return {}


class Torture:
    """One run."""

    def __init__(self, folder: Path, *, seed: int, accounts: int, stores: int, writers: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.outcome = Outcome()
        self.stopped = threading.Event()
        self.shards = ["main", "b"]
        self.databases = Databases(folder)
        self.environment = {**os.environ, **self.databases.environment()}
        os.environ.update(self.databases.environment())
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
        """What `tacit-server` prints."""
        done = subprocess.run(
            [sys.executable, "-m", "tacit.server.main", *arguments],
            env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"tacit-server {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def _start_server(self, place: int | None = None) -> None:
        with (self.folder / "server.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tacit.server.main", "serve", "--port", "0"],
                env=self.environment, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert process.stdout is not None
        said = process.stdout.readline().decode()
        url = said.split()[-1]
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
        _kill(self._servers[place])
        self._start_server(place)
        self.outcome.kills["server"] += 1

    def _kill_writer(self) -> None:
        place = self.chance.randrange(len(self._writers))
        _kill(self._writers[place])
        self._writers[place] = self._start_writer(place)
        self.outcome.kills["writer"] += 1

    # --- the run

    def run(self, seconds: float) -> Outcome:
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
            writer.wait(_PATIENCE_S)
        for line in self.interrupted():
            self.outcome.moves["ended afterwards"] += 1
            self.command("move", line.partition(" is on its way")[0], "main", "--quiet")
        self._examine()
        return self.outcome

    def interrupted(self) -> list[str]:
        return [line for line in self.command("shards").splitlines() if " is on its way" in line]

    def _move_on(self, seed: int) -> None:
        """Move somebody, then the next."""
        chance = random.Random(seed)
        while not self.stopped.is_set():
            self._move(chance)

    def _move(self, chance: random.Random) -> None:
        """Move somebody; half of the movers are killed."""
        shard = chance.choice(self.shards)
        name = chance.choice(
            [*(device.account for device in self.devices), *(f"torture:{name}" for name in self.stores)]
        )
        mover = subprocess.Popen(
            [sys.executable, "-m", "tacit.server.main", "move", name, shard],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if chance.random() < 0.5:
            self._kill_at_a_step(mover, chance)
        else:
            said, errors = mover.communicate()
            if mover.returncode:
                self.outcome.moves["refused"] += 1
                if "No tenant" not in errors:
                    sys.stderr.write(f"move {name} {shard}: {errors}")
            else:
                self.outcome.moves["moved" if said.startswith("Moved") else "already there"] += 1

    def _kill_at_a_step(self, mover: subprocess.Popen[str], chance: random.Random) -> None:
        """Kill a mover behind a step that it tells, or a little later."""
        steps = chance.randrange(1, 11)
        assert mover.stderr is not None
        told = [mover.stderr.readline() for _ in range(steps)]
        time.sleep(chance.choice([0, 0, 0.003, 0.02]))
        if mover.poll() is None:
            mover.kill()
            self.outcome.kills[f"mover behind `{told[-1].strip()}`" if told[-1] else "mover at its end"] += 1
        mover.communicate()

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
        self.outcome.acknowledged["entries"] += len(expected)
        self.outcome.lost += [
            f"{device.account}: entry {entry.number}" for entry in expected if not held[entry.id]
        ]
        self.outcome.doubled += [
            f"{device.account}: {name} is there {count} times" for name, count in held.items() if count > 1
        ]
        purged = {entry.subject for entry in expected if entry.kind == "purge"}
        gone = {entry.id for entry in expected if entry.kind == "state" and entry.subject in purged}
        self.outcome.returned += [
            f"{device.account}: the body of entry {row[0]}" for row in rows if row[2] and row[1] in gone
        ]
        self.outcome.lost += [
            f"{device.account}: the body of entry {row[0]}" for row in rows if not row[2] and row[1] not in gone
            and row[1] in {entry.id for entry in expected} and not self._purged_later(device, str(row[1]))
        ]  # fmt: skip

    @staticmethod
    def _purged_later(device: Device, entry_id: str) -> bool:
        """Whether a purge that was not acknowledged may have taken the body."""
        subjects = {entry.subject for entry in device.log if entry.kind == "purge"}
        return any(entry.id == entry_id and entry.subject in subjects for entry in device.log)

    def _examine_store(self, connections: Connections, name: str) -> None:
        done, begun = _noted(self.folder, name)
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
        """Rows of tenants that a shard does not have."""
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
            _kill(process)
        self.databases.end()


def _has_tables(databases: Databases, name: str) -> bool:
    return databases.rows(name, "SELECT to_regclass('tenants') IS NOT NULL")[0][0]


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()


def _noted(folder: Path, store: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What was acknowledged at a store, and all that was begun."""
    notes = [
        json.loads(line)
        for file in sorted(folder.glob("noted-*"))
        for line in file.read_text().splitlines()
        if line.endswith("}")
    ]
    own = [note for note in notes if note["store"] == store]
    return [note for note in own if note["done"]], [note for note in own if not note["done"]]


# --- a process that writes to stores


def write_stores(folder: Path, number: int, *, seed: int, stores: int) -> None:
    """Add, edit and purge memories of several stores until told to stop; what is begun and what is acknowledged is noted first and last."""
    chance = random.Random(seed)
    connections = Connections(os.environ["TACIT_DATABASE_URL"], max_size=3, addresses=FROM_ENVIRONMENT)
    opened = {
        f"store-{place}": PostgresStore(connections, f"torture:store-{place}", clock=SystemClock())
        for place in range(stores)
    }
    held: dict[str, list[str]] = {name: [] for name in opened}
    with (folder / f"noted-{number}-{os.getpid()}").open("a") as notes:
        while not (folder / "stop").exists():
            name = chance.choice(list(opened))
            with contextlib.suppress(TacitError):
                _write(opened[name], name, held[name], chance, notes)
            time.sleep(chance.random() * 0.06)
    connections.close()


def _write(store: PostgresStore, name: str, held: list[str], chance: random.Random, notes: Any) -> None:
    kind = chance.random()
    text = f"statement {chance.getrandbits(60):x} about linters"
    if kind < 0.6 or len(held) < 3:
        note = {"store": name, "op": "add", "id": f"mem_{chance.getrandbits(60):x}", "text": text}
    elif kind < 0.88:
        note = {"store": name, "op": "edit", "id": chance.choice(held), "text": text}
    else:
        note = {"store": name, "op": "purge", "id": held.pop(chance.randrange(len(held))), "text": ""}
    with _noting(notes, note):
        match note["op"]:
            case "add":
                store.apply([Add(memory=_memory(note["id"], text))])
                held.append(note["id"])
            case "edit":
                store.apply([Edit(memory=_memory(note["id"], text))])
            case _:
                store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=(note["id"],)))


@contextlib.contextmanager
def _noting(notes: Any, note: dict[str, str]) -> Generator[None]:
    for done in (False, True):
        notes.write(json.dumps({**note, "done": done}) + "\n")
        notes.flush()
        if not done:
            yield


def _memory(name: str, text: str) -> Memory:
    now_ms = int(time.time() * 1000)
    return Memory(
        id=name,
        kind="fact",
        content=text,
        scope=SCOPE,
        provenance=Provenance(tier=TrustTier.USER, source="torture"),
        validity=Validity(valid_from_ms=0),
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found; 1 where anything is wrong."""
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
    print(f"acknowledged: {dict(outcome.acknowledged)}; unanswered and asked again: {outcome.unanswered}")
    print(f"moves: {dict(outcome.moves)}; killed: {dict(outcome.kills)}")
    print(
        f"answer of a push, ms: median {statistics.median(waits):.0f}, 99 of 100 {waits[len(waits) * 99 // 100]:.0f}, longest {waits[-1]:.0f}"
    )
    for name in ("lost", "doubled", "returned", "unsound"):
        found = getattr(outcome, name)
        print(f"{name}: {len(found)}")
        for line in found[:10]:
            print(f"  {line}")
    return 0 if outcome.sound else 1


if __name__ == "__main__":
    sys.exit(main())
