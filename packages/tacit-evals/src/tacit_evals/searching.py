"""How fast a store answers each kind of search: `python -m tacit_evals.searching [--rows N]`. Out: milliseconds per search.

The memories are those of `tacit_evals.data.workload`, as in every other measurement: words by Zipf's law, triggers as their kinds have
them, vectors around those of real sentences. Numbers are comparable between machines and versions, not with a real store. Never
touches a store that holds memories already.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.config.settings import EmbedderSettings
from tacit.errors import InvalidInput
from tacit.model.changes import Add
from tacit.model.scope import UNIVERSAL, ScopeFilter, project_scope
from tacit.model.trigger import ACTIONS
from tacit.ports.models import Embedder
from tacit.ports.store import Store
from tacit.providers.clock import SystemClock
from tacit.providers.embedding import make_embedder
from tacit_evals.data.workload import Generator, batches, clustered, topic_vectors
from tacit_evals.timing import Row, percentile, print_rows

SCOPE = project_scope("measured")
VISIBLE = ScopeFilter.of(UNIVERSAL, SCOPE)

_LIMIT = 48
_KINDS = ("fact", "preference", "decision", "guideline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Milliseconds of one kind of call: the first one, the median and the 95th percentile of the others."""

    name: str
    first_ms: float
    p50_ms: float
    p95_ms: float


def fill_store(store: Store, rows: int, *, embedder: Embedder, seed: int = 1) -> None:
    """Add `rows` made-up memories with vectors, all in one scope.

    Raises:
        InvalidInput: if the store is not empty.
    """
    if store.stats().memories_total:
        raise InvalidInput("Only an empty store can be filled with made-up memories.")
    topics = topic_vectors(embedder)
    for number, memories in enumerate(batches(rows, SCOPE, seed=seed)):
        vectors = clustered(topics, len(memories), seed=seed + number)
        store.apply([Add(memory=memory) for memory in memories], vectors=vectors, identity=embedder.identity)


def measure_search(
    store: Store, *, embedder: Embedder, rounds: int = 60, seed: int = 7
) -> tuple[Timing, ...]:
    """Time every kind of search, with a new query each round, over what `fill_store` added with the same embedder."""
    search = store.search
    maker, chance = Generator(seed=seed), random.Random(seed)
    queries = (maker.memory(number, SCOPE) for number in itertools.count())
    queries = list(itertools.islice((memory for memory in queries if memory.entities), rounds + 1))
    vectors = clustered(topic_vectors(embedder), rounds + 1, seed=seed)
    actions = [_situation(chance) for _ in queries]
    identity = embedder.identity
    ids = [hit.memory_id for hit in search.standing(_KINDS, scope=VISIBLE, limit=40).hits]
    calls: tuple[tuple[str, Callable[[int], object]], ...] = (
        ("semantic", lambda n: search.semantic(vectors[n], identity=identity, scope=VISIBLE, limit=_LIMIT)),
        ("lexical", lambda n: search.lexical(queries[n].content, scope=VISIBLE, limit=_LIMIT)),
        ("code", lambda n: search.code(queries[n].content, scope=VISIBLE, limit=_LIMIT)),
        ("entity", lambda n: search.entity(queries[n].entities, scope=VISIBLE, limit=_LIMIT)),
        ("intent", lambda n: search.intent(actions[n], scope=VISIBLE, limit=_LIMIT)),
        ("standing", lambda _: search.standing(_KINDS, scope=VISIBLE, limit=_LIMIT)),
        ("error", lambda _: search.error("no such signature", scope=VISIBLE, limit=_LIMIT)),
        ("get 40", lambda _: store.get(ids, scope=VISIBLE)),
    )
    return tuple(_time(name, call, rounds) for name, call in calls)


def _situation(chance: random.Random) -> tuple[tuple[str, float], ...]:
    """Five actions with falling probability."""
    return tuple((name, 0.8 / (place + 1)) for place, name in enumerate(chance.sample(ACTIONS, 5)))


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
    parser.add_argument("--embedder", default="minilm", help="whose vectors to gather round, or fake")
    options = parser.parse_args()
    embedder = make_embedder(EmbedderSettings(provider=options.embedder))
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite_store(Home(Path(folder) / "home"), clock=SystemClock())
        fill_store(store, options.rows, embedder=embedder)
        timings = measure_search(store, embedder=embedder, rounds=options.rounds)
        store.close()
    rows = [
        Row(
            name=timing.name,
            value=timing.p50_ms,
            unit="ms",
            note=f"first {timing.first_ms:.1f}, p95 {timing.p95_ms:.1f}",
        )
        for timing in timings
    ]
    print_rows(rows, title=f"Searches over {options.rows:,} memories, p50")
    return 0


if __name__ == "__main__":
    sys.exit(main())
