"""Those who answer in place of what was expected: another program or daemon on the socket, an embedder that hangs."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from loopback import DaemonSocket
from tacit.config.home import Home
from tacit.system.files import take_lock


def reply(body: bytes, *, status: int = 200, version: str = "") -> bytes:
    """One HTTP reply."""
    named = f"x-tacit-version: {version}\r\n" if version else ""
    return (
        f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\n{named}connection: close\r\n\r\n".encode()
        + body
    )


class Stranger:
    """Listens in the place of a daemon.

    Answers everything with `answer` (None = never, b"" = closes at once); with a `version` it speaks like a daemon of
    that version instead, holds its lock, gives `hooks` to every hook, and leaves when it is told to stop.
    """

    def __init__(
        self,
        home: Home,
        answer: bytes | None = None,
        *,
        version: str = "",
        lock: bool = False,
        hooks: bytes = b"",
    ) -> None:
        self.stops = 0
        self._answer, self._version, self._hooks = answer, version, hooks
        self._open: list[socket.socket] = []
        self._lock = -1
        if lock:
            self._lock = os.open(home.daemon_lock, os.O_RDWR | os.O_CREAT, 0o600)
            assert take_lock(self._lock)
        home.ensure()
        self._socket = DaemonSocket(home)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()
        self._thread.join(5)
        for each in self._open:
            each.close()
        self._leave()

    @property
    def stopped(self) -> bool:
        """Whether it was told to stop, and did."""
        return self.stops > 0 and self._lock < 0

    def _leave(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _serve(self) -> None:
        while True:
            try:
                connection = self._socket.accept()
            except OSError:
                return
            if self._answer is None and not self._version:
                self._open.append(connection)
                continue
            with connection, contextlib.suppress(OSError):
                connection.settimeout(30)
                asked = self._read(connection)
                connection.sendall(self._answer_to(asked))
            if self.stops:
                self._socket.close()
                self._leave()
                return

    def _read(self, connection: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            part = connection.recv(1 << 16)
            if not part:
                return data
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = [
            int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length")
        ]
        while len(body) < sum(lengths):
            body += connection.recv(1 << 16)
        return head

    def _answer_to(self, head: bytes) -> bytes:
        if not self._version:
            return self._answer or b""
        path = head.split(b" ")[1]
        if path == b"/stop":
            self.stops += 1
            return reply(b"{}", status=202, version=self._version)
        if path == b"/health":
            told = {"version": self._version, "pid": 0, "uptime_s": 1.0, "home": "", "counters": {}}
            return reply(json.dumps(told).encode(), version=self._version)
        if path.startswith(b"/hook/"):
            return reply(self._hooks, version=self._version)
        return reply(b'{"code": "not_found", "detail": "no such path"}', status=404, version=self._version)


class HangingEmbedder:
    """An OpenAI-compatible `/embeddings` endpoint on loopback that answers, or hangs while `hang` is set."""

    def __init__(self, *, dimensions: int) -> None:
        self.hang = False
        self._over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers["content-length"])))
                while outer.hang and not outer._over.wait(0.02):
                    pass
                texts = given["input"] if isinstance(given["input"], list) else [given["input"]]
                data = [
                    {
                        "index": n,
                        "embedding": [float(1 + (hash_of(text) >> i) % 5) for i in range(dimensions)],
                    }
                    for n, text in enumerate(texts)
                ]
                body = json.dumps({"data": data, "model": "loopback"}).encode()
                with contextlib.suppress(OSError):
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


def hash_of(text: str) -> int:
    """A number that is the same in every process."""
    return int.from_bytes(text.encode("utf-8", "replace")[:12], "big")
