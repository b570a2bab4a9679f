"""How long an agent waits for its memory: prompts, session starts, the hook process, the daemon's start, its memory.

Run: `tacit eval latency` or `python -m tacit_evals.latency`, with `[--sizes 10000,100000] [--projects 1] [--spaces shipped,all]
[--presets focused,typed] [--json FILE] [--work DIR] [--python FILE]`.

A real daemon of a plain install (a wheel of the newest commit in a fresh environment)
answers over its Unix socket on one core; this process and the yardstick share that core. The yardstick is the same prompts
embedded alone, in a process of its own: ten prompts to the daemon, the same ten to the yardstick, and so on, so that a slow
moment of the machine hits both, and neither is measured with the other's model in the processor's cache, which holds one of
them. Every prompt is new to the daemon, which has the model and the indexes in memory, as in a session at work.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from rich.console import Console

from tacit.backends.sqlite import open_sqlite_store
from tacit.config.home import Home
from tacit.config.preset_files import preset_names
from tacit.config.settings import EmbedderSettings
from tacit.daemon.launcher import write_launcher
from tacit.errors import InvalidInput
from tacit.model.scope import ScopeFilter, project_scope
from tacit.providers.clock import SystemClock
from tacit.providers.embedding import make_embedder
from tacit.safety.authority import Authority
from tacit.session.projects import identify_project
from tacit_evals.daemon_under_test import DaemonUnderTest, EmbedAlone, post, worked_ms
from tacit_evals.plain_install import build_wheel, commit_copy, install_plain
from tacit_evals.scorecard import commit
from tacit_evals.timing import Row, median, paired_ratio, percentile, print_rows, ratio, write_json
from tacit_evals.torture.worker import statement
from tacit_evals.workload import PROMPTS, build_store, topic_vectors

Spaces = Literal["shipped", "all"]
DEFAULT_PRESET = "focused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One store, asked with one choice of spaces.

    Attributes:
        size: memories in all.
        spaces: `shipped` = those of a fresh home or of the preset, `all` = all thirteen.
        preset: the preset of the home.
    """

    size: int
    spaces: Spaces = "shipped"
    preset: str = DEFAULT_PRESET

    @property
    def home(self) -> str:
        """The folder of its store."""
        return f"home-{self.size}"

    @property
    def stored(self) -> str:
        """The store, in words."""
        return f"{self.size:,} memories"

    @property
    def name(self) -> str:
        """The case, in words."""
        preset = f", {self.preset}" if self.preset != DEFAULT_PRESET else ""
        return self.stored + (", all spaces" if self.spaces == "all" else "") + preset

    @property
    def searches_all(self) -> bool:
        """Whether a prompt is answered from all thirteen spaces."""
        return self.spaces == "all" or self.preset == "multispace"


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

    def home(self, case: Case) -> Path:
        """The home with the memories of `case`, built once; its settings are written anew."""
        root = self.work / case.home
        if not (root / "built").exists():
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir(parents=True)
            began, worked = time.perf_counter(), time.process_time()
            self._build(case, root)
            (root / "built").touch()
            elapsed, work = time.perf_counter() - began, time.process_time() - worked
            size_mb = sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) / 2**20
            self.console.print(
                f"built {case.stored}: {elapsed:,.0f} s, {work:,.0f} s of processor time, {size_mb:,.0f} MB"
            )
        settings: dict[str, object] = {"preset": case.preset}
        if case.spaces == "all":  # the preset that asks all of them before a prompt
            settings = {"preset": "multispace", "recall": {"budgets": {"start": 2000}}}
        Home(root).config_file.write_text(json.dumps(settings), "utf-8")  # JSON is YAML
        return root

    def _build(self, case: Case, root: Path) -> None:
        embedder = make_embedder(EmbedderSettings())
        project_id = identify_project(str(self.project)).id
        topics = topic_vectors(embedder)
        build_store(root, scope=project_scope(project_id), size=case.size, embedder=embedder)
        store = open_sqlite_store(Home(root), clock=SystemClock())
        try:
            # What upkeep does in a quiet hour, and what is derived from the vectors, would else come among the prompts.
            store.tidy()
            scope = ScopeFilter.of(project_scope(project_id))
            store.search.semantic(topics[0], identity=embedder.identity, scope=scope, limit=5)
        finally:
            store.close()

    def daemon(self, case: Case) -> DaemonUnderTest:
        """A daemon on that home."""
        return DaemonUnderTest(self.python, self.home(case))

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
            "hook_event_name": "UserPromptSubmit",
            "session_id": f"{self.run}-{session}",
            "cwd": str(self.project),
            "prompt": text,
            "prompt_id": f"{session}-{number}",
        }


SMALL = 10_000
PROMPT_TARGETS = {SMALL: 2.5, 100_000: 3.0}
"""Median ratio with the spaces that ship; with all of them see `prompt_target`."""
START_TARGETS: Mapping[Spaces, float] = {"shipped": 2.5, "all": 4.0}
MEMORY_TARGETS_MB: Mapping[Spaces, float] = {"shipped": 180.0, "all": 200.0}
SEED_LIMITS = (50, 100, 200, 2000)
SEED_LIMITS_MS = "seeds: 50/100/200/2000 ms"
BLOCK = 10
"""Prompts in a row, one session each."""
STARTS = 20
PAIRS = 40
COLD_STARTS = 5
YARDSTICKS = 5
COLD_TARGET_S = 0.8
COLD_YARDSTICK_S = 0.0226
"""What the yardstick took on the machine on which the target was set (ADR 0008). The ratio holds on any machine."""
CHANGED_STARTS = 10
_WARM_S, _WARM_MS = 120.0, 500.0
_PAUSE_S = 0.2
"""Between two measurements. The daemon writes when nobody has asked for 100 ms; nothing else must meet that work."""

TCP_TARGET = 1.2
"""The ratio of the times of the hook process over TCP, with both proofs, and over the Unix socket."""
HOOK_YARDSTICK = "import json,socket"
HOOK_TARGET = 1.15


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallTimes:
    """Milliseconds of one case, and what the daemon took of memory. `asked` and `alone` are of the same prompts in order.

    `plain` are the same prompts searched by plain FTS5 and the model in one process (`embed_alone`). What ends in `_work` is the processor time
    of the same, all threads of the process.
    """

    case: Case
    asked: list[float]
    alone: list[float]
    asked_work: list[float]
    alone_work: list[float]
    plain: list[float]
    plain_work: list[float]
    starts: list[float]
    changed: list[float]
    resident_mb: float
    peak_mb: float
    injected: int

    @property
    def figures(self) -> dict[str, float]:
        """What the JSON document says of it; ratios are to the median of the prompts embedded alone."""
        unit = median(self.alone)
        pairs = [ratio(asked, alone) for asked, alone in zip(self.asked, self.alone, strict=True)]
        return {
            "p50_ratio": ratio(median(self.asked), unit),
            "p99_ratio": ratio(percentile(self.asked, 0.99), unit),
            "p50_of_pairs": median(pairs),
            "p99_of_pairs": percentile(pairs, 0.99),
            "work_p50_ratio": ratio(median(self.asked_work), median(self.alone_work)),
            "work_p99_ratio": ratio(percentile(self.asked_work, 0.99), median(self.alone_work)),
            "to_plain_p50_ratio": ratio(median(self.asked), median(self.plain)),
            "work_to_plain_p50_ratio": ratio(median(self.asked_work), median(self.plain_work)),
            "p99_to_p99": ratio(percentile(self.asked, 0.99), percentile(self.alone, 0.99)),
            "start_p50_ratio": ratio(median(self.starts), unit),
            "changed_start_p50_ratio": ratio(median(self.changed), unit),
            "resident_mb": self.resident_mb,
            "peak_mb": self.peak_mb,
            "prompt_p50_ms": median(self.asked),
            "prompt_p95_ms": percentile(self.asked, 0.95),
            "prompt_p99_ms": percentile(self.asked, 0.99),
            "start_p50_ms": median(self.starts),
            "alone_p50_ms": unit,
            "alone_p99_ms": percentile(self.alone, 0.99),
            **{
                f"within_{limit}_ms": sum(ms <= limit for ms in self.asked) / len(self.asked)
                for limit in SEED_LIMITS
            },
        }

    def rows(self) -> list[Row]:
        """The table's rows."""
        figures, case, name = self.figures, self.case, self.case.name
        within = ", ".join(f"{figures[f'within_{limit}_ms']:.0%} in {limit}" for limit in SEED_LIMITS)
        tail = f"{figures['prompt_p99_ms']:.1f} ms; p99 of the embedding {figures['alone_p99_ms']:.1f} ms, of pairs {figures['p99_of_pairs']:.2f} x"
        return [
            Row(
                name=f"prompt alone embedded, median ({name})",
                value=figures["alone_p50_ms"],
                unit="ms",
                note="the yardstick",
            ),
            Row(
                name=f"prompt recall, median ({name})",
                value=figures["prompt_p50_ms"],
                unit="ms",
                note=f"{SEED_LIMITS_MS}: {within} ms",
            ),
            Row(
                name=f"prompt recall, median ratio ({name})",
                value=figures["p50_ratio"],
                unit="x",
                target=prompt_target(case),
                note=f"{self.injected} of {len(self.asked)} prompts got something",
            ),
            Row(name=f"prompt recall, median of pairs ({name})", value=figures["p50_of_pairs"], unit="x"),
            Row(
                name=f"prompt recall, processor time, median ratio ({name})",
                value=figures["work_p50_ratio"],
                unit="x",
                note=f"{median(self.asked_work):.1f} ms to {median(self.alone_work):.1f} ms; p99 {figures['work_p99_ratio']:.2f} x",
            ),
            Row(
                name=f"prompt recall, ratio to plain FTS5 and MiniLM in process ({name})",
                value=figures["to_plain_p50_ratio"],
                unit="x",
                note=f"{median(self.plain):.1f} ms; processor time {figures['work_to_plain_p50_ratio']:.2f} x",
            ),
            Row(
                name=f"prompt recall, p99 ratio ({name})",
                value=figures["p99_ratio"],
                unit="x",
                target=8.0 if case.size == SMALL else None,
                note=tail,
            ),
            Row(
                name=f"session start, median ratio ({name})",
                value=figures["start_p50_ratio"],
                unit="x",
                target=START_TARGETS["all" if case.searches_all else "shipped"],
                note=f"{median(self.starts):.1f} ms, p95 {percentile(self.starts, 0.95):.1f} ms; {SEED_LIMITS_MS}",
            ),
            Row(
                name=f"session start after a change, median ratio ({name})",
                value=figures["changed_start_p50_ratio"],
                unit="x",
                target=START_TARGETS["all" if case.searches_all else "shipped"],
                note=f"{median(self.changed):.1f} ms; a memory was added before each",
            ),
            Row(
                name=f"resident memory, model loaded ({name})",
                value=self.resident_mb,
                unit="MB",
                target=MEMORY_TARGETS_MB["all" if case.searches_all else "shipped"]
                if case.size == SMALL
                else None,
                note=f"peak {self.peak_mb:.0f} MB",
            ),
        ]


def prompt_target(case: Case) -> float | None:
    """The most that the median ratio of a prompt may be in `case`."""
    if case.searches_all:
        return 3.5 if case.size == SMALL else None
    return PROMPT_TARGETS.get(case.size)


def measure_recall(bench: Bench, case: Case) -> RecallTimes:
    """Prompts and session starts on the store of `case`."""
    asked: list[float] = []
    alone: list[float] = []
    asked_work: list[float] = []
    alone_work: list[float] = []
    plain: list[float] = []
    plain_work: list[float] = []
    starts: list[float] = []
    injected = 0
    store = Home(bench.home(case)).database
    with (
        bench.daemon(case) as daemon,
        EmbedAlone(bench.python) as embed,
        EmbedAlone(bench.python, store) as search,
    ):
        _warm(bench, daemon)
        for first in range(0, len(PROMPTS), BLOCK):
            block = PROMPTS[first : first + BLOCK]
            session = f"{case.spaces}-{case.preset}-{first}"  # one home may serve several cases
            daemon.hook(bench.started(session))
            time.sleep(_PAUSE_S)
            for number, prompt in enumerate(block, start=first):
                before = worked_ms(daemon.pid)
                reply = daemon.hook(bench.prompted(session, prompt, number))
                asked_work.append(worked_ms(daemon.pid) - before)
                if reply.status != 200:
                    raise SystemExit(f"the daemon answered {reply.status} to prompt {number}")
                asked.append(reply.took_ms)
                injected += bool(reply.body)
                time.sleep(_PAUSE_S)
            for yardstick, took, work in ((embed, alone, alone_work), (search, plain, plain_work)):
                for prompt in block:
                    before = worked_ms(yardstick.pid)
                    took.append(yardstick.took_ms(prompt))
                    work.append(worked_ms(yardstick.pid) - before)
                    time.sleep(_PAUSE_S)
        for number in range(STARTS):
            reply = daemon.hook(bench.started(f"{case.spaces}-{case.preset}-start-{number}"))
            starts.append(reply.took_ms)
            if not reply.body and case.preset == DEFAULT_PRESET:
                raise SystemExit("a session start got nothing")
            time.sleep(_PAUSE_S)
        rss, peak = daemon.resident_mb()
        changed = _starts_after_a_change(bench, daemon)
    return RecallTimes(
        case=case,
        asked=asked,
        alone=alone,
        asked_work=asked_work,
        alone_work=alone_work,
        plain=plain,
        plain_work=plain_work,
        starts=starts,
        changed=changed,
        resident_mb=rss,
        peak_mb=peak,
        injected=injected,
    )


def _warm(bench: Bench, daemon: DaemonUnderTest) -> None:
    """Load the model and every index of the project; a large store's are read by the first prompts."""
    daemon.wait_warm()
    daemon.hook(bench.started("warm"))
    until, quick = time.perf_counter() + _WARM_S, 0
    for number in itertools.count():
        reply = daemon.hook(
            bench.prompted("warm", f"load index {number} of this project before it is measured", number),
            timeout_s=_WARM_S,
        )
        quick = quick + 1 if reply.took_ms < _WARM_MS else 0
        if quick == 2 or time.perf_counter() > until:
            break
        time.sleep(_PAUSE_S)
    time.sleep(1.0)


def _starts_after_a_change(bench: Bench, daemon: DaemonUnderTest) -> list[float]:
    """Session starts that each follow a new memory, so that nothing kept from the start before can serve."""
    times: list[float] = []
    chance = random.Random(f"{bench.run} {daemon.pid}")
    token = Authority(daemon.home).create(f"latency-{daemon.pid}")
    for number in range(CHANGED_STARTS):
        body = {"content": statement(chance, bench.run, number), "kind": "fact", "cwd": str(bench.project)}
        reply = post(daemon.home, "/v1/memories", json.dumps(body).encode(), token=token)
        if reply.status != 201:
            raise SystemExit(f"the daemon stored no new memory: {reply.status} {reply.body[:300]!r}")
        time.sleep(_PAUSE_S)
        times.append(daemon.hook(bench.started(f"changed-{daemon.pid}-{number}")).took_ms)
        time.sleep(_PAUSE_S)
    return times


def measure_hook_process(bench: Bench, case: Case) -> list[Row]:
    """The launcher that hosts call, round trip included, beside a process that imports what a hook needs at least."""
    ours: list[float] = []
    theirs: list[float] = []
    with bench.daemon(case) as daemon:
        daemon.wait_warm()
        daemon.hook(bench.started("hook"))
        hook = _hook_command(bench, daemon.home)
        yardstick = [_base_python(bench), "-S", "-E", "-c", HOOK_YARDSTICK]
        for number in range(PAIRS):
            event = bench.prompted("hook", PROMPTS[number % len(PROMPTS)], number)
            ours.append(_whole_process(hook, json.dumps(event).encode()))
            time.sleep(_PAUSE_S)
            theirs.append(_whole_process(yardstick, b""))
    note = f"{median(ours):.1f} ms to {median(theirs):.1f} ms, {PAIRS} pairs; {SEED_LIMITS_MS}"
    return [
        Row(
            name="hook process for a prompt, median ratio",
            value=ratio(median(ours), median(theirs)),
            unit="x",
            target=HOOK_TARGET,
            note=note,
        ),
        Row(name="hook process for a prompt, median of pairs", value=paired_ratio(ours, theirs), unit="x"),
    ]


def measure_transports(bench: Bench) -> list[Row]:
    """Compare a hook over TCP with the same hook over the Unix socket. Two daemons with empty homes are asked in turn."""
    processes: dict[str, list[float]] = {"unix": [], "tcp": []}
    requests: dict[str, list[float]] = {"unix": [], "tcp": []}
    with ExitStack() as stack:
        daemons: dict[str, DaemonUnderTest] = {}
        for name in processes:
            environment = {"TACIT_TRANSPORT": name, "TACIT_EMBEDDER__PROVIDER": "fake"}
            daemon = DaemonUnderTest(
                bench.python, bench.work / f"home-{name}-{bench.run}", environment=environment
            )
            daemons[name] = stack.enter_context(daemon)
        hooks = {name: _hook_command(bench, daemon.home) for name, daemon in daemons.items()}
        for daemon in daemons.values():
            daemon.wait_warm()
            daemon.hook(bench.started("transports"))
        for number in range(PAIRS):
            for name, daemon in sorted(daemons.items(), reverse=bool(number % 2)):
                event = bench.prompted("transports", PROMPTS[number % len(PROMPTS)], number)
                processes[name].append(_whole_process(hooks[name], json.dumps(event).encode()))
                time.sleep(_PAUSE_S / 2)
                event = bench.prompted("transports", PROMPTS[number % len(PROMPTS)], number + PAIRS)
                requests[name].append(daemon.hook(event).took_ms)
                time.sleep(_PAUSE_S / 2)
    return [
        Row(
            name=f"{what} over TCP, median of pairs to the Unix socket",
            value=paired_ratio(times["tcp"], times["unix"]),
            unit="x",
            target=target,
            note=f"{median(times['tcp']):.2f} ms to {median(times['unix']):.2f} ms, {PAIRS} pairs",
        )
        for what, times, target in (
            ("hook process", processes, TCP_TARGET),
            ("request alone", requests, None),
        )
    ]


def _base_python(bench: Bench) -> str:
    """What the `python` of the environment is a link to."""
    code = "import sys; print(sys._base_executable)"
    return subprocess.run(
        [str(bench.python), "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def _hook_command(bench: Bench, home: Home) -> list[str]:
    """Write the launcher that `tacit install` writes, which runs the compiled hook client of `home`; return the command that a host calls."""
    return [str(write_launcher(home, python=str(bench.python))), "claude-code"]


def _whole_process(command: Sequence[str], payload: bytes) -> float:
    # Without `TACIT_HOME`, a launcher takes its own home.
    environment = {name: value for name, value in os.environ.items() if name != "TACIT_HOME"}
    began = time.perf_counter()
    subprocess.run(command, input=payload, env=environment, stdout=subprocess.PIPE, check=True)
    return (time.perf_counter() - began) * 1000


def measure_cold_start(bench: Bench, case: Case) -> list[Row]:
    """From starting the daemon to the first answer with text in it, beside the yardstick of the hook process."""
    times: list[float] = []
    theirs: list[float] = []
    yardstick = [_base_python(bench), "-S", "-E", "-c", HOOK_YARDSTICK]
    for number in range(COLD_STARTS):
        theirs += [_whole_process(yardstick, b"") for _ in range(YARDSTICKS)]
        with bench.daemon(case) as daemon:
            reply = daemon.hook(bench.started(f"cold-{number}"))
            times.append(time.perf_counter() - daemon.started_s)
            if not reply.body:
                raise SystemExit("the first answer of the daemon was empty")
    note = f"slowest of {COLD_STARTS}: {max(times):.2f} s; start pack of {case.stored}"
    beside = f"the yardstick took {median(theirs):.1f} ms; {COLD_TARGET_S:g} s were {COLD_TARGET_S / COLD_YARDSTICK_S:.0f} x where they were set"
    return [
        Row(
            name="daemon start to first answer, median",
            value=median(times),
            unit="s",
            target=COLD_TARGET_S,
            note=note,
        ),
        Row(
            name="daemon start to first answer, ratio to the yardstick",
            value=ratio(median(times) * 1000, median(theirs)),
            unit="x",
            target=COLD_TARGET_S / COLD_YARDSTICK_S,
            note=beside,
        ),
    ]


def measure_import(bench: Bench) -> list[Row]:
    """`import tacit`, inside a fresh process."""
    code = "import time; t = time.perf_counter(); import tacit; print((time.perf_counter() - t) * 1000)"
    command = [str(bench.python), "-E", "-P", "-c", code]
    times = [float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(10)]
    return [Row(name="import tacit, median", value=median(times), unit="ms", target=60.0)]


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


def parser() -> argparse.ArgumentParser:
    """The arguments of the program and of `tacit eval latency`."""
    parser = argparse.ArgumentParser(
        prog="tacit eval latency", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--sizes", default="10000,100000", help="memories of a store, comma separated")
    parser.add_argument(
        "--spaces", default="shipped,all", help="`shipped` = those of a fresh home, `all` = all thirteen"
    )
    parser.add_argument("--presets", default=DEFAULT_PRESET, help="presets to measure, comma separated")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    parser.add_argument("--work", type=Path, help="keep stores here and use them again")
    parser.add_argument(
        "--python", type=Path, help="interpreter that has tacit; default: a plain install made now"
    )
    parser.add_argument(
        "--core", type=int, default=max(os.sched_getaffinity(0)), help="core for everything; -1 = any"
    )
    parser.add_argument("--only", choices=("recall", "process"), help="measure a part")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = parser().parse_args(arguments)
    console = Console()
    core = None if options.core < 0 else options.core
    cases = cases_of(options.sizes, spaces=options.spaces, presets=options.presets)
    load = os.getloadavg()[0]
    rows: list[Row] = []
    measured: list[RecallTimes] = []
    with working_folder(options.work) as work:
        python = options.python or plain_python(work)
        bench = Bench(python=python, work=work, console=console, run=secrets.token_hex(4))
        for case in cases:
            bench.home(case)
        if core is not None:
            os.sched_setaffinity(0, {core})
        if options.only != "process":
            for case in cases:
                measured.append(measure_recall(bench, case))
                rows += measured[-1].rows()
        if options.only != "recall":
            rows += measure_hook_process(bench, cases[0])
            rows += measure_transports(bench)
            rows += measure_cold_start(bench, cases[0])
            rows += measure_import(bench)
    print_rows(
        rows, title=f"Latency and memory on one core (load of the machine {load:.1f})", console=console
    )
    if options.json:
        settings = {
            "core": core,
            "load": load,
            "sizes": options.sizes,
            "spaces": options.spaces,
            "presets": options.presets,
        }
        write_json(options.json, rows, **document(measured, settings=settings))


def cases_of(sizes: str, *, spaces: str, presets: str = DEFAULT_PRESET) -> tuple[Case, ...]:
    """Every size with every choice of spaces and every preset, as the command line names them.

    Raises:
        InvalidInput: a size is no number, or a choice of spaces or a preset is unknown.
    """
    choices: list[Spaces] = []
    for name in spaces.split(","):
        if name not in get_args(Spaces):
            raise InvalidInput(f"--spaces {name} is unknown.", hint="Use shipped, all, or both with a comma.")
        choices.append(cast(Spaces, name))
    for name in presets.split(","):
        if name not in preset_names():
            raise InvalidInput(f"--presets {name} is unknown.", hint=f"Use {', '.join(preset_names())}.")
    try:
        counts = [int(size) for size in sizes.split(",")]
    except ValueError as error:
        raise InvalidInput(
            f"--sizes {sizes} are no numbers.", hint="For example --sizes 10000,100000."
        ) from error
    return tuple(
        Case(size=size, spaces=name, preset=preset)
        for size in counts
        for name in choices
        for preset in presets.split(",")
    )


def document(measured: Sequence[RecallTimes], *, settings: Mapping[str, object]) -> dict[str, object]:
    """What stands in the JSON file beside the table's rows; `metrics` are of the first size with the most spaces on."""
    first = min(measured, key=lambda recall: (recall.case.size, recall.case.spaces != "all"), default=None)
    return {
        "suite": "latency",
        "dataset": "made-up statements",
        "commit": commit(),
        "settings": dict(settings),
        "metrics": first.figures if first else {},
        "baselines": {"seeds' limits": {"prompt_ms": list(SEED_LIMITS)}},
        "parts": {recall.case.name: {"metrics": recall.figures} for recall in measured},
        "details": [
            {
                "case": recall.case.name,
                "asked_ms": recall.asked,
                "alone_ms": recall.alone,
                "plain_ms": recall.plain,
                "starts_ms": recall.starts,
                "changed_ms": recall.changed,
            }
            for recall in measured
        ],
    }


if __name__ == "__main__":
    main()
