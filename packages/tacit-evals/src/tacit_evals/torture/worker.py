"""One process of the torture run: a writer or a reader, over the socket or with an engine of its own.

In: a role and a number as arguments, the folder in TACIT_TORTURE_FOLDER. Out: `acknowledged-N` (one JSON line for each
statement that was acknowledged, written and synced before the next), `counts-ROLE-N`. Ends when the file `stop` appears.
Speaks to the daemon through the hook client's own functions, which start one where none is.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import tacit_hook
from tacit.config.home import personal_token

_PATIENCE_S = 8.0
_ALPHABET = "bcdfghklmnprstvwz"
_PAUSE_S = 0.01
_HEADERS = ("Content-Type: application/json", f"Authorization: Bearer {personal_token()}")


class Unanswered(Exception):
    """No answer came; whatever was asked for may have happened or not."""


class Wrong(Exception):
    """An answer came that must never come."""


def statement(chance: random.Random, name: str, number: int) -> str:
    """A statement that shares hardly a word with any other, so that none is taken for a copy."""
    words = [
        "".join(chance.choice(_ALPHABET) + chance.choice("aeiou") for _ in range(chance.randint(3, 5)))
        for _ in range(9)
    ]
    return f"The {words[0]} {' '.join(words[1:])} holds for {name}x{number}."


def ask(path: str, body: Mapping[str, object]) -> tuple[int, bytes]:
    """POST over the socket, starting a daemon where none is.

    Raises:
        Unanswered: the daemon went away, or did not come in time.
    """
    try:
        status, _, reply = tacit_hook.call(
            tacit_hook.HomePaths(), path, json.dumps(body).encode(), time.monotonic() + _PATIENCE_S, _HEADERS
        )
    except OSError as error:
        raise Unanswered(type(error).__name__) from error
    if status in (503, 504):
        raise Unanswered(str(status))
    return status, reply


class Worker:
    """What all roles share."""

    def __init__(self, role: str, number: int, folder: Path) -> None:
        self.name = f"{role}-{number}"
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir(exist_ok=True)
        self.chance = random.Random(f"{role}-{number}")
        self.counts: Counter[str] = Counter()
        self._stop = folder / "stop"

    def run(self, step: Callable[[int], None]) -> None:
        """Repeat `step` until the run is over, then leave the counts."""
        (self.folder / f"ready-{self.name}").touch()
        while not (self.folder / "go").exists() and not self._stop.exists():
            time.sleep(0.05)
        number = 0
        while not self._stop.exists():
            number += 1
            step(number)
            time.sleep(self.chance.random() * _PAUSE_S)
        (self.folder / f"counts-{self.name}").write_text(json.dumps(self.counts), "utf-8")

    def acknowledge(self, content: str, memory_id: str) -> None:
        """Write down what the store said it has, durably enough for a killed writer."""
        with (self.folder / f"acknowledged-{self.name}").open("a", encoding="utf-8") as opened:
            opened.write(json.dumps({"id": memory_id, "content": content}) + "\n")

    def acknowledged(self) -> dict[str, str] | None:
        """Something that some writer was told is stored."""
        files = sorted(self.folder.glob("acknowledged-*"))
        if not files:
            return None
        # The last line may be half written at this moment; the one before it is whole.
        lines = self.chance.choice(files).read_text("utf-8").splitlines()[:-1]
        return json.loads(self.chance.choice(lines[-50:])) if lines else None


def write_by_socket(worker: Worker) -> Callable[[int], None]:
    """Statements through the daemon's API."""

    def step(number: int) -> None:
        content = statement(worker.chance, worker.name, number)
        try:
            status, reply = ask(
                "/v1/memories", {"content": content, "kind": "fact", "cwd": str(worker.project)}
            )
        except Unanswered:
            worker.counts["unacknowledged"] += 1
            return
        change = json.loads(reply)["changes"][0] if status in (200, 201) else {}
        # Of a daemon that was killed before its answer left, the next one says that it knows the statement already.
        stored = change.get("memory_id") or change.get("memory", {}).get("id")
        if not stored:
            raise Wrong(f"{status} {reply[:300]!r}")
        worker.acknowledge(content, stored)

    return step


def write_directly(worker: Worker) -> Callable[[int], None]:
    """Statements through an engine in this process: the same lock, no daemon."""
    from tacit.app.wiring import open_engine
    from tacit.errors import StoreBusy
    from tacit.model.changes import Add

    engine = open_engine()

    def step(number: int) -> None:
        content = statement(worker.chance, worker.name, number)
        try:
            changes = engine.remember(content, kind="fact", cwd=str(worker.project))
        except StoreBusy:
            worker.counts["unacknowledged"] += 1
            return
        added = [change.memory.id for change in changes if isinstance(change, Add)]
        if not added:
            raise Wrong(f"not added: {changes}")
        worker.acknowledge(content, added[0])

    return step


def read_by_socket(worker: Worker) -> Callable[[int], None]:
    """Prompts as a host sends them; every other time a question whose answer is known."""

    def step(number: int) -> None:
        memory = worker.acknowledged() if number % 2 else None
        words = memory["content"] if memory else f"please change the code of part {number}"
        try:
            if memory:
                status, reply = ask(
                    "/v1/recall", {"text": words, "cwd": str(worker.project), "store_trace": False}
                )
            else:
                prompt = {
                    "session": worker.name,
                    "event": "prompt",
                    "text": words,
                    "cwd": str(worker.project),
                    "key": str(number),
                }
                status, reply = ask("/hook/plain", prompt)
        except Unanswered:
            worker.counts["unread"] += 1
            return
        worker.counts["reads"] += 1
        whole = status == 200 and (not memory or memory["id"] in reply.decode())
        if not whole:
            worker.counts["bad"] += 1
            sys.stderr.write(f"{worker.name}: {status} {reply[:300]!r} for {words!r}\n")

    return step


def read_directly(worker: Worker) -> Callable[[int], None]:
    """Looks up what was acknowledged, with an engine of this process."""
    from tacit.app.wiring import open_engine
    from tacit.errors import TacitError

    engine = open_engine()

    def step(_: int) -> None:
        memory = worker.acknowledged()
        if memory is None:
            return
        worker.counts["reads"] += 1
        try:
            intact = engine.show(memory["id"]).content == memory["content"]
            recalled = engine.recall(memory["content"], cwd=str(worker.project), store_trace=False)
            intact = intact and memory["id"] in recalled.block.memory_ids
        except TacitError as error:
            intact = False
            sys.stderr.write(f"{worker.name}: {error}\n")
        worker.counts["bad"] += not intact

    return step


ROLES: dict[str, Callable[[Worker], Callable[[int], None]]] = {
    "write-socket": write_by_socket,
    "write-direct": write_directly,
    "read-socket": read_by_socket,
    "read-direct": read_directly,
}


def main(arguments: list[str]) -> None:
    """Work in one role until told to stop."""
    role, number = arguments
    worker = Worker(role, int(number), Path(os.environ["TACIT_TORTURE_FOLDER"]))
    worker.run(ROLES[role](worker))


if __name__ == "__main__":
    main(sys.argv[1:])
