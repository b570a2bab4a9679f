"""The daemon's resident memory right after many statements were stored, one request each; what storing one costs.

Run: `python -m tacit_evals.filling [--statements 10000] [--embedder minilm|fake] [--python INTERPRETER] [--json FILE]`; exit code 1
above 180 MB. Without `--python` a plain install is made, as `tacit eval latency` does.

What storing costs is measured in this process, with 1,000 statements stored: processor time of the engine for the next 300, each
said by itself, over that of embedding these same statements alone, each right after it was stored. The daemon's own figure has the
request on top of that.

The statements are those of the stores that latency is measured with, said by the user. A restart would give memory back, so
nothing is restarted between the last statement and the measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tacit.app.wiring import open_engine
from tacit.config.environment import one_thread_for_arrays
from tacit.config.settings import EmbedderSettings
from tacit.model.scope import project_scope
from tacit.providers.embedding import make_embedder
from tacit.safety.authority import Authority
from tacit_evals.daemon_under_test import DaemonUnderTest, post, worked_ms
from tacit_evals.data.workload import Generator
from tacit_evals.latency import plain_python, working_folder
from tacit_evals.timing import Row, print_rows, write_json

MOST_MB = 180.0
MOST_RATIO = 2.0
STORED, MEASURED = 1000, 300
PROJECT = "made-up-0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Resident memory in MB (2**20 bytes): with the model loaded, after the first tenth of the statements, after all of them."""

    statements: int
    warm_mb: float
    tenth_mb: float
    filled_mb: float
    peak_mb: float
    statement_ms: float

    @property
    def growth_kb(self) -> float:
        """Growth per statement after the first tenth, when everything is loaded that storing needs."""
        return (self.filled_mb - self.tenth_mb) * 1024 / max(1, self.statements - self.statements // 10)


def fill(daemon: DaemonUnderTest, project: Path, *, statements: int) -> Sizes:
    """Store `statements` made-up statements of `project` through a running daemon.

    Raises:
        OSError: it refuses one.
    """
    daemon.wait_warm()
    token = Authority(daemon.home).create("filling")
    maker, scope = Generator(seed=1), project_scope(PROJECT)
    worked, warm_mb = worked_ms(daemon.pid), daemon.resident_mb()[0]
    tenth_mb = warm_mb
    for number in range(statements):
        memory = maker.memory(number, scope)
        body = {"content": memory.content, "kind": memory.kind, "cwd": str(project)}
        reply = post(daemon.home, "/v1/remember", json.dumps(body).encode(), token=token)
        if reply.status not in (200, 201):
            raise OSError(f"the daemon stored nothing: {reply.status} {reply.body[:300]!r}")
        if number + 1 == statements // 10:
            tenth_mb = daemon.resident_mb()[0]
    filled_mb, peak_mb = daemon.resident_mb()
    return Sizes(
        statements=statements,
        warm_mb=warm_mb,
        tenth_mb=tenth_mb,
        filled_mb=filled_mb,
        peak_mb=peak_mb,
        statement_ms=(worked_ms(daemon.pid) - worked) / max(1, statements),
    )


def storing_cost(root: Path, *, stored: int = STORED, measured: int = MEASURED) -> tuple[float, float]:
    """Processor time in ms of storing one statement, and of embedding it, with `stored` statements in a new home below `root`."""
    project = root / "said"
    project.mkdir()
    maker, scope = Generator(seed=1), project_scope(PROJECT)
    plain = make_embedder(EmbedderSettings(), cache_entries=0)
    stored_s = embedded_s = 0.0
    with closing(open_engine(root / "engine")) as engine:
        for number in range(stored + measured):
            memory = maker.memory(number, scope)
            began = time.process_time()
            engine.remember(memory.content, kind=memory.kind, cwd=str(project))
            between = time.process_time()
            if number >= stored:
                plain.embed([memory.content])
                embedded_s += time.process_time() - between
                stored_s += between - began
    return stored_s / measured * 1000, embedded_s / measured * 1000


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    one_thread_for_arrays()
    parser = argparse.ArgumentParser(prog="tacit_evals.filling", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--statements", type=int, default=10_000)
    parser.add_argument("--embedder", choices=("fake", "minilm"), default="minilm")
    parser.add_argument(
        "--python", type=Path, help="interpreter that has tacit; default: a plain install made now"
    )
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args(arguments)
    with working_folder(None) as work:
        python = options.python or plain_python(work)
        project = work / "project"
        project.mkdir()
        settings = {**os.environ, "TACIT_EMBEDDER__PROVIDER": options.embedder}
        with DaemonUnderTest(python, work / "home", environment=settings) as daemon:
            sizes = fill(daemon, project, statements=options.statements)
        cost = storing_cost(work) if options.embedder == "minilm" else None
    rows = [
        Row(name="resident memory, model loaded", value=sizes.warm_mb, unit="MB"),
        Row(name="after the first tenth", value=sizes.tenth_mb, unit="MB"),
        Row(
            name="right after the last statement",
            value=sizes.filled_mb,
            unit="MB",
            target=MOST_MB,
            note=f"peak {sizes.peak_mb:.0f} MB",
        ),
        Row(name="growth per statement", value=sizes.growth_kb, unit="KB", note="after the first tenth"),
        Row(name="processor time per request", value=sizes.statement_ms, unit="ms"),
    ]
    if cost:
        note = f"times its embedding alone: {cost[0]:.1f} and {cost[1]:.1f} ms"
        rows.append(
            Row(name="storing one statement", value=cost[0] / cost[1], unit="x", target=MOST_RATIO, note=note)
        )
    print_rows(rows, title=f"{sizes.statements} statements, {options.embedder} embedder", console=Console())
    if options.json:
        write_json(options.json, rows)
    raise SystemExit(0 if sizes.filled_mb <= MOST_MB else 1)


if __name__ == "__main__":
    main()
