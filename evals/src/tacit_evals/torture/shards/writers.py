"""The writers of the torture of shards: devices over HTTP, and processes that write to stores. In: a run. Out: what was begun and what was acknowledged."""

from __future__ import annotations

import contextlib
import json
import os
import random
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2 as httpx
import msgspec

from tacit.backends.postgres import PostgresStore
from tacit.backends.postgres.connection import Connections
from tacit.errors import TacitError
from tacit.model.changes import Add, Edit, Removal
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import ScopeFilter, project_scope
from tacit.providers.clock import SystemClock
from tacit.server.app import PREFIX
from tacit.server.shards import FROM_ENVIRONMENT
from tacit.sync.entry import Entry, EntryKind
from tacit.sync.keys import AccountKey, DeviceKey
from tacit_evals.torture.devices import append_noise, login_body

if TYPE_CHECKING:
    from tacit_evals.torture.shards.running import Torture

SCOPE = project_scope("torture")
SEEN = ScopeFilter.of(SCOPE)
PATIENCE_S = 60.0


class Device(threading.Thread):
    """A device of an account. It pushes entries, and repeats each push until it is acknowledged."""

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
        login = login_body(self._secret, self.key, self._code)
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
        """Append an entry to the log, and return it. One in eight purges the subject of an earlier entry."""
        held = [entry.subject for entry in self.log if entry.kind == "state"]
        purges = held and self._chance.random() < 0.12
        kind: EntryKind = "purge" if purges else "state"
        sealed = self._chance.randbytes(self._chance.randrange(40, 400))
        subject = self._chance.choice(held) if purges else self._chance.randbytes(16).hex()
        return append_noise(self.log, self.key, kind=kind, subject=subject, sealed=sealed)

    def _ask(self, client: httpx.Client, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Send a request to a random server, and repeat it until a server answers. Return the answer."""
        content = None if body is None else msgspec.json.encode(body)
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        began = time.monotonic()
        while time.monotonic() < began + PATIENCE_S:
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
        self.wrong.append(f"{self.account}: {path} was not answered in {PATIENCE_S:g} s")
        return {}


def noted(folder: Path, store: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the notes of all writers about a store: those of acknowledged writes, and those of all writes that began."""
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
    """Add, edit and purge memories of several stores until the file `stop` exists. Each write is noted before it begins and after it was acknowledged."""
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
