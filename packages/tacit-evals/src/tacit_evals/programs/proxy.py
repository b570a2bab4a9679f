"""Measures the time that the proxy adds: `python -m tacit_evals.programs.proxy [--turns N] [--rounds N] [--streams N]`.

It uses a model server on loopback, and a real daemon with the shipped embedding model. Out: for each API, the time until the first byte of a
stream, directly and through the proxy in turn, and the proxy's own time: the difference without the recall that it waits for. Then N streams at
once, one of which is killed. Target: own time <= 0.2 of the time of the recall in the same request (median).
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit import Tacit
from tacit.config.home import Home
from tacit.hosts.probe.stub_model import StubModel
from tacit_evals.programs.sdks import THINK_S, TOPICS, TimedWay, opened
from tacit_evals.timing import Row, median, paired_ratio, percentile, print_rows, write_json
from tacit_integrations.proxy.service import ProxyOptions, ProxyServer
from tacit_integrations.proxy.upstreams import Upstreams

TARGET = 0.2
STREAMS = 50
APIS = ("messages", "chat", "responses")
PATHS = {"messages": "/v1/messages", "chat": "/v1/chat/completions", "responses": "/v1/responses"}


@dataclass
class Times:
    """Times of requests in order, in milliseconds: until the first byte directly and through the proxy, and the wait for the memory."""

    direct: list[float] = field(default_factory=list[float])
    through: list[float] = field(default_factory=list[float])
    recall: list[float] = field(default_factory=list[float])

    @property
    def own(self) -> list[float]:
        return [
            through - direct - recall
            for direct, through, recall in zip(self.direct, self.through, self.recall, strict=True)
        ]


class Connection:
    """A persistent connection, like those of the SDKs."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def first_byte_ms(self, path: str, body: bytes) -> float:
        """Send a request and read the answer. Return the milliseconds until the first byte of its body."""
        began = time.perf_counter()
        self._http.request(
            "POST", path, body, {"content-type": "application/json", "authorization": "Bearer k"}
        )
        answer = self._http.getresponse()
        answer.read(1)
        took_ms = (time.perf_counter() - began) * 1000
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"the stub answered {answer.status}")
        return took_ms

    def close(self) -> None:
        self._http.close()


def body_of(api: str, messages: Sequence[Mapping[str, Any]]) -> bytes:
    name = "input" if api == "responses" else "messages"
    return json.dumps({"model": "m", "max_tokens": 99, "stream": True, name: messages}).encode()


def words(name: str, turn: int) -> str:
    text = f"{name}: please look at {TOPICS[turn % len(TOPICS)]} again, step {turn}. "
    return text + "Some more words on what is wanted here. " * 20


def converse(api: str, name: str, *, turns: int, direct: Connection, through: Connection, way: TimedWay, times: Times) -> None:  # fmt: skip
    """Hold one conversation. Each request is sent directly and through the proxy, in alternating order."""
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": words(name, turn)})
        body = body_of(api, messages)
        for proxied in (turn % 2 == 0, turn % 2 == 1):
            way.waited_s = 0.0
            took_ms = (through if proxied else direct).first_byte_ms(PATHS[api], body)
            (times.through if proxied else times.direct).append(took_ms)
            if proxied:
                times.recall.append(way.waited_s * 1000)
        messages.append({"role": "assistant", "content": f"Done with step {turn}."})
        time.sleep(THINK_S)


def at_once(port: int, streams: int) -> tuple[list[float], int]:
    """Run `streams` streams at once and kill one after its first byte. Return the times until the first byte, and the number of complete streams."""
    took: list[float] = []
    whole: list[int] = []
    start = threading.Barrier(streams)

    def one(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = body_of("messages", [{"role": "user", "content": words(f"stream {number}", number)}])
        start.wait()
        began = time.perf_counter()
        connection.request("POST", PATHS["messages"], body, {"content-type": "application/json"})
        answer = connection.getresponse()
        answer.read(1)
        took.append((time.perf_counter() - began) * 1000)
        if number:
            whole.append(int(b"message_stop" in answer.read()))
        connection.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took, sum(whole)


@contextmanager
def model_process() -> Iterator[int]:
    """Run the stub model in a separate process; yield its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tacit_evals.programs.proxy", "--model"],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.communicate("")


@contextmanager
def proxied(way: TimedWay, home: Path, model_port: int) -> Iterator[int]:
    """Run the proxy in this process, so that its waits for the memory can be measured; yield its port."""
    model = f"http://127.0.0.1:{model_port}"
    options = ProxyOptions(
        project=home,
        port=0,
        upstreams=Upstreams.parse(openai=f"{model}/v1", anthropic=model),
        deadline_ms=10_000.0,
    )
    with Tacit(way, cwd=home) as memory:
        server = ProxyServer(Home(home), options, memory)
        ready = threading.Event()
        thread = threading.Thread(target=server.run, kwargs={"ready": ready.set})
        thread.start()
        ready.wait(30)
        try:
            yield server.port
        finally:
            server.stop()
            thread.join()


def measure(home: Path, *, turns: int, rounds: int, streams: int, say: Callable[[str], None]) -> list[Row]:
    rows: list[Row] = []
    with opened(home, daemon=True) as asked, model_process() as model_port:
        way = TimedWay(asked)
        with proxied(way, home, model_port) as port:
            for api in APIS:
                times = Times()
                direct, through = Connection(model_port), Connection(port)
                converse(api, f"warm {api}", turns=2, direct=direct, through=through, way=way, times=Times())
                for number in range(rounds):
                    say(f"{api}: conversation {number + 1} of {rounds}")
                    converse(api, f"{api} {number}", turns=turns, direct=direct, through=through, way=way, times=times)  # fmt: skip
                direct.close()
                through.close()
                share = paired_ratio(times.own, times.recall)
                note = f"recall {median(times.recall):.1f} ms, own {median(times.own):.2f} ms"
                rows += [
                    Row(name=f"{api}: own time / recall", value=share, unit="x", target=TARGET, note=note),
                    Row(name=f"{api}: first byte, direct", value=median(times.direct), unit="ms"),
                    Row(name=f"{api}: first byte, proxy", value=median(times.through), unit="ms", note=f"p95 {percentile(times.through, 0.95):.1f} ms"),
                ]  # fmt: skip
            took, whole = at_once(port, streams)
            lost = streams - 1 - whole
            note = f"first byte p50 {median(took):.0f} ms, last {max(took):.0f} ms"
            rows.append(Row(name=f"{streams} streams at once, one killed: broken others", value=lost, unit="", target=0, note=note))  # fmt: skip
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What the proxy costs a request.")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--streams", type=int, default=STREAMS)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    parser.add_argument("--model", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.model:
        with StubModel() as model, suppress(KeyboardInterrupt):
            print(model.port, flush=True)
            sys.stdin.read()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(
            Path(folder) / "home",
            turns=options.turns,
            rounds=options.rounds,
            streams=options.streams,
            say=lambda line: print(line, file=sys.stderr),
        )
    print_rows(rows, title="tacit proxy")
    write_json(options.json, rows)
    return 1 if any(row.verdict == "over" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
