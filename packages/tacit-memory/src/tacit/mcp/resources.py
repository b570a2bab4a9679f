"""The resources: texts that a client can attach without a tool call. In: who asks and an address. Out: Markdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tacit.app.values import Caller
from tacit.errors import NotFound
from tacit.frozen import frozen
from tacit.mcp import arguments as ask
from tacit.mcp.texts import framed, memory_line
from tacit.mcp.tools import nothing_known, profile

if TYPE_CHECKING:
    from tacit.app.engine import Engine

MOST_TOKENS = 2000


@frozen
class Resource:
    """One MCP resource: its address, its description, and the function that makes its text."""

    address: str
    name: str
    about: str
    answer: Callable[[Engine, Caller], str]


def _context(engine: Engine, caller: Caller) -> str:
    return engine.context_answer(caller.cwd).block.text or nothing_known(engine, caller)


def _preferences(engine: Engine, caller: Caller) -> str:
    return profile(engine, caller, ask.ProfileArguments(max_tokens=MOST_TOKENS)).text


def _digest(engine: Engine, caller: Caller) -> str:
    digests = engine.agents.newest_digest(caller)
    if not digests.memories:
        return "No session of this project has a digest yet."
    lines = [memory_line(memory) for memory in digests.memories]
    return framed(
        "What the last session did and left open.",
        lines,
        max_tokens=MOST_TOKENS,
        more=0,
        count=engine.agents.count_tokens,
        how="memory_search finds them",
    )


RESOURCES: tuple[Resource, ...] = (
    Resource(
        address="tacit://project/context",
        name="Project context",
        about="What a new session in this folder is given: rules, recent decisions, open tasks.",
        answer=_context,
    ),
    Resource(
        address="tacit://preferences",
        name="Preferences",
        about="How this user wants to work.",
        answer=_preferences,
    ),
    Resource(
        address="tacit://session/digest",
        name="Last session",
        about="What the last session in this project did and left open.",
        answer=_digest,
    ),
)


def read(engine: Engine, caller: Caller, address: str) -> str:
    """Return the text of the resource at `address`. Blocks.

    Raises:
        NotFound: if there is none.
    """
    for resource in RESOURCES:
        if resource.address == address:
            return resource.answer(engine, caller)
    addresses = ", ".join(resource.address for resource in RESOURCES)
    raise NotFound(f"There is nothing at {address}.", hint=f"Known: {addresses}.")
