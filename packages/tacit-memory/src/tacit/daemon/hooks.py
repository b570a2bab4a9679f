"""The service behind every hook: the hook listener and the ASGI server only carry its requests and replies.

In: the bytes of a request. Out: the reply with the exact text for a host, or the status that it gets instead. A named
boundary: whatever fails behind a hook becomes silence, a counter and a log line without text. Loads no ASGI.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tacit import __version__
from tacit.daemon.counters import Counters
from tacit.daemon.page.signin import PageSessions
from tacit.daemon.source import EngineSource
from tacit.daemon.spool import Spool, parse_payload
from tacit.daemon.workers import Busy, WorkerPool
from tacit.errors import InvalidPayload, TacitError
from tacit.frozen import frozen
from tacit.system.processes import resident_kb

if TYPE_CHECKING:
    from starlette.routing import Router

    from tacit.app.engine import Engine
    from tacit.daemon.server import McpMount

HOOK_PATH = "/hook/"
PROJECT_HEADER = b"x-tacit-project"
DEADLINE_HEADER = b"x-tacit-deadline-ms"
ACKNOWLEDGES = b"x-tacit-acknowledges"
"""With this header a client sends `ACK` once the host has the reply."""
ACK = b"\x06"
VERSION_HEADER = (b"x-tacit-version", __version__.encode())
MAX_BODY_BYTES = 16 << 20
DEADLINE_MS = 800.0
MAX_DEADLINE_MS = 60_000.0
REPLY_MS = 20.0
"""This much of a deadline is kept for encoding the reply and for its way back."""

_LOG = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class DaemonParts:
    """What the daemon's listeners and its application share: engine source, worker threads, counters, spool and page sessions.

    The process that runs them provides `stop` (end the daemon), `leaving` (whether it ends) and `listen` (open a loopback port).
    """

    source: EngineSource
    pool: WorkerPool
    home: str
    counters: Counters = field(default_factory=Counters)
    stop: Callable[[], None] = lambda: None
    leaving: Callable[[], bool] = lambda: False
    listen: Callable[[int], Awaitable[dict[str, object]]] | None = None
    api: tuple[Engine, Router] | None = None
    mcp: McpMount | None = None
    page: PageSessions = field(default_factory=PageSessions)
    spool: Spool = field(init=False)

    def __post_init__(self) -> None:
        """Find the spool of the home."""
        self.spool = Spool(Path(self.home) / "spool")


@frozen
class HookReply:
    """The HTTP reply to a hook. `outcome` = the name of the counter that the caller increments for it; `sent` = it was sent already."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""
    outcome: str
    sent: bool = False


def begin_hook(parts: DaemonParts, headers: Iterable[tuple[bytes, bytes]]) -> float:
    """Count a hook and return its deadline, a moment of `time.monotonic()`, from the client's header or `DEADLINE_MS`. Header names in lower case."""
    parts.counters.add("hooks")
    deadline = next((value for name, value in headers if name == DEADLINE_HEADER), b"")
    deadline_ms = (
        min(float(deadline), MAX_DEADLINE_MS) if deadline.isdigit() and int(deadline) > 0 else DEADLINE_MS
    )
    return time.monotonic() + deadline_ms / 1000


def serve_hook(
    parts: DaemonParts,
    host: str,
    body: bytes,
    headers: Iterable[tuple[bytes, bytes]],
    *,
    until_s: float,
    send: Callable[[HookReply], bool],
) -> HookReply:
    """Have the engine handle one event of `host` and return the reply, within what is left of its deadline. Blocks. Never raises.

    A reply with a block is sent by `send`, which returns whether the client took it; only then the engine counts the block as given.
    The caller sends every other reply: those whose `sent` is false.
    """
    sent: list[HookReply] = []

    def hand_over(text: str) -> bool:
        reply = _reply_of(text)
        taken = send(reply)
        sent.append(replace(reply, sent=True, outcome="injections" if taken else "late"))
        return taken

    try:
        engine = parts.source.begin().result(timeout=max(0.0, until_s - time.monotonic()))
        payload = parse_payload(body)
        parts.spool.take_start(payload, engine.take_kept, timeout_s=until_s - time.monotonic())
        left_ms = (until_s - time.monotonic()) * 1000 - REPLY_MS
        project = next((value for name, value in headers if name == PROJECT_HEADER), b"")
        text = engine.hook(
            host,
            payload,
            deadline_ms=max(1.0, left_ms),
            hand_over=hand_over,
            project_dir=unquote(project.decode("latin-1")),
        )
    # The hook boundary: whatever broke, the agent's turn goes on.
    except Exception as error:  # noqa: BLE001
        refusal = refuse_hook(host, error)
        return replace(refusal, sent=bool(sent))
    return sent[0] if sent else _reply_of(text)


def _reply_of(text: str) -> HookReply:
    body = text.encode("utf-8", "replace")
    return HookReply(
        status=200, headers=text_headers(body), body=body, outcome="injections" if body else "silences"
    )


def refuse_hook(host: str, error: Exception) -> HookReply:
    """Return the reply to a hook that failed with `error`: status 503 (busy), 504 (late), that of a TacitError with its problem as JSON, else 500.

    Writes a log line without the payload's text. Nothing is sent or counted: the caller does that.
    """
    match error:
        case Busy():
            return _empty(503, "busy")
        case TimeoutError():
            return _empty(504, "late")
        case TacitError():
            from tacit.api.problems import problem_of  # noqa: PLC0415 - loads starlette, which a first answer need not wait for

            _LOG.warning("a hook of %s was refused: %s", host, error.code, extra={"detail": error.message})
            problem = problem_of(error)
            return HookReply(
                status=problem.status_code,
                headers=problem.raw_headers,
                body=bytes(problem.body),
                outcome="refused",
            )
        case _:
            _LOG.error("a hook of %s failed", host, exc_info=error)
            return _empty(500, "errors")


def _empty(status: int, outcome: str) -> HookReply:
    return HookReply(status=status, headers=[(b"content-length", b"0")], outcome=outcome)


def text_headers(body: bytes) -> list[tuple[bytes, bytes]]:
    """Return `content-length` and `content-type` for `body`: JSON if it begins with `{`, else plain text."""
    kind = b"application/json" if body[:1] == b"{" else b"text/plain; charset=utf-8"
    return [(b"content-length", str(len(body)).encode()), (b"content-type", kind)]


def too_large() -> TacitError:
    """Return (not raise) the error for a body above `MAX_BODY_BYTES`."""
    return InvalidPayload(f"The payload is larger than {MAX_BODY_BYTES} bytes.", hint="Send less at once.")


def health_of(parts: DaemonParts) -> dict[str, object]:
    """Return the JSON object that `GET /health` answers: version, pid, uptime, home, whether the engine is open, idle time, memory, counters."""
    return {
        "version": __version__,
        "pid": os.getpid(),
        "uptime_s": round(parts.counters.uptime_s, 3),
        "home": parts.home,
        "ready": parts.source.ready is not None,
        "idle_s": round(parts.counters.idle_s, 3),
        "rss_kb": resident_kb(),
        "counters": dict(parts.counters.values()),
    }
