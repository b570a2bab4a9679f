"""Devices that write and sync while processes are killed: `python -m tacit_evals.torture.sync [--devices 8] [--accounts 3] [--seconds 60]`.

Each device is a process with a home of its own. It stores, pins, forgets and purges memories, and syncs now and then with a server process on PostgreSQL.
Meanwhile devices, the server and PostgreSQL are killed (SIGKILL) and started again. At the end all devices sync without interruptions.

Out: the number of acknowledged writes, and every error: acknowledged writes that are lost, memories that are stored twice or returned after a purge, and
differences between the devices of an account (status, content, validity and relations of memories, and the number of entries). Exit code 1 if there is any error,
or nothing was acknowledged.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.config.environment import one_thread_for_arrays
from tacit.errors import SyncError, TacitError
from tacit.ports.store import MemoryFilter
from tacit_evals.server_process import first_line, kill, run_command, start_server
from tacit_server.embedded import embedded_database
from tacit_server.main import DATABASE

_SHOWN = 10
"""At most this many errors of a kind are printed."""


@dataclass(slots=True, kw_only=True)
class SyncOutcome:
    """What a run did, and the errors that it found.

    Attributes:
        acknowledged: number of acknowledged writes, by kind.
        kills: number of killed processes, by kind.
        lost: acknowledged writes that are not stored.
        doubled: rows that are stored more than once.
        returned: purged rows that are stored again.
        different: differences between devices of one account.
        unsound: other problems.
    """

    acknowledged: Counter[str] = field(default_factory=Counter[str])
    kills: Counter[str] = field(default_factory=Counter[str])
    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    returned: list[str] = field(default_factory=list[str])
    different: list[str] = field(default_factory=list[str])
    unsound: list[str] = field(default_factory=list[str])

    @property
    def errors(self) -> dict[str, list[str]]:
        """Return the errors, by kind."""
        return {
            "lost": self.lost,
            "doubled": self.doubled,
            "returned": self.returned,
            "different": self.different,
            "unsound": self.unsound,
        }

    @property
    def sound(self) -> bool:
        """Return whether there is no error."""
        return not any(self.errors.values())

    def print_errors(self) -> None:
        """Print the number of errors of each kind, and the first of them."""
        for name, found in self.errors.items():
            print(f"{name}: {len(found)}")
            for line in found[:_SHOWN]:
                print(f"  {line}")


SETTINGS = {"embedder": {"provider": "fake"}}
_ME = "tacit_evals.torture.sync"

START_S = 120.0
"""Most seconds to wait until every device has done something."""


@dataclass(slots=True, kw_only=True)
class Device:
    """A device: its home, its process while it runs, and how many bytes `acts.jsonl` had when that started."""

    name: str
    account: int
    home: Path
    process: subprocess.Popen[bytes] | None = None
    noted: int = 0

    @property
    def acts_bytes(self) -> int:
        """The size of the file in which the device notes what it did."""
        file = self.home / "acts.jsonl"
        return file.stat().st_size if file.exists() else 0

    @property
    def has_acted(self) -> bool:
        """Whether the process has done something since it started."""
        return self.acts_bytes > self.noted


class Torture:
    """One run in a folder."""

    def __init__(self, folder: Path, *, devices: int, accounts: int, seed: int) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        self._data = folder / "data"
        self._database: subprocess.Popen[bytes] | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._dsn = ""
        self.outcome = SyncOutcome()
        self.devices = [
            Device(name=f"d{number}", account=number % accounts, home=folder / f"d{number}")
            for number in range(devices)
        ]

    # --- processes

    def start_database(self) -> None:
        self._database = _start(self._folder / "database.log", "--run-database", str(self._data))
        self._dsn = first_line(self._database)

    def start_server(self) -> None:
        log = self._folder / "server.log"
        self._server, url = start_server(self._environment, log=log, port=self._port)
        self._port = int(url.rpartition(":")[2])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start_device(self, device: Device) -> None:
        seed = self._chance.randrange(1 << 30)
        device.noted = device.acts_bytes
        device.process = _start(
            self._folder / f"{device.name}.log", "--run-device", str(device.home), "--seed", str(seed)
        )

    def kill_database(self) -> None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            os.kill(int((self._data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        kill(self._database)
        for _ in range(20):  # the processes of the killed server need a moment to end
            time.sleep(0.3)
            with contextlib.suppress(RuntimeError):
                self.start_database()
                break
        self.outcome.kills["database"] += 1

    def kill_server(self) -> None:
        kill(self._server)
        self.start_server()
        self.outcome.kills["server"] += 1

    # --- the run

    def prepare(self) -> None:
        self.start_database()
        self.start_server()
        phrases: dict[int, str] = {}
        for device in self.devices:
            device.home.mkdir(mode=0o700)
            code = self._invite(device.account)
            with contextlib.closing(open_engine(device.home, overrides=SETTINGS)) as engine:
                done = engine.sync.log_in(
                    self.url, code=code, phrase=phrases.get(device.account, ""), name=device.name
                )
                phrases.setdefault(device.account, done.phrase)

    def _invite(self, account: int) -> str:
        return run_command(self._environment, "invite", f"account{account}").strip()

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, DATABASE: self._dsn}

    def run(self, seconds: float) -> None:
        """Let the devices work for `seconds` after each has done something, while processes are killed. A device that has done nothing since its start is not killed."""
        for device in self.devices:
            self.start_device(device)
        latest = time.monotonic() + START_S
        while time.monotonic() < latest and not all(device.has_acted for device in self.devices):
            time.sleep(0.1)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(self._chance.uniform(0.3, 1.2))
            what = self._chance.random()
            if what < 0.10:
                self.kill_database()
            elif what < 0.30:
                self.kill_server()
            elif working := [device for device in self.devices if device.has_acted]:
                device = self._chance.choice(working)
                kill(device.process)
                self.start_device(device)
                self.outcome.kills["device"] += 1
        for device in self.devices:
            kill(device.process)

    def settle(self) -> None:
        """Let all devices sync without interruptions, then compare what they hold."""
        states: dict[str, dict[str, Any]] = {}
        for round_number in range(4):
            for device in self.devices:
                with contextlib.closing(open_engine(device.home, overrides=SETTINGS)) as engine:
                    engine.sync.run()
                    engine.sync.run()
                    if round_number == 3:
                        states[device.name] = state_of(engine)
        for account in {device.account for device in self.devices}:
            self._judge([device for device in self.devices if device.account == account], states)

    def _judge(self, devices: Sequence[Device], states: dict[str, dict[str, Any]]) -> None:
        first = states[devices[0].name]
        for device in devices[1:]:
            own = states[device.name]
            both = f"{device.name} and {devices[0].name}"
            for memory_id in sorted({*own["memories"], *first["memories"]}):
                rows = [side["memories"].get(memory_id) for side in (own, first)]
                if rows[0] != rows[1]:
                    self.outcome.different.append(f"{both}: {memory_id}: {rows[0]} and {rows[1]}")
            for relation in sorted(set(own["relations"]) ^ set(first["relations"])):
                self.outcome.different.append(f"{both}: {relation}")
            if own["entries"] != first["entries"]:
                self.outcome.different.append(f"{both}: {own['entries']} and {first['entries']} entries")
        acts = [act for device in devices for act in _acts(device.home)]
        self.outcome.acknowledged.update(act["verb"] for act in acts)
        added = {act["content"] for act in acts if act["verb"] == "add"}
        begun = {act["content"] for act in acts if act["verb"] in ("forgetting", "purging")}
        purged = {act["content"] for act in acts if act["verb"] == "purge"}
        held = Counter(row[1] for row in first["memories"].values())
        active = {row[1] for row in first["memories"].values() if row[0] == "active"}
        self.outcome.lost += sorted(added - begun - active)
        self.outcome.doubled += sorted(content for content, count in held.items() if count > 1)
        self.outcome.returned += sorted(purged & set(held))

    def end(self) -> None:
        """End every process that is still running."""
        for device in self.devices:
            kill(device.process)
        kill(self._server)
        if self._database is not None and self._database.stdin is not None:
            self._database.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._database.wait(timeout=30)
        kill(self._database)


def state_of(engine: Engine) -> dict[str, Any]:
    """Return what all devices of an account must agree on."""
    store = engine._parts.store  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the whole store, whatever a user may see
    everything = store.scopes()
    memories = store.list_memories(MemoryFilter(statuses=None), scope=everything, limit=100_000)
    relations = store.relations([memory.id for memory in memories], scope=everything)
    return {
        "memories": {
            memory.id: (
                memory.status,
                memory.content,
                memory.content_hash,
                memory.validity.valid_from_ms,
                memory.validity.valid_to_ms,
                memory.validity.superseded_by,
            )
            for memory in memories
        },
        "relations": sorted((each.source_id, each.target_id, each.type) for each in relations),
        "entries": engine.sync.status().entries,
    }


def _acts(home: Path) -> list[dict[str, str]]:
    file = home / "acts.jsonl"
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    acts: list[dict[str, str]] = []
    for line in lines:
        with contextlib.suppress(json.JSONDecodeError):  # cut off by a kill
            acts.append(json.loads(line))
    return acts


def _start(log: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", _ME, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log.open("ab"),
    )


# --- the processes


def run_database(folder: Path) -> None:
    """Serve PostgreSQL until standard input ends."""
    with embedded_database(folder) as dsn:
        print(dsn, flush=True)
        sys.stdin.read()


def run_device(home: Path, seed: int) -> None:
    """Store, change and sync until killed. Every write is noted in `acts.jsonl` when it was acknowledged; removals are noted before, too."""
    one_thread_for_arrays()
    chance = random.Random(seed)
    with (
        contextlib.closing(open_engine(home, overrides=SETTINGS)) as engine,
        (home / "acts.jsonl").open("a") as log,
    ):

        def note(verb: str, content: str) -> None:
            log.write(json.dumps({"verb": verb, "content": content}) + "\n")
            log.flush()
            os.fsync(log.fileno())

        number = 0
        while True:
            number += 1
            with contextlib.suppress(SyncError):
                _act(engine, chance, note, f"{home.name} {seed} {number}")
            time.sleep(chance.uniform(0.0, 0.05))


def _act(engine: Engine, chance: random.Random, note: Any, unique: str) -> None:
    what = chance.random()
    if what < 0.35:
        content = f"The setting number {unique} of the shop is kept apart."
        engine.remember(content, kind="fact", scope=None)
        note("add", content)
        return
    if what < 0.65:
        engine.sync.run()
        return
    memories = engine.list_memories(MemoryFilter(), limit=50)
    if not memories:
        return
    memory = chance.choice(memories)
    with contextlib.suppress(TacitError):
        if what < 0.85:
            engine.memories.edit(engine.show(memory.id), pinned=not memory.pinned)
            note("pin", memory.content)
        elif what < 0.95:
            note("forgetting", memory.content)
            engine.memories.retire(engine.show(memory.id))
            note("forget", memory.content)
        else:
            note("purging", memory.content)
            purging = engine.admin.purging
            purging.purge(purging.named([memory.id]), dry_run=False)
            note("purge", memory.content)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with the options of the command line. Return the exit code: 1 if there is any error."""
    parser = argparse.ArgumentParser(prog=f"python -m {_ME}", description=__doc__)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--accounts", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run-database", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--run-device", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run_database:
        run_database(options.run_database)
        return 0
    if options.run_device:
        run_device(options.run_device, options.seed)
        return 0
    with tempfile.TemporaryDirectory(prefix="tacit-torture-", dir="/tmp") as folder:
        torture = Torture(Path(folder), devices=options.devices, accounts=options.accounts, seed=options.seed)
        try:
            torture.prepare()
            torture.run(options.seconds)
            torture.settle()
        finally:
            torture.end()
    outcome = torture.outcome
    print(f"acknowledged: {dict(outcome.acknowledged)}; killed: {dict(outcome.kills)}")
    outcome.print_errors()
    if not outcome.acknowledged:
        print("No write was acknowledged, so the run shows nothing: give it more seconds.")
    return 0 if outcome.sound and outcome.acknowledged else 1


if __name__ == "__main__":
    sys.exit(main())
