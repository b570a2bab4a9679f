"""The daemon's resident memory right after many statements were stored, one request each; what storing one costs.

Run: `python -m tacit_evals.filling [--statements 10000] [--embedder minilm|fake] [--python INTERPRETER] [--json FILE]`; exit code 1
above 180 MB. Without `--python` a plain install is made, as `tacit eval latency` does: tiktoken alone takes 60 MB.

What storing costs is measured with 1,000 statements stored, or all but the last tenth of fewer: processor time of the daemon for the
next 300 statements, over that of embedding these same statements alone in a process of their own, each right after it was stored.

The statements are those of the stores that latency is measured with, said by the user. A restart would give memory back, so
nothing is restarted between the last statement and the measurement.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tacit.model.scope import project_scope
from tacit.safety.authority import Authority
from tacit_evals.daemon_under_test import DaemonUnderTest, EmbedAlone, post, worked_ms
from tacit_evals.latency import plain_python, working_folder
from tacit_evals.timing import Row, print_rows, write_json
from tacit_evals.workload import Generator

MOST_MB = 180.0
MOST_RATIO = 2.0
STORED = 1000
MEASURED = 300
PROJECT = "made-up-0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Resident memory in MB (2**20 bytes): with the model loaded, after the first tenth of the statements, after all of them.

    `ratio` = processor time of storing a statement over that of embedding it, with `STORED` statements stored; 0 = not measured.
    """

    statements: int
    warm_mb: float
    tenth_mb: float
    filled_mb: float
    peak_mb: float
    statement_ms: float
    ratio: float = 0.0

    @property
    def growth_kb(self) -> float:
        """Growth per statement after the first tenth, when everything is loaded that storing needs."""
        return (self.filled_mb - self.tenth_mb) * 1024 / max(1, self.statements - self.statements // 10)


def fill(
    daemon: DaemonUnderTest, project: Path, *, statements: int, alone: EmbedAlone | None = None
) -> Sizes:
    """Store `statements` made-up statements of `project` through a running daemon; `alone` embeds some of them beside it.

    Raises:
        OSError: it refuses one.
    """
    daemon.wait_warm()
    token = Authority(daemon.home).create("filling")
    maker, scope = Generator(seed=1), project_scope(PROJECT)
    worked, warm_mb = worked_ms(daemon.pid), daemon.resident_mb()[0]
    tenth_mb = warm_mb
    first = min(STORED, statements * 9 // 10)
    stored_ms = embedded_ms = before_ms = 0.0
    for number in range(statements):
        measured = alone is not None and first <= number < first + MEASURED
        if measured:
            before_ms = worked_ms(daemon.pid)
        memory = maker.memory(number, scope)
        said = {"content": memory.content, "kind": memory.kind, "cwd": str(project)}
        reply = post(daemon.home.socket, "/v1/remember", json.dumps(said).encode(), token=token)
        if reply.status not in (200, 201):
            raise OSError(f"the daemon stored nothing: {reply.status} {reply.body[:300]!r}")
        if measured and alone is not None:
            stored_ms += worked_ms(daemon.pid) - before_ms
            before_ms = worked_ms(alone.pid)
            alone.took_ms(memory.content)
            embedded_ms += worked_ms(alone.pid) - before_ms
        if number + 1 == statements // 10:
            tenth_mb = daemon.resident_mb()[0]
    filled_mb, peak_mb = daemon.resident_mb()
    return Sizes(
        statements=statements, warm_mb=warm_mb, tenth_mb=tenth_mb, filled_mb=filled_mb, peak_mb=peak_mb,
        statement_ms=(worked_ms(daemon.pid) - worked) / max(1, statements),
        ratio=stored_ms / embedded_ms if embedded_ms else 0.0,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="tacit_evals.filling", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--statements", type=int, default=10_000)
    parser.add_argument("--embedder", choices=("fake", "minilm"), default="minilm")
    parser.add_argument(
        "--python", type=Path, help="interpreter that has tacit; default: a plain install made now"
    )
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    given = parser.parse_args(arguments)
    with working_folder(None) as work:
        python = given.python or plain_python(work)
        project = work / "project"
        project.mkdir()
        settings = {**os.environ, "TACIT_EMBEDDER__PROVIDER": given.embedder}
        with DaemonUnderTest(python, work / "home", environment=settings) as daemon:
            if given.embedder == "minilm":
                with EmbedAlone(python) as alone:
                    found = fill(daemon, project, statements=given.statements, alone=alone)
            else:
                found = fill(daemon, project, statements=given.statements)
    rows = [
        Row(name="resident memory, model loaded", value=found.warm_mb, unit="MB"),
        Row(name="after the first tenth", value=found.tenth_mb, unit="MB"),
        Row(name="right after the last statement", value=found.filled_mb, unit="MB", target=MOST_MB, note=f"peak {found.peak_mb:.0f} MB"),
        Row(name="growth per statement", value=found.growth_kb, unit="KB", note="after the first tenth"),
        Row(name="processor time per statement", value=found.statement_ms, unit="ms"),
    ]  # fmt: skip
    if found.ratio:
        note = "times its embedding alone"
        rows.append(
            Row(name="storing one statement", value=found.ratio, unit="x", target=MOST_RATIO, note=note)
        )
    print_rows(rows, title=f"{found.statements} statements, {given.embedder} embedder", console=Console())
    if given.json:
        write_json(given.json, rows)
    raise SystemExit(0 if found.filled_mb <= MOST_MB else 1)


if __name__ == "__main__":
    main()
