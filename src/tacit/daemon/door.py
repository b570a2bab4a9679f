"""The socket's door: hooks and `GET /health` are answered here, on plain threads; all else goes on to the ASGI server.

In: connections. Out: the exact bytes for a host in one reply, or the connection, unread, handed over. Somebody's turn waits
for each hook, and an event loop between socket and engine costs more than everything else around a silent one. As many
hooks as there are threads are answered at once; the others wait in the socket's own line, as long as their clients wait.
"""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Event, Lock, Semaphore, Thread
from typing import Literal

import httptools

from tacit.daemon.hooks import (
    HOOK_PATH,
    MAX_BODY_BYTES,
    VERSION_HEADER,
    DaemonParts,
    answer,
    deadline_of,
    health_of,
    refused,
    text_headers,
    too_large,
)
from tacit.session.answering import answering

HEAD = f"POST {HOOK_PATH}".encode()
HEALTH = b"GET /health"
"""Whoever starts a daemon asks for it again and again, while the ASGI server need not be loaded yet."""
HEAD_S = 1.0
"""A client that connects and says nothing for so long is the ASGI server's."""

AT_ONCE_S = 0.02
"""So long a thread of the door waits for the rest of a request; a hook sends all of it before it is accepted."""
REQUEST_S = 2.0
"""What a request may take in all, once it has begun. No hook waits longer for its answer."""
MOST_SLOW = 64
"""So many clients may be slow at once; the door closes on the next."""

READ_BYTES = 1 << 18

State = Literal["complete", "foreign", "broken", "unfinished"]

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class _Asked:
    """A request as the parser calls it in."""

    path: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    body: list[bytes] = field(default_factory=list[bytes])
    size: int = 0
    complete: bool = False

    def on_url(self, url: bytes) -> None:
        self.path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, part: bytes) -> None:
        self.size += len(part)
        if self.size <= MAX_BODY_BYTES:
            self.body.append(part)

    def on_message_complete(self) -> None:
        self.complete = True


class _Request:
    """One connection, and what came of its request so far."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.head = b""
        self.asked = _Asked()
        self._parser = httptools.HttpRequestParser(self.asked)

    def read(self, *, until: float) -> State:
        """Read on until then (monotonic seconds).

        Returns:
            `complete`; `foreign`: it is the ASGI server's, and nothing was read; `broken`: the client left or speaks no
            HTTP; `unfinished`: the time is over, and reading may go on.
        """
        try:
            if not self.head:
                self._wait(until)
                head = self.connection.recv(len(HEAD), socket.MSG_PEEK)
                if head not in (HEAD, HEALTH):
                    return "foreign"
                self.head = head
            while not self.asked.complete:
                self._wait(until)
                data = self.connection.recv(READ_BYTES)
                if not data:
                    return "broken"
                self._parser.feed_data(data)
        except TimeoutError:
            return "unfinished"
        except (OSError, httptools.HttpParserError):
            return "broken" if self.head else "foreign"
        return "complete"

    def _wait(self, until: float) -> None:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)


class Door:
    """Threads that accept connections of one bound socket."""

    def __init__(
        self,
        bound: socket.socket,
        *,
        parts: DaemonParts,
        threads: int,
        hand_over: Callable[[socket.socket], None],
    ) -> None:
        """Stand at `bound`; what is no hook goes to `hand_over`, which must not block."""
        self._bound = bound
        self._parts = parts
        self._hand_over = hand_over
        self._over = Event()
        self._lock = Lock()
        self._busy = 0
        self._slow = Semaphore(MOST_SLOW)
        self._threads = [
            Thread(target=self._run, name=f"tacit-hook-{number}", daemon=True) for number in range(threads)
        ]

    def open(self) -> None:
        """Begin to accept."""
        self._bound.setblocking(True)
        for thread in self._threads:
            thread.start()

    def close(self, *, timeout_s: float) -> bool:
        """Accept no more and give what is being answered `timeout_s`; whether all of it finished."""
        self._over.set()
        with contextlib.suppress(OSError):
            self._bound.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + timeout_s
        while self._busy and time.monotonic() < until:
            time.sleep(0.01)
        return not self._busy

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._bound.accept()
            except OSError:
                if self._over.wait(0.05):  # shut down, or out of handles for a moment
                    return
                continue
            self._count(1)
            try:
                self._serve(connection)
            # A boundary: no client may take a thread away from the others.
            except Exception:  # noqa: BLE001
                self._parts.counters.add("errors")
                _LOG.exception("a connection failed")
                connection.close()
            finally:
                self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self._busy += change

    def _serve(self, connection: socket.socket) -> None:
        """Answer who has said all at once; whoever has not waits on a thread of its own, and keeps nobody else waiting."""
        request = _Request(connection)
        state = request.read(until=time.monotonic() + AT_ONCE_S)
        if state == "unfinished" and self._slow.acquire(blocking=False):
            self._count(1)
            Thread(target=self._serve_slowly, args=(request,), name="tacit-hook-slow", daemon=True).start()
        elif state == "unfinished" and request.head:
            connection.close()
        else:
            self._finish(request, state)

    def _serve_slowly(self, request: _Request) -> None:
        try:
            state = request.read(until=time.monotonic() + HEAD_S) if not request.head else "unfinished"
            if state == "unfinished" and request.head:
                state = request.read(until=time.monotonic() + REQUEST_S)
            self._finish(request, state)
        # A boundary: see `_run`.
        except Exception:  # noqa: BLE001
            self._parts.counters.add("errors")
            _LOG.exception("a slow connection failed")
            request.connection.close()
        finally:
            self._slow.release()
            self._count(-1)

    def _finish(self, request: _Request, state: State) -> None:
        connection = request.connection
        if state == "foreign" or (state == "unfinished" and not request.head):
            self._hand_over(connection)
            return
        # The client waits for the end of the connection; what follows an answer begins after that.
        with answering(), connection, contextlib.suppress(OSError):
            if state == "complete":
                connection.settimeout(HEAD_S)
                asked = request.asked
                connection.sendall(self._health(asked) if request.head == HEALTH else self._reply(asked))

    def _health(self, asked: _Asked) -> bytes:
        self._parts.counters.add("requests")
        if asked.path.partition(b"?")[0] != HEALTH.removeprefix(b"GET "):
            return _bytes(404, text_headers(b""), b"")
        body = json.dumps(health_of(self._parts), separators=(",", ":")).encode()
        return _bytes(200, text_headers(body), body)

    def _reply(self, asked: _Asked) -> bytes:
        parts = self._parts
        counters = parts.counters
        counters.add("requests")
        counters.add("hooks")
        counters.touch()
        host = asked.path[len(HOOK_PATH) :].decode("latin-1")
        until = time.monotonic() + deadline_of(asked.headers) / 1000
        try:
            if asked.size > MAX_BODY_BYTES:
                raise too_large()
            engine = parts.source.begin().result(timeout=max(0.0, until - time.monotonic()))
            text = answer(engine, host, b"".join(asked.body), until_s=until)
        # The hook boundary: whatever broke, the agent's turn goes on.
        except Exception as error:  # noqa: BLE001
            said = refused(parts, host, error)
            return _bytes(said.status, said.headers, said.body)
        counters.add("injections" if text else "silences")
        body = text.encode("utf-8", "replace")
        return _bytes(200, text_headers(body), body)


def _bytes(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bytes:
    lines = [b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode())]
    lines += [name + b": " + value for name, value in (*headers, VERSION_HEADER, (b"connection", b"close"))]
    return b"\r\n".join((*lines, b"", body))
