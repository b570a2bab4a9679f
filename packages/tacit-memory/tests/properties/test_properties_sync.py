"""Whatever devices do and in whatever order they meet: in the end they hold the same, and nothing that still holds is lost."""

from __future__ import annotations

import random
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from samples import memory_named
from tacit.model.changes import Add, Removal, Retire, Rewrite, Supersede
from tacit.model.memory import Memory, Relation
from tacit.model.scope import project_scope
from tacit.sync.keys import AccountKey, DeviceKey
from unit.sync.devices import NOW, Device, Logs, settle

DEVICES = 3
_DEVICE = st.integers(0, DEVICES - 1)
_WHICH = st.integers(0, 5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), _DEVICE, _WHICH),
        st.tuples(st.just("edit"), _DEVICE, _WHICH),
        st.tuples(st.just("pin"), _DEVICE, _WHICH),
        st.tuples(st.just("retire"), _DEVICE, _WHICH),
        st.tuples(st.just("supersede"), _DEVICE, _WHICH),
        st.tuples(st.just("relate"), _DEVICE, _WHICH),
        st.tuples(st.just("unrelate"), _DEVICE, _WHICH),
        st.tuples(st.just("purge"), _DEVICE, _WHICH),
        st.tuples(st.just("sync"), _DEVICE, _WHICH),
        st.tuples(st.just("sync"), _DEVICE, _WHICH),
        st.tuples(st.just("crash"), _DEVICE, _WHICH),
        st.tuples(st.just("renew"), _DEVICE, _WHICH),
        st.tuples(st.just("rejoin"), _DEVICE, _WHICH),
    ),
    max_size=40,
)


class Killed(Exception):
    """The process ended here."""


def killed(_: object) -> None:
    """End the process."""
    raise Killed


class World:
    """Devices, and what became of every memory on purpose."""

    def __init__(self, folder: Path) -> None:
        account = AccountKey.new()
        self.logs = Logs()
        self.devices = [Device(folder, str(number), account) for number in range(DEVICES)]
        self.made = 0
        self.ended: set[str] = set()

    def active(self, device: Device, which: int) -> Memory | None:
        everything = device.store.scopes()
        state = device.state()["memories"]
        ids = sorted(name for name, (status, *_) in state.items() if status == "active")  # type: ignore[attr-defined]
        if not ids:
            return None
        (found,) = device.store.get([ids[which % len(ids)]], scope=everything)
        return found

    def new(self) -> Memory:
        self.made += 1
        return memory_named(
            f"mem_{self.made:03}", f"Statement {self.made}.", scope=project_scope("alpha"), at_ms=NOW
        )

    def step(self, verb: str, number: int, which: int) -> None:
        device = self.devices[number]
        store = device.store
        if verb == "add":
            store.apply([Add(memory=self.new())])
            return
        if verb == "sync":
            device.sync(self.logs)
            return
        if verb == "crash":  # after the store was written, before the replica knows of it
            settle_states = device.replicating._settle
            device.replicating._settle = killed  # type: ignore[method-assign]
            with suppress(Killed):
                device.sync(self.logs)
            device.replicating._settle = settle_states  # type: ignore[method-assign]
            return
        if verb == "renew":
            device.renew(DeviceKey.new())
            return
        if verb == "rejoin":
            device.rejoin()
            return
        memory = self.active(device, which)
        if memory is None:
            return
        if verb == "edit":
            self.made += 1
            store.apply([Rewrite(memory=replace(memory, content=f"Wording {self.made}."))])
        elif verb == "pin":
            store.apply([Rewrite(memory=replace(memory, pinned=True))])
        elif verb == "retire":
            store.apply([Retire(memory_id=memory.id, at_ms=NOW + 1)])
            self.ended.add(memory.id)
        elif verb == "supersede":
            store.apply([Supersede(memory=self.new(), old_id=memory.id, at_ms=NOW + 1)])
            self.ended.add(memory.id)
        elif verb == "relate":
            other = self.active(device, which + 1)
            if other is not None and other.id != memory.id:
                store.relate([Relation(source_id=memory.id, target_id=other.id, type="related_to")])
        elif verb == "unrelate":
            relations = store.relations([memory.id], scope=store.scopes())
            store.unrelate(relations[which % len(relations) :][:1] if relations else ())
        elif verb == "purge":
            store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=(memory.id,)))
            self.ended.add(memory.id)


@settings(max_examples=15, deadline=None)
@given(steps=STEPS)
def test_devices_come_to_the_same_and_lose_nothing(steps: list[tuple[str, int, int]]) -> None:
    chance = random.Random(0)  # keys and nonces: an example has to fail twice alike
    with tempfile.TemporaryDirectory() as folder, patch("os.urandom", chance.randbytes):
        world = World(Path(folder))
        for verb, number, which in steps:
            world.step(verb, number, which)
        settle(world.logs, world.devices)
        first, *others = [device.state() for device in world.devices]
        assert all(other == first for other in others)
        memories = first["memories"]
        held = {name for name, (status, *_) in memories.items() if status == "active"}  # type: ignore[attr-defined]
        stated = {f"mem_{number:03}" for number in range(1, world.made + 1)}
        kept = {name for name in stated if name in memories}  # type: ignore[operator]
        assert kept - world.ended <= held
        assert not (world.ended & held)
        contents = [row[1] for row in memories.values() if row[0] == "active"]  # type: ignore[attr-defined]
        assert len(contents) == len(set(contents)), "a wording is there twice"
        for device in world.devices:
            device.replica.close()
