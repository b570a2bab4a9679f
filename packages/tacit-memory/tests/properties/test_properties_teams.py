"""After any actions of a team, its server and two devices of a person, the person's own memories are kept and all others are as the team shares them."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import cast
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.errors import NotFound, NotPermitted
from tacit.model.changes import Retire, Rewrite
from tacit.model.memory import Memory, TrustTier
from tacit.model.shared import SharedMemory, SharedStatement, TeamChanges, TeamMembership
from tacit.ports.store import MemoryFilter
from tacit.state.registry import TEAM_PURGES, TEAMS
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.team_server import TeamServer
from unit.app.test_app_shared_teams import TEAM, Home, following, id_of
from unit.sync.devices import NOW, Device, Logs, settle

_WHICH = st.integers(0, 5)
_TEAM = st.sampled_from(["share", "share", "change", "unshare", "purge", "save", "restore"])
_DEVICE = st.sampled_from(
    ["follow", "follow", "sync", "sync", "edit", "forget", "purge here", "leave", "rejoin"]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(_TEAM, st.just(0), _WHICH),
        st.tuples(_DEVICE, st.integers(0, 1), _WHICH),
        st.tuples(_DEVICE, st.integers(0, 1), _WHICH),
    ),
    min_size=12,
    max_size=50,
)
_FOLLOWED = [("share", 0, 0), ("share", 0, 0), ("follow", 0, 0), ("follow", 1, 0)]
PURGED_ELSEWHERE = [*_FOLLOWED, ("edit", 0, 0), ("purge", 0, 0), ("follow", 1, 0), ("sync", 0, 0)]
"""The user makes a memory their own on one device. The other device purges it for the team before it has synced that edit."""
PURGED_THEN_RESTORED = [
    ("share", 0, 0),
    ("follow", 1, 0),
    ("save", 0, 0),
    ("purge", 0, 0),
    ("follow", 1, 0),
    ("restore", 0, 0),
]
"""The server is restored from a backup of before a purge that one device has carried out."""
PURGED_THEN_TAKEN_AGAIN = [*PURGED_THEN_RESTORED, ("follow", 0, 0)]
"""The other device takes the memory from the restored server before the first one has purged it there again."""
RESTORED = [("save", 0, 0), *_FOLLOWED, ("restore", 0, 0), ("share", 0, 0), ("share", 0, 0)]


class Team:
    """A fake of a team on a server with its feed of changes. `history` changes when the server is restored from a backup."""

    def __init__(self, *, admin: bool) -> None:
        self.admin = admin
        self.feed: list[str] = []
        self.memories: dict[str, SharedMemory | None] = {}
        self.history = self.made = 0
        self.saved: tuple[list[str], dict[str, SharedMemory | None]] = ([], {})

    def put(self, memory_id: str, memory: SharedMemory | None) -> None:
        self.feed = [*self.feed, memory_id]
        self.memories[memory_id] = memory

    def step(self, verb: str, which: int) -> None:
        if verb == "save":
            self.saved = list(self.feed), dict(self.memories)
            return
        if verb == "restore":
            self.history += 1
            self.feed, self.memories = list(self.saved[0]), dict(self.saved[1])
            return
        self.made += 1
        content = f"Statement {self.made} says how release {self.made} is made."
        statement = SharedStatement(content=content, kind="decision", tier="teammate", said_at_ms=NOW)
        holding = sorted(name for name, memory in self.memories.items() if memory and memory.holds)
        if verb == "share" or not holding:
            self.put(
                id_of(self.made),
                SharedMemory(id=id_of(self.made), statement=statement, name="Ana", author="ana"),
            )
            return
        memory = self.memories[holding[which % len(holding)]]
        assert memory is not None
        after = {
            "change": replace(memory, statement=statement),
            "unshare": replace(memory, holds=False),
            "purge": None,
        }
        self.put(memory.id, after[verb])

    def unshare(self, _team: str, memory_id: str, *, purge: bool) -> None:
        assert purge
        if not self.admin:
            raise NotPermitted("Only the author of a memory and administrators can unshare it.")
        if self.memories.get(memory_id) is None:
            raise NotFound("The team does not share it.")
        self.put(memory_id, None)

    def is_mine(self, _shared: SharedMemory) -> bool:
        return False

    def teams_if_any(self) -> tuple[TeamMembership, ...]:
        return (TeamMembership(team=TEAM, role="admin" if self.admin else "reader", name="Bo"),)

    def changes(self, _team: str, *, after: str, limit: int) -> TeamChanges:
        del limit
        history, _, place = after.partition(".")
        known = after != "" and int(history) == self.history
        start = int(place) if known else 0
        page = self.feed[start : start + 2]
        memories = (self.memories[name] for name in dict.fromkeys(page))
        return TeamChanges(
            memories=tuple(memory for memory in memories if memory is not None),
            purged=tuple(name for name in page if self.memories[name] is None),
            cursor=f"{self.history}.{start + len(page)}" if start + len(page) else "",
            more=start + len(page) < len(self.feed),
            anew=not known,
        )


class World:
    """Two devices of a member. `own` = ids of memories that the person made their own; `ended` = ids of those that they forgot or purged."""

    def __init__(self, folder: Path, *, admin: bool) -> None:
        account = AccountKey.new()
        self.logs, self.team = Logs(), Team(admin=admin)
        self.homes = [Home(), Home()]
        self.devices = [
            Device(folder, str(number), account, store=home.store) for number, home in enumerate(self.homes)
        ]
        self.own: set[str] = set()
        self.ended: set[str] = set()

    def step(self, verb: str, number: int, which: int) -> None:
        home, device = self.homes[number], self.devices[number]
        if verb in ("share", "change", "unshare", "purge", "save", "restore"):
            self.team.step(verb, which)
        elif verb == "follow":
            following(home).take_over(cast(TeamServer, self.team))
        elif verb == "leave":
            following(home).leave_all()
        elif verb == "sync":
            device.sync(self.logs)
        elif verb == "rejoin":
            device.rejoin()
            device.renew(DeviceKey.new())
        elif (memory := self._active(home, which)) is not None:
            self._by_user(home, memory, verb)

    def _active(self, home: Home, which: int) -> Memory | None:
        found = home.store.list_memories(MemoryFilter(), scope=home.store.scopes(), limit=1000)
        return sorted(found, key=lambda memory: memory.id)[which % len(found)] if found else None

    def _by_user(self, home: Home, memory: Memory, verb: str) -> None:
        if verb == "edit":
            mine = replace(
                memory,
                content=f"{memory.content} Mine.",
                provenance=replace(memory.provenance, tier=TrustTier.USER),
            )
            home.store.apply([Rewrite(memory=mine)])
            self.own.add(memory.id)
        elif verb == "forget":
            home.store.apply([Retire(memory_id=memory.id, at_ms=NOW)])
            self.ended.add(memory.id)
        else:
            home.purge([memory.id])
            self.ended.add(memory.id)


@settings(max_examples=15, deadline=None)
@example(steps=PURGED_ELSEWHERE, admin=False)
@example(steps=RESTORED, admin=False)
@example(steps=PURGED_THEN_RESTORED, admin=False)
@example(steps=PURGED_THEN_RESTORED, admin=True)
@example(steps=PURGED_THEN_TAKEN_AGAIN, admin=True)
@given(steps=STEPS, admin=st.booleans())
def test_what_the_user_made_their_own_stays_and_all_else_is_as_the_team_says(
    steps: list[tuple[str, int, int]], admin: bool
) -> None:
    chance = random.Random(0)  # keys and nonces: an example has to fail twice alike
    with tempfile.TemporaryDirectory() as folder, patch("os.urandom", chance.randbytes):
        world = World(Path(folder), admin=admin)
        for verb, number, which in steps:
            world.step(verb, number, which)
        for _ in range(3):
            settle(world.logs, world.devices)
            for home in world.homes:
                following(home).take_over(cast(TeamServer, world.team))
        settle(world.logs, world.devices)
        holding = {name: memory for name, memory in world.team.memories.items() if memory and memory.holds}
        states: list[dict[str, str]] = []
        for home in world.homes:
            active = {
                memory.id: memory
                for memory in home.store.list_memories(MemoryFilter(), scope=home.store.scopes(), limit=1000)
            }
            assert world.own - world.ended <= active.keys(), "what the user made their own was lost"
            known = TEAMS.read(home.store).get(TEAM)
            lost = set(known.lost) if known else set[str]()
            assert not lost & world.team.memories.keys(), "the server names what counts as lost"
            theirs = {
                name: memory for name, memory in active.items() if memory.provenance.team and name not in lost
            }
            assert {name: memory.content for name, memory in theirs.items()} == {
                name: holding[name].statement.content for name in theirs
            }, "the team says something else"
            purged = set(TEAM_PURGES.read(home.store))
            assert not purged & theirs.keys(), "a purge was undone by a restored server"
            # The device of an administrator purges on a restored server what it had purged; a reader's does without it.
            if admin:
                assert not purged & holding.keys(), "a restored server still shares what was purged"
                purged = set()
            assert holding.keys() - world.own - world.ended - purged <= theirs.keys()
            states.append(
                {name: memory.content for name, memory in active.items() if not memory.provenance.team}
            )
        assert states[0] == states[1]
