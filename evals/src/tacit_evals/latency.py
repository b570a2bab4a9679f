"""How long an agent waits for its memory: prompts, session starts, the hook process, the daemon's start, its memory.

Run: `python -m tacit_evals.latency [--sizes 10000,100000] [--json FILE] [--work DIR] [--python FILE]`.

A real daemon of a plain install (a wheel of the newest commit in a fresh environment: no tiktoken, so tokens are estimated)
answers over its Unix socket on one core; this process and the yardstick share that core. The yardstick is the same prompts
embedded alone, in a process of its own: ten prompts to the daemon, the same ten to the yardstick, and so on, so that a slow
moment of the machine hits both, and neither is measured with the other's model in the processor's cache, which holds one of
them. Every prompt is new to the daemon, which has the model and the indexes in memory, as in a session at work.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tacit.config.settings import EmbedderSettings
from tacit.providers.embedding import make_embedder
from tacit.session.projects import identify_project
from tacit_evals.daemon_under_test import DaemonUnderTest, EmbedAlone, post
from tacit_evals.plain_install import SOURCE, build_wheel, commit_copy, install_plain
from tacit_evals.timing import Row, median, paired_ratio, percentile, print_rows, ratio, write_json
from tacit_evals.torture_worker import statement
from tacit_evals.workload import PROMPTS, build_store

PROMPT_TARGETS = {10_000: 2.5, 100_000: 3.0}
SEED_LIMITS_MS = "seeds: 50/100/200/2000 ms"
BLOCK = 10
"""Prompts in a row, one session each."""
STARTS = 20
PAIRS = 40
COLD_STARTS = 5
CHANGED_STARTS = 10
_PAUSE_S = 0.2
"""Between two measurements. The daemon writes when nobody has asked for 100 ms; nothing else must meet that work."""

HOOK_YARDSTICK = "import json,socket"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What every measurement needs."""

    python: Path
    work: Path
    console: Console
    run: str
    """Part of every session's name: a store that is used again knows the sessions of the run before."""

    @property
    def project(self) -> Path:
        """The folder that the agent works in."""
        folder = self.work / "project"
        folder.mkdir(exist_ok=True)
        return folder

    def home(self, size: int) -> Path:
        """The home with `size` memories, built once."""
        root = self.work / f"home-{size}"
        if not (root / "built").exists():
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir(parents=True)
            began = time.perf_counter()
            project = identify_project(str(self.project))
            build_store(root, project_id=project.id, size=size, embedder=make_embedder(EmbedderSettings()))
            (root / "built").touch()
            self.console.print(f"built a store of {size:,} memories in {time.perf_counter() - began:.0f} s")
        return root

    def daemon(self, size: int) -> DaemonUnderTest:
        """A daemon on that home."""
        return DaemonUnderTest(self.python, self.home(size))

    def started(self, session: str) -> dict[str, object]:
        """The event of a session that starts in the project."""
        return {
            "hook_event_name": "SessionStart",
            "session_id": f"{self.run}-{session}",
            "cwd": str(self.project),
            "source": "startup",
        }

    def prompted(self, session: str, text: str, number: int) -> dict[str, object]:
        """The event of a prompt in the project."""
        return {
            "hook_event_name": "UserPromptSubmit", "session_id": f"{self.run}-{session}", "cwd": str(self.project),
            "prompt": text, "prompt_id": f"{session}-{number}",
        }  # fmt: skip


def measure_recall(bench: Bench, size: int) -> tuple[list[Row], dict[str, object]]:
    """Prompts and session starts with `size` memories in scope."""
    asked: list[float] = []
    alone: list[float] = []
    starts: list[float] = []
    injected = 0
    with bench.daemon(size) as daemon, EmbedAlone(bench.python) as embed:
        daemon.wait_warm()
        daemon.hook(bench.started("warm"))
        daemon.hook(bench.prompted("warm", "load every index of this project before anything is measured", 0))
        time.sleep(1.0)
        for first in range(0, len(PROMPTS), BLOCK):
            block = PROMPTS[first : first + BLOCK]
            session = f"s{first}"
            daemon.hook(bench.started(session))
            time.sleep(_PAUSE_S)
            for number, prompt in enumerate(block, start=first):
                reply = daemon.hook(bench.prompted(session, prompt, number))
                if reply.status != 200:
                    raise SystemExit(f"the daemon answered {reply.status} to prompt {number}")
                asked.append(reply.took_ms)
                injected += bool(reply.body)
                time.sleep(_PAUSE_S)
            for prompt in block:
                alone.append(embed.took_ms(prompt))
                time.sleep(_PAUSE_S)
        for number in range(STARTS):
            reply = daemon.hook(bench.started(f"start-{number}"))
            starts.append(reply.took_ms)
            if not reply.body:
                raise SystemExit("a session start got nothing")
            time.sleep(_PAUSE_S)
        rss, peak = daemon.resident_mb()
        changed = _starts_after_a_change(bench, daemon)
    unit = median(alone)
    label = f"{size:,} memories"
    rows = [
        Row(name=f"prompt alone embedded, median ({label})", value=unit, unit="ms", note="the yardstick"),
        Row(name=f"prompt recall, median ({label})", value=median(asked), unit="ms", note=SEED_LIMITS_MS),
        Row(name=f"prompt recall, median ratio ({label})", value=ratio(median(asked), unit), unit="x",
            target=PROMPT_TARGETS.get(size), note=f"{injected} of {len(PROMPTS)} prompts got something"),
        Row(name=f"prompt recall, median of pairs ({label})", value=paired_ratio(asked, alone), unit="x"),
        Row(name=f"prompt recall, p95 ratio ({label})", value=ratio(percentile(asked, 0.95), percentile(alone, 0.95)),
            unit="x", note=f"p95 {percentile(asked, 0.95):.1f} ms to {percentile(alone, 0.95):.1f} ms"),
        Row(name=f"session start, median ratio ({label})", value=ratio(median(starts), unit), unit="x", target=2.5,
            note=f"{median(starts):.1f} ms, p95 {percentile(starts, 0.95):.1f} ms; {SEED_LIMITS_MS}"),
        Row(name=f"session start after a change, median ratio ({label})", value=ratio(median(changed), unit), unit="x",
            target=2.5, note=f"{median(changed):.1f} ms; a memory was added before each"),
        Row(name=f"resident memory, model loaded ({label})", value=rss, unit="MB",
            target=180.0 if size == 10_000 else None, note=f"peak {peak:.0f} MB; no tiktoken"),
    ]  # fmt: skip
    return rows, {
        "size": size,
        "asked_ms": asked,
        "alone_ms": alone,
        "starts_ms": starts,
        "changed_ms": changed,
    }


def _starts_after_a_change(bench: Bench, daemon: DaemonUnderTest) -> list[float]:
    """Session starts that each follow a new memory, so that nothing kept from the start before can serve."""
    took: list[float] = []
    chance = random.Random(bench.run)
    for number in range(CHANGED_STARTS):
        said = {"content": statement(chance, bench.run, number), "kind": "fact", "cwd": str(bench.project)}
        reply = post(daemon.home.socket, "/v1/remember", json.dumps(said).encode())
        if reply.status != 201:
            raise SystemExit(f"the daemon stored no new memory: {reply.status} {reply.body[:300]!r}")
        time.sleep(_PAUSE_S)
        took.append(daemon.hook(bench.started(f"changed-{number}")).took_ms)
        time.sleep(_PAUSE_S)
    return took


def measure_hook_process(bench: Bench, size: int) -> list[Row]:
    """The whole hook process, round trip included, beside a process that imports what a hook needs at least."""
    code = "import sys; print(sys._base_executable)"  # what a virtual environment's `python` is a link to
    base = subprocess.run(
        [str(bench.python), "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    hook_file = bench.work / "tacit-hook.py"
    shutil.copyfile(SOURCE / "src" / "tacit_hook.py", hook_file)
    ours: list[float] = []
    theirs: list[float] = []
    with bench.daemon(size) as daemon:
        daemon.wait_warm()
        daemon.hook(bench.started("hook"))
        environment = {**os.environ, "TACIT_HOME": str(daemon.home.root)}
        hook = [base, "-I", "-S", "-E", str(hook_file), "claude-code"]
        yardstick = [base, "-S", "-E", "-c", HOOK_YARDSTICK]
        for number in range(PAIRS):
            event = bench.prompted("hook", PROMPTS[number % len(PROMPTS)], number)
            ours.append(_whole_process(hook, json.dumps(event).encode(), environment))
            time.sleep(_PAUSE_S)
            theirs.append(_whole_process(yardstick, b"", environment))
    note = f"{median(ours):.1f} ms to {median(theirs):.1f} ms, {PAIRS} pairs; {SEED_LIMITS_MS}"
    return [
        Row(name="hook process for a prompt, median ratio", value=ratio(median(ours), median(theirs)), unit="x",
            target=1.7, note=note),
        Row(name="hook process for a prompt, median of pairs", value=paired_ratio(ours, theirs), unit="x"),
    ]  # fmt: skip


def _whole_process(command: Sequence[str], given: bytes, environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, input=given, env=environment, stdout=subprocess.PIPE, check=True)
    return (time.perf_counter() - began) * 1000


def measure_cold_start(bench: Bench, size: int) -> list[Row]:
    """From starting the daemon to the first answer with text in it."""
    took: list[float] = []
    for number in range(COLD_STARTS):
        with bench.daemon(size) as daemon:
            reply = daemon.hook(bench.started(f"cold-{number}"))
            took.append(time.perf_counter() - daemon.started_s)
            if not reply.body:
                raise SystemExit("the first answer of the daemon was empty")
    note = f"slowest of {COLD_STARTS}: {max(took):.2f} s; start pack of {size:,} memories"
    return [
        Row(name="daemon start to first answer, median", value=median(took), unit="s", target=0.8, note=note)
    ]


def measure_import(bench: Bench) -> list[Row]:
    """`import tacit`, inside a fresh process."""
    code = "import time; t = time.perf_counter(); import tacit; print((time.perf_counter() - t) * 1000)"
    command = [str(bench.python), "-E", "-P", "-c", code]
    took = [float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(10)]
    return [Row(name="import tacit, median", value=median(took), unit="ms", target=60.0)]


@contextmanager
def working_folder(named: Path | None) -> Generator[Path]:
    """The folder for stores and the environment: the named one, which is kept, or one for this run."""
    if named is not None:
        named.mkdir(parents=True, exist_ok=True)
        yield named.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="tacit-latency-") as folder:
        yield Path(folder)


def plain_python(work: Path) -> Path:
    """The interpreter of a plain install of what is committed, made new in `work`."""
    for name in ("source", "dist", "venv"):
        shutil.rmtree(work / name, ignore_errors=True)
    return install_plain(work / "venv", build_wheel(commit_copy(work / "source"), work / "dist"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="tacit_evals.latency", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--sizes", default="10000,100000", help="memories in scope, comma separated")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--work", type=Path, help="keep stores here and use them again")
    parser.add_argument(
        "--python", type=Path, help="interpreter that has tacit; default: a plain install made now"
    )
    parser.add_argument(
        "--core", type=int, default=max(os.sched_getaffinity(0)), help="core for everything; -1 = any"
    )
    parser.add_argument("--only", choices=("recall", "process"), help="measure a part")
    given = parser.parse_args()
    console = Console()
    core = None if given.core < 0 else given.core
    sizes = [int(part) for part in given.sizes.split(",")]
    rows: list[Row] = []
    details: list[dict[str, object]] = []
    with working_folder(given.work) as work:
        python = given.python or plain_python(work)
        bench = Bench(python=python, work=work, console=console, run=secrets.token_hex(4))
        for size in sizes:
            bench.home(size)
        if core is not None:
            os.sched_setaffinity(0, {core})
        if given.only != "process":
            for size in sizes:
                measured, detail = measure_recall(bench, size)
                rows += measured
                details.append(detail)
        if given.only != "recall":
            rows += measure_hook_process(bench, sizes[0])
            rows += measure_cold_start(bench, sizes[0])
            rows += measure_import(bench)
    print_rows(rows, title="Latency and memory on one core", console=console)
    write_json(given.json, rows, details=details, core=core)


if __name__ == "__main__":
    main()
