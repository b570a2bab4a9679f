"""Measures how well and how fast the PostgreSQL store searches: recall of both arms, processor time of the server, queries per second.

Run: `python -m tacit_evals.postgres_search --tenants 50 --rows 50000`, with `[--queries 200] [--seconds 8] [--clients 8]
[--buffers 512MB] [--first 100] [--json FILE]`.

It starts a PostgreSQL server, fills it through the store, and ends it. The sizes of tenants follow Zipf's law. A vector is a mixture of three of 400 random
directions and noise. A statement has 18 words of a vocabulary of 20,000, whose frequencies follow Zipf's law. A query is a statement of the tenant with eight of
its words and a changed vector. Recall is the share of the ten best memories that were found. The ten best are computed exactly: by the cosines of all stored
vectors, by BM25 over all terms, and for both arms by the fusion of these two by reciprocal ranks. Processor time is that of the backend process, read from /proc.
For the queries per second, every client is a process; each of its queries asks both arms in one transaction, of any tenant except the largest. With `--first`, a small tenant is measured before and after the other tenants are stored.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import shutil
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psycopg
from rich.console import Console
from rich.table import Table

from tacit.backends.postgres import (
    Connections,
    PostgresStore,
    create_roles,
    migrate,
    open_postgres_store,
)
from tacit.backends.postgres.documents import word_terms
from tacit.model.changes import Add
from tacit.model.evidence import Hit, Ranking
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import ScopeFilter, project_scope
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.clock import SystemClock
from tacit.recall.fuse import rrf_equal
from tacit.text.tokens import query_words
from tacit_evals.postgres_search.embedded import end_process, start_process, wait_until_ready
from tacit_evals.postgres_search.server_process import used_s

EMBEDDER = EmbedderIdentity(name="bench@1", dimensions=384)
SCOPE = project_scope("bench")
SEEN = ScopeFilter.of(SCOPE)
DIRECTIONS, VOCABULARY, WORDS_EACH, WORDS_ASKED = 400, 20_000, 18, 8
K1, B = 1.2, 0.75
BATCH, DEPTH, FUSED = 500, 10, 50
"""Memories in one transaction, in one answer, and in the ranking of each arm that is fused."""
FILLERS = 2
"""Number of processes that fill the database."""
SMALL = 5_000
"""The largest tenant with at most this many memories is measured as well."""
_START_S = 60.0
"""A client has failed if it does not answer this long after its time, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A tenant with everything that is stored for it, to compute exact answers."""

    name: str
    ids: list[str]
    texts: list[str]
    vectors: Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The result for one arm and one tenant: recall of the ten best, processor time of the backend and median wall time of a query, in milliseconds."""

    tenant: str
    rows: int
    arm: str
    recall: float
    backend_ms: float
    wall_ms: float


class World:
    """Makes random statements, vectors and queries."""

    def __init__(self, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        self._directions = _unit(self._chance.normal(size=(DIRECTIONS, EMBEDDER.dimensions)))
        letters = np.array(list("abcdefghiklmnoprstuv"))
        self._words = np.array(
            ["".join(letters[self._chance.integers(0, len(letters), 7)]) for _ in range(VOCABULARY)]
        )
        weights = 1 / np.arange(1, VOCABULARY + 1)
        self._weights = weights / weights.sum()

    def vectors(self, count: int) -> Vectors:
        """Return random vectors: mixtures of three directions, and noise."""
        chosen = self._chance.integers(0, DIRECTIONS, (count, 3))
        shares = self._chance.dirichlet((1.0, 1.0, 1.0), count)
        mixed = np.einsum("nk,nkd->nd", shares, self._directions[chosen])
        return _unit(mixed + self._chance.normal(scale=0.015, size=mixed.shape))

    def texts(self, count: int) -> list[str]:
        """Return random statements."""
        chosen = self._chance.choice(VOCABULARY, (count, WORDS_EACH), p=self._weights)
        return [" ".join(self._words[row]) for row in chosen]

    def query(self, tenant: Tenant) -> tuple[str, Vectors]:
        """Return words and a vector that are near one of the tenant's statements."""
        row = int(self._chance.integers(len(tenant.ids)))
        words = self._chance.choice(tenant.texts[row].split(), WORDS_ASKED, replace=False)
        moved = tenant.vectors[row] + self._chance.normal(scale=0.03, size=EMBEDDER.dimensions)
        return " ".join(words), _unit(moved[None, :])[0]


def _unit(vectors: np.ndarray) -> Vectors:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def memory_of(name: str, text: str) -> Memory:
    return Memory(
        id=name,
        kind="fact",
        content=text,
        scope=SCOPE,
        provenance=Provenance(tier=TrustTier.USER, source="bench"),
        validity=Validity(valid_from_ms=0),
        created_at_ms=1,
        updated_at_ms=1,
    )


def make_tenants(world: World, *, tenants: int, rows: int) -> list[Tenant]:
    """Return the tenants to store, the largest first."""
    shares = 1 / np.arange(1, tenants + 1)
    sizes = np.maximum((rows * shares / shares.sum()).astype(int), 50)
    return [
        Tenant(
            name=f"tenant-{number:04}",
            ids=[f"mem_{row:07}" for row in range(size)],
            texts=world.texts(size),
            vectors=world.vectors(size),
        )
        for number, size in enumerate(sizes.tolist())
    ]


def fill(dsn: str, made: Sequence[Tenant]) -> None:
    """Store all tenants with several processes, batches of different tenants in turn."""
    context = multiprocessing.get_context("fork")  # so that the tenants need not be sent to the processes
    workers = [
        context.Process(target=_fill_some, args=(dsn, made[place::FILLERS])) for place in range(FILLERS)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        if worker.exitcode:
            raise SystemExit("The tenants could not be stored.")


def _fill_some(dsn: str, made: Sequence[Tenant]) -> None:
    connections = Connections(dsn, min_size=1, max_size=1)
    stores = {tenant.name: PostgresStore(connections, tenant.name, clock=SystemClock()) for tenant in made}
    for start in range(0, max(len(tenant.ids) for tenant in made), BATCH):
        for tenant in made:
            if start < len(tenant.ids):
                _store(stores[tenant.name], tenant, start)
    connections.close()


def _store(store: PostgresStore, tenant: Tenant, start: int) -> None:
    part = slice(start, start + BATCH)
    added = [
        Add(memory=memory_of(name, text))
        for name, text in zip(tenant.ids[part], tenant.texts[part], strict=True)
    ]
    store.apply(added, vectors=tenant.vectors[part], identity=EMBEDDER)


class Exact:
    """Exact search of one tenant: cosines of all vectors, and BM25 over all terms by dictionaries."""

    def __init__(self, tenant: Tenant) -> None:
        self._ids = tenant.ids
        self._stored = tenant.vectors.astype(np.float16).astype(np.float32)
        self._postings: dict[str, list[int]] = defaultdict(list)
        lengths = np.zeros(len(tenant.ids))
        for row, text in enumerate(tenant.texts):
            terms = word_terms(text)
            lengths[row] = len(terms)
            for term in set(terms):
                self._postings[term].append(row)
        self._norms = (K1 + 1) / (1 + K1 * (1 - B + B * lengths / lengths.mean()))

    def best(self, arm: str, text: str, vector: Vectors) -> list[str]:
        """Return the ids of the ten best memories; for `hybrid`, by the fused ranks of both arms."""
        match arm:
            case "vector":
                return self._nearest(vector, DEPTH)
            case "words":
                return self._by_words(text, DEPTH)
            case _:
                return _fused(self._nearest(vector, FUSED), self._by_words(text, FUSED))

    def _nearest(self, vector: Vectors, depth: int) -> list[str]:
        order = np.argsort(-(self._stored @ vector), kind="stable")[:depth]
        return [self._ids[row] for row in order.tolist()]

    def _by_words(self, text: str, depth: int) -> list[str]:
        sums: Counter[int] = Counter()
        for term in {term for word in query_words(text) for term in word_terms(word)}:
            held = self._postings.get(term, [])
            weight = math.log1p((len(self._ids) - len(held) + 0.5) / (len(held) + 0.5))
            for row in held:
                sums[row] += weight
        scored = sorted(
            ((total * self._norms[row], self._ids[row]) for row, total in sums.items()), reverse=True
        )
        return [name for _, name in scored[:depth]]


def measure(dsn: str, world: World, tenant: Tenant, queries: int) -> list[Measured]:
    """Measure both arms, and their fusion, for one tenant over one connection."""
    store = open_postgres_store(dsn, tenant.name, clock=SystemClock(), max_size=1)
    backend = store.database.reading(
        lambda transaction: transaction.number(
            "SELECT pg_backend_pid() FROM tenants WHERE tenant = %(tenant)s"
        )
    )
    asked = [world.query(tenant) for _ in range(queries)]
    exactly = Exact(tenant)
    results: list[Measured] = []
    for arm in ("vector", "words", "hybrid"):
        found: list[list[str]] = []
        walls: list[float] = []
        for text, vector in asked[:5]:
            _search(store, arm, text, vector)
        before = used_s(backend)
        for text, vector in asked:
            began = time.perf_counter()
            found.append(_search(store, arm, text, vector))
            walls.append((time.perf_counter() - began) * 1000)
        worked_ms = (used_s(backend) - before) / queries * 1000
        recalls = [
            len({*exact} & {*hits}) / len(exact)
            for hits, (text, vector) in zip(found, asked, strict=True)
            if (exact := exactly.best(arm, text, vector))
        ]
        results.append(
            Measured(
                tenant=tenant.name,
                rows=len(tenant.ids),
                arm=arm,
                recall=statistics.fmean(recalls),
                backend_ms=worked_ms,
                wall_ms=statistics.median(walls),
            )
        )
    store.close()
    return results


def _fused(*arms: Sequence[str]) -> list[str]:
    """Return the ten best ids by reciprocal ranks, fused as the search of the server does."""
    rankings = [
        Ranking(space=str(place), hits=tuple(Hit(name, -rank) for rank, name in enumerate(arm)))
        for place, arm in enumerate(arms)
    ]
    return [name for name, _ in rrf_equal(rankings, {})[:DEPTH]]


def _search(store: PostgresStore, arm: str, text: str, vector: Vectors) -> list[str]:
    depth = FUSED if arm == "hybrid" else DEPTH
    meanings: list[str] = []
    words: list[str] = []
    with store.at_once():
        if arm != "words":
            found = store.search.semantic(vector, identity=EMBEDDER, scope=SEEN, limit=depth)
            meanings = [hit.memory_id for hit in found.hits]
        if arm != "vector":
            words = [hit.memory_id for hit in store.search.lexical(text, scope=SEEN, limit=depth).hits]
    return _fused(meanings, words) if arm == "hybrid" else [*meanings, *words]


def _client(
    dsn: str, tenants: Sequence[str], queries: Sequence[tuple[str, Vectors]], seconds: float, results: object
) -> None:
    connections = Connections(dsn, min_size=1, max_size=1)
    stores = [PostgresStore(connections, name, clock=SystemClock()) for name in tenants]
    for place, (text, vector) in enumerate(queries[: len(stores)]):
        _search(stores[place % len(stores)], "hybrid", text, vector)
    walls: list[float] = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        text, vector = queries[len(walls) % len(queries)]
        _search(stores[len(walls) % len(stores)], "hybrid", text, vector)
        walls.append((time.perf_counter() - began) * 1000)
    results.put(walls)  # type: ignore[attr-defined]
    connections.close()


def load(
    dsn: str, world: World, tenants: Sequence[Tenant], *, clients: int, seconds: float
) -> dict[str, float]:
    """Let `clients` processes send queries for `seconds`. Return the queries per second, and the median and 99th percentile of their times in milliseconds."""
    processes = multiprocessing.get_context("spawn")
    results = processes.Queue()
    started = []
    for number in range(clients):
        some = [tenants[(number + step * clients) % len(tenants)] for step in range(min(4, len(tenants)))]
        asked = [world.query(tenant) for tenant in some for _ in range(20)]
        asked = [asked[place] for step in range(20) for place in range(step, len(asked), 20)]
        arguments = (dsn, [tenant.name for tenant in some], asked, seconds, results)
        started.append(processes.Process(target=_client, args=arguments))
    for process in started:
        process.start()
    walls = sorted(wall for _ in started for wall in results.get(timeout=seconds + _START_S))
    for process in started:
        process.join()
    return {
        "queries per second": len(walls) / seconds,
        "p50 ms": walls[len(walls) // 2],
        "p99 ms": walls[int(len(walls) * 0.99)],
    }


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Run all measurements on the server in `folder`. Return the results by name."""
    superuser, owner, application = (
        f"host={folder} dbname=postgres user={user}" for user in ("postgres", "tacit_owner", "tacit_app")
    )
    create_roles(superuser)
    migrate(owner)
    world = World(seed=1)
    tenants = make_tenants(world, tenants=arguments.tenants, rows=arguments.rows)
    total = sum(len(tenant.ids) for tenant in tenants)
    small = next((tenant for tenant in tenants if len(tenant.ids) <= SMALL), tenants[-1])
    began = time.perf_counter()
    first = arguments.first or len(tenants)
    fill(application, tenants[:first])
    seconds = time.perf_counter() - began
    alone: list[Measured] = []
    if tenants[first:]:
        _settle(superuser)
        alone = measure(application, world, small, arguments.queries)
        began = time.perf_counter()
        fill(application, tenants[first:])
        seconds += time.perf_counter() - began
    written = total / seconds
    size = _settle(superuser)
    middle = min(
        tenants,
        key=lambda tenant: abs(len(tenant.ids) - math.sqrt(len(tenants[0].ids) * len(tenants[-1].ids))),
    )
    chosen = sorted((tenants[-1], middle, small, tenants[0]), key=lambda tenant: len(tenant.ids))
    measured = [
        row
        for tenant in dict.fromkeys(one.name for one in chosen)
        for row in measure(
            application, world, next(one for one in tenants if one.name == tenant), arguments.queries
        )
    ]
    return {
        "rows": total,
        "rows written per second": written,
        "bytes per row": size / total,
        "searches": [asdict(row) for row in measured],
        "with fewer tenants": [asdict(row) for row in alone],
        "load": load(
            application, world, tenants[1:] or tenants, clients=arguments.clients, seconds=arguments.seconds
        ),
    }


def _settle(superuser: str) -> int:
    """Vacuum and analyze the database. Return its size in bytes."""
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
        size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert size is not None
    return int(size[0])


def show(report: dict[str, object]) -> None:
    """Print the results."""
    console = Console()
    table = Table("tenant", "rows", "arm", "recall@10", "backend ms", "wall ms (p50)")
    fewer = [
        {**row, "tenant": f"{row['tenant']}, the first tenants alone"} for row in report["with fewer tenants"]
    ]  # type: ignore[attr-defined]
    for row in [*fewer, *report["searches"]]:  # type: ignore[misc]
        table.add_row(
            row["tenant"], f"{row['rows']:,}", row["arm"], f"{row['recall']:.3f}", f"{row['backend_ms']:.2f}",
            f"{row['wall_ms']:.2f}",
        )  # fmt: skip
    console.print(table)
    for name, value in {**report, **report["load"]}.items():  # type: ignore[dict-item]
        if isinstance(value, int | float):
            console.print(f"{name}: {value:,.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tenants", type=int, default=50)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--buffers", default="512MB")
    parser.add_argument(
        "--first",
        type=int,
        default=0,
        help="number of tenants to store before one is measured; the others are stored afterwards",
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tacit-bench-"))
    process = start_process(folder, shared_buffers=arguments.buffers, maintenance_work_mem="512MB")
    try:
        wait_until_ready(process, folder)
        report = run(arguments, folder)
    finally:
        end_process(process)
        shutil.rmtree(folder, ignore_errors=True)
    show(report)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1))
