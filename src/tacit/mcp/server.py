"""The MCP server: three tools over the engine, by the official SDK.

In: tool calls. Out: short texts. The caller's folder comes with the request (`caller_cwd`), not from the model. Never
more tokens than asked for, never a statement of an agent as the user's word. Loaded on first use: the SDK is heavy.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.types import ASGIApp

from tacit import __version__
from tacit.app.asking.answers import Answer
from tacit.app.values import Recalled
from tacit.errors import TacitError
from tacit.model.changes import Add, Change, Contradict, Merge, Skip, Supersede
from tacit.model.memory import Memory, TrustTier
from tacit.model.pack import Block, Surface
from tacit.model.scope import Scope
from tacit.model.trigger import Trigger

INSTRUCTIONS = (
    "Tacit remembers decisions, preferences and fixes across sessions and hands them over by itself. "
    "Search it before you ask the user something they may have settled already; add what is worth keeping."
)
SEARCH = (
    "Search what is remembered of this project and user: decisions, rules, known errors and fixes, open tasks. "
    "Use it before a decision that may have been taken already."
)
ADD = (
    "Remember one statement for later sessions: what the user decided, prefers or corrected, a fix that worked, what a "
    "file is for. Say in `when` to which coming action it applies, else it is found only by its words. "
    "Without the user's own words in `user_words` it stays unconfirmed. Never add secrets or what the code says itself."
)
CONTEXT = (
    "Show what a new session in this folder would be given: standing rules, recent decisions, open tasks. "
    "With a topic, scope or category: what is known of that. Ask again in mid-session when the task changes."
)
TAIL_TOKENS = 24
"""Kept free for the line that says how many more there are."""
MAX_TOKENS = 4000

caller_cwd: ContextVar[str] = ContextVar("caller_cwd", default="")
"""Working folder of whoever calls; "" = unknown, then only universal memories are seen."""

ScopeName = Literal["project", "universal"]


Question = Annotated[
    str, Field(description="What you want to know, in your own words; names of files and errors help.")
]
MaxTokens = Annotated[int, Field(ge=50, le=MAX_TOKENS, description="Most tokens of the answer.")]
Topic = Annotated[str | None, Field(description="A topic; without it, what a new session gets.")]
ScopeText = Annotated[str | None, Field(description="universal, language:X, project:X or project:X:task:Y.")]
Category = Annotated[str | None, Field(description="One kind: preference, decision, correction, ...")]


class Service(Protocol):
    """The part of the engine that the tools use; see the engine's docstrings."""

    def remember(
        self,
        content: str,
        *,
        kind: str | None = None,
        scope: Scope | None = None,
        when: str | Trigger | None = None,
        cwd: str = "",
        tier: TrustTier = TrustTier.USER,
        source: str = "library",
        files: Sequence[str] = (),
        user_words: str = "",
    ) -> tuple[Change, ...]:
        """Store a statement."""
        ...

    def recall(
        self,
        text: str,
        *,
        cwd: str = "",
        surface: Surface = Surface.ON_DEMAND,
        budget_tokens: int | None = None,
    ) -> Recalled:
        """Answer a question."""
        ...

    def context(self, cwd: str) -> Block:
        """What a session that starts in `cwd` would get."""
        ...

    def memory_context(self, cwd: str, *, query: str = "", scope: str = "", category: str = "") -> Answer:
        """An answer on demand."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class McpApp:
    """The ASGI application and what must run while it is used."""

    app: ASGIApp
    running: Callable[[], AbstractAsyncContextManager[None]]


def build_mcp(engine: Service) -> McpApp:
    """Make the application that answers `POST /mcp`: stateless, one JSON reply to one message."""
    server = build_server(engine)
    # The socket's folder and the daemon's token guard the way in; the SDK's check of Host would refuse the socket.
    app = server.streamable_http_app(
        streamable_http_path="/mcp",
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    @asynccontextmanager
    async def running() -> AsyncGenerator[None]:
        async with app.router.lifespan_context(app):
            yield

    return McpApp(app=app, running=running)


def build_server(engine: Service) -> MCPServer:
    """The server with its tools, for any transport."""
    server: MCPServer = MCPServer(
        "tacit", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING"
    )
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    writes = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )

    def memory_search(
        query: Question,
        max_tokens: MaxTokens = 1000,
    ) -> str:
        return _said(lambda: search(engine, query, max_tokens=max_tokens))

    def memory_add(  # noqa: PLR0917 - the SDK makes the tool's arguments of these, by name
        content: Annotated[
            str,
            Field(
                description="One durable statement that stands on its own, e.g. 'Migrations are written by hand, never generated.'"
            ),
        ],
        kind: Annotated[
            str | None,
            Field(
                description="preference, correction, anti_pattern, decision, fact, file_context, error_pattern, guideline, todo, ..."
            ),
        ] = None,
        when: Annotated[
            str | None,
            Field(
                description="When it applies: 'always', or the coming action, path or command, e.g. 'before a commit', 'editing *.sql', 'running pytest'."
            ),
        ] = None,
        scope: Annotated[
            ScopeName, Field(description="Who it is for: this project, or every project of the user.")
        ] = "project",
        files: Annotated[list[str] | None, Field(description="Files it speaks of.")] = None,
        user_words: Annotated[
            str | None,
            Field(description="If the user said it: their own words from this conversation, verbatim."),
        ] = None,
    ) -> str:
        return _said(
            lambda: add(
                engine,
                content,
                kind=kind,
                when=when,
                scope=scope,
                files=tuple(files or ()),
                user_words=user_words or "",
            )
        )

    def memory_context(
        query: Topic = None,
        scope: ScopeText = None,
        category: Category = None,
    ) -> str:
        return _said(lambda: context(engine, query or "", scope=scope or "", category=category or ""))

    server.tool(
        description=SEARCH,
        annotations=reads,
        structured_output=False,
    )(memory_search)
    server.tool(
        description=ADD,
        annotations=writes,
        structured_output=False,
    )(memory_add)
    server.tool(
        description=CONTEXT,
        annotations=reads,
        structured_output=False,
    )(memory_context)
    return server


def context(engine: Service, query: str, *, scope: str, category: str) -> str:
    """What a new session gets; with any argument, an answer that counts for the session."""
    cwd = caller_cwd.get()
    if not (query or scope or category):
        return engine.context(cwd).text or "Nothing is known of this project yet."
    answer = engine.memory_context(cwd, query=query, scope=scope, category=category)
    return answer.block.text or answer.refused or "Nothing fits this question."


def search(engine: Service, query: str, *, max_tokens: int) -> str:
    """The answer to a question, within `max_tokens`, with how many more there are."""
    recalled = engine.recall(query, cwd=caller_cwd.get(), budget_tokens=max_tokens - TAIL_TOKENS)
    if recalled.block.empty:
        return "Nothing fits this question."
    more = len(
        {drop.memory_id for stage in recalled.trace.stages if stage.stage == "budget" for drop in stage.drops}
    )
    tail = f"\n({more} more; ask more narrowly or raise max_tokens.)" if more else ""
    return recalled.block.text + tail


def add(
    engine: Service,
    content: str,
    *,
    kind: str | None,
    when: str | None,
    scope: ScopeName,
    files: tuple[str, ...],
    user_words: str = "",
) -> str:
    """Store an agent's statement and say what became of it.

    It is stored at the lowest tier: an agent's word without the user's is unconfirmed, and recalled on demand only. With
    `user_words` from this project's recent prompts that say the same it counts as the user's, for this project only.
    """
    changes = engine.remember(
        content,
        kind=kind or None,
        scope=Scope.parse("universal") if scope == "universal" else None,
        when=when or None,
        cwd=caller_cwd.get(),
        tier=TrustTier.IMPORT,
        source="mcp",
        files=files,
        user_words=user_words,
    )
    return "\n".join(_outcome(change) for change in changes) or "Nothing was stored."


def _outcome(change: Change) -> str:
    match change:
        case Add():
            return f"Stored as {_named(change.memory)}."
        case Supersede():
            return f"Stored as {_named(change.memory)}; it replaces {change.old_id}: {change.reason}."
        case Contradict():
            return f"Stored as {_named(change.memory)}; the user will be asked about it: {change.reason}."
        case Merge():
            return f"Known already as {_named(change.memory)}."
        case Skip():
            return f"Not stored: {change.reason}."
        case _:
            return f"Changed: {change.reason}."


def _named(memory: Memory) -> str:
    waiting = ", unconfirmed: the user can confirm it" if memory.status == "quarantined" else ""
    return f"{memory.id} ({memory.kind}{waiting})"


def _said(work: Callable[[], str]) -> str:
    """Turn what Tacit refuses on purpose into words the agent can act on."""
    try:
        return work()
    except TacitError as error:
        return f"Refused: {error}"
