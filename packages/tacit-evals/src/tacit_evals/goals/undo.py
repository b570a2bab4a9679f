"""A hundred undos while somebody else writes: each takes back the change that it names, and nothing else.

The user acts as the page does, with the same requests, on one memory or on many, then takes back the changes whose ids the page's
message keeps, the last one first. Another program and an agent write and edit all the time, at least once between each act and its
undo. Out: how many undos left the user's memories as they were before the act and touched nothing of the others.
"""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from tacit.errors import Conflict, NotFound
from tacit_evals.goals.goal import Goal, counted
from tacit_evals.goals.home import Place, place, statements

ROUNDS = 100
STATED = 120
IMPORTED = 400
MANY = 4
SEED = 19
THEIRS = "Parcel"
"""The first word of all that the others state; the user says it never."""
_CHANGES_ALWAYS = ("etag", "updated_at_ms")
_LATE_S = 30.0

Memory = dict[str, Any]
Store = dict[str, Memory]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What the user did: its name, the ids of its changes, the memories that it was done to."""

    name: str
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Which memories the named changes touched, and which their undo touched."""

    by_act: frozenset[str]
    by_undo: frozenset[str]


def faults_of(before: Store, after: Store, touched: Touched, theirs: Iterable[str]) -> list[str]:
    """What is wrong after an undo; empty = exactly the named change was undone.

    Args:
        before: the user's memories before the act.
        after: the same after the undo, and what the act made.
        touched: the memories of the changes.
        theirs: ids of everything that the others wrote.
    """
    faults: list[str] = []
    for name, memory in before.items():
        differing = [key for key in memory if memory[key] != after.get(name, {}).get(key)]
        if differing:
            faults.append(f"{name} is not as before: {', '.join(differing)}")
    faults += [
        f"{name}, made by the act, is {memory['status']}"
        for name, memory in after.items()
        if name not in before and memory["status"] != "retired"
    ]
    faults += [f"{name} of somebody else was touched" for name in sorted(touched.by_undo & {*theirs})]
    if touched.by_undo != touched.by_act:
        faults.append(f"the act touched {len(touched.by_act)} memories, its undo {len(touched.by_undo)}")
    return faults


@dataclass(slots=True)
class Writer:
    """Somebody else, who states something every few milliseconds and edits some of it."""

    here: Place
    pause_s: float = 0.02
    known: dict[str, Memory] = field(default_factory=dict[str, Memory])
    """Everything that they wrote, as it was when they last did."""
    failure: str = ""
    _ended: threading.Event = field(default_factory=threading.Event)
    _wrote: threading.Condition = field(default_factory=threading.Condition)
    _count: int = 0
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._write_on)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_LATE_S)

    @property
    def count(self) -> int:
        """How often they wrote so far."""
        return self._count

    def wait_for_more(self) -> None:
        """Wait until they wrote at least once more.

        Raises:
            SystemExit: they stopped.
        """
        start = self._count
        with self._wrote:
            if not self._wrote.wait_for(lambda: self._count > start or self.failure, _LATE_S) or self.failure:
                raise SystemExit(f"The other writer stopped: {self.failure or 'it hangs'}.")

    def _write_on(self) -> None:
        program, agent = self.here.client(), self.here.somebody_else()
        try:
            for number in itertools.count():
                if self._ended.wait(self.pause_s):
                    return
                speaker = agent if number % 3 == 2 else program
                said = {"content": _their_words(number), "scope": "universal"}
                _, answer = speaker.request("POST", "/v1/remember", said)
                for change in answer["changes"]:
                    self._note(change["memory"])
                if number % 5 == 0 and speaker is program:
                    name = answer["changes"][0]["memory"]["id"]
                    _, edited = program.request("PATCH", f"/v1/memories/{name}", {"importance": 0.41})
                    self._note(edited["memory"])
        except Exception as error:  # noqa: BLE001 - who waits for it says what happened
            self.failure = repr(error)
            with self._wrote:
                self._wrote.notify_all()

    def _note(self, memory: Memory) -> None:
        with self._wrote:
            self.known[memory["id"]] = memory
            self._count += 1
            self._wrote.notify_all()


def _their_words(number: int) -> str:
    return f"{THEIRS} {number} of depot {number * 7 % 101} left at {number % 24} o'clock on lorry {number * 13 % 89}."


def _plain(memory: Memory) -> Memory:
    return {key: value for key, value in memory.items() if key not in _CHANGES_ALWAYS}


def _everything(here: Place) -> Iterator[Memory]:
    """All memories; what is written meanwhile comes first, so that it moves others to a later part and hides none."""
    for part in itertools.count():
        rows = here.api("GET", f"/v1/memories?status=all&limit=500&offset={part * 500}&order=created")[
            "memories"
        ]
        yield from rows
        if not rows:
            return


def _own(here: Place) -> Store:
    """The user's memories as they are."""
    return {
        memory["id"]: _plain(memory)
        for memory in _everything(here)
        if not memory["content"].startswith(THEIRS)
    }


class User:
    """The user at the page: one method for each thing to do, with the requests of the page."""

    def __init__(self, here: Place, chance: random.Random) -> None:
        self.here, self.chance, self.said = here, chance, 0

    def acts(self) -> tuple[Callable[[Store], Act], ...]:
        """Everything to do, on one memory and on many in turn."""
        return (
            self.edit, self.pin_many, self.forget, self.accept_many, self.supersede, self.forget_many,
            self.merge, self.reject_many, self.accept, self.set_kind_of_many, self.reject, self.remember, self.pin,
        )  # fmt: skip

    def _some(self, store: Store, count: int, status: str = "active") -> list[str]:
        return self.chance.sample(
            sorted(name for name, one in store.items() if one["status"] == status), count
        )

    def _patch(self, names: Sequence[str], parts: Mapping[str, object]) -> tuple[str, ...]:
        answers = [self.here.api("PATCH", f"/v1/memories/{name}", parts) for name in names]
        return tuple(answer["change_id"] for answer in answers)

    def _forgotten(self, names: Sequence[str]) -> tuple[str, ...]:
        reason = "?reason=forgotten%20on%20the%20page"
        return tuple(self.here.api("DELETE", f"/v1/memories/{name}{reason}")["change_id"] for name in names)

    def _posted(self, act: str, path: str, body: Mapping[str, object]) -> Act:
        return Act(name=act, changes=(self.here.api("POST", path, body)["change_id"],))

    def edit(self, store: Store) -> Act:
        (name,) = self._some(store, 1)
        words = {"content": f"{store[name]['content']} This was said again."}
        return Act(name="edit", changes=self._patch([name], words))

    def pin(self, store: Store) -> Act:
        return Act(name="pin", changes=self._patch(self._some(store, 1), {"pinned": True}))

    def pin_many(self, store: Store) -> Act:
        return Act(name="pin many", changes=self._patch(self._some(store, MANY), {"pinned": True}))

    def set_kind_of_many(self, store: Store) -> Act:
        names = [name for name in self._some(store, MANY * 3) if store[name]["kind"] != "observation"][:MANY]
        return Act(name="set the kind of many", changes=self._patch(names, {"kind": "observation"}))

    def forget(self, store: Store) -> Act:
        return Act(name="forget", changes=self._forgotten(self._some(store, 1)))

    def forget_many(self, store: Store) -> Act:
        return Act(name="forget many", changes=self._forgotten(self._some(store, MANY)))

    def supersede(self, store: Store) -> Act:
        (name,) = self._some(store, 1)
        self.said += 1
        words = {"content": f"Rule {self.said} of the new handbook holds here instead."}
        return self._posted("supersede", f"/v1/memories/{name}/supersede", words)

    def merge(self, store: Store) -> Act:
        name, into = self._some(store, 2)
        return self._posted("merge", f"/v1/memories/{name}/merge", {"into": into})

    def remember(self, store: Store) -> Act:  # noqa: ARG002 - one shape for all
        self.said += 1
        body = {
            "content": f"Shelf {self.said} holds the spare keys of room {self.said * 17}.",
            "source": "page",
        }
        return self._posted("remember", "/v1/remember", body)

    def _decided(self, store: Store, action: str) -> Act:
        (name,) = self._some(store, 1, "quarantined")
        return self._posted(action, f"/v1/review/{name}", {"action": action, "content": None, "into": None})

    def _all_decided(self, store: Store, action: str) -> Act:
        names = self._some(store, MANY * 5, "quarantined")
        return self._posted(f"{action} many", "/v1/review", {"action": action, "ids": names})

    def accept(self, store: Store) -> Act:
        return self._decided(store, "accept")

    def reject(self, store: Store) -> Act:
        return self._decided(store, "reject")

    def accept_many(self, store: Store) -> Act:
        return self._all_decided(store, "accept")

    def reject_many(self, store: Store) -> Act:
        return self._all_decided(store, "reject")


def _take_back(here: Place, act: Act) -> list[str]:
    """As the page does: the last change first; the ids of the changes that did so."""
    undone: list[str] = []
    for name in reversed(act.changes):
        with suppress(Conflict, NotFound):  # refused: the memory is then not as before, which is counted
            answer = here.api("POST", "/v1/undo", {"id": name, "keep_both": False, "memory": None})
            undone.append(answer["change_id"])
    return undone


def _memories_of(here: Place, changes: Iterable[str]) -> frozenset[str]:
    entries = [here.api("GET", f"/v1/changes?limit=500&change={name}")["changes"] for name in changes]
    return frozenset(entry["memory"]["id"] for part in entries for entry in part)


def _prepare(here: Place) -> None:
    for one in statements()[:STATED]:
        here.api("POST", "/v1/remember", {"content": one.content, "kind": one.kind, "scope": "universal"})
    rows = [
        {"id": f"m{number}", "memory": f"Cellar {number} is aired on day {number % 7} by team {number % 11}."}
        for number in range(IMPORTED)
    ]
    file = here.work / "mem0.json"
    file.write_text(json.dumps({"results": [{**row, "user_id": "a"} for row in rows]}), "utf-8")
    here.tacit("import", str(file))


def measure(rounds: int = ROUNDS) -> list[Goal]:
    """Act and take back `rounds` times beside a writer that never stops."""
    faults: list[str] = []
    done: Counter[str] = Counter()
    changes = 0
    with place() as here:
        _prepare(here)
        user = User(here, random.Random(SEED))
        began = time.monotonic()
        with Writer(here) as writer:
            for number, act_of in zip(range(rounds), itertools.cycle(user.acts())):
                before = _own(here)
                act = act_of(before)
                writer.wait_for_more()
                undone = _take_back(here, act)
                touched = Touched(by_act=_memories_of(here, act.changes), by_undo=_memories_of(here, undone))
                found = faults_of(before, _own(here), touched, writer.known)
                done[act.name] += not found
                changes += len(act.changes)
                faults += [f"round {number + 1}, {act.name}: {fault}" for fault in found]
        took_s = time.monotonic() - began
        at_end = {memory["id"]: memory for memory in _everything(here)}
        lost = [name for name, one in writer.known.items() if _plain(at_end[name]) != _plain(one)]
        faults += [f"{name} of somebody else is not as they left it" for name in lost]
    right = 0 if lost else done.total()
    acts = ", ".join(f"{name} {count}" for name, count in sorted(done.items()))
    return [
        counted(
            "undo hits the change it names, with a concurrent writer",
            right,
            rounds,
            target=f"{rounds} of {rounds}",
            least=1.0,
            more=f"{changes} changes taken back ({acts}), {writer.count} writes of others in {took_s:.0f} s, {len(lost)} of them touched",
            shown_by=("python -m tacit_evals.goals undo",),
            faults=faults,
        )
    ]
