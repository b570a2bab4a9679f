"""Fetch memories by their ids: whole, with what a reader needs to weigh them. In: ids as an index shows them. Out: texts.

An agent that sees a headline fetches what a step needs; what it fetches counts as given to its session and as used. It never sees more than its
folder shows. An id that names nothing costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.queries.agent_tools import FetchedMemory
from tacit.app.values import Caller
from tacit.errors import InvalidInput
from tacit.safety.escape import escape_text
from tacit.verbs.answers import Shape
from tacit.verbs.requests import Folder, Request


class Fetch(Request):
    """A request for memories by their ids."""

    cwd: Folder = Field(
        default="", description="working folder of the agent; without one only universal memories are seen"
    )
    ids: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(
        min_length=1,
        max_length=20,
        description="ids, or their beginnings or endings, as an index shows them",
    )


class Got(Shape):
    """The memories as text for an agent, their ids in the same order, and the ids under which the caller may see no memory."""

    text: str
    ids: Sequence[str]
    unknown: Sequence[str]


def fetch_memories(engine: Engine, caller: Caller, request: Fetch) -> Got:
    """Fetch memories whole by their ids, as an agent does with `memory_get`.

    Each comes with since when it holds, who said it, what it replaced, and what is near. It counts as given to the session at work
    in the folder, and as used.

    Raises:
        InvalidInput: no id is given.
    """
    names = tuple(dict.fromkeys(name.strip() for name in request.ids if name.strip()))
    if not names:
        raise InvalidInput("No memory was named.", hint="Give the ids that stand before the headlines.")
    fetched, unknown = engine.agents.fetch(
        replace(caller, by_tool=True, cwd=request.cwd or caller.cwd), names
    )
    lines = [line for one in fetched for line in _lines(one)]
    lines += [escape_text(reason) for reason in unknown.values()]
    if unknown:
        lines.append("memory_search finds memories by their words.")
    return Got(text="\n".join(lines), ids=tuple(one.memory.id for one in fetched), unknown=tuple(unknown))


def _lines(fetched: FetchedMemory) -> list[str]:
    memory = fetched.memory
    lines = [f"- {memory.id} [{memory.kind}] {escape_text(memory.content)} ({escape_text(fetched.source)})"]
    lines += [
        f"  replaced: {escape_text(old.content)} ({old.validity.first_day})" for old in fetched.replaced
    ]
    lines += [
        f"  near, may not hold beside it: {near.id} {escape_text(near.content)} ({near.validity.first_day})"
        for near in fetched.near
    ]
    return lines
