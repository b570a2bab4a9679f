"""The ASGI server of a daemon: everything but the hooks of its socket. Loaded when it is first asked for.

In: connections that the hook listener accepted, a loopback port. Out: answers. Never accepts on the socket itself, never decides when
the daemon ends: it leaves when told.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator, Iterable
from dataclasses import replace
from threading import Event

import uvicorn
from starlette.types import ASGIApp

from tacit.client.daemon_facts import DaemonFacts
from tacit.config.home import Home
from tacit.daemon.hooks import DaemonParts
from tacit.daemon.http_limits import LimitedHttpProtocol
from tacit.daemon.lifecycle import write_facts
from tacit.daemon.server import build_app, guarded
from tacit.errors import DaemonError
from tacit.safety.authority import Authority
from tacit.system.transport import listen_on_loopback

GRACE_S = 8
TICK_S = 1.0


class _Server(uvicorn.Server):
    """Uvicorn without its own signal handlers: the process has one way to stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def adopt(self, connection: socket.socket) -> None:
        """Serve a connection that somebody else accepted."""
        config, state = self.config, self.server_state
        loop = asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            return config.http_protocol_class(config=config, server_state=state, app_state={}, _loop=loop)  # pyright: ignore[reportCallIssue]

        await loop.connect_accepted_socket(protocol, sock=connection)


class AsgiServer:
    """Serves until `over` is set. `run` belongs to one thread, everything else to any."""

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
        """Serve, beginning with the connections that wait already."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve(waiting, http_port))

    def adopt(self, connection: socket.socket) -> None:
        """Have `connection` served; a loop that is over leaves it to nobody. Does not block."""
        coming = self._first.adopt(connection)
        try:
            asyncio.run_coroutine_threadsafe(coming, self._loop)
        except RuntimeError:
            coming.close()
            connection.close()

    def leave(self) -> None:
        """Answer what is being asked, and no more."""
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

    def _begin(self, server: _Server, *bound: socket.socket) -> None:
        task = asyncio.get_running_loop().create_task(server.serve(sockets=[*bound]))
        self._serving.append(task)

    async def _listen(self, port: int) -> dict[str, object]:
        """Listen on a loopback port as well, once; return its number and the token."""
        if not self._facts.http_port:
            try:
                bound = listen_on_loopback(port, backlog=64)
            except OSError as error:
                raise DaemonError(
                    f"The port 127.0.0.1:{port} cannot be used: {error.strerror or error}.",
                    hint="Set daemon.http_port to another one, or to 0.",
                ) from error
            bound.setblocking(False)
            server = _server(guarded(self._app, self._facts.token, self._parts.page, Authority(self._home)))
            self._servers.append(server)
            self._begin(server, bound)
            self._facts = replace(self._facts, http_port=int(bound.getsockname()[1]))
            write_facts(self._home, self._facts)
        return {"port": self._facts.http_port, "token": self._facts.token}


def _server(app: ASGIApp) -> _Server:
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
    return _Server(config)
