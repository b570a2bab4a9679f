"""What sync costs a prompt: `python -m tacit_evals.sync_latency [--rows 1000] [--prompts 150] [--json FILE]`.

A home with `--rows` memories answers the same prompts, with the shipped model: without sync, with a server to which another device writes all the while, with a
server that takes seconds for each answer, and with one that is gone. The rows are medians; each condition stands beside prompts without sync right
before it, so that a slow moment of the machine hits both. Exit code 1 above 1.25 times.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.config.environment import one_thread_for_arrays
from tacit.config.settings import EmbedderSettings
from tacit.model.pack import Surface
from tacit.model.scope import UNIVERSAL
from tacit.providers.embedding import make_embedder
from tacit_evals.data.workload import PROMPTS, build_store
from tacit_evals.timing import Row, median, print_rows, write_json
from tacit_server.app import make_app
from tacit_server.logs import InMemoryLogs

MOST_RATIO = 1.25
SLOW_S = 3.0
PAUSE_S = 0.03
"""Between two writes of the other device."""


class Delay:
    """An application in front of another one that lets every request wait for `seconds`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.seconds = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        import asyncio

        await asyncio.sleep(self.seconds)
        await self._app(scope, receive, send)


@contextmanager
def serving(app: ASGIApp) -> Generator[str]:
    """Serve on loopback; the address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.force_exit = server.should_exit = True
        thread.join(timeout=20)


def prompts_of(engine: Engine, count: int) -> list[float]:
    """Milliseconds of `count` prompts, each asked once."""
    times: list[float] = []
    for number in range(count):
        text = f"{PROMPTS[number % len(PROMPTS)]} ({time.perf_counter_ns()})"
        began = time.perf_counter()
        engine.recall(text, surface=Surface.PROMPT, store_trace=False)
        times.append((time.perf_counter() - began) * 1000)
    return times


@contextmanager
def writing(engine: Engine) -> Generator[None]:
    """Another device states something and syncs, again and again."""
    over = threading.Event()

    def work() -> None:
        number = 0
        while not over.wait(PAUSE_S):
            number += 1
            engine.remember(
                f"Shelf number {number} of the store holds spare parts.", kind="fact", scope=UNIVERSAL
            )
            if number % 10 == 0:
                engine.sync.run()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=30)


def measure(rows: int, count: int) -> list[Row]:
    """All conditions, one after the other, each beside prompts without sync right before it."""
    table: list[Row] = []
    embedder = make_embedder(EmbedderSettings())
    logs = InMemoryLogs()
    delay = Delay(make_app(logs))
    with tempfile.TemporaryDirectory(prefix="tacit-sync-") as folder:
        homes = [Path(folder) / name for name in ("mine", "other")]
        for home in homes:
            home.mkdir(mode=0o700)
        build_store(homes[0], scope=UNIVERSAL, size=rows, embedder=embedder)

        def compare(name: str) -> None:
            """Prompts without sync, and with it running in the background."""
            with closing(open_engine(homes[0])) as engine:
                prompts_of(engine, 20)
                alone = median(prompts_of(engine, count))
                engine.start_sync()
                time.sleep(1.0)
                beside = median(prompts_of(engine, count))
            table.append(
                Row(name=f"{name}: a prompt", value=beside, unit="ms", note=f"{alone:.2f} ms without")
            )
            table.append(Row(name=f"{name}: to without", value=beside / alone, unit="x", target=MOST_RATIO))

        with serving(delay) as url:
            now = int(time.time() * 1000)
            with closing(open_engine(homes[0])) as engine:
                done = engine.sync.log_in(url, code=logs.add_account("ana", now_ms=now), name="mine")
                engine.sync.run()
            with closing(open_engine(homes[1], overrides={"embedder": {"provider": "fake"}})) as other:
                code = logs.add_account("ana", now_ms=now)
                other.sync.log_in(url, code=code, phrase=done.phrase, name="other")
                compare("nothing happens")
                with writing(other):
                    compare("another device writes 30 statements a second")
            delay.seconds = SLOW_S
            compare("the server takes seconds")
        compare("the server is gone")
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.sync_latency", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000, help="memories in the home")
    parser.add_argument("--prompts", type=int, default=150, help="prompts of each condition")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    one_thread_for_arrays()
    rows = measure(options.rows, options.prompts)
    print_rows(rows, title="A prompt beside sync")
    write_json(options.json, rows)
    return int(any(row.verdict == "over" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
