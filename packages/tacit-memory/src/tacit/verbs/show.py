"""Show one memory: as it is or was, its versions, relations and injections."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.errors import NotFound
from tacit.model.ids import ids_abbreviated_by
from tacit.model.memory import Memory
from tacit.model.session import SessionKey
from tacit.state.registry import TEAMS
from tacit.verbs.answers import ExposurePage, ShownMemory
from tacit.verbs.requests import MOST_MS, OfMemory, Page, rows_before, to_cursor


class ShowMemory(OfMemory):
    """A request for one memory, now or as of a time."""

    as_of_ms: int | None = Field(default=None, ge=0, le=MOST_MS, description="as it was known at this time")
    versions: bool = Field(default=False, description="also all its versions")
    relations: bool = Field(default=False, description="also its relations, and the memories at their ends")


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
    """Return the one memory whose id, or the id of its wording in a team, is, begins with or ends with `name`, if `caller` may see it. A tool may see only what is visible from its folder.

    Raises:
        InvalidInput, NotFound: if there is none, or several.
    """
    if caller.by_tool:
        return engine.agents.seen(caller, name)
    try:
        return engine.show(name, speaker=caller.speaker)
    except NotFound:
        own = {
            shared: mine for state in TEAMS.read(engine.store).values() for shared, mine in state.own.items()
        }
        called = {own[each] for each in ids_abbreviated_by(name, own)}
        if len(called) != 1:
            raise
        return engine.show(called.pop(), speaker=caller.speaker)


def get_memory(engine: Engine, caller: Caller, request: ShowMemory) -> ShownMemory:
    """Get one memory by its id, or by a unique beginning or end of it, optionally as of a time, with its versions or relations.

    The answer has an `etag` for `If-Match`. With `as_of_ms` it is the version that was known at that time. Each
    change of a memory writes a new version, which is kept until the memory is purged. A relation says that one
    memory updates, contradicts, extends or resembles another one.

    Raises:
        NotFound: no memory has this id.
        Ambiguous: several memories have it.
    """
    memory = find(engine, caller, request.id)
    if request.as_of_ms is not None:
        version = engine.admin.as_of(memory.id, request.as_of_ms)
        if version is None or not engine.visibility(caller.speaker).shows(version):
            raise NotFound(f"{memory.id} was not known then.", hint="Ask for a later time.")
        memory = version
    visibility = engine.visibility(caller.speaker)
    versions = engine.store.history(memory.id, scope=engine.store.scopes()) if request.versions else ()
    edges, neighbors = engine.admin.relations(memory.id) if request.relations else ((), ())
    related = visibility.memories(neighbors)
    hidden = {neighbor.id for neighbor in neighbors} - {neighbor.id for neighbor in related}
    return ShownMemory(
        memory=memory,
        versions=visibility.memories(versions),
        relations=[edge for edge in edges if hidden.isdisjoint((edge.source_id, edge.target_id))],
        related=related,
        shared_as={
            team: shared
            for team, state in TEAMS.read(engine.store).items()
            for shared, own in state.own.items()
            if own == memory.id and not caller.by_tool
        },
    )


def list_exposures(engine: Engine, caller: Caller, request: ListExposures) -> ExposurePage:
    """List injected memories, newest first, and whether they were used.

    An exposure is one memory in one injection. Filter by a session (`host` and `session_id`) or by a memory.

    Raises:
        NotFound: no memory has this id.
        Ambiguous: several memories have it.
    """
    key = None
    if request.host is not None and request.session_id is not None:
        key = SessionKey(host=request.host, session_id=request.session_id)
    name = engine.show(request.memory, speaker=caller.speaker).id if request.memory is not None else None
    skip = rows_before(request.cursor) if request.cursor else 0
    fetched = engine.admin.recalls.injected_memories(
        session=key,
        memory_id=name,
        limit=request.limit + 1,
        offset=skip,
        visibility=engine.visibility(caller.speaker),
    )
    more = to_cursor((skip + request.limit, "")) if len(fetched) > request.limit else None
    return ExposurePage(exposures=fetched[: request.limit], next_cursor=more)
