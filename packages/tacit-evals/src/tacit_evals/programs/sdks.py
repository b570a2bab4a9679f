"""Measures the time that the SDK middleware adds to a request: `python -m tacit_evals.programs.sdks [--turns N] [--rounds N] [--daemon]`.

In: nothing; a server on the loopback stands in for the model. Out: per API, in milliseconds, what a request takes in the middleware besides
the questions to the memory, what those take, and whole requests with and without it, in turn. Target: overhead p50 <= 2 ms.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai

from tacit import Tacit
from tacit.client.daemon_client import DaemonClient
from tacit.config.home import Home
from tacit.hosts.probe.stub_model import StubModel
from tacit.library.engine_access import EngineAccess, open_in_process
from tacit.library.over_socket import DaemonEngine
from tacit_integrations import exchange
from tacit_integrations.conversations import Conversations
from tacit_integrations.http_wrapper import wrap_http_client

TARGET_MS = 2.0
THINK_S = 0.25
TOPICS = ("the billing module", "the database migration", "the login page", "the release notes")


class TimedWay:
    """Access to an engine that measures the seconds of its calls."""

    def __init__(self, way: EngineAccess) -> None:
        self.way = way
        self.waited_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.way, name)

    def hook(self, payload: Mapping[str, object], deadline_ms: float) -> Any:
        began = time.perf_counter()
        try:
            return self.way.hook(payload, deadline_ms)
        finally:
            # Requests do not wait for events after the answers, and a replay needs no recall.
            if payload["event"] not in ("message_end", "replay"):
                self.waited_s += time.perf_counter() - began


class Timed(exchange.Exchange):
    """Measures the time of its block, and the part that waits for the memory."""

    def __init__(self, way: TimedWay, memory: Tacit) -> None:
        self.way = way
        self.own_ms: list[float] = []
        self.asked_ms: list[float] = []
        talks = Conversations(
            lambda name, folder: memory.session(name, cwd=folder or None, deadline_ms=10_000.0)
        )
        super().__init__(talks, session="")

    def outgoing(self, path: str, headers: Mapping[str, str], content: bytes, **bounds: Any) -> Any:
        self.way.waited_s, began = 0.0, time.perf_counter()
        result = super().outgoing(path, headers, content, **bounds)
        self.asked_ms.append(self.way.waited_s * 1000)
        self.own_ms.append((time.perf_counter() - began - self.way.waited_s) * 1000)
        return result

    def heard(self, sent: Any, content: bytes, *, stream: bool) -> None:
        began = time.perf_counter()
        super().heard(sent, content, stream=stream)
        self.own_ms[-1] += (time.perf_counter() - began) * 1000


def one_turn(api: str, client: Any, messages: list[Any]) -> None:
    """Send one request of a conversation, and append its answer."""
    if api == "messages":
        reply = client.messages.create(model="m", max_tokens=100, system="You are terse.", messages=messages)
        messages.append({"role": "assistant", "content": reply.content})
    elif api == "chat":
        reply = client.chat.completions.create(
            model="m", messages=[{"role": "system", "content": "Terse."}, *messages]
        )
        messages.append({"role": "assistant", "content": reply.choices[0].message.content})
    else:
        reply = client.responses.create(model="m", instructions="Terse.", input=messages)
        messages.extend(item.model_dump(mode="json", exclude_none=True) for item in reply.output)


def conversation(api: str, client: Any, turns: int, name: str) -> list[float]:
    """Hold a conversation, and return the milliseconds of every request. A pause between requests leaves time for learning."""
    messages: list[Any] = []
    times: list[float] = []
    for turn in range(turns):
        text = (
            f"{name}: please look at {TOPICS[turn % 4]} again, step {turn}. "
            + "Some more words on what is wanted here. " * 20
        )
        messages.append({"role": "user", "content": text})
        began = time.perf_counter()
        one_turn(api, client, messages)
        times.append((time.perf_counter() - began) * 1000)
        time.sleep(THINK_S)
    return times


def client_of(api: str, model: StubModel) -> Any:
    if api == "messages":
        return anthropic.Anthropic(api_key="k", base_url=model.url)
    return openai.OpenAI(api_key="k", base_url=f"{model.url}/v1")


def middle(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0.0


@contextmanager
def opened(home: Path, *, daemon: bool) -> Iterator[EngineAccess]:
    """Open a memory of a few hundred statements; yield the access to it."""
    way = open_in_process(home, None, print)
    for number in range(200):
        content = f"{TOPICS[number % 4].capitalize()} keeps setting {number} in file conf_{number}.toml."
        way.ask("POST", "/v1/remember", {"content": content, "cwd": str(home)})
    if not daemon:
        yield way
        return
    way.close()
    client = DaemonClient(home)
    client.ensure_running()
    try:
        over = DaemonEngine(Home(home), start=False, on_failure=print)
        over.ask("POST", "/v1/recall", {"text": "warm", "cwd": str(home)})
        yield over
    finally:
        client.stop()


def measure(way: EngineAccess, home: Path, *, turns: int, rounds: int, say: Callable[[str], None]) -> bool:
    """Print the results of all three APIs. Return whether each met its target."""
    met = True
    timed_way = TimedWay(way)
    say("| API | middleware p50 | questions to the memory p50 | request with p50 | request without p50 |")
    say("|---|---|---|---|---|")
    with Tacit(timed_way, cwd=home) as memory:
        for api in ("messages", "chat", "responses"):
            timed = Timed(timed_way, memory)
            with_ms: list[float] = []
            without_ms: list[float] = []
            with StubModel() as model:
                for number in range(rounds):
                    plain = client_of(api, model)
                    without_ms += conversation(api, plain, turns, f"plain {number}")
                    ours = plain.copy(http_client=wrap_http_client(plain._client, timed))  # noqa: SLF001 - as `with_memory` does
                    with_ms += conversation(api, ours, turns, f"{api} {number}")
                    plain.close()
            own = middle(timed.own_ms)
            met = met and own <= TARGET_MS
            say(
                f"| {api} | {own:.2f} ms{'' if own <= TARGET_MS else ' (over)'} | {middle(timed.asked_ms):.2f} ms |"
                f" {middle(with_ms):.2f} ms | {middle(without_ms):.2f} ms |"
            )
    return met


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What the SDK middleware costs a request.")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--daemon", action="store_true", help="ask a daemon, not an engine in this process")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        with opened(home, daemon=options.daemon) as way:
            met = measure(way, home, turns=options.turns, rounds=options.rounds, say=print)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
