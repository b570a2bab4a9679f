"""A process that writes to or reads from a store until it is told to stop. Started by test_sqlite_processes.py.

Prints one line per acknowledged write, flushed at once, so that a killed writer has said what it was promised.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.model.changes import Add, Rewrite
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import UNIVERSAL, ScopeFilter
from tacit.model.session import SessionKey, SessionState
from tacit.ports.models import EmbedderIdentity
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import SystemClock

EMBEDDER = EmbedderIdentity(name="test@1", dimensions=8)
EVERYONE = ScopeFilter.of(UNIVERSAL)


def memory(name: str, content: str) -> Memory:
    return Memory(
        id=name,
        kind="fact",
        content=content,
        scope=UNIVERSAL,
        provenance=Provenance(tier=TrustTier.USER),
        validity=Validity(valid_from_ms=0),
        created_at_ms=1,
        updated_at_ms=1,
    )


def vector(seed: int) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=(1, 8)).astype(np.float32)
    return made / np.linalg.norm(made)


def write(home: Home, worker: str, until: float) -> None:
    store = open_sqlite_store(home, clock=SystemClock())
    number = 0
    while time.monotonic() < until:
        name = f"mem_{worker}_{number}"
        store.apply([Add(memory=memory(name, "half"))], vectors=vector(number), identity=EMBEDDER)
        store.apply(
            [Rewrite(memory=memory(name, f"whole {name}"))], vectors=vector(number), identity=EMBEDDER
        )
        store.save_session(SessionState(key=SessionKey(host="w", session_id=worker), turn=number))
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
        number += 1
    store.close()


def read(home: Home, until: float) -> None:
    store = open_sqlite_store(home, clock=SystemClock())
    rounds = 0
    while time.monotonic() < until:
        found = store.list_memories(MemoryFilter(), scope=EVERYONE, limit=50)
        hits = store.search.semantic(vector(rounds)[0], identity=EMBEDDER, scope=EVERYONE, limit=20).hits
        seen = store.get([hit.memory_id for hit in hits], scope=EVERYONE)
        assert len(seen) == len(hits), "a hit names a memory that cannot be read"
        assert store.search.lexical("whole", scope=EVERYONE, limit=5).complete
        assert all(m.content in {"half", f"whole {m.id}"} for m in found)
        rounds += 1
    store.close()
    sys.stdout.write(f"{rounds}\n")


if __name__ == "__main__":
    _, job, root, worker, seconds = sys.argv
    end = time.monotonic() + float(seconds)
    if job == "write":
        write(Home(Path(root)), worker, end)
    else:
        read(Home(Path(root)), end)
