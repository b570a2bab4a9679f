"""Devices of one account that exchange logs through a server in memory."""

from __future__ import annotations

from pathlib import Path

from tacit.backends.sqlite import SqliteStore
from tacit.errors import LogForked
from tacit.ports.store import MemoryFilter, Store
from tacit.providers.clock import FakeClock
from tacit.state.registry import TEAM_PURGES
from tacit.sync.entry import Entry
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.replica import Replica
from tacit.sync.replicating import CURSOR, Carried, Replicating

NOW = 1_770_000_000_000


class Logs:
    """A server: the logs of an account, by device."""

    def __init__(self) -> None:
        self.entries: dict[str, list[Entry]] = {}

    def push(self, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            log = self.entries.setdefault(entry.device, [])
            if entry.number <= len(log):
                if log[entry.number - 1].id != entry.id:
                    raise LogForked("forked")
                continue
            assert entry.number == len(log) + 1
            log.append(entry)


class Device:
    """A store with its replica."""

    def __init__(self, folder: Path, name: str, account: AccountKey, *, store: Store | None = None) -> None:
        self.folder, self.name = folder, name
        self.clock = FakeClock(now_ms=NOW)
        self.store = store or SqliteStore.temporary(clock=self.clock)
        self.key = DeviceKey.new()
        self.account = account
        self.replica = Replica(folder / f"{name}.db")
        self.identity = "a file"
        self.renew(self.key)

    def renew(self, key: DeviceKey) -> None:
        self.key = key
        self.replicating = Replicating(
            store=self.store,
            replica=self.replica,
            account=self.account,
            device=key,
            identity=lambda: self.identity,
            by_teams=lambda: frozenset(TEAM_PURGES.read(self.store)),
            now_ms=self.clock.now_ms,
        )

    def rejoin(self) -> None:
        """Log out and in again: another name, and nothing known of the logs."""
        self.replica.close()
        for file in self.folder.glob(f"{self.name}.db*"):
            file.unlink()
        self.replica = Replica(self.folder / f"{self.name}.db")
        self.renew(DeviceKey.new())

    def sync(self, logs: Logs) -> Carried:
        """Record, pull, apply, push; a device that is new pulls first."""
        if self.replica.fact(CURSOR) is None:
            self._pull(logs)
            self.replicating.read_entries()
        self.replicating.record()
        self._pull(logs)
        carried = self.replicating.carry()
        for device, last in self.replica.heads().items():
            known = len(logs.entries.get(device, ()))
            if last > known:
                logs.push(self.replica.entries(device, after=known, limit=10_000))
        return carried

    def _pull(self, logs: Logs) -> None:
        heads = self.replica.heads()
        for device, log in logs.entries.items():
            self.replica.add(log[heads.get(device, 0) :])

    def state(self) -> dict[str, object]:
        """What all devices must agree on."""
        everything = self.store.scopes()
        memories = self.store.list_memories(MemoryFilter(statuses=None), scope=everything, limit=10_000)
        relations = self.store.relations([memory.id for memory in memories], scope=everything)
        return {
            "memories": {
                m.id: (m.status, m.content_hash, m.validity, m.scope, m.kind, m.pinned, m.sensitivity)
                for m in memories
            },
            "relations": sorted((r.source_id, r.target_id, r.type) for r in relations),
        }

    def contents(self) -> list[str]:
        memories = self.store.list_memories(MemoryFilter(), scope=self.store.scopes(), limit=1000)
        return sorted(memory.content for memory in memories)


def settle(logs: Logs, devices: list[Device]) -> None:
    """Sync until nothing is new anywhere."""
    for _ in range(8):
        before = sum(len(log) for log in logs.entries.values())
        carried = [device.sync(logs) for device in devices]
        quiet = sum(len(log) for log in logs.entries.values()) == before
        if quiet and not any(each.applied or each.recorded or each.left for each in carried):
            return
    raise AssertionError("the devices never come to rest")
