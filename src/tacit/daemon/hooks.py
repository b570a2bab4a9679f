"""One hook answered: what the socket's door and the ASGI server share.

In: the bytes of a request. Out: the exact text for a host, or the status it gets instead. A named boundary: nothing that
fails behind a hook becomes more than silence, a counter and a log line without text. Loads no ASGI.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tacit import __version__
from tacit.daemon.counters import Counters
from tacit.daemon.page.signin import PageSessions
from tacit.daemon.source import EngineSource
from tacit.daemon.spool import parse_payload
from tacit.daemon.workers import Busy, WorkerPool
from tacit.errors import InvalidPayload, TacitError
from tacit.session.answering import answering

if TYPE_CHECKING:
    from starlette.routing import Router

    from tacit.app.engine import Engine
    from tacit.daemon.mcp_mount import McpMount

HOOK_PATH = "/hook/"
DEADLINE_HEADER = b"x-tacit-deadline-ms"
VERSION_HEADER = (b"x-tacit-version", __version__.encode())
MAX_BODY_BYTES = 16 << 20
DEADLINE_MS = 800.0
MOST_DEADLINE_MS = 60_000.0
WRITE_UP_MS = 20.0
"""Left of a deadline for encoding the answer and carrying it back."""

_LOG = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class DaemonParts:
    """What the application works with. `stop` and `listen` are given by the process that runs it."""

    source: EngineSource
    pool: WorkerPool
    home: str
    counters: Counters = field(default_factory=Counters)
    stop: Callable[[], None] = lambda: None
    leaving: Callable[[], bool] = lambda: False
    listen: Callable[[int], Awaitable[dict[str, object]]] | None = None
    api: Router | None = None
    mcp: McpMount | None = None
    page: PageSessions = field(default_factory=PageSessions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A hook that gets no text: status, headers, body."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""


def refused(parts: DaemonParts, host: str, error: Exception) -> Refused:
    """The answer to a hook that gets no text because of `error`; counted, and logged without text."""
    counters = parts.counters
    match error:
        case Busy():
            counters.add("busy")
            return _empty(503)
        case TimeoutError():
            counters.add("late")
            return _empty(504)
        case TacitError():
            counters.add("refused")
            _LOG.warning("a hook of %s was refused: %s", host, error.code, extra={"detail": error.message})
            return problem(error)
        case _:
            counters.add("errors")
            _LOG.error("a hook of %s failed", host, exc_info=error)
            return _empty(500)


def problem(error: TacitError) -> Refused:
    """`error` as the API would say it."""
    from tacit.api.problems import problem_of  # noqa: PLC0415 - loads starlette, which a first answer need not wait for

    said = problem_of(error)
    return Refused(status=said.status_code, headers=said.raw_headers, body=bytes(said.body))


def _empty(status: int) -> Refused:
    return Refused(status=status, headers=[(b"content-length", b"0")])


def text_headers(body: bytes) -> list[tuple[bytes, bytes]]:
    """Headers of an answered hook."""
    kind = b"application/json" if body[:1] == b"{" else b"text/plain; charset=utf-8"
    return [(b"content-length", str(len(body)).encode()), (b"content-type", kind)]


def answer(engine: Engine, host: str, body: bytes, *, until_s: float) -> str:
    """Ask the engine for one event's exact reply, within what is left of its deadline. Blocking."""
    payload = parse_payload(body)
    left_ms = (until_s - time.monotonic()) * 1000 - WRITE_UP_MS
    return engine.hook(host, payload, deadline_ms=max(1.0, left_ms))


def owed(engine: Engine, host: str, body: bytes, *, until_s: float) -> str:
    """`answer` on a thread of its own; what may wait gives way meanwhile, as it does for the socket's door."""
    with answering():
        return answer(engine, host, body, until_s=until_s)


def deadline_of(headers: Iterable[tuple[bytes, bytes]]) -> float:
    """Milliseconds that whoever asked will wait; header names in lower case."""
    given = next((value for name, value in headers if name == DEADLINE_HEADER), b"")
    return min(float(given), MOST_DEADLINE_MS) if given.isdigit() and int(given) > 0 else DEADLINE_MS


def too_large() -> TacitError:
    """The error for a body above `MAX_BODY_BYTES`."""
    return InvalidPayload(f"The payload is larger than {MAX_BODY_BYTES} bytes.", hint="Send less at once.")


def health_of(parts: DaemonParts) -> dict[str, object]:
    """What `GET /health` says."""
    return {
        "version": __version__,
        "pid": os.getpid(),
        "uptime_s": round(parts.counters.uptime_s, 3),
        "home": parts.home,
        "ready": parts.source.ready is not None,
        "idle_s": round(parts.counters.idle_s, 3),
        "rss_kb": _rss_kb(),
        "counters": dict(parts.counters.values()),
    }


def _rss_kb() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm", "rb") as opened:  # noqa: PTH123
        return int(opened.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    return 0
