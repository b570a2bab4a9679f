"""The limits of an HTTP connection: the time and the bytes that a request may take. The protocol behind the ASGI server.

In: bytes of one connection. Out: what uvicorn's own protocol makes of them, or the end of the connection. A client that
sends its request byte by byte holds a connection for a limited time, and no thread. A head that does not end is refused.
A client that reads slowly is left to uvicorn, which stops writing.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, cast

from starlette.requests import ClientDisconnect
from starlette.types import Receive
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tacit.api.problems import MEDIA_TYPE, problem_body
from tacit.daemon.hooks import MAX_BODY_BYTES, too_large

HEAD_S = 10.0
"""From the first byte of a request, or from the connection, to the end of its head."""
BODY_S = 30.0
"""From there to the end of its body."""
MAX_HEAD_BYTES = 64 * 1024
MAX_CONNECTIONS = 512


class LimitedHttpProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol for one connection, with limits for time, head size and the number of connections. Runs on the event loop only."""

    head_s = HEAD_S
    body_s = BODY_S

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_head = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timer for the head. If there are `MAX_CONNECTIONS` already, close the connection at once."""
        if len(self.connections) >= MAX_CONNECTIONS:
            cast(asyncio.Transport, transport).abort()
            self.transport = cast(asyncio.Transport, transport)
            self.parser = None  # type: ignore[assignment]
            return
        super().connection_made(cast(asyncio.Transport, transport))
        self._wait(self.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer of the request, as the connection is closed."""
        self._wait(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass the bytes to the parser. Refuse a head above `MAX_HEAD_BYTES` with status 431."""
        if self.parser is None:
            return
        if self._in_head:
            if not self._head_bytes and self._timer is None:
                self._wait(self.head_s)  # the next request of a connection that was kept
            self._head_bytes += len(data)
        super().data_received(data)
        # What comes with the end of a head may belong to its body, so only a head that goes on is measured.
        if self._in_head and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(
                431,
                "head_too_large",
                f"The head of the request is larger than {MAX_HEAD_BYTES} bytes.",
                hint="Send long values in a body.",
            )

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP with a problem of status 400, and close the connection."""
        hint = f"Look at its method, its Content-Length, and its length: an address has at most {MAX_HEAD_BYTES} bytes."
        self._refuse(400, "invalid_payload", msg, hint=hint)

    def on_headers_complete(self) -> None:
        """Start the timer for the body, as the head is complete."""
        self._in_head = False
        self._head_bytes = 0
        self._wait(self.body_s)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Cancel the timer, as the request is complete; the next bytes begin a new head."""
        self._in_head = True
        self._wait(None)
        super().on_message_complete()

    def _refuse(self, status: int, code: str, detail: str, *, hint: str) -> None:
        body = problem_body(code, detail, hint=hint, status=status)
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + body)
        self.transport.close()

    def _wait(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._give_up) if seconds is not None else None

    def _give_up(self) -> None:
        self._timer = None
        if self.transport is not None and not self.transport.is_closing():  # pyright: ignore[reportUnnecessaryComparison]
            self.transport.abort()


async def read_body(receive: Receive) -> bytes:
    """Return the whole body of an ASGI request.

    Raises:
        InvalidPayload: if it has more than `MAX_BODY_BYTES`.
        ClientDisconnect: the client closed the connection.
    """
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        chunk: bytes = message.get("body", b"")
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise too_large()
        if not message.get("more_body", False):
            return b"".join(chunks)
