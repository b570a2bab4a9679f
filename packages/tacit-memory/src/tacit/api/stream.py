"""Live traces as server-sent events. In: the feed of stored traces. Out: one event per trace, in one line each.

A client that reads too slowly loses the oldest waiting rows, never memory of ours. Ends when the daemon leaves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable

from tacit.api.answering import Answer, Parameters, Service, encode, to_bytes
from tacit.app.admin.recalls import row_of
from tacit.app.visibility import Visibility
from tacit.errors import DaemonUnavailable
from tacit.model.memory import Speaker
from tacit.model.trace import Trace
from tacit.verbs.requests import NoBody

HEARTBEAT_S = 15.0
SHUTDOWN_POLL_S = 0.5
"""Seconds between two checks whether the daemon is about to end."""
MOST_WAITING = 256
MOST_STREAMS = 32


def stream_traces(engine: Service, at: Parameters, request: NoBody) -> Answer[None]:  # noqa: ARG001 - one shape for all handlers
    """Stream recalls as they happen: `event: trace` with a row of `GET /v1/traces`, and a comment every 15 seconds.

    The stream is of server-sent events. A client that reads too slowly loses the oldest waiting rows. It ends
    when the daemon stops; connect again then.
    """
    return Answer(None, events=at.recalls(engine, at.speaker))


class Streams:
    """The open streams of recalls. At most `MOST_STREAMS` may be open."""

    def __init__(self, *, leaving: Callable[[], bool]) -> None:
        """Open streams that end when `leaving` returns true, because the daemon is about to end."""
        self._leaving = leaving
        self._open = 0

    def recalls(self, engine: Service, speaker: Speaker) -> AsyncGenerator[bytes]:
        """Return a stream of recalls as server-sent events: those from now on that `speaker` may see.

        Raises:
            DaemonUnavailable: if too many streams are open.
        """
        if self._open >= MOST_STREAMS:
            raise DaemonUnavailable("Too many streams are open.", hint="Close one of them.")
        return self._events(engine, engine.visibility(speaker))

    async def _events(self, engine: Service, visibility: Visibility) -> AsyncGenerator[bytes]:
        loop = asyncio.get_running_loop()
        waiting: deque[Trace] = deque(maxlen=MOST_WAITING)
        woken = asyncio.Event()

        def hear(trace: Trace) -> None:
            waiting.append(trace)
            loop.call_soon_threadsafe(woken.set)

        self._open += 1
        leave = engine.admin.feed.subscribe(hear)
        try:
            yield b"retry: 2000\n: tacit\n\n"
            silent_s = 0.0
            while not self._leaving():
                try:
                    await asyncio.wait_for(woken.wait(), SHUTDOWN_POLL_S)
                except TimeoutError:
                    silent_s += SHUTDOWN_POLL_S
                    if silent_s >= HEARTBEAT_S:
                        silent_s = 0.0
                        yield b": beat\n\n"
                    continue
                woken.clear()
                while waiting:
                    (trace,) = await asyncio.to_thread(visibility.traces, (waiting.popleft(),))
                    body = to_bytes(encode(row_of(trace)))
                    yield b"event: trace\nid: " + trace.id.encode() + b"\ndata: " + body + b"\n\n"
        finally:
            leave()
            self._open -= 1
