"""The hook listener, over a real socket and an engine that the test plays."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from tacit import __version__
from tacit.daemon.hook_listener import HookListener
from tacit.daemon.hooks import MAX_BODY_BYTES, DaemonParts
from tacit.daemon.source import EngineSource
from tacit.daemon.workers import WorkerPool
from tacit.errors import NotFound
from tacit.system.transport import TcpTransport, Transport, UnixTransport
from unit.daemon.place import Answer, EngineDouble


class Place:
    """A listener on a socket of its own, and what it hands over."""

    def __init__(self, transport: Transport, answer: Answer) -> None:
        self.transport = transport
        self.bound = transport.bind()
        self.handed: list[socket.socket] = []
        engine = EngineDouble(answer)
        self.parts = DaemonParts(
            source=EngineSource(lambda: engine), pool=WorkerPool(threads=1, queue=1), home="/h"
        )
        self.listener = HookListener(
            self.bound, transport=transport, parts=self.parts, threads=2, hand_over=self.handed.append
        )
        self.taken = engine.taken
        self.listener.start()

    def connect(self) -> socket.socket:
        connection = self.transport.connect(time.monotonic() + 30)
        connection.settimeout(30)
        return connection

    def send(self, raw: bytes) -> bytes:
        """What comes back for `raw`, to the last byte."""
        with closing(self.connect()) as connection:
            connection.sendall(raw)
            data = b""
            while part := connection.recv(65536):
                data += part
            return data

    def post(self, host: str, body: bytes, *headers: str) -> tuple[int, dict[str, str], bytes]:
        lines = (f"POST /hook/{host} HTTP/1.1", "Host: tacit", f"Content-Length: {len(body)}", *headers)
        head, _, text = self.send("\r\n".join((*lines, "", "")).encode() + body).partition(b"\r\n\r\n")
        first, *rest = head.decode().split("\r\n")
        named = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
        return int(first.split()[1]), named, text


@pytest.fixture
def transport(tmp_path: Path, request: pytest.FixtureRequest) -> Transport:
    return getattr(request, "param", UnixTransport)(tmp_path / "daemon")


over_each = pytest.mark.parametrize("transport", [UnixTransport, TcpTransport], indirect=True)
"""For tests of what a transport has a part in; its contract is in test_system_transport.py."""


@contextmanager
def place(transport: Transport, answer: Answer) -> Generator[Place]:
    made = Place(transport, answer)
    try:
        yield made
    finally:
        assert made.listener.close(timeout_s=30)
        made.bound.close()
        made.parts.pool.close(timeout_s=1)
        for connection in made.handed:
            connection.close()


@over_each
def test_a_hook_gets_the_exact_bytes_and_the_version(transport: Transport) -> None:
    deadlines: list[float] = []

    def answer(host: str, payload: Mapping[str, object], deadline_ms: float) -> str:
        deadlines.append(deadline_ms)
        return f"{host}:{payload['prompt']}"

    with place(transport, answer) as here:
        status, headers, body = here.post("plain", '{"prompt": "é"}'.encode(), "X-Tacit-Deadline-Ms: 5000")
        assert (status, body.decode()) == (200, "plain:é")
        assert headers["content-length"] == str(len(body))
        assert headers["connection"] == "close"
        assert headers["x-tacit-version"] == __version__
        assert here.parts.counters.values()["injections"] == 1
        assert here.parts.counters.values()["requests"] == 1
    assert 1000 < deadlines[0] < 5000


def test_silence_is_an_empty_body_and_json_is_called_so(transport: Transport) -> None:
    with place(transport, lambda host, *_: "" if host == "quiet" else '{"a": 1}') as here:
        assert here.post("quiet", b"{}")[::2] == (200, b"")
        assert here.parts.counters.values()["silences"] == 1
        status, headers, body = here.post("loud", b"{}")
        assert (status, headers["content-type"], body) == (200, "application/json", b'{"a": 1}')


def test_a_body_in_chunks_and_in_pieces_is_read_whole(transport: Transport) -> None:
    text = json.dumps({"prompt": "x" * 300_000}).encode()
    with place(transport, lambda _, payload, __: str(len(str(payload["prompt"])))) as here:
        assert here.post("plain", text)[2] == b"300000"
        chunked = (
            b"POST /hook/plain HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
            b'8\r\n{"prompt\r\n7\r\n": "ab"\r\n1\r\n}\r\n0\r\n\r\n'
        )
        assert here.send(chunked).endswith(b"\r\n\r\n2")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"[" * 100_000])
def test_a_payload_that_is_no_object_is_a_problem(transport: Transport, body: bytes) -> None:
    with place(transport, lambda *_: "never") as here:
        status, _, text = here.post("plain", body)
        assert (status, json.loads(text)["code"]) == (400, "invalid_payload")
        assert here.parts.counters.values()["refused"] == 1


def test_a_body_above_the_limit_is_refused_and_not_kept(transport: Transport) -> None:
    with place(transport, lambda *_: "never") as here:
        status, _, text = here.post("plain", b"x" * (MAX_BODY_BYTES + 1))
        assert status == 400
        assert "larger than" in json.loads(text)["detail"]


def test_what_the_engine_refuses_or_breaks_on_costs_nobody_else(transport: Transport) -> None:
    def answer(host: str, *_: object) -> str:
        if host == "broken":
            raise RuntimeError("a secret text")
        raise NotFound("No host is called 'x'.")

    with place(transport, answer) as here:
        assert here.post("x", b"{}")[0] == 404
        assert here.post("broken", b"{}")[::2] == (500, b"")
        counted = here.parts.counters.values()
        assert (counted["refused"], counted["errors"]) == (1, 1)


@pytest.mark.parametrize(
    "raw", [b"GET /v1/status HTTP/1.1\r\n\r\n", b"POST /v1/recall HTTP/1.1\r\n\r\n", b"junk"]
)
@over_each
def test_everything_else_is_handed_over_unread(transport: Transport, raw: bytes) -> None:
    with place(transport, lambda *_: "never") as here, closing(here.connect()) as client:
        client.sendall(raw)
        until = time.monotonic() + 30
        while not here.handed and time.monotonic() < until:
            time.sleep(0.01)
        (connection,) = here.handed
        connection.settimeout(30)
        assert connection.recv(100) == raw


def test_the_listener_tells_health_before_the_engine_is_there(transport: Transport) -> None:
    with place(transport, lambda *_: "ok") as here:
        head, _, body = here.send(b"GET /health HTTP/1.1\r\nHost: t\r\n\r\n").partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert (json.loads(body)["ready"], json.loads(body)["version"]) == (False, __version__)
        assert here.send(b"GET /healthy HTTP/1.1\r\nHost: t\r\n\r\n").startswith(b"HTTP/1.1 404")
        assert here.post("plain", b"{}")[2] == b"ok"
        assert json.loads(here.send(b"GET /health HTTP/1.1\r\n\r\n").partition(b"\r\n\r\n")[2])["ready"]
        assert here.handed == []


def test_a_client_that_sends_no_http_after_the_head_is_let_go(transport: Transport) -> None:
    with place(transport, lambda *_: "ok") as here:
        assert here.send(b"POST /hook/x\x00 nonsense\r\n\r\n") == b""
        assert here.post("plain", b"{}")[2] == b"ok"


def test_closing_waits_for_what_is_being_answered(transport: Transport) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(*_: object) -> str:
        begun.set()
        go.wait(30)
        return "done"

    replies: list[bytes] = []
    with place(transport, slow) as here:
        asking = threading.Thread(target=lambda: replies.append(here.post("plain", b"{}")[2]))
        asking.start()
        assert begun.wait(30)
        assert not here.listener.close(timeout_s=0.05)
        go.set()
        asking.join(30)
    assert replies == [b"done"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent", [b"", b"POST /hook/x HTTP/1.1\r\n", b"POST /hook/x HTTP/1.1\r\nContent-Length: 99\r\n\r\n{"]
)
def test_many_slow_clients_keep_no_hook_waiting(transport: Transport, sent: bytes) -> None:
    """A client that says half a request, or nothing, takes no thread away from the others."""
    released = threading.Event()

    def drip(connection: socket.socket) -> None:
        while not released.wait(0.3):
            try:
                connection.sendall(b"X" if sent else b"")
            except OSError:
                return

    with place(transport, lambda *_: "text") as made:
        slow: list[socket.socket] = []
        for _ in range(40):
            slow.append(made.connect())
            slow[-1].sendall(sent)
            threading.Thread(target=drip, args=(slow[-1],), daemon=True).start()
        order: list[str] = []
        status, _, text = made.post("claude-code", b"{}")
        order.append("hook")
        assert (status, text) == (200, b"text")
        if sent:  # and none of them is waited for without end
            for each in slow:
                with suppress(ConnectionError):
                    assert each.recv(1) == b""
            order.append("slow")
        assert order[0] == "hook"
        released.set()
        for each in slow:
            each.close()


@over_each
def test_a_request_that_comes_in_pieces_is_answered(transport: Transport) -> None:
    with place(transport, lambda *_: "text") as made, closing(made.connect()) as connection:
        for piece in (b"POST /hook/x HTTP/1.1\r\n", b"Content-Length: 2\r\n\r\n", b"{", b"}"):
            connection.sendall(piece)
            time.sleep(0.1)
        data = b""
        while part := connection.recv(65536):
            data += part
        assert data.endswith(b"text")


def asking(place: Place, *headers: str) -> socket.socket:
    """A connection on which a hook was asked."""
    connection = place.connect()
    lines = ("POST /hook/x HTTP/1.1", "Host: tacit", "Content-Length: 2", *headers, "", "")
    connection.sendall("\r\n".join(lines).encode() + b"{}")
    return connection


def outcome(place: Place) -> tuple[bool, dict[str, int]]:
    """Whether the engine heard that its one answer was taken, and the counters."""
    until = time.monotonic() + 30
    while not (place.taken and sum(place.parts.counters.values()[name] for name in ("injections", "late"))):
        assert time.monotonic() < until
        time.sleep(0.005)
    (taken,) = place.taken
    return taken, dict(place.parts.counters.values())


ACKNOWLEDGES = "X-Tacit-Acknowledges: 1"


@over_each
def test_an_answer_counts_as_given_when_its_client_says_so(transport):
    with place(transport, lambda *_: "memory") as made:
        connection = asking(made, ACKNOWLEDGES)
        with closing(connection):
            data = b""
            while not data.endswith(b"memory"):
                data += connection.recv(65536)
            assert made.taken == []  # so far, it was only sent
            connection.sendall(b"\x06")
            taken, counters = outcome(made)
        assert taken
        assert (counters["injections"], counters["late"]) == (1, 0)


@pytest.mark.parametrize("read", [True, False])
def test_an_answer_that_its_client_does_not_confirm_counts_as_late(transport, read):
    with place(transport, lambda *_: "memory") as made:
        connection = asking(made, ACKNOWLEDGES, "X-Tacit-Deadline-Ms: 20000")
        if read:
            connection.recv(65536)
        connection.close()
        taken, counters = outcome(made)
        assert not taken
        assert (counters["injections"], counters["late"]) == (0, 1)


def test_a_client_that_stands_still_is_waited_for_until_its_deadline_and_no_longer(transport):
    with (
        place(transport, lambda *_: "memory") as made,
        closing(asking(made, ACKNOWLEDGES, "X-Tacit-Deadline-Ms: 100")),
    ):
        taken, _ = outcome(made)
        assert not taken


def test_a_client_that_says_nothing_was_given_the_answer_if_it_was_still_there(transport):
    gone = threading.Event()

    def answer(*_: object) -> str:
        assert gone.wait(30)
        return "memory"

    with place(transport, answer) as made:
        asking(made).close()
        gone.set()
        assert outcome(made)[0] is False
    with place(transport, lambda *_: "memory") as made:
        with closing(asking(made)) as connection:
            assert connection.recv(65536).endswith(b"memory")
        assert outcome(made)[0] is True


def test_silence_needs_no_confirmation(transport):
    with place(transport, lambda *_: "") as made:
        with closing(asking(made, ACKNOWLEDGES)) as connection:
            assert connection.recv(65536)
        assert made.taken == []
