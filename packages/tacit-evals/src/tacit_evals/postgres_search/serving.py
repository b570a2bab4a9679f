"""Measures how fast the server answers searches of agents: eight clients with one process of `tacit-server`, and with four.

Run: `python -m tacit_evals.postgres_search.serving [--memories 5000] [--clients 8] [--seconds 8]`. It starts PostgreSQL, creates an organization that shares
`--memories` statements, and sends `POST /team/v1/search` over loopback with the tokens of service accounts. The server makes the vectors of the questions
with the shipped model. Out: questions per second, and the median and 99th percentile of their times, for each number of processes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Generator
from pathlib import Path

import httpx2 as httpx
import numpy as np

from tacit.config.settings import EmbedderSettings
from tacit.model.changes import Add
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import UNIVERSAL
from tacit.providers.clock import SystemClock
from tacit.providers.embedding import make_embedder
from tacit_evals.postgres_search.embedded import end_process, start_process, wait_until_ready
from tacit_evals.postgres_search.measuring import World, nothing
from tacit_evals.postgres_search.server_process import kill, start_server
from tacit_evals.timing import Row, print_rows
from tacit_server.logs import Principal
from tacit_server.main import DATABASE
from tacit_server.postgres.connection import SERVER, Connections
from tacit_server.postgres.memories import TeamMemories
from tacit_server.postgres.roles import create_roles
from tacit_server.postgres.schema import migrate
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.teams import open_teams
from tacit_server.teams.access import team_tenant

BATCH = 500
QUESTIONS = (
    "how are commits named",
    "which database holds the orders",
    "what runs before a release",
    "who reviews changes of the exporter",
    "where are the settings of the linter",
)


def fill(dsn: str, memories: int, *, clients: int) -> list[str]:
    """Create an organization that shares `memories` statements. Return the tokens of service accounts that may read them, one for each client."""
    connections = Connections(dsn, min_size=1, max_size=2)
    teams = open_teams(connections, PostgresLogs(connections))
    now_ms = int(time.time() * 1000)
    admin = Principal(account="ana", device="")
    teams.members.add_organization("acme", admin="ana", name="Ana", now_ms=now_ms)
    tokens = [
        teams.members.put_service(admin, "acme", f"ci-{number}", role="reader", days=1, now_ms=now_ms).token
        for number in range(clients)
    ]
    store = TeamMemories(connections, team_tenant("acme"), clock=SystemClock(), principal=SERVER)
    world = World(seed=1)
    texts, vectors = world.texts(memories), world.vectors(memories)
    identity = make_embedder(EmbedderSettings()).identity
    for start in range(0, memories, BATCH):
        part = slice(start, start + BATCH)
        added_now = [Add(memory=_memory(number, text)) for number, text in enumerate(texts[part], start)]
        store.apply(added_now, vectors=np.ascontiguousarray(vectors[part]), identity=identity, beside=nothing)
    connections.close()
    return tokens


def _memory(number: int, text: str) -> Memory:
    return Memory(
        id=f"mem_{number:016}",
        kind="fact",
        content=text,
        scope=UNIVERSAL,
        provenance=Provenance(tier=TrustTier.TEAMMATE, source="ana", author="Ana"),
        validity=Validity(valid_from_ms=0),
        created_at_ms=1,
        updated_at_ms=1,
    )


@contextlib.contextmanager
def servers(dsn: str, count: int, *, log: Path) -> Generator[list[str]]:
    """Run `count` processes of `tacit-server` on one database inside the `with` block; yield their URLs."""
    with contextlib.ExitStack() as started:
        urls: list[str] = []
        for _ in range(count):
            process, url = start_server({**os.environ, DATABASE: dsn}, log=log)
            started.callback(kill, process)
            urls.append(url)
        yield urls


def ask(urls: list[str], tokens: list[str], *, seconds: float) -> list[float]:
    """Let one client for each token ask questions for `seconds`. Return the time of every question in milliseconds."""
    times: list[float] = []
    lock = threading.Lock()
    until = time.monotonic() + seconds

    def client(number: int) -> None:
        own: list[float] = []
        headers = {"Authorization": f"Bearer {tokens[number]}"}
        with httpx.Client(base_url=urls[number % len(urls)], headers=headers, timeout=60) as http:
            while time.monotonic() < until:
                question = f"{QUESTIONS[len(own) % len(QUESTIONS)]} {len(own)} {number}"
                began = time.perf_counter()
                answer = http.post("/team/v1/search", json={"query": question, "limit": 10})
                answer.raise_for_status()
                own.append((time.perf_counter() - began) * 1000)
        with lock:
            times.extend(own)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(len(tokens))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="tacit_evals.postgres_search.serving", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--memories", type=int, default=5_000)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tacit-team-search-"))
    process = start_process(folder, shared_buffers="256MB")
    rows: list[Row] = []
    try:
        wait_until_ready(process, folder)
        create_roles(f"host={folder} user=postgres dbname=postgres")
        migrate(f"host={folder} user=tacit_owner dbname=postgres")
        dsn = f"host={folder} user=tacit_app dbname=postgres"
        tokens = fill(dsn, options.memories, clients=options.clients)
        for count in (1, 4):
            with servers(dsn, count, log=folder / "server.log") as urls:
                ask(urls, tokens[: len(urls)], seconds=2.0)  # loads the models
                times = ask(urls, tokens, seconds=options.seconds)
            name = f"{count} process{'es' if count > 1 else ''}, {options.clients} clients"
            rows += [
                Row(name=f"{name}: questions a second", value=len(times) / options.seconds, unit=""),
                Row(name=f"{name}: median", value=statistics.median(times), unit="ms"),
                Row(name=f"{name}: p99", value=float(np.percentile(times, 99)), unit="ms"),
            ]
    finally:
        end_process(process)
        shutil.rmtree(folder, ignore_errors=True)
    print_rows(rows, title=f"Searches on the server among {options.memories} memories")


if __name__ == "__main__":
    main()
