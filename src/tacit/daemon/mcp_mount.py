"""MCP inside the daemon: the SDK's application, started on first use, and the hook tool before it.

In: requests to `/mcp`. Out: JSON. A `tools/call` of the unlisted tool `hook` is a host's hook in MCP clothes: it goes
the way of `/hook/HOST` and never through the SDK, so that it costs no more and shows no error to the user.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.daemon.hooks import DEADLINE_MS, DaemonParts, owed
from tacit.daemon.server import read_body
from tacit.daemon.workers import Busy
from tacit.errors import TacitError

if TYPE_CHECKING:
    from tacit.mcp.server import McpApp

START_EVENTS = ("SessionStart", "start", "session.start")

_LOG = logging.getLogger(__name__)


class McpMount:
    """The ASGI application for `/mcp`."""

    def __init__(self, parts: DaemonParts) -> None:
        self._parts = parts
        self._starting = asyncio.Lock()
        self._app: ASGIApp | None = None
        self._leave = asyncio.Event()
        self._life: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        body = b""
        if request.method == "POST":
            try:
                body = await read_body(receive)
            except TacitError:
                await Response(status_code=413)(scope, receive, send)
                return
            hook = _hook_call(body)
            if hook is not None:
                await (await self._hook(request, *hook))(scope, receive, send)
                return
        app = await self._ready()
        await app(scope, _again(body, receive), send)

    async def _hook(self, request: Request, name: object, given: dict[str, object]) -> Response:
        parts, fields = self._parts, dict(given)
        host = str(fields.pop("host", "") or request.headers.get("x-tacit-host", ""))
        if host != "plain" and "hook_event_name" not in fields and "event" in fields:
            fields["hook_event_name"] = fields.pop("event")
        fields.setdefault("cwd", unquote(request.headers.get("x-tacit-cwd", "")))
        event = fields.get("hook_event_name") or fields.get("event")
        until = time.monotonic() + (1500.0 if event in START_EVENTS else DEADLINE_MS) / 1000
        text = ""
        parts.counters.add("hooks")
        try:
            payload = json.dumps(fields).encode()
            engine = await parts.source.get(until_s=until)
            text = await parts.pool.run(
                lambda: owed(engine, host, payload, until_s=until), until_s=until, ahead=True
            )
            parts.counters.add("injections" if text else "silences")
        except Busy:
            parts.counters.add("busy")
        except TimeoutError:
            parts.counters.add("late")
        except TacitError as error:
            parts.counters.add("refused")
            _LOG.warning("a hook of %s over MCP was refused: %s", host, error.code)
        # The hook boundary, as in `server`.
        except Exception:  # noqa: BLE001
            parts.counters.add("errors")
            _LOG.exception("a hook of %s over MCP failed", host)
        content = [{"type": "text", "text": text or "{}"}]
        return JSONResponse({"jsonrpc": "2.0", "id": name, "result": {"content": content, "isError": False}})

    async def _ready(self) -> ASGIApp:
        async with self._starting:
            if self._app is None:
                engine = await self._parts.source.get()
                built = await asyncio.to_thread(_load, engine)
                started = asyncio.Event()
                self._life = asyncio.create_task(self._live(built, started))
                await started.wait()
                self._app = built.app
            return self._app

    async def _live(self, built: McpApp, started: asyncio.Event) -> None:
        async with built.running():
            started.set()
            await self._leave.wait()

    async def close(self) -> None:
        """End the SDK's own tasks."""
        self._leave.set()
        if self._life is not None:
            await self._life


def _load(engine: object) -> McpApp:
    from tacit.app.engine import Engine  # noqa: PLC0415
    from tacit.mcp.server import build_mcp  # noqa: PLC0415 - the SDK; see the module docstring

    return build_mcp(cast(Engine, engine))


def _hook_call(body: bytes) -> tuple[object, dict[str, object]] | None:
    """Id and arguments when `body` calls the tool `hook`."""
    if b'"tools/call"' not in body or b'"hook"' not in body:
        return None
    try:
        message = cast(object, json.loads(body))
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    fields = cast(dict[str, object], message)
    params = fields.get("params")
    if fields.get("method") != "tools/call" or not isinstance(params, dict):
        return None
    given = cast(dict[str, object], params)
    arguments = given.get("arguments")
    if given.get("name") != "hook":
        return None
    return fields.get("id"), cast(dict[str, object], arguments) if isinstance(arguments, dict) else {}


def _again(body: bytes, receive: Receive) -> Receive:
    """Give out a body that was read already, then whatever comes."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent or not body:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
