"""The listener on the Unix socket or on TCP: it answers hooks and `GET /health` in threads.

In: connections that the transport admits. Out: one reply with the exact bytes for a host, and whether its client took it; or the unread
connection, passed to the ASGI server.
An agent's turn waits for each hook, and an event loop between socket and engine costs more than the rest of a silent hook.
As many hooks as there are threads are answered at once; further ones wait in the socket's backlog.
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
    ACK,
    ACKNOWLEDGES,
    HOOK_PATH,
    MAX_BODY_BYTES,
    VERSION_HEADER,
    DaemonParts,
    HookReply,
    begin_hook,
    health_of,
    refuse_hook,
    serve_hook,
    text_headers,
    too_large,
)
from tacit.session.answer_priority import pending_answer
from tacit.system.transport import Transport

HEAD = f"POST {HOOK_PATH}".encode()
HEALTH = b"GET /health"
"""A program that starts a daemon asks for it repeatedly, often before the ASGI server is loaded."""
HEAD_S = 1.0
"""A client that connects and sends nothing for this long is handed over to the ASGI server."""
ADMISSION_S = 5.0
"""The time that a client has for the transport's proof, in seconds. A host may be slow while it starts."""

AT_ONCE_S = 0.02
"""A thread of the listener waits this long for the rest of a request; a hook sends all of it before it is accepted."""
REQUEST_S = 2.0
"""A request that has begun must be complete after this long. No hook waits longer for its answer."""
ACK_GRACE_S = 1.0
"""So long after its deadline a client may say that it took a reply. It ends a quarter of a second after that, and its connection with it."""
MAX_SLOW = 64
"""This many clients may be slow at once; the connection of the next one is closed."""

READ_BYTES = 1 << 18

State = Literal["complete", "foreign", "broken", "unfinished"]

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class _ParsedRequest:
    """The parts of a request that the HTTP parser has read; the parser calls its `on_` methods. A body above `MAX_BODY_BYTES` is counted, not kept."""

    path: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    body: list[bytes] = field(default_factory=list[bytes])
    size: int = 0
    complete: bool = False

    def on_url(self, url: bytes) -> None:
        self.path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size <= MAX_BODY_BYTES:
            self.body.append(chunk)

    def on_message_complete(self) -> None:
        self.complete = True


class _HookConnection:
    """One connection of the hook listener, and what was read of its request so far."""

    def __init__(self, connection: socket.socket, transport: Transport) -> None:
        self.connection = connection
        self.admitted = False
        self.head = b""
        self._admission = transport.admission(connection)
        self.parsed = _ParsedRequest()
        self._parser = httptools.HttpRequestParser(self.parsed)

    def read(self, *, until: float) -> State:
        """Read the request until it is complete, at most until `until` (of `time.monotonic()`). Blocks.

        Returns:
            `complete`; `foreign`: the ASGI server must answer, and nothing was read; `broken`: the client closed the connection, does
            not send HTTP, or is not admitted; `unfinished`: the time is over, and reading may continue.
        """
        try:
            self.admitted = self.admitted or self._admission.check(until)
            if not self.admitted:
                return "broken"
            if not self.head:
                self._wait(until)
                head = self.connection.recv(len(HEAD), socket.MSG_PEEK)
                if head not in (HEAD, HEALTH):
                    return "foreign"
                self.head = head
            while not self.parsed.complete:
                self._wait(until)
                data = self.connection.recv(READ_BYTES)
                if not data:
                    return "broken"
                self._parser.feed_data(data)
        except TimeoutError:
            return "unfinished"
        except (OSError, httptools.HttpParserError):
            return "broken" if self.head or not self.admitted else "foreign"
        return "complete"

    def _wait(self, until: float) -> None:
        remaining_s = until - time.monotonic()
        if remaining_s <= 0:
            raise TimeoutError
        self.connection.settimeout(remaining_s)


class HookListener:
    """The threads that accept connections on the daemon's socket, answer hooks and `GET /health`, and pass other connections on.

    `busy` is the number of connections that are being answered.
    """

    def __init__(
        self,
        bound: socket.socket,
        *,
        transport: Transport,
        parts: DaemonParts,
        threads: int,
        hand_over: Callable[[socket.socket], None],
    ) -> None:
        """Listen on `bound`; a connection without a hook goes to `hand_over`, which must not block."""
        self._bound = bound
        self._transport = transport
        self._parts = parts
        self._hand_over = hand_over
        self._over = Event()
        self._lock = Lock()
        self.busy = 0
        self._slow = Semaphore(MAX_SLOW)
        self._threads = [
            Thread(target=self._run, name=f"tacit-hook-{number}", daemon=True) for number in range(threads)
        ]

    def start(self) -> None:
        """Start the threads, which accept connections. Does not block."""
        self._bound.setblocking(True)
        for thread in self._threads:
            thread.start()

    def close(self, *, timeout_s: float) -> bool:
        """Stop accepting, and wait up to `timeout_s` for replies under way. Return whether all of them finished."""
        self._over.set()
        with contextlib.suppress(OSError):
            self._bound.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + timeout_s
        while self.busy and time.monotonic() < until:
            time.sleep(0.01)
        return not self.busy

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._bound.accept()
            except OSError:
                if self._over.wait(0.05):  # shut down, or out of handles for a moment
                    return
                continue
            if self._over.is_set():  # on some systems, `accept` does not end when the socket is shut down
                connection.close()
                return
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
            self.busy += change

    def _serve(self, connection: socket.socket) -> None:
        """Read a request and answer it. A slow client gets a thread of its own, so that no other waits; beyond `MAX_SLOW` its connection is closed."""
        request = _HookConnection(connection, self._transport)
        state = request.read(until=time.monotonic() + AT_ONCE_S)
        if state == "unfinished" and self._slow.acquire(blocking=False):
            self._count(1)
            Thread(target=self._serve_slowly, args=(request,), name="tacit-hook-slow", daemon=True).start()
        elif state == "unfinished" and (request.head or not request.admitted):
            connection.close()
        else:
            self._finish(request, state)

    def _serve_slowly(self, request: _HookConnection) -> None:
        try:
            state: State = "unfinished"
            if not request.admitted:
                state = request.read(until=time.monotonic() + ADMISSION_S)
            if state == "unfinished" and not request.head:
                state = request.read(until=time.monotonic() + HEAD_S)
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

    def _finish(self, request: _HookConnection, state: State) -> None:
        connection = request.connection
        if request.admitted and (state == "foreign" or (state == "unfinished" and not request.head)):
            self._hand_over(connection)
            return
        # The client waits for the end of the connection; what follows an answer begins after that.
        with pending_answer(), connection, contextlib.suppress(OSError):
            if state == "complete":
                connection.settimeout(HEAD_S)
                if request.head == HEALTH:
                    connection.sendall(self._health(request.parsed))
                else:
                    self._hook(connection, request.parsed)

    def _health(self, parsed: _ParsedRequest) -> bytes:
        self._parts.counters.add("requests")
        if parsed.path.partition(b"?")[0] != HEALTH.removeprefix(b"GET "):
            return _bytes_of(HookReply(status=404, headers=text_headers(b""), outcome=""))
        body = json.dumps(health_of(self._parts), separators=(",", ":")).encode()
        return _bytes_of(HookReply(status=200, headers=text_headers(body), body=body, outcome=""))

    def _hook(self, connection: socket.socket, parsed: _ParsedRequest) -> None:
        counters = self._parts.counters
        counters.add("requests")
        counters.touch()
        host = parsed.path[len(HOOK_PATH) :].decode("latin-1")
        until_s = begin_hook(self._parts, parsed.headers)
        acknowledges = any(name == ACKNOWLEDGES for name, _ in parsed.headers)

        def send(reply: HookReply) -> bool:
            return _was_taken(connection, _bytes_of(reply), until_s=until_s if acknowledges else None)

        if parsed.size > MAX_BODY_BYTES:
            reply = refuse_hook(host, too_large())
        else:
            body = b"".join(parsed.body)
            reply = serve_hook(self._parts, host, body, parsed.headers, until_s=until_s, send=send)
        counters.add(reply.outcome)
        if not reply.sent:
            connection.sendall(_bytes_of(reply))


def _was_taken(connection: socket.socket, reply: bytes, *, until_s: float | None) -> bool:
    """Send a reply and return whether the client took it. Blocks.

    With `until_s`, the client must confirm it (`ACK`) by then, plus `ACK_GRACE_S`. None = the client sends no confirmation: it need only be connected.
    """
    try:
        if until_s is None:
            if _is_closed(connection):
                return False
            connection.sendall(reply)
            return True
        connection.sendall(reply)
        connection.settimeout(max(0.0, until_s - time.monotonic()) + ACK_GRACE_S)
        return connection.recv(len(ACK)) == ACK
    except OSError:
        return False


def _is_closed(connection: socket.socket) -> bool:
    timeout_s = connection.gettimeout()
    connection.setblocking(False)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    finally:
        connection.settimeout(timeout_s)


def _bytes_of(reply: HookReply) -> bytes:
    lines = [b"HTTP/1.1 %d %s" % (reply.status, HTTPStatus(reply.status).phrase.encode())]
    headers = (*reply.headers, VERSION_HEADER, (b"connection", b"close"))
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join((*lines, b"", reply.body))
