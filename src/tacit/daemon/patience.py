"""How long the server waits for a client, and how much it keeps for one that is not done: the protocol behind the ASGI server.

In: bytes of one connection. Out: what uvicorn's own protocol makes of them, or the end of the connection. A client that sends
its request drop by drop holds a connection for so long and no thread; one that sends a head without end is cut off. Whoever
reads an answer slowly is uvicorn's business: it stops writing.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_S = 10.0
"""From the first byte of a request, or from the connection, to the end of its head."""
BODY_S = 30.0
"""From there to the end of its body."""
MAX_HEAD_BYTES = 64 * 1024
MOST_CONNECTIONS = 512


class PatientProtocol(HttpToolsProtocol):
    """One connection. Runs on the event loop alone."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_head = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a head; one connection too many is closed at once."""
        if len(self.connections) >= MOST_CONNECTIONS:
            cast(asyncio.Transport, transport).abort()
            self.transport = cast(asyncio.Transport, transport)
            self.parser = None  # type: ignore[assignment]
            return
        super().connection_made(cast(asyncio.Transport, transport))
        self._wait(HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, but no head without end."""
        if self.parser is None:
            return
        if self._in_head:
            if not self._head_bytes and self._timer is None:
                self._wait(HEAD_S)  # the next request of a connection that was kept
            self._head_bytes += len(data)
        super().data_received(data)
        # What comes with the end of a head may belong to its body, so only a head that goes on is measured.
        if self._in_head and self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """The head is whole: wait for the body."""
        self._in_head = False
        self._head_bytes = 0
        self._wait(BODY_S)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole; a further one begins with a head."""
        self._in_head = True
        self._wait(None)
        super().on_message_complete()

    def _wait(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._give_up) if seconds is not None else None

    def _give_up(self) -> None:
        self._timer = None
        if self.transport is not None and not self.transport.is_closing():  # pyright: ignore[reportUnnecessaryComparison]
            self.transport.abort()
