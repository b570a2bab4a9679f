"""How fast a store answers. In: a store, how many memories to make up. Out: milliseconds per search.

The memories are synthetic: vectors around cluster centres (a mixture of Gaussians in 64 of the dimensions, as sentence
embeddings are of low intrinsic dimension), words by Zipf's law over a made-up vocabulary, random triggers. Numbers are
comparable between machines and versions, not with a real store. Never touches a store that holds memories already.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.errors import InvalidInput
from tacit.model.changes import Add
from tacit.model.memory import Entity, Memory, Provenance, TrustTier, Validity
from tacit.model.scope import UNIVERSAL, ScopeFilter, project_scope
from tacit.model.trigger import ACTIONS, Trigger
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.store import Store
from tacit.providers.clock import SystemClock
from tacit_evals.timing import Row, percentile, print_rows

EMBEDDER = EmbedderIdentity(name="synthetic@1", dimensions=384)
SCOPE = project_scope("measured")
VISIBLE = ScopeFilter.of(UNIVERSAL, SCOPE)

_BATCH = 1000
_CENTRES = 2000
_INTRINSIC = 64
_VOCABULARY = 60_000
_ZIPF = 1.05
_LIMIT = 48
_KINDS = ("fact", "preference", "decision", "event")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Milliseconds of one kind of call: the first one, the median and the 95th percentile of the others."""

    name: str
    first_ms: float
    p50_ms: float
    p95_ms: float


class Synthetic:
    """Made-up memories and queries; the same seed makes the same."""

    def __init__(self, seed: int = 1) -> None:
        self._rng = np.random.default_rng(seed)
        self._random = random.Random(seed)
        fixed = np.random.default_rng(0)
        self._centres = fixed.normal(size=(_CENTRES, _INTRINSIC)).astype(np.float32)
        self._projection = fixed.normal(size=(_INTRINSIC, EMBEDDER.dimensions)).astype(np.float32)
        weights = 1 / np.arange(1, _VOCABULARY + 1) ** _ZIPF
        self._cumulative: NDArray[np.float64] = np.cumsum(weights / weights.sum())

    def vectors(self, count: int) -> Vectors:
        """Unit vectors, shape (count, dimensions)."""
        noise = self._rng.normal(size=(count, _INTRINSIC)).astype(np.float32)
        low = self._centres[self._rng.integers(0, _CENTRES, count)] + 0.5 * noise
        rows = low @ self._projection
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def text(self, words: int) -> str:
        """So many words, frequent ones more often."""
        return " ".join(_word(int(n)) for n in np.searchsorted(self._cumulative, self._rng.random(words)))

    def actions(self, count: int) -> tuple[tuple[str, float], ...]:
        """A situation's actions with falling probability."""
        names = self._random.sample(ACTIONS, count)
        return tuple((name, 0.8 / (place + 1)) for place, name in enumerate(names))

    def file(self) -> Entity:
        """One of 500 files."""
        return Entity(kind="file", key=f"src/f{self._random.randrange(500)}.py")

    def memory(self, number: int) -> Memory:
        """A memory of the measured scope."""
        chance = self._random
        weights = {name: chance.choice((1.0, 0.67, 0.33)) for name in chance.sample(ACTIONS, 3)}
        file = self.file()
        return Memory(
            id=f"mem_{number:016d}",
            kind=chance.choice(_KINDS),
            content=self.text(chance.randint(15, 40)),
            scope=SCOPE,
            provenance=Provenance(tier=TrustTier.USER, source="measure"),
            validity=Validity(valid_from_ms=0),
            created_at_ms=number,
            updated_at_ms=number,
            importance=round(chance.random(), 3),
            trigger=Trigger(actions=tuple(weights.items()) if number % 3 else (), always=number % 20 == 0),
            entities=(file,),
            files=(file.key,),
        )


def _word(number: int) -> str:
    """A pronounceable word, different for every number."""
    letters: list[str] = []
    number += 20
    while number:
        number, digit = divmod(number, 80)
        letters.append("bcdfghklmnprstvz"[digit % 16] + "aeiou"[digit // 16])
    return "".join(letters)


def fill_store(store: Store, rows: int, *, seed: int = 1) -> None:
    """Add `rows` made-up memories with vectors, all in one scope.

    Raises:
        InvalidInput: if the store is not empty.
    """
    if store.stats().memories_total:
        raise InvalidInput("Only an empty store can be filled with made-up memories.")
    made = Synthetic(seed)
    for start in range(0, rows, _BATCH):
        numbers = range(start, min(start + _BATCH, rows))
        changes = [Add(memory=made.memory(number)) for number in numbers]
        store.apply(changes, vectors=made.vectors(len(changes)), identity=EMBEDDER)


def measure_search(store: Store, *, rounds: int = 60, words: int = 18, seed: int = 7) -> tuple[Timing, ...]:
    """Time every kind of search, with a new query each round, over what `fill_store` added."""
    made = Synthetic(seed)
    search = store.search
    vectors = made.vectors(rounds + 1)
    texts = [made.text(words) for _ in range(rounds + 1)]
    actions = [made.actions(5) for _ in range(rounds + 1)]
    files = [tuple(made.file() for _ in range(3)) for _ in range(rounds + 1)]
    ids = [hit.memory_id for hit in search.standing(_KINDS, scope=VISIBLE, limit=40).hits]
    calls: tuple[tuple[str, Callable[[int], object]], ...] = (
        ("semantic", lambda n: search.semantic(vectors[n], identity=EMBEDDER, scope=VISIBLE, limit=_LIMIT)),
        ("lexical", lambda n: search.lexical(texts[n], scope=VISIBLE, limit=_LIMIT)),
        ("code", lambda n: search.code(texts[n], scope=VISIBLE, limit=_LIMIT)),
        ("entity", lambda n: search.entity(files[n], scope=VISIBLE, limit=_LIMIT)),
        ("intent", lambda n: search.intent(actions[n], scope=VISIBLE, limit=_LIMIT)),
        ("standing", lambda _: search.standing(_KINDS, scope=VISIBLE, limit=_LIMIT)),
        ("error", lambda _: search.error("no such signature", scope=VISIBLE, limit=_LIMIT)),
        ("get 40", lambda _: store.get(ids, scope=VISIBLE)),
    )
    return tuple(_time(name, call, rounds) for name, call in calls)


def _time(name: str, call: Callable[[int], object], rounds: int) -> Timing:
    taken: list[float] = []
    for number in range(rounds + 1):
        began = time.perf_counter()
        call(number)
        taken.append((time.perf_counter() - began) * 1000)
    return Timing(
        name=name, first_ms=taken[0], p50_ms=percentile(taken[1:], 0.5), p95_ms=percentile(taken[1:], 0.95)
    )


def main() -> int:
    """Fill a store in a folder of its own and print how long each kind of search takes."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.searching", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000, help="memories to make up")
    parser.add_argument("--rounds", type=int, default=60, help="searches of each kind")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite_store(Home(Path(folder) / "home"), clock=SystemClock())
        fill_store(store, given.rows)
        found = measure_search(store, rounds=given.rounds)
        store.close()
    rows = [
        Row(
            name=one.name, value=one.p50_ms, unit="ms", note=f"first {one.first_ms:.1f}, p95 {one.p95_ms:.1f}"
        )
        for one in found
    ]
    print_rows(rows, title=f"Searches over {given.rows:,} memories, p50")
    return 0
