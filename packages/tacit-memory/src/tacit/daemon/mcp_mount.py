"""MCP inside the daemon: the SDK's application, started on first use.

In: requests to `/mcp`. Out: JSON. Events of a host do not come this way: whoever calls a tool is an agent, and no prompt of its
making is the user's.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.daemon.hooks import DaemonParts
from tacit.daemon.http_limits import read_body
from tacit.errors import TacitError

if TYPE_CHECKING:
    from tacit.app.engine import Engine
    from tacit.mcp.server import McpApp


class McpMount:
    """The ASGI application for `/mcp`. It loads the MCP SDK's application at the first request, and again when the engine was exchanged."""

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
    from tacit.mcp.server import build_mcp  # noqa: PLC0415 - the SDK; see the module docstring

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
