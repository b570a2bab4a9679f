"""One request, over each transport: what comes back, and that nothing is waited for longer than it was said."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from tacit.client.http_request import send_request
from tacit.system.transport import TcpTransport, Transport, UnixTransport

Serve = Callable[[socket.socket], None]
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(params=[UnixTransport, TcpTransport])
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[Serve], Transport]]:
    """Listens, and lets a function speak with the one that comes."""
    opened: list[tuple[socket.socket, Thread]] = []

    def start(serve: Serve) -> Transport:
        transport = request.param(tmp_path / "s")
        listening = transport.bind()

        def run() -> None:
            with listening.accept()[0] as one, suppress(OSError):
                assert transport.admission(one).check(time.monotonic() + 3)
                one.settimeout(3)
                serve(one)

        thread = Thread(target=run)
        thread.start()
        opened.append((listening, thread))
        return transport

    yield start
    for listening, thread in opened:
        thread.join()
        listening.close()


def heard(one: socket.socket) -> bytes:
    """The request, head and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += one.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
    while len(body) < length:
        body += one.recv(65_536)
    return head + b"\r\n\r\n" + body


def test_what_is_asked_arrives_and_what_is_answered_comes_back(served: Callable[[Serve], Transport]) -> None:
    said: list[bytes] = []

    def serve(one: socket.socket) -> None:
        said.append(heard(one))
        one.sendall(OK + b'Content-Length: 8\r\n\r\n{"a": 1}')

    transport = served(serve)
    answer = send_request(
        transport, "POST", "/x", {"path": "a\ud800"}, timeout_s=3, headers={"X-Tacit-Version": "1"}
    )
    assert answer == (200, b'{"a": 1}')
    head, _, body = said[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /x HTTP/1.1\r\n")
    assert b"X-Tacit-Version: 1" in head
    assert json.loads(body) == {"path": "a\ufffd"}


@pytest.mark.parametrize(
    "reply",
    [
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        b"Connection: close\r\n\r\nabcde",
        b"Content-Length: 5\r\nConnection: close\r\n\r\nabcde",
        b"Content-Length: 5\r\n\r\nabcde",
    ],
)
def test_a_body_of_any_framing_is_read_whole(served: Callable[[Serve], Transport], reply: bytes) -> None:
    transport = served(lambda one: (heard(one), one.sendall(OK + reply))[1])
    assert send_request(transport, "GET", "/", timeout_s=3, headers={}) == (200, b"abcde")


@pytest.mark.parametrize("length", [0, 1, 65_536, 65_537, 300_000])
def test_a_body_of_any_length_is_read_whole(served: Callable[[Serve], Transport], length: int) -> None:
    head = OK + f"Content-Length: {length}\r\nConnection: close\r\n\r\n".encode()
    transport = served(lambda one: (heard(one), one.sendall(head + b"x" * length))[1])
    assert send_request(transport, "GET", "/", timeout_s=3, headers={}) == (200, b"x" * length)


def test_an_answer_before_the_body_was_read_is_heard(served: Callable[[Serve], Transport]) -> None:
    def serve(one: socket.socket) -> None:
        one.recv(10)
        one.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}")
        one.shutdown(socket.SHUT_RD)

    transport = served(serve)
    assert send_request(transport, "POST", "/", "x" * 5_000_000, timeout_s=3, headers={}) == (413, b"{}")


def test_a_body_that_breaks_off_is_no_answer(served: Callable[[Serve], Transport]) -> None:
    transport = served(lambda one: (heard(one), one.sendall(OK + b"Content-Length: 9\r\n\r\nabc"))[1])
    with pytest.raises(http.client.IncompleteRead):
        send_request(transport, "GET", "/", timeout_s=3, headers={})


@pytest.mark.parametrize(
    "drip", [b"", b"H", OK + b"Content-Length: 999\r\n\r\n"], ids=["silent", "head", "body"]
)
def test_a_server_that_hangs_or_drips_is_left_in_time(
    served: Callable[[Serve], Transport], drip: bytes
) -> None:
    left = Event()

    def serve(one: socket.socket) -> None:
        heard(one)
        one.sendall(drip)
        while drip.startswith(OK) and not left.wait(0.02):
            one.sendall(b"x")
        left.wait(3)

    transport = served(serve)
    with pytest.raises(TimeoutError):
        send_request(transport, "GET", "/", timeout_s=0.1, headers={})
    left.set()


@pytest.mark.parametrize("transport", [UnixTransport, TcpTransport])
def test_nobody_there_is_told_as_it_is(tmp_path: Path, transport: type[Transport]) -> None:
    with pytest.raises(FileNotFoundError):
        send_request(transport(tmp_path / "none"), "GET", "/", timeout_s=1, headers={})
