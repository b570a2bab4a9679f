"""Many MCP clients at one daemon: what each costs in memory, and how long a search takes among the others.

Run: `python -m tacit_evals.clients [--clients 50] [--size 2000] [--json FILE]`. Every client is a launcher's stdio pipe, a
process of its own, spoken to line by line as a host does. First one client asks alone; then all of them ask, each at times
that chance fixed once (a search every `--every` seconds on average); at last all ask at the same moment. Timed from writing
the line to reading its answer. Exit code 1 when an answer is missing or a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tacit.config.home import Home
from tacit.config.settings import EmbedderSettings
from tacit.daemon.launcher import write_launcher
from tacit.model.scope import project_scope
from tacit.providers.embedding import make_embedder
from tacit.session.projects import identify_project
from tacit_evals.daemon_under_test import DaemonUnderTest
from tacit_evals.data.workload import build_store, vocabulary
from tacit_evals.timing import Row, median, percentile, print_rows, ratio

MOST_MB = 15.0
MOST_TIMES = 10.0
ALONE = 60
"""Searches of one client alone; the first ten warm up."""
WARM = 10
ROUNDS = 4
"""Searches of each client among the others."""
SEED = 11
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


@dataclass(slots=True)
class Pipe:
    """One client: a pipe process and how many lines it was sent."""

    process: asyncio.subprocess.Process
    sent: int = 0

    @classmethod
    async def open(cls, launcher: Path, environment: dict[str, str]) -> Pipe:
        """Start one and shake hands."""
        process = await asyncio.create_subprocess_exec(
            str(launcher),
            "mcp",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment,
            limit=1 << 22,
        )
        pipe = cls(process)
        await pipe.ask("initialize", _HELLO)
        return pipe

    async def ask(self, method: str, params: Mapping[str, object]) -> dict[str, object]:
        """Send one request and read its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.sent += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        await self.process.stdin.drain()
        answer = json.loads(await self.process.stdout.readline())
        if answer.get("id") != self.sent or "error" in answer:
            raise OSError(f"no answer: {str(answer)[:200]}")
        return answer["result"]

    async def search(self, words: str) -> float:
        """Milliseconds of one `memory_search`."""
        began = time.perf_counter()
        result = await self.ask("tools/call", {"name": "memory_search", "arguments": {"query": words}})
        took_ms = (time.perf_counter() - began) * 1000
        if result.get("isError"):
            raise OSError(f"refused: {str(result)[:200]}")
        return took_ms

    async def close(self) -> None:
        """End it as a host does, by closing its input."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.process.wait()

    @property
    def resident_mb(self) -> tuple[float, float]:
        """Resident memory, and the part of it that no other process shares, in MB (2**20 bytes)."""
        sizes = dict.fromkeys(("Rss", "Private_Clean", "Private_Dirty"), 0)
        for line in Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()[1:]:
            name, _, rest = line.partition(":")
            if name in sizes:
                sizes[name] = int(rest.split()[0])
        return sizes["Rss"] / 1024, (sizes["Private_Clean"] + sizes["Private_Dirty"]) / 1024


def questions(count: int) -> list[str]:
    """Different questions in the words of the stored memories; equal on every run."""
    chance = random.Random(SEED)
    words = vocabulary()
    return [f"what is known of {chance.choice(words)} and {chance.choice(words)}?" for _ in range(count)]


async def measure(
    launcher: Path, environment: dict[str, str], daemon: DaemonUnderTest, options: argparse.Namespace
) -> list[Row]:
    """All three parts; see the module docstring."""
    queries = iter(questions(ALONE + options.clients * (ROUNDS + 2)))
    first = await Pipe.open(launcher, environment)
    alone = [await first.search(next(queries)) for _ in range(ALONE)][WARM:]
    before = daemon.resident_mb()[0]
    pipes = [first, *[await Pipe.open(launcher, environment) for _ in range(options.clients - 1)]]
    try:
        chance = random.Random(SEED)

        async def at_work(pipe: Pipe, words: Sequence[str]) -> list[float]:
            times: list[float] = []
            for query in words:
                await asyncio.sleep(chance.expovariate(1 / options.every))
                times.append(await pipe.search(query))
            return times

        work = [at_work(pipe, [next(queries) for _ in range(ROUNDS)]) for pipe in pipes]
        beside = [value for times in await asyncio.gather(*work) for value in times]
        burst = list(await asyncio.gather(*(pipe.search(next(queries)) for pipe in pipes)))
        sizes = [pipe.resident_mb for pipe in pipes]
        grown = max(0.0, daemon.resident_mb()[0] - before) / len(pipes)
    finally:
        for pipe in pipes:
            await pipe.close()
    p50 = median(alone)
    whole = max(size[0] for size in sizes) + grown
    many = f"{options.clients} clients"
    return [
        Row(name="one client alone, p50", value=p50, unit="ms", note=f"{len(alone)} searches"),
        Row(name="one client alone, p99", value=percentile(alone, 0.99), unit="ms"),
        Row(name=f"{many} at work, p50", value=median(beside), unit="ms", note=f"each every {options.every:g} s"),
        Row(name=f"{many} at work, p99", value=percentile(beside, 0.99), unit="ms", note=f"{len(beside)} searches"),
        Row(name="p99 at work / p50 alone", value=ratio(percentile(beside, 0.99), p50), unit="x", target=MOST_TIMES),
        Row(name=f"{many} at the same moment, slowest", value=max(burst), unit="ms"),
        Row(name="slowest at the same moment / p50 alone", value=ratio(max(burst), p50), unit="x",
            note="one daemon answers them one after the other"),
        Row(name="pipe, resident", value=max(size[0] for size in sizes), unit="MB", note="the largest"),
        Row(name="pipe, its own", value=max(size[1] for size in sizes), unit="MB", note="not shared with others"),
        Row(name="daemon, grown by a client", value=grown, unit="MB"),
        Row(name="extra memory of a client", value=whole, unit="MB", target=MOST_MB),
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="tacit_evals.clients", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, default=50, help="how many there are (default 50)")
    parser.add_argument("--size", type=int, default=2000, help="memories in the store (default 2000)")
    parser.add_argument(
        "--every", type=float, default=4.0, help="seconds between a client's searches, on average"
    )
    parser.add_argument("--embedder", choices=("shipped", "fake"), default="shipped", help="fake is quick")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows here")
    options = parser.parse_args(arguments)
    provider = "minilm" if options.embedder == "shipped" else "fake"
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder, "home"), Path(folder, "project")
        (project / ".git" / "objects").mkdir(parents=True)
        embedder = make_embedder(EmbedderSettings(provider=provider))
        build_store(
            home, scope=project_scope(identify_project(project).id), size=options.size, embedder=embedder
        )
        environment = {
            **os.environ,
            "TACIT_HOME": str(home),
            "CLAUDE_PROJECT_DIR": str(project),
            "TACIT_EMBEDDER__PROVIDER": provider,
        }
        launcher = write_launcher(Home(home))
        with DaemonUnderTest(Path(sys.executable), home, environment=environment) as daemon:
            daemon.wait_warm()
            rows = asyncio.run(measure(launcher, environment, daemon, options))
    print_rows(rows, title=f"MCP clients of one daemon, {options.size} memories")
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return int(any(row.verdict == "over" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
