"""How long an import of many statements takes, beside embedding them; and whether a second run adds anything.

Run: `python -m tacit_evals.importing [--statements 10000] [--embedder fake|minilm] [--waiting] [--hooks] [--json FILE]`; exit
code 1 below 500 statements a second after embedding, or when the second run adds anything.

Made-up statements stand in an export of Tacit, which goes through `tacit import`'s own path into a fresh home: with `--mine`
(every version is taken as it is), and with `--waiting` as somebody else's (every statement is compared with the others and waits for
the user). Times are processor times of this process, so that a busy machine changes them little. With `--hooks` a daemon on the same
home answers a prompt several times a second meanwhile, and what its answers take is told.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tacit.app.transfer.records import History, head_line, write_line
from tacit.app.transfer.report import ImportOptions
from tacit.app.wiring import open_engine
from tacit.config.environment import one_thread_for_arrays
from tacit.config.settings import EmbedderSettings
from tacit.model.changes import NEW
from tacit.model.scope import project_scope
from tacit.ports.models import Embedder, EmbedderIdentity, TokenEmbedder, Vectors
from tacit.ports.store import ProjectRecord, Recorded
from tacit.providers.embedding import make_embedder
from tacit_evals.daemon_under_test import DaemonUnderTest
from tacit_evals.data.workload import PROMPTS, Generator
from tacit_evals.timing import Row, print_rows, write_json

LEAST_PER_SECOND = 500.0
PROJECT = "made-up-0123456789"
PAUSE_S = 0.2


class TimedEmbedder:
    """An embedder that counts the processor time of its vectors."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.spent_s = 0.0

    @property
    def identity(self) -> EmbedderIdentity:
        """That of the inner embedder."""
        return self._inner.identity

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As the inner embedder."""
        began = time.thread_time()
        try:
            return self._inner.embed(texts)
        finally:
            self.spent_s += time.thread_time() - began

    def token_matches(self, text: str, others: Sequence[str]) -> Vectors:
        """As the inner embedder."""
        return self._tokens().token_matches(text, others)

    def _tokens(self) -> TokenEmbedder:
        inner: object = self._inner
        while not isinstance(inner, TokenEmbedder):
            inner = getattr(inner, "inner")  # noqa: B009 - of any wrapper
        return inner


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One import. `after_embedding_s` and `embedding_s` are processor time, `wall_s` is what the clock says.

    `hooks_ms` is what a daemon's answers to prompts took meanwhile.
    """

    statements: int
    added: int
    added_again: int
    after_embedding_s: float
    embedding_s: float
    wall_s: float
    peak_mb: float
    hooks_ms: tuple[float, ...] = ()

    @property
    def per_second(self) -> float:
        """Statements a second of processor time after embedding."""
        return self.statements / max(self.after_embedding_s, 1e-9)

    @property
    def sound(self) -> bool:
        """Whether it was quick enough, and the second run added nothing."""
        return self.added > 0 and not self.added_again and self.per_second >= LEAST_PER_SECOND


def write_statements(target: Path, count: int, *, seed: int = 1) -> None:
    """An export of `count` made-up statements."""
    maker, scope = Generator(seed=seed), project_scope(PROJECT)
    with target.open("wb") as file:
        file.write(head_line(count, at_ms=1_780_000_000_000) + b"\n")
        file.write(write_line(ProjectRecord(id=PROJECT, name="made-up", root="")) + b"\n")
        for number in range(count):
            memory = maker.memory(number, scope)
            version = Recorded(memory=memory, before=None, at_ms=memory.created_at_ms, reason=NEW)
            file.write(write_line(History(versions=(version,))) + b"\n")


def ask_prompts(home: Path, project: Path, embedder: str, ready: Path, stop: Path) -> tuple[float, ...]:
    """Start a daemon on `home`, create `ready`, and send a prompt five times a second until `stop` exists; ms of each answer."""
    settings = {**os.environ, "TACIT_EMBEDDER__PROVIDER": embedder}
    times: list[float] = []
    with DaemonUnderTest(Path(sys.executable), home, environment=settings) as daemon:
        daemon.wait_warm()
        ready.touch()
        while not stop.exists():
            event = {
                "hook_event_name": "UserPromptSubmit",
                "session_id": f"asks-{len(times) // 20}",
                "cwd": str(project),
                "prompt": PROMPTS[len(times) % len(PROMPTS)],
            }
            times.append(daemon.hook(event).took_ms)
            time.sleep(PAUSE_S)
    return tuple(times)


def measure(root: Path, *, statements: int, embedder: str, waiting: bool, hooks: bool = False) -> Outcome:
    """Import `statements` made-up statements into a home below `root`, twice."""
    source = root / "statements.jsonl"
    write_statements(source, statements)
    project = root / "project"
    project.mkdir()
    timed = TimedEmbedder(make_embedder(EmbedderSettings(provider=embedder)))  # pyright: ignore[reportArgumentType]
    timed.embed(["loads the model"])
    timed.spent_s = 0.0
    options = ImportOptions(vouched=not waiting, any_project=True)
    engine = open_engine(root / "home", embedder=timed)
    ready, stop = root / "ready", root / "stop"
    asking = ProcessPoolExecutor(1) if hooks else None
    future = asking and asking.submit(ask_prompts, root / "home", project, embedder, ready, stop)
    try:
        while future and not (ready.exists() or future.done()):
            time.sleep(0.01)
        clock, work = time.perf_counter(), time.process_time()
        first = engine.transfer.take(source, cwd=str(project), wanted=options)
        wall_s, work_s, embedding_s = time.perf_counter() - clock, time.process_time() - work, timed.spent_s
        stop.touch()
        hooks_ms = future.result() if future else ()
        again = engine.transfer.take(source, cwd=str(project), wanted=options)
    finally:
        stop.touch()
        if asking:
            asking.shutdown()
        engine.close()
    return Outcome(
        statements=statements,
        added=dict(first.counts).get("add", 0),
        added_again=dict(again.counts).get("add", 0),
        after_embedding_s=work_s - embedding_s,
        embedding_s=embedding_s,
        wall_s=wall_s,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        hooks_ms=hooks_ms,
    )


def main() -> None:
    """Measure and print."""
    one_thread_for_arrays()
    parser = argparse.ArgumentParser(
        prog="tacit_evals.importing", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--statements", type=int, default=10_000)
    parser.add_argument("--embedder", choices=("fake", "minilm"), default="minilm")
    parser.add_argument(
        "--waiting", action="store_true", help="as somebody else's statements, which wait for the user"
    )
    parser.add_argument("--hooks", action="store_true", help="let a daemon answer prompts meanwhile")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ti-", dir="/tmp") as folder:
        outcome = measure(
            Path(folder),
            statements=options.statements,
            embedder=options.embedder,
            waiting=options.waiting,
            hooks=options.hooks,
        )
    rows = [
        Row(
            name="statements",
            value=outcome.statements,
            unit="",
            note=f"{outcome.added} added, {outcome.added_again} by the second run",
        ),
        Row(name="processor time after embedding", value=outcome.after_embedding_s, unit="s"),
        Row(
            name="statements a second after embedding",
            value=outcome.per_second,
            unit="",
            note=f"target {LEAST_PER_SECOND:.0f} or more",
        ),
        Row(name="processor time of embedding", value=outcome.embedding_s, unit="s"),
        Row(name="wall clock", value=outcome.wall_s, unit="s"),
        Row(name="peak memory", value=outcome.peak_mb, unit="MB"),
    ]
    if len(outcome.hooks_ms) > 1:
        p95 = statistics.quantiles(outcome.hooks_ms, n=20)[-1]
        note = f"95th percentile {p95:.0f} ms, {len(outcome.hooks_ms)} prompts"
        rows.append(
            Row(
                name="answer to a prompt meanwhile",
                value=statistics.median(outcome.hooks_ms),
                unit="ms",
                note=note,
            )
        )
    print_rows(rows, title=f"Import, {options.embedder} embedder", console=Console())
    if options.json:
        write_json(options.json, rows)
    raise SystemExit(0 if outcome.sound else 1)


if __name__ == "__main__":
    main()
