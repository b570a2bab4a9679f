"""A proxy in this process, an API behind it that records the bytes it gets, and a memory that answers as it is told."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2 as httpx

from loopback import QuietHandler, loopback
from tacit import Tacit
from tacit.config.home import Home
from tacit_integrations.proxy.service import ProxyOptions, ProxyServer
from tacit_integrations.proxy.upstreams import Upstreams

BLOCK = re.compile(rb'(?:\\n\\n)?<tacit-memory surface=\\"\w+\\">.*?</tacit-memory>')
SYSTEM = re.compile(rb'"system":"<tacit-memory surface=\\"start\\">.*?</tacit-memory>",')


@dataclass(frozen=True, kw_only=True)
class Arrived:
    """A request as it arrived at the API."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def values(self, name: str) -> list[str]:
        return [value for header, value in self.headers if header.lower() == name]


@dataclass
class Api:
    """What the API does; a test changes it before it sends."""

    status: int = 200
    headers: list[tuple[str, str]] = field(default_factory=lambda: [("content-type", "application/json")])
    body: bytes = b'{"type": "message", "role": "assistant", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}'
    pieces: list[bytes] | None = None
    """Sent one after the other, those after the first once `go` is set; None = `body` at once."""
    answers: Callable[[bytes], list[bytes]] | None = None
    """Makes the pieces from a request's body."""
    go: threading.Event = field(default_factory=threading.Event)
    breaks_off: bool = False
    waits: bool = False
    """Nothing is sent before the client is gone."""
    url: str = ""
    arrived: list[Arrived] = field(default_factory=list)
    cut: threading.Event = field(default_factory=threading.Event)
    """Set when a client closed its connection before it had all pieces."""


@contextmanager
def api() -> Iterator[Api]:
    """Serve an API until the block ends."""
    served = Api()

    class Handler(QuietHandler):
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            body = self._body()
            served.arrived.append(
                Arrived(method=self.command, target=self.path, headers=list(self.headers.items()), body=body)
            )  # fmt: skip
            if served.waits:
                while self.connection.recv(1, socket.MSG_PEEK):
                    time.sleep(0.01)
                served.cut.set()
                self.close_connection = True
                return
            self.send_response(served.status)
            pieces = served.pieces if served.answers is None else served.answers(body)
            for name, value in served.headers:
                self.send_header(name, value)
            if pieces is None:
                self.send_header("content-length", str(len(served.body)))
            else:
                self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            if pieces is None:
                if self.command != "HEAD":
                    self.wfile.write(served.body)
                return
            try:
                for at, piece in enumerate(pieces):
                    if at:
                        served.go.wait(30)
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
            except OSError:
                served.cut.set()
                self.close_connection = True
                return
            if served.breaks_off:
                self.close_connection = True
                return
            self.wfile.write(b"0\r\n\r\n")

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = _serve  # noqa: N815 - the server's names

        def _body(self) -> bytes:
            if "chunked" not in self.headers.get("transfer-encoding", ""):
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            read = b""
            while size := int(self.rfile.readline(), 16):
                read += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return read

    with loopback(Handler) as url:
        served.url = url
        yield served


class ScriptedMemory:
    """Answers events with a block each, the same one for the same thing, as a daemon does that keeps what it gave.

    `delay_s` = how long an answer takes; `gone` = none comes; `late` = it takes the whole deadline, and none comes.
    """

    def __init__(self) -> None:
        self.given: dict[tuple[str, str], str] = {}
        self.events: list[Mapping[str, Any]] = []
        self.gone = False
        self.late = False
        self.broken = False
        self.delay_s = 0.0
        self.deadlines_ms: dict[str, float] = {}

    def hook(self, payload: Mapping[str, Any], deadline_ms: float) -> Mapping[str, object] | None:
        self.events.append(payload)
        self.deadlines_ms[payload["event"]] = deadline_ms
        if self.broken:
            raise RuntimeError("the memory is broken")
        if self.gone:
            return None
        time.sleep(min(self.delay_s, deadline_ms / 1000))
        event, session = payload["event"], payload["session"]
        answer: Mapping[str, object] = {}
        match event:
            case "start":
                for (owner, name), text in list(self.given.items()):
                    if owner == payload.get("parent"):  # a fork holds what its parent was given
                        self.given.setdefault((session, name), text)
                answer = {"system": self.given.setdefault((session, "start"), block("start", session))}
            case "prompt":
                answer = {"text": self._text(session, payload["message_id"], "prompt")}
            case "tool_end" | "tool_failed":
                answer = {"text": self._text(session, f"call:{payload['call_id']}", "action")}
            case "replay":
                texts = {name: self.given.get((session, name), "") for name in payload["message_ids"]}
                answer = {"texts": {name: text for name, text in texts.items() if text}}
        if self.late and event != "message_end":
            time.sleep(deadline_ms / 1000)
            return None
        return answer

    def _text(self, session: str, name: str, surface: str) -> str:
        return self.given.setdefault((session, name), block(surface, f"{session} {name}"))

    def flush(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Nothing is open here."""


def block(surface: str, about: str) -> str:
    return f'<tacit-memory surface="{surface}">\n- about {about}\n</tacit-memory>'


@dataclass(frozen=True, kw_only=True)
class RunningProxy:
    url: str
    home: Home
    memory: Tacit
    client: httpx.Client

    def post(self, path: str, body: bytes | Any, **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(self.url + path, content=content, headers={"content-type": "application/json", **headers})  # fmt: skip


@contextmanager
def proxy(
    home: Path, memory: Tacit | ScriptedMemory, upstream: str, *, project: Path | None = None, **options: Any
) -> Iterator[RunningProxy]:
    """Serve a proxy in front of `upstream` until the block ends."""
    opened = Tacit(memory, cwd="") if isinstance(memory, ScriptedMemory) else memory  # type: ignore[arg-type]
    told = ProxyOptions(
        project=project or home.parent,
        port=0,
        upstreams=Upstreams.parse(openai=f"{upstream}/v1", anthropic=upstream),
        **{"deadline_ms": 10_000.0, **options},
    )
    server = ProxyServer(Home(home), told, opened)
    ready = threading.Event()
    thread = threading.Thread(target=server.run, kwargs={"ready": ready.set})
    thread.start()
    assert ready.wait(20)
    client = httpx.Client(timeout=30)
    try:
        yield RunningProxy(
            url=f"http://127.0.0.1:{server.port}", home=Home(home), memory=opened, client=client
        )
    finally:
        client.close()
        server.stop()
        thread.join(20)
        assert not thread.is_alive()
        if isinstance(memory, ScriptedMemory):
            opened.close()


def without_blocks(body: bytes) -> bytes:
    """A body of the Messages API without what a `ScriptedMemory` put into it."""
    return BLOCK.sub(b"", SYSTEM.sub(b"", body))


def wait_until(done: Callable[[], bool], *, within_s: float = 10.0) -> bool:
    """Whether `done` became true in time."""
    end = time.monotonic() + within_s
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
