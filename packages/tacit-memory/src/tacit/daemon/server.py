"""The daemon's ASGI application (hooks, health, stop, the API, MCP and the page) and the server that runs it. Loaded when it is first asked for.

In: connections that the hook listener accepted (the mode of the socket's folder is the guard), a loopback port (`guarded` asks for the token).
Out: the exact bytes for a host, JSON, problems. A named boundary: nothing that fails behind a hook becomes more than silence, a counter and a log
line without text. Never accepts on the socket itself, never decides when the daemon ends: it leaves when told.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.api.problems import UnknownPath, problem, problem_of
from tacit.app.engine import Engine
from tacit.client.daemon_facts import DaemonFacts
from tacit.config.environment import search_path
from tacit.config.home import Home
from tacit.daemon.counters import Counters
from tacit.daemon.hooks import (
    HOOK_PATH,
    VERSION_HEADER,
    DaemonParts,
    HookReply,
    begin_hook,
    health_of,
    refuse_hook,
    serve_hook,
)
from tacit.daemon.http_limits import LimitedHttpProtocol, read_body
from tacit.daemon.lifecycle import write_facts
from tacit.daemon.page.mount import CODE_PATH, PageMount
from tacit.daemon.page.signin import PageSessions
from tacit.daemon.spool import parse_payload
from tacit.daemon.workers import Busy
from tacit.errors import DaemonError, TacitError
from tacit.model.memory import Speaker
from tacit.safety.authority import SPEAKER_KEY, Authority
from tacit.session.answer_priority import pending_answer, wait_for_pending_answers
from tacit.system.transport import listen_on_loopback

if TYPE_CHECKING:
    from tacit.hosts.install import HostStatus
    from tacit.mcp.server import McpApp

T = TypeVar("T")
SEND_S = 2.0
"""A reply that cannot be sent for so long was not taken."""


def build_app(parts: DaemonParts) -> ASGIApp:
    """Return the daemon's whole ASGI application for its socket: hooks, `/health`, `/stop`, `/listen`, `/mcp`, `/ui` and `/v1`."""

    async def health(_: Request) -> Response:
        return JSONResponse(health_of(parts))

    async def stop(_: Request) -> Response:
        asyncio.get_running_loop().call_later(0.02, parts.stop)  # after the answer has left
        return JSONResponse({"stopping": True}, status_code=202)

    async def listen(request: Request) -> Response:
        if parts.listen is None:
            return Response(status_code=404)
        wanted_port = parse_payload(await request.body() or b"{}").get("port", 0)
        try:
            return JSONResponse(await parts.listen(wanted_port if isinstance(wanted_port, int) else 0))
        except DaemonError as error:
            return problem_of(error)

    page = PageMount(parts.page)
    parts.mcp = McpMount(parts)
    routes = [
        Route("/health", health, methods=["GET", "POST"]),
        Route("/stop", stop, methods=["POST"]),
        Route("/listen", listen, methods=["POST"]),
        Route(f"{HOOK_PATH}{{host}}", _not_posted, methods=["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]),
        Route("/mcp", parts.mcp),
        *(Route(path, page) for path in ("/ui", "/ui/{rest:path}")),
        Route("/v1/{rest:path}", _Api(parts)),
    ]
    routes.append(Route("/{rest:path}", UnknownPath(routes)))
    app = _with_speaker(Starlette(routes=routes), Authority(Home(Path(parts.home))))
    return _counted(_hooks_first(app, parts), parts.counters)


def _not_posted(request: Request) -> Response:
    detail = f"{request.url.path} does not take {request.method}."
    return problem("method_not_allowed", detail, hint="It takes POST.", headers={"Allow": "POST"})


def _with_speaker(app: ASGIApp, authority: Authority) -> ASGIApp:
    """Wrap `app`: note in each request's scope who speaks: the user (by token or terminal key), else an agent. A speaker noted before stays."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if SPEAKER_KEY not in scope:
            users = authority.admits(dict(scope["headers"]))
            scope[SPEAKER_KEY] = Speaker.USER if users else Speaker.AGENT
        await app(scope, receive, send)

    return serve


def guarded(app: ASGIApp, token: str, page: PageSessions, authority: Authority) -> ASGIApp:
    """Return `app` wrapped for loopback TCP: it passes on requests to a loopback host that carry a token or come from a signed-in page, and refuses all others.

    The port's own `token` only opens the port; a personal token also makes the user the speaker.
    The page's own files need neither, because signing in begins with them.
    """
    expected = f"Bearer {token}".encode()

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(scope.get("headers") or [])
        host = headers.get(b"host", b"").lower()
        name = host.rpartition(b":")[0] or host
        # A page in a browser can reach loopback under a name of its own: the host is checked beside the token.
        local = name in (b"127.0.0.1", b"localhost", b"[::1]")
        if not local:
            await _refused("wrong_host")(scope, receive, send)
            return
        if not _is_page(scope["path"]) and _is_foreign(headers):
            await _refused("cross_origin")(scope, receive, send)
            return
        open_path = scope["type"] == "http" and _is_open(scope["path"])
        if (
            _is_page(scope["path"])
            or hmac.compare_digest(headers.get(b"authorization", b""), expected)
            or authority.admits(headers)
        ):
            await (app if open_path else _refused("no_such_path"))(scope, receive, send)
            return
        speaker = (
            page.admits(scope["method"], headers) if open_path and scope["path"].startswith("/v1/") else None
        )
        if speaker is not None:
            scope[SPEAKER_KEY] = speaker
            await app(scope, receive, send)
            return
        await _refused("unauthorized")(scope, receive, send)

    return guard


_REFUSALS = {
    "wrong_host": (
        "This port answers to 127.0.0.1 and localhost alone.",
        "Ask it by one of these names.",
    ),
    "cross_origin": ("A page of another origin asks.", "Only Tacit's own page may: `tacit ui`."),
    "no_such_path": (
        "This port serves no such path.",
        "`GET /v1/openapi.json` describes every operation; all are below /v1.",
    ),
    "unauthorized": (
        "This port needs the token of run/daemon.json.",
        "Send `Authorization: Bearer TOKEN`.",
    ),
}
"""Why the loopback port refuses a request, and what to do, by the problem's code."""


def _refused(code: str) -> Response:
    detail, hint = _REFUSALS[code]
    return problem(code, detail, hint=hint)


def _is_foreign(headers: Mapping[bytes, bytes]) -> bool:
    """Whether the headers say that a browser sends the request for a page of another origin. Programs send no such headers."""
    origin = headers.get(b"origin")
    cross_origin = origin is not None and origin.lower() != b"http://" + headers.get(b"host", b"").lower()
    return cross_origin or headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none")


def _is_open(path: str) -> bool:
    """Whether the loopback port serves `path`; `/stop` and `/listen` are served on the socket only."""
    served = path in ("/health", "/mcp") or path.startswith(("/mcp/", "/hook/", "/v1/")) or _is_page(path)
    return served and path.isprintable() and ".." not in path


def _is_page(path: str) -> bool:
    """Whether `path` belongs to the page or its sign-in; not the path that gives out codes, which only the socket serves."""
    return (path == "/ui" or path.startswith("/ui/")) and path != CODE_PATH


def _hooks_first(app: ASGIApp, parts: DaemonParts) -> ASGIApp:
    """Wrap `app`: answer hooks directly, without the slower router, on a worker thread; pass other requests to `app`."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if scope["method"] != "POST" or not path.startswith(HOOK_PATH) or "/" in path[len(HOOK_PATH) :]:
            await app(scope, receive, send)
            return
        until_s = begin_hook(parts, scope["headers"])
        host = path[len(HOOK_PATH) :]
        try:
            body = await read_body(receive)
        except ClientDisconnect:
            return
        except TacitError as error:
            await _send(send, refuse_hook(host, error))
            return
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        gone = asyncio.ensure_future(receive())  # nothing but the end of the connection can follow

        async def put(reply: HookReply) -> bool:
            if over.is_set() or gone.done():
                return False
            over.set()
            await _send(send, reply)
            return True

        def hand_over(reply: HookReply) -> bool:
            coming = put(reply)
            try:
                return asyncio.run_coroutine_threadsafe(coming, loop).result(timeout=SEND_S)
            except (RuntimeError, TimeoutError):  # the loop is over
                coming.close()
                return False

        try:
            reply = await parts.pool.run(
                lambda: _serve_hook(parts, host, body, scope["headers"], until_s=until_s, send=hand_over),
                until_s=until_s,
                ahead=True,
            )
        except (Busy, TimeoutError, TacitError) as error:
            reply = refuse_hook(host, error)
        finally:
            gone.cancel()
        parts.counters.add(reply.outcome)
        if not over.is_set():
            over.set()
            await _send(send, reply)

    return serve


async def _send(send: Send, reply: HookReply) -> None:
    await send({"type": "http.response.start", "status": reply.status, "headers": reply.headers})
    await send({"type": "http.response.body", "body": reply.body})


def _serve_hook(
    parts: DaemonParts,
    host: str,
    body: bytes,
    headers: Iterable[tuple[bytes, bytes]],
    *,
    until_s: float,
    send: Callable[[HookReply], bool],
) -> HookReply:
    with pending_answer():  # work that may wait gives way meanwhile, as it does for the hook listener
        return serve_hook(parts, host, body, headers, until_s=until_s, send=send)


class _Api:
    """The ASGI application for `/v1`. It builds the API's routes at the first request, and again when the engine was exchanged."""

    def __init__(self, parts: DaemonParts) -> None:
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        parts = self._parts
        try:
            engine = await parts.source.get(until_s=time.monotonic() + 30.0)
        except TacitError as error:
            await problem_of(error)(scope, receive, send)
            return
        if parts.api is None or parts.api[0] is not engine:
            parts.api = engine, await asyncio.to_thread(_build_api, engine, parts)
        await parts.api[1](scope, receive, send)


def _build_api(engine: Engine, parts: DaemonParts) -> Router:
    from tacit.api.routes import build_routes  # noqa: PLC0415 - see `_Api`
    from tacit.errors import DaemonUnavailable  # noqa: PLC0415

    async def run(work: Callable[[], T], *, ahead: bool = False) -> T:
        def at_work() -> T:
            with parts.source.used(engine):
                return work()

        try:
            return await parts.pool.run(at_work, ahead=ahead)
        except Busy:
            raise DaemonUnavailable("The daemon is busy.", hint="Ask again in a moment.") from None

    async def run_behind(work: Callable[[], T]) -> T:
        def in_turn() -> T:
            wait_for_pending_answers()  # the hooks first
            return work()

        return await run(in_turn)

    async def run_ahead(work: Callable[[], T]) -> T:
        def owed() -> T:
            with pending_answer():
                return work()

        return await run(owed, ahead=True)

    def numbers() -> dict[str, float]:
        return {**parts.counters.values(), "uptime_s": parts.counters.uptime_s, "queue": parts.pool.count}

    def leaving() -> bool:
        return parts.leaving() or parts.source.ready is not engine

    routes = build_routes(
        engine,
        run=run_behind,
        run_ahead=run_ahead,
        counters=numbers,
        installed=lambda: _installed(Home(Path(parts.home))),
        leaving=leaving,
        reopen=parts.source.reopen,
    )
    return Router(routes=routes)


def _installed(home: Home) -> dict[str, HostStatus]:
    """Return the state of each agent's files, by its name; one that is neither connected nor on this machine is left out."""
    from tacit.hosts.install import installed_for  # noqa: PLC0415 - asked for by the page alone
    from tacit.hosts.install.clients import find_executable  # noqa: PLC0415 - asked for by the page alone
    from tacit.hosts.registry import BUILT_IN  # noqa: PLC0415 - as above

    folder, path = Path.home(), search_path()
    states = {
        host: installed_for(host, user_home=folder, project_root=folder, home=home) for host in BUILT_IN
    }
    return {
        host: found
        for host, found in states.items()
        if found.state != "absent" or find_executable(host, folder, path)
    }


class McpMount:
    """The ASGI application for `/mcp`. It loads and starts the MCP SDK's application at the first request, and again when the engine was exchanged.

    The SDK takes most of a second and tens of megabytes. Events of a host do not come this way: whoever calls a tool is an agent, and no prompt of its
    making is the user's.
    """

    def __init__(self, parts: DaemonParts) -> None:
        self._parts = parts
        self._starting = asyncio.Lock()
        self._app: ASGIApp | None = None
        self._engine: Engine | None = None
        self._leave = asyncio.Event()
        self._life: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request; a body that is too large gets status 413."""
        request = Request(scope, receive)
        body = b""
        if request.method == "POST":
            try:
                body = await read_body(receive)
            except TacitError:
                await Response(status_code=413)(scope, receive, send)
                return
        app = await self._ready()
        await app(scope, _again(body, receive), send)

    async def _ready(self) -> ASGIApp:
        async with self._starting:
            engine = await self._parts.source.get()
            if self._app is None or self._engine is not engine:
                await self.close()
                built = await asyncio.to_thread(_load, engine)
                started = asyncio.Event()
                self._leave = asyncio.Event()
                self._life = asyncio.create_task(self._live(built, started, self._leave))
                await started.wait()
                self._app, self._engine = built.app, engine
            return self._app

    async def _live(self, built: McpApp, started: asyncio.Event, leave: asyncio.Event) -> None:
        async with built.running():
            started.set()
            await leave.wait()

    async def close(self) -> None:
        """End the SDK's application and its tasks, if it was started, and wait for that."""
        self._leave.set()
        if self._life is not None:
            await self._life


def _load(engine: Engine) -> McpApp:
    from tacit.mcp.server import build_mcp  # noqa: PLC0415 - the SDK; see `McpMount`

    return build_mcp(engine)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first gives the body that was read already, then what the real one gives."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent or not body:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _counted(app: ASGIApp, counters: Counters) -> ASGIApp:
    """Wrap `app`: count requests, note that the daemon is in use (not for `/health`), and add the version header to every reply."""

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


GRACE_S = 8
TICK_S = 1.0


class _DaemonServer(uvicorn.Server):
    """A uvicorn server without its own signal handlers, because the process handles them, and with `adopt` for accepted connections."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def adopt(self, connection: socket.socket) -> None:
        """Serve a connection that the hook listener accepted."""
        config, state = self.config, self.server_state
        loop = asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            return config.http_protocol_class(config=config, server_state=state, app_state={}, _loop=loop)  # pyright: ignore[reportCallIssue]

        await loop.connect_accepted_socket(protocol, sock=connection)


class AsgiServer:
    """The daemon's ASGI server: it serves adopted connections and maybe a loopback port, until `over` is set. `run` is for one thread; the rest is thread-safe."""

    def __init__(self, parts: DaemonParts, *, facts: DaemonFacts, home: Home, over: Event) -> None:
        parts.listen = self._listen
        self._parts = parts
        self._facts = facts
        self._home = home
        self._over = over
        self._app = build_app(parts)
        self._loop = asyncio.new_event_loop()
        self._first = _server(self._app)
        self._servers = [self._first]
        self._serving: list[asyncio.Task[None]] = []

    def run(self, waiting: Iterable[socket.socket], *, http_port: int | None) -> None:
        """Serve the `waiting` connections and those given to `adopt`, until `over` is set; `http_port` None = no loopback port, 0 = any. Blocks."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(waiting, http_port))

    def adopt(self, connection: socket.socket) -> None:
        """Have the event loop serve `connection`; close it if the loop has ended. Does not block."""
        coming = self._first.adopt(connection)
        try:
            asyncio.run_coroutine_threadsafe(coming, self._loop)
        except RuntimeError:
            coming.close()
            connection.close()

    def leave(self) -> None:
        """Tell all servers to finish the requests under way and end. Does not block."""
        for server in self._servers:
            server.should_exit = True

    async def _serve(self, waiting: Iterable[socket.socket], http_port: int | None) -> None:
        self._begin(self._first)
        for connection in waiting:
            await self._first.adopt(connection)
        if http_port is not None:
            await self._listen(http_port)
        while not self._over.is_set():
            await asyncio.wait(self._serving, timeout=TICK_S)
        self.leave()
        await asyncio.gather(*self._serving, return_exceptions=True)
        if self._parts.mcp is not None:
            await self._parts.mcp.close()

    def _begin(self, server: _DaemonServer, *bound: socket.socket) -> None:
        task = asyncio.get_running_loop().create_task(server.serve(sockets=[*bound]))
        self._serving.append(task)

    async def _listen(self, port: int) -> dict[str, object]:
        """Listen on a loopback port, too, unless one is open already; return its number and its token."""
        if not self._facts.http_port:
            try:
                bound = listen_on_loopback(port, backlog=64)
            except (OSError, OverflowError) as error:
                reason = str(getattr(error, "strerror", None) or error).rstrip(".")
                raise DaemonError(
                    f"The port 127.0.0.1:{port} cannot be used: {reason}.",
                    hint="Set daemon.http_port to another one, or to 0.",
                ) from error
            bound.setblocking(False)
            server = _server(guarded(self._app, self._facts.token, self._parts.page, Authority(self._home)))
            self._servers.append(server)
            self._begin(server, bound)
            self._facts = replace(self._facts, http_port=int(bound.getsockname()[1]))
            write_facts(self._home, self._facts)
        return {"port": self._facts.http_port, "token": self._facts.token}


def _server(app: ASGIApp) -> _DaemonServer:
    config = uvicorn.Config(
        app,
        http=LimitedHttpProtocol,
        loop="asyncio",
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=30,
    )
    config.load()  # else a connection could come before the server has loaded it
    return _DaemonServer(config)
