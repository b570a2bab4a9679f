"""The daemon's HTTP face: hooks, health, stop, the API and MCP in one ASGI application.

In: requests over the Unix socket (the folder's mode is the guard) or loopback TCP (`guarded` asks for the token).
Out: the exact bytes for a host, JSON, problems. A named boundary: nothing that fails behind a hook becomes more than
silence, a counter and a log line without text.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit import __version__
from tacit.daemon.counters import Counters
from tacit.daemon.source import EngineSource
from tacit.daemon.spool import parse_payload
from tacit.daemon.workers import Busy, WorkerPool
from tacit.errors import InvalidPayload, TacitError

if TYPE_CHECKING:
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

T = TypeVar("T")

_LOG = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class DaemonParts:
    """What the application works with. `stop` and `listen` are given by the process that runs it."""

    source: EngineSource
    pool: WorkerPool
    home: str
    counters: Counters = field(default_factory=Counters)
    stop: Callable[[], None] = lambda: None
    listen: Callable[[int], Awaitable[dict[str, object]]] | None = None
    api: Router | None = None
    mcp: McpMount | None = None


def build_app(parts: DaemonParts) -> ASGIApp:
    """Make the application for the Unix socket."""

    async def health(_: Request) -> Response:
        return JSONResponse(_health(parts))

    async def stop(_: Request) -> Response:
        asyncio.get_running_loop().call_later(0.02, parts.stop)  # after the answer has left
        return JSONResponse({"stopping": True}, status_code=202)

    async def listen(request: Request) -> Response:
        if parts.listen is None:
            return Response(status_code=404)
        asked = parse_payload(await request.body() or b"{}").get("port", 0)
        return JSONResponse(await parts.listen(asked if isinstance(asked, int) else 0))

    routes = [
        Route("/health", health, methods=["GET", "POST"]),
        Route("/stop", stop, methods=["POST"]),
        Route("/listen", listen, methods=["POST"]),
        Route("/mcp", _Mcp(parts)),
        Route("/v1/{rest:path}", _Api(parts)),
    ]
    return _counted(_hooks_first(Starlette(routes=routes), parts), parts.counters)


def guarded(app: ASGIApp, token: str) -> ASGIApp:
    """Let requests through that carry the token and name a loopback host; for loopback TCP."""
    expected = f"Bearer {token}".encode()

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope.get("headers") or [])
        given = headers.get(b"host", b"").lower()
        name = given.rpartition(b":")[0] or given
        # A page in a browser can reach loopback under a name of its own: the host is checked beside the token.
        local = name in (b"127.0.0.1", b"localhost", b"[::1]")
        open_path = scope["type"] == "http" and _is_open(scope["path"])
        if open_path and local and hmac.compare_digest(headers.get(b"authorization", b""), expected):
            await app(scope, receive, send)
            return
        refused = JSONResponse(
            {"code": "unauthorized", "title": "Unauthorized", "status": 401,
             "detail": "This port needs the token of run/daemon.json.", "hint": "Send `Authorization: Bearer TOKEN`."},
            status_code=401, media_type="application/problem+json",
        )  # fmt: skip
        await refused(scope, receive, send)

    return guard


def _is_open(path: str) -> bool:
    """Whether the loopback port serves `path`; stopping and listening belong to the socket alone."""
    known = path in ("/health", "/mcp") or path.startswith(("/mcp/", "/hook/", "/v1/"))
    return known and path.isprintable() and ".." not in path


def _hooks_first(app: ASGIApp, parts: DaemonParts) -> ASGIApp:
    """Answer hooks here, without a router and its request objects: somebody's turn waits for each of them."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if scope["method"] != "POST" or not path.startswith(HOOK_PATH) or "/" in path[len(HOOK_PATH) :]:
            await app(scope, receive, send)
            return
        answered = await _hook(parts, path[len(HOOK_PATH) :], scope, receive)
        if isinstance(answered, str):
            body = answered.encode("utf-8", "replace")
            await send({"type": "http.response.start", "status": 200, "headers": text_headers(body)})
            await send({"type": "http.response.body", "body": body})
        else:
            await answered(scope, receive, send)

    return serve


async def _hook(parts: DaemonParts, host: str, scope: Scope, receive: Receive) -> str | Response:
    """The text for the host, or what went wrong."""
    began = time.monotonic()
    counters = parts.counters
    counters.add("hooks")
    until = began + deadline_of(scope["headers"]) / 1000
    try:
        body = await read_body(receive)
        engine = await parts.source.get(until_s=until)
        text = await parts.pool.run(lambda: answer(engine, host, body, until_s=until), until_s=until)
    # The hook boundary: whatever broke, the agent's turn goes on.
    except Exception as error:  # noqa: BLE001
        return refused(parts, host, error)
    counters.add("injections" if text else "silences")
    return text


def refused(parts: DaemonParts, host: str, error: Exception) -> Response:
    """The answer to a hook that gets no text because of `error`; counted, and logged without text."""
    counters = parts.counters
    match error:
        case Busy():
            counters.add("busy")
            return Response(status_code=503)
        case TimeoutError():
            counters.add("late")
            return Response(status_code=504)
        case ClientDisconnect():
            return Response(status_code=400)
        case TacitError():
            counters.add("refused")
            _LOG.warning("a hook of %s was refused: %s", host, error.code, extra={"detail": error.message})
            return _problem(error)
        case _:
            counters.add("errors")
            _LOG.error("a hook of %s failed", host, exc_info=error)
            return Response(status_code=500)


def text_headers(body: bytes) -> list[tuple[bytes, bytes]]:
    """Headers of an answered hook."""
    kind = b"application/json" if body[:1] == b"{" else b"text/plain; charset=utf-8"
    return [(b"content-length", str(len(body)).encode()), (b"content-type", kind)]


def answer(engine: Engine, host: str, body: bytes, *, until_s: float) -> str:
    """Ask the engine for one event's exact reply, within what is left of its deadline. Blocking."""
    payload = parse_payload(body)
    left_ms = (until_s - time.monotonic()) * 1000 - WRITE_UP_MS
    return engine.hook(host, payload, deadline_ms=max(1.0, left_ms))


def deadline_of(headers: Iterable[tuple[bytes, bytes]]) -> float:
    """Milliseconds that whoever asked will wait; header names in lower case."""
    given = next((value for name, value in headers if name == DEADLINE_HEADER), b"")
    return min(float(given), MOST_DEADLINE_MS) if given.isdigit() and int(given) > 0 else DEADLINE_MS


def too_large() -> TacitError:
    """The error for a body above `MAX_BODY_BYTES`."""
    return InvalidPayload(f"The payload is larger than {MAX_BODY_BYTES} bytes.", hint="Send less at once.")


async def read_body(receive: Receive) -> bytes:
    """The body, bounded.

    Raises:
        InvalidPayload: if it is too long.
        ClientDisconnect: whoever asked has gone.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise too_large()
        if not message.get("more_body", False):
            return b"".join(parts)


def _problem(error: TacitError) -> Response:
    from tacit.api.problems import problem_of  # noqa: PLC0415 - loads numpy, which the first answer need not wait for

    return problem_of(error)


def _health(parts: DaemonParts) -> dict[str, object]:
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


class _Api:
    """The API, built when somebody first asks for it: it needs the engine, and pydantic models nobody else needs."""

    def __init__(self, parts: DaemonParts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = self._parts
        try:
            engine = await parts.source.get(until_s=time.monotonic() + 30.0)
        except TacitError as error:
            await _problem(error)(scope, receive, send)
            return
        if parts.api is None:
            parts.api = await asyncio.to_thread(_build_api, engine, parts.pool)
        await parts.api(scope, receive, send)


def _build_api(engine: Engine, pool: WorkerPool) -> Router:
    from tacit.api.routes import build_routes  # noqa: PLC0415 - see `_Api`
    from tacit.errors import DaemonUnavailable  # noqa: PLC0415

    async def run(work: Callable[[], T]) -> T:
        try:
            return await pool.run(work)
        except Busy:
            raise DaemonUnavailable("The daemon is busy.", hint="Ask again in a moment.") from None

    return Router(routes=build_routes(engine, run=run))


class _Mcp:
    """MCP, loaded when somebody first asks for it: its SDK takes most of a second and tens of megabytes."""

    def __init__(self, parts: DaemonParts) -> None:
        self._parts = parts
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = self._parts
        async with self._lock:
            if parts.mcp is None:
                from tacit.daemon.mcp_mount import McpMount  # noqa: PLC0415 - see above

                parts.mcp = McpMount(parts)
        await parts.mcp(scope, receive, send)


def _counted(app: ASGIApp, counters: Counters) -> ASGIApp:
    """Count requests, keep the daemon alive while it is asked, and name the version in every answer."""

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        counters.add("requests")
        if scope["path"] != "/health":
            counters.touch()

        async def stamped(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), VERSION_HEADER]
            await send(message)

        await app(scope, receive, stamped)

    return counted
