"""Show one memory: as it is or was, its versions, relations and injections."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.errors import NotFound
from tacit.model.memory import Memory
from tacit.model.session import SessionKey
from tacit.verbs.answers import ExposurePage, OneMemory, Relations, Versions, etag_of
from tacit.verbs.cursors import part_of, rows_before, to_cursor
from tacit.verbs.requests import MOST_MS, LongPage, OfMemory, Page


class ShowMemory(OfMemory):
    """A request for one memory, now or as of a time."""

    as_of_ms: int | None = Field(default=None, ge=0, le=MOST_MS, description="as it was known at this time")


class ListVersions(OfMemory, LongPage):
    """A request for a page of the versions or relations of a memory."""


class ListExposures(Page):
    """A request for a page of injected memories."""

    host: str | None = Field(default=None, max_length=100, description="of one session: its host")
    session_id: str | None = Field(default=None, max_length=500, description="of one session: its id")
    memory: str | None = Field(default=None, max_length=100, description="only of this memory")

    @model_validator(mode="after")
    def _whole_session(self) -> Self:
        if (self.host is None) != (self.session_id is None):
            raise ValueError("host and session_id together")
        return self


def find(engine: Engine, caller: Caller, name: str) -> Memory:
    """Return the one memory whose id is, begins with or ends with `name`, if `caller` may see it. A tool may see only what is visible from its folder.

    Raises:
        InvalidInput, NotFound: if there is none, or several.
    """
    return engine.agents.seen(caller, name) if caller.by_tool else engine.show(name, speaker=caller.speaker)


def get_memory(engine: Engine, caller: Caller, request: ShowMemory) -> OneMemory:
    """Get one memory by its id, or by a unique beginning or end of it, optionally as of a time.

    The answer has an `etag` for `If-Match`. With `as_of_ms` it is the version that was known at that time.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    memory = find(engine, caller, request.id)
    if request.as_of_ms is not None:
        version = engine.admin.as_of(memory.id, request.as_of_ms)
        if version is None or not engine.visibility(caller.speaker).shows(version):
            raise NotFound(f"{memory.id} was not known then.", hint="Ask for a later time.")
        memory = version
    return OneMemory(memory=memory)


def list_memory_versions(engine: Engine, caller: Caller, request: ListVersions) -> Versions:
    """List all versions of a memory, oldest first.

    Each change of a memory writes a new version, which is kept until the memory is purged.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    memory = find(engine, caller, request.id)
    versions = engine.visibility(caller.speaker).memories(
        engine.store.history(memory.id, scope=engine.store.scopes())
    )
    rows, following = part_of(lambda _: versions, request, etag_of)
    return Versions(versions=rows, next_cursor=following)


def list_memory_relations(engine: Engine, caller: Caller, request: ListVersions) -> Relations:
    """List the relations of a memory, strongest first.

    A relation says that one memory updates, contradicts, extends or resembles another one. `memories` holds
    the memories at the other ends.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    edges, neighbors = engine.admin.relations(find(engine, caller, request.id).id)
    visible = engine.visibility(caller.speaker).memories(neighbors)
    hidden = {memory.id for memory in neighbors} - {memory.id for memory in visible}
    shown = [edge for edge in edges if hidden.isdisjoint((edge.source_id, edge.target_id))]
    rows, following = part_of(
        lambda _: shown, request, lambda edge: f"{edge.source_id} {edge.type} {edge.target_id}"
    )
    ends = {end for edge in rows for end in (edge.source_id, edge.target_id)}
    return Relations(
        relations=rows,
        memories=[memory for memory in visible if memory.id in ends],
        next_cursor=following,
    )


def list_exposures(engine: Engine, caller: Caller, request: ListExposures) -> ExposurePage:
    """List injected memories, newest first, and whether they were used.

    An exposure is one memory in one injection. Filter by a session (`host` and `session_id`) or by a memory.

    Raises:
        NotFound: no memory has this id, or several have it.
    """
    key = None
    if request.host is not None and request.session_id is not None:
        key = SessionKey(host=request.host, session_id=request.session_id)
    name = engine.show(request.memory, speaker=caller.speaker).id if request.memory is not None else None
    skip = rows_before(request.cursor) if request.cursor else 0
    fetched = engine.admin.recalls.handed(
        session=key,
        memory_id=name,
        limit=request.limit + 1,
        offset=skip,
        visibility=engine.visibility(caller.speaker),
    )
    more = to_cursor((skip + request.limit, "")) if len(fetched) > request.limit else None
    return ExposurePage(exposures=fetched[: request.limit], next_cursor=more)
