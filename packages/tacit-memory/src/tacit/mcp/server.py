"""The MCP server: tools, resources and prompts over the engine, by the official SDK.

In: requests of MCP clients; the caller's folder comes with the request, never from the model. Out: short texts. A named
boundary: nothing that fails behind a call becomes more than an error result and a log line. Loaded on first use: the SDK is
heavy.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

import anyio
from anyio.to_thread import run_sync
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.types import ASGIApp

from tacit import __version__
from tacit.app.values import Caller
from tacit.config.settings import ToolSet
from tacit.errors import TacitError
from tacit.frozen import frozen
from tacit.mcp.prompts import PROMPTS, Prompt, message
from tacit.mcp.resources import RESOURCES, read
from tacit.mcp.tools import BY_NAME, Tool, call, tools_of
from tacit.session.answer_priority import wait_for_pending_answers

if TYPE_CHECKING:
    from tacit.app.engine import Engine

INSTRUCTIONS = (
    "Tacit remembers decisions, preferences and fixes across sessions and hands them over by itself where it can. "
    "If this session holds no block of it, call memory_context now and memory_search with each request. "
    "Search it before you ask the user something they may have settled already; add what is worth keeping."
)
THREADS = 1
"""The most calls that are worked on at once. More would take the processor from hooks, for which a person waits."""
ALWAYS_SHOWN = "anthropic/alwaysLoad"
"""Key in a tool's metadata: Claude Code then always shows the tool whole. It shows other tools by name until the model looks for them."""
MAX_BODY_BYTES = 1 << 20

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
RequestContext = ServerRequestContext[Any, Any]


@frozen
class McpApp:
    """The ASGI application of `/mcp`, and the context manager that must be open while it is used."""

    app: ASGIApp
    running: Callable[[], AbstractAsyncContextManager[None]]


def build_mcp(engine: Engine) -> McpApp:
    """Make the application that answers `POST /mcp`. It keeps no sessions, and answers each message with one JSON reply."""
    server = build_server(engine)
    # The socket's folder and the daemon's token guard the way in; the SDK's check of Host would refuse the socket.
    app = server.streamable_http_app(
        streamable_http_path="/mcp",
        json_response=True,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    @asynccontextmanager
    async def running() -> AsyncGenerator[None]:
        async with app.router.lifespan_context(app):
            yield

    return McpApp(app=app, running=running)


def listed_tools(name: ToolSet) -> list[types.Tool]:
    """Return the tools of a set as clients see them."""
    return [_listed(tool) for tool in tools_of(name)]


def _listed(tool: Tool) -> types.Tool:
    # What is the default of a hint is left out: an agent's context pays for each word.
    hints = types.ToolAnnotations(
        read_only_hint=True if tool.reads else None,
        destructive_hint=None if tool.reads else tool.ends,
        open_world_hint=False,
    )
    shown = {ALWAYS_SHOWN: True} if tool.always else None
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=tool.schema,
        output_schema=tool.gives,
        annotations=hints,
        _meta=shown,
    )


def listed_resources() -> list[types.Resource]:
    """Return the resources as clients see them."""
    return [
        types.Resource(
            uri=resource.address, name=resource.name, description=resource.about, mime_type="text/markdown"
        )
        for resource in RESOURCES
    ]


def listed_prompts() -> list[types.Prompt]:
    """Return the prompts as clients see them."""
    return [
        types.Prompt(name=prompt.name, description=prompt.about, arguments=_arguments_of(prompt))
        for prompt in PROMPTS
    ]


def _arguments_of(prompt: Prompt) -> list[types.PromptArgument] | None:
    if not prompt.argument:
        return None
    return [types.PromptArgument(name=prompt.argument, description=prompt.argument_about, required=True)]


def build_server(engine: Engine, *, caller: Caller | None = None) -> Server[Any]:
    """Make the MCP server, for any transport. `caller` = who asks if the transport does not say."""
    limiter: list[anyio.CapacityLimiter] = []

    async def work(context: RequestContext, do: Callable[[Caller], T]) -> T:
        if not limiter:  # belongs to the loop that runs
            limiter.append(anyio.CapacityLimiter(THREADS))
        asker = caller_of(context) or caller or Caller()
        return await run_sync(_in_turn, do, asker, limiter=limiter[0])

    async def list_tools(
        context: RequestContext, __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        host = _host_of(context)
        if host:
            await work(context, lambda _: engine.nudges.record_tools_listed(host))
        return types.ListToolsResult(tools=listed_tools(engine.settings.mcp.tools))

    async def call_tool(context: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in BY_NAME:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name[:100]}")
        try:
            answer = await work(
                context, lambda asker: call(engine, asker, params.name, params.arguments or {})
            )
        except TacitError as error:
            return _result(f"Refused: {error}", failed=True)
        # The tools' boundary: the agent is told that it failed, never with which text.
        except Exception as error:  # noqa: BLE001
            _LOG.error("the tool %s failed", params.name, exc_info=error)
            return _result(f"Tacit failed with {type(error).__name__}; go on without it.", failed=True)
        return _result(answer.text, data=answer.data)

    async def list_resources(
        _: RequestContext, __: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=listed_resources())

    async def read_resource(
        context: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        text = await _or_error(work(context, lambda asker: read(engine, asker, params.uri)))
        content = types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(
        _: RequestContext, __: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=listed_prompts())

    async def get_prompt(
        context: RequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        text = await _or_error(
            work(context, lambda asker: message(engine, asker, params.name, params.arguments or {}))
        )
        prompt_message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(messages=[prompt_message])

    return Server(
        "tacit",
        version=__version__,
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: BY_NAME[name].schema if name in BY_NAME else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def _in_turn(do: Callable[[Caller], T], asker: Caller) -> T:
    wait_for_pending_answers()  # the hooks first
    return do(asker)


def caller_of(context: RequestContext) -> Caller | None:
    """Return who asks, by the headers of the request; None = the transport has no requests."""
    request = context.request
    if not isinstance(request, Request):
        return None
    return Caller(
        cwd=unquote(request.headers.get("x-tacit-cwd", "")),
        client=request.headers.get("x-tacit-client", "")[:80],
    )


def _host_of(context: RequestContext) -> str:
    """Return the name of the host whose agent asks, by the request's header; "" = unknown."""
    request = context.request
    host = request.headers.get("x-tacit-host", "") if isinstance(request, Request) else ""
    return host if re.fullmatch(r"[a-z0-9-]{1,40}", host) else ""


def _result(text: str, *, data: dict[str, Any] | None = None, failed: bool = False) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=data, is_error=failed)


async def _or_error(work: Any) -> str:
    try:
        return await work
    except TacitError as error:
        raise MCPError(code=types.INVALID_PARAMS, message=str(error)) from error
