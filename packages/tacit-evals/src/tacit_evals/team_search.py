"""Measures how fast and how well the server searches the memories of teams: processor time of the server, queries per second, and what words find.

Run: `python -m tacit_evals.team_search --tenants 50 --rows 50000`, with `[--queries 200] [--seconds 8] [--clients 8] [--buffers 512MB] [--json FILE]`; or
`--tenants 20 --rows 2000 --large 147000`: twenty teams of 2,000 memories each, and one of 147,000.

It starts a PostgreSQL server, fills it as the server does, and ends it. Without `--large`, `--rows` memories are shared out among the teams by Zipf's law. A vector is a mixture of three of 400 random
directions and noise. A statement has 18 words of a vocabulary of 20,000, whose frequencies follow Zipf's law. A query is a statement of the team with eight of
its words and a changed vector. Processor time is that of the backend process, read from /proc. For the queries per second, every client is a process; its
queries are those of any team except the largest. What words find is measured with the 106 searches of `packages/tacit-evals/searches` among 324 statements: the share of
searches whose statement is the first hit, among the first five, and among the first ten. Recall is the share of the ten nearest memories, by an exact
comparison in this process, that are among the first ten hits by meaning.
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
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psycopg
from rich.console import Console
from rich.table import Table

from tacit.model.changes import Add
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import project_scope
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.providers.clock import SystemClock
from tacit_evals.server_process import used_s
from tacit_server.postgres.connection import Connections
from tacit_server.postgres.memories import FoundHits, QueryVector, TeamMemories
from tacit_server.postgres.roles import create_roles
from tacit_server.postgres.schema import migrate
from tacit_server.postgres.transaction import Transaction
from tacit_server.postgres_process import end_process, start_process, wait_until_ready

EMBEDDER = EmbedderIdentity(name="bench@1", dimensions=384)
SCOPE = project_scope("bench")
DIRECTIONS, VOCABULARY, WORDS_EACH, WORDS_ASKED = 400, 20_000, 18, 8
BATCH, HITS = 500, 50
"""Memories in one transaction, and hits of each kind in one answer."""
NEAREST = 10
COMPARED = 4_000_000
"""Most memories that the queries of one measurement compare in all: fewer queries go to a very large team."""
SEARCHES = Path(__file__).parents[2] / "searches"
FILLERS = 2
"""Number of processes that fill the database."""
_START_S = 60.0
"""A client has failed if it does not answer this long after its time, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A team with everything that is stored for it."""

    name: str
    ids: list[str]
    texts: list[str]
    vectors: Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamResult:
    """The result for teams of one size: processor time of the backend and median wall time of a query, in milliseconds, and the mean recall."""

    tenants: str
    rows: int
    backend_ms: float
    wall_ms: float
    recall: float


def nothing(_transaction: Transaction) -> None:
    """Do nothing in the transaction."""


class RandomTeam:
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
        parts = [self._some_vectors(min(10_000, count - start)) for start in range(0, count, 10_000)]
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def _some_vectors(self, count: int) -> Vectors:
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


def make_tenants(world: RandomTeam, *, tenants: int, rows: int, large: int = 0) -> list[Tenant]:
    """Return the tenants to store, the largest first: with `large` one of that size, then `tenants` of `rows`; else `tenants` that share `rows`."""
    shares = 1 / np.arange(1, tenants + 1)
    sizes = np.maximum((rows * shares / shares.sum()).astype(int), 50)
    if large:
        sizes = np.array([large, *[rows] * tenants])
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
    stores = {tenant.name: opened(connections, tenant.name) for tenant in made}
    for start in range(0, max(len(tenant.ids) for tenant in made), BATCH):
        for tenant in made:
            if start < len(tenant.ids):
                _store(stores[tenant.name], tenant, start)
    connections.close()


def opened(connections: Connections, name: str) -> TeamMemories:
    """Return the memories of a tenant, which is added if it does not exist. It is no team, so no principal is needed."""
    return TeamMemories(connections, name, clock=SystemClock(), principal="")


def _store(store: TeamMemories, tenant: Tenant, start: int) -> None:
    part = slice(start, start + BATCH)
    added = [
        Add(memory=memory_of(name, text))
        for name, text in zip(tenant.ids[part], tenant.texts[part], strict=True)
    ]
    store.apply(added, vectors=tenant.vectors[part], identity=EMBEDDER, beside=nothing)


def measure(dsn: str, world: RandomTeam, tenants: Sequence[Tenant], queries: int) -> TeamResult:
    """Measure searches of teams of one size, one after the other."""
    rows = len(tenants[0].ids)
    each = max(1, min(queries, COMPARED // rows) // len(tenants))
    results = [_measure_one(dsn, world, tenant, each) for tenant in tenants]
    worked, walls, recalls = zip(*results, strict=True)
    return TeamResult(
        tenants=tenants[0].name if len(tenants) == 1 else f"{len(tenants)} tenants",
        rows=rows,
        backend_ms=statistics.mean(worked),
        wall_ms=statistics.median(wall for some in walls for wall in some),
        recall=statistics.mean(recalls),
    )


def _measure_one(
    dsn: str, world: RandomTeam, tenant: Tenant, queries: int
) -> tuple[float, list[float], float]:
    """Return the processor time of the backend for one of `queries` searches, the wall times of all, both in milliseconds, and their mean recall."""
    connections = Connections(dsn, min_size=1, max_size=1)
    store = opened(connections, tenant.name)
    backend = store.database.reading(
        lambda transaction: transaction.number(
            "SELECT pg_backend_pid() FROM tenants WHERE tenant = %(tenant)s"
        )
    )
    asked = [world.query(tenant) for _ in range(queries)]
    for text, vector in asked[:5]:
        search(store, text, vector)
    walls: list[float] = []
    found: list[set[str]] = []
    before = used_s(backend)
    for text, vector in asked:
        began = time.perf_counter()
        hits = search(store, text, vector)
        walls.append((time.perf_counter() - began) * 1000)
        found.append({hit.memory_id for hit in hits.meaning[:NEAREST]})
    worked_ms = (used_s(backend) - before) / queries * 1000
    connections.close()
    recalls = [
        len(_nearest(tenant, vector) & ids) / NEAREST for (_, vector), ids in zip(asked, found, strict=True)
    ]
    return worked_ms, walls, statistics.mean(recalls)


def _nearest(tenant: Tenant, vector: Vectors) -> set[str]:
    """Return the ids of the memories nearest to `vector`, by comparing all of them."""
    places = np.argsort(-(tenant.vectors @ vector), kind="stable")[:NEAREST]
    return {tenant.ids[place] for place in places}


def search(store: TeamMemories, text: str, vector: Vectors) -> FoundHits:
    """Search by meaning and by words."""
    return store.search(text, QueryVector(vector=vector, identity=EMBEDDER), limit=HITS)


def found_by_words(dsn: str) -> dict[str, float]:
    """Return the shares of the searches of `packages/tacit-evals/searches` whose statement is among the first hits, by the number of hits."""
    memories, searches = (
        [json.loads(line) for line in (SEARCHES / f"{name}.jsonl").read_text().splitlines()]
        for name in ("memories", "searches")
    )
    connections = Connections(dsn, min_size=1, max_size=1)
    store = opened(connections, "searches")
    store.apply([Add(memory=memory_of(row["id"], row["content"])) for row in memories], beside=nothing)
    places: list[int] = []
    for row in searches:
        hits = [hit.memory_id for hit in store.search(row["query"], None, limit=10).words]
        places += [hits.index(row["memory"])] if row["memory"] in hits else []
    connections.close()
    return {
        f"found by words among the first {most}": sum(place < most for place in places) / len(searches)
        for most in (1, 5, 10)
    }


def _client(
    dsn: str, tenants: Sequence[str], queries: Sequence[tuple[str, Vectors]], seconds: float, results: object
) -> None:
    connections = Connections(dsn, min_size=1, max_size=1)
    stores = [opened(connections, name) for name in tenants]
    for place, (text, vector) in enumerate(queries[: len(stores)]):
        search(stores[place % len(stores)], text, vector)
    walls: list[float] = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        text, vector = queries[len(walls) % len(queries)]
        search(stores[len(walls) % len(stores)], text, vector)
        walls.append((time.perf_counter() - began) * 1000)
    results.put(walls)  # type: ignore[attr-defined]
    connections.close()


def load(
    dsn: str, world: RandomTeam, tenants: Sequence[Tenant], *, clients: int, seconds: float
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
    world = RandomTeam(seed=1)
    tenants = make_tenants(world, tenants=arguments.tenants, rows=arguments.rows, large=arguments.large)
    total = sum(len(tenant.ids) for tenant in tenants)
    began = time.perf_counter()
    fill(application, tenants)
    written = total / (time.perf_counter() - began)
    size = _settle(superuser)
    middle = min(
        tenants,
        key=lambda tenant: abs(len(tenant.ids) - math.sqrt(len(tenants[0].ids) * len(tenants[-1].ids))),
    )
    chosen = {tenant.name: [tenant] for tenant in (tenants[-1], middle, tenants[0])}
    if arguments.large:
        chosen = {"small": tenants[1:], "large": tenants[:1]}
    return {
        "rows": total,
        "rows written per second": written,
        "bytes per row": size / total,
        "searches": [
            asdict(measure(application, world, alike, arguments.queries)) for alike in chosen.values()
        ],
        "load": load(
            application, world, tenants[1:] or tenants, clients=arguments.clients, seconds=arguments.seconds
        ),
        "words": found_by_words(application),
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
    table = Table("tenant", "rows", "backend ms", "wall ms (p50)", f"recall@{NEAREST}")
    for row in report["searches"]:  # type: ignore[attr-defined]
        times = (f"{row['backend_ms']:.2f}", f"{row['wall_ms']:.2f}")
        table.add_row(row["tenants"], f"{row['rows']:,}", *times, f"{row['recall']:.3f}")
    console.print(table)
    for name, value in {**report, **report["load"], **report["words"]}.items():  # type: ignore[dict-item]
        if isinstance(value, int | float):
            console.print(f"{name}: {value:,.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tenants", type=int, default=50)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument(
        "--large", type=int, default=0, help="one more team of this size; each other one has --rows"
    )
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--buffers", default="512MB")
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


if __name__ == "__main__":
    main()
