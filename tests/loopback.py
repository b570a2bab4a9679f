"""A server on the loopback for as long as a test needs it. In: what answers a request. Out: its address."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tacit.config.home import Home
from tacit.system.transport import Transport


class QuietHandler(BaseHTTPRequestHandler):
    """Keeps connections open, and writes no log."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def loopback(handler: type[QuietHandler]) -> Iterator[str]:
    """Serve until the block ends; yields `http://127.0.0.1:PORT`."""
    with stoppable(handler) as (address, _):
        yield address


@contextmanager
def stoppable(handler: type[QuietHandler]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Serve until the block ends, or until the second value is called: then the port refuses, and open connections are cut."""
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def stop() -> None:
        server.shutdown()
        server.server_close()
        server.cut()
        thread.join()

    try:
        yield f"http://127.0.0.1:{server.server_port}", stop
    finally:
        stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._open: list[socket.socket] = []

    def process_request(self, request: Any, client_address: Any) -> None:
        """Keep the connection, so that it can be cut."""
        self._open.append(request)
        super().process_request(request, client_address)

    def cut(self) -> None:
        """Cut every connection: a client that keeps one open must not be answered by a server that is gone."""
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class DaemonSocket:
    """What the daemon of a home listens on, without the daemon: a Unix socket, or a port where TACIT_TRANSPORT is `tcp`."""

    def __init__(self, home: Home, *, transport: Transport | None = None) -> None:
        self._transport = transport or home.new_transport()
        self._bound = self._transport.bind()

    @property
    def file(self) -> Path:
        """The file by which clients find it."""
        return self._transport.file

    def accept(self) -> socket.socket:
        """The next client that the transport admits; raises OSError when this is closed."""
        while True:
            connection, _ = self._bound.accept()
            with suppress(OSError):
                if self._transport.admission(connection).check(time.monotonic() + 30):
                    connection.settimeout(30)
                    return connection
            connection.close()

    def close(self) -> None:
        """Take no more clients."""
        with suppress(OSError):
            self._bound.shutdown(socket.SHUT_RDWR)
        self._bound.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(home: Home, *, timeout_s: float = 30) -> socket.socket:
    """A connection to the running daemon of a home, over the transport that it chose."""
    connection = home.transport().connect(time.monotonic() + timeout_s)
    connection.settimeout(timeout_s)
    return connection


@contextmanager
def daemon_server(
    home: Home, body: bytes, *, status: int = 200, heads: list[bytes] | None = None
) -> Iterator[None]:
    """Answer every request in place of the daemon of a home so until the block ends; `heads` receives what was sent."""
    listener = DaemonSocket(home)

    def serve() -> None:
        while True:
            try:
                connection = listener.accept()
            except OSError:
                return
            with connection:
                sent = connection.recv(1 << 16)
                if heads is not None:
                    heads.append(sent)
                connection.sendall(
                    b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n" % (status, len(body)) + body
                )

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.close()
        thread.join(5)
        listener.file.unlink(missing_ok=True)
