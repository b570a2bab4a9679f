"""The store that every contract is run on, and the memories that it is given."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path

import numpy as np

from samples import memory_named
from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.model.changes import Add
from tacit.model.memory import Memory
from tacit.model.scope import project_scope
from tacit.ports.models import EmbedderIdentity
from tacit.ports.store import Store
from tacit.providers.clock import FakeClock

NOW = 1_700_000_000_000
ALPHA, BETA = project_scope("alpha"), project_scope("beta")
EMBEDDER = EmbedderIdentity(name="test@1", dimensions=4)

_stores = itertools.count()

memory = partial(memory_named, scope=ALPHA, at_ms=NOW)


def make_store(folder: Path, clock: FakeClock) -> Store:
    return open_sqlite_store(Home(folder / f"home{next(_stores)}"), clock=clock)


def add(store: Store, *memories: Memory) -> None:
    store.apply([Add(memory=one) for one in memories])


def unit(*values: float) -> np.ndarray:
    vector = np.array(values, dtype=np.float32)
    return vector / np.linalg.norm(vector)
