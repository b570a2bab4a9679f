"""Take changes back, and list them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from tacit.app.engine import Engine
from tacit.app.reasons import change_text
from tacit.app.values import Caller
from tacit.app.visibility import first_rows
from tacit.model.change_reason import ChangeCause
from tacit.model.scope import Scope
from tacit.ports.store import Recorded
from tacit.verbs.answers import Changed, ChangeEntry, ChangeLog, etag_of
from tacit.verbs.requests import MOST_MS, Folder, Page, Request, ScopeText, SessionName, part_of


def _change_id(text: str) -> str:
    if not text.startswith("chg_"):
        raise ValueError(
            "names a change: the `change_id` of the answer to a write, or of GET /v1/changes; a memory of it goes into `memory`"
        )
    return text


class ListChanges(Page):
    """A request for a page of the change log."""

    cwd: Folder = Field(default="", description="only memories visible from this folder; default: all")
    id: str | None = Field(default=None, max_length=100, description="only of this memory")
    change: str | None = Field(default=None, max_length=100, description="only the entries of this change")
    cause: tuple[ChangeCause, ...] = Field(
        default=(), max_length=100, description="only changes made for these causes"
    )
    scope: tuple[ScopeText, ...] = Field(
        default=(),
        max_length=100,
        description="only these scopes; a project's stands for its paths and tasks, too",
    )
    since_ms: int = Field(default=0, ge=0, le=MOST_MS, description="from this time on")
    until_ms: int = Field(default=MOST_MS, ge=0, le=MOST_MS, description="before this time")
    limit: int = Field(default=20, ge=1, le=500, description="most changes")

    def wants(self, change: Recorded) -> bool:
        """Whether the cause and the time of a change are among those asked for."""
        fits = not self.cause or change.reason.cause in self.cause
        return fits and self.since_ms <= change.at_ms < self.until_ms


class Undo(Request):
    """A request to take back one change, or all that was learned from a session."""

    id: (
        Annotated[
            str,
            AfterValidator(_change_id),
            Field(min_length=5, max_length=100, json_schema_extra={"pattern": "^chg_"}),
        ]
        | None
    ) = Field(
        default=None,
        description="`change_id` of the answer to a write, or of an entry of `GET /v1/changes`; or `session`",
    )
    session: SessionName | None = Field(
        default=None,
        description="the session: all that was captured or noted in it is taken back, what it ended holds again",
    )
    memory: str | None = Field(
        default=None,
        max_length=100,
        description="only its effect on this memory and the ones that it replaced; default: the whole change",
    )
    keep_both: bool = Field(
        default=False,
        description="keep the later statement of a supersession or a merge as a separate memory",
    )

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if (self.id is None) == (self.session is None):
            raise ValueError("either id or session")
        if self.session is not None and (self.memory is not None or self.keep_both):
            raise ValueError("memory and keep_both only with id")
        return self


def list_changes(engine: Engine, caller: Caller, request: ListChanges) -> ChangeLog:
    """List the latest changes, newest first, with their reasons and the earlier versions.

    Each entry is one version as it was written, with the version before it. Entries with the same `change_id`
    were written together and are undone together.

    Raises:
        NotFound: no memory has this id.
        Ambiguous: several memories have it.
    """
    scope = engine.visible(request.cwd) if request.cwd else None
    if request.scope:
        scope = engine.admin.scopes([Scope.parse(text) for text in request.scope], within=scope)
    visibility = engine.visibility(caller.speaker)
    name = engine.show(request.id, speaker=caller.speaker).id if request.id else None

    def first(count: int) -> Sequence[Recorded]:
        return first_rows(
            lambda most: engine.review.changes(
                scope=scope, memory_id=name, change_id=request.change, limit=most
            ),
            lambda rows: visibility.changes(list(filter(request.wants, rows))),
            count,
        )

    fetched, following = part_of(first, request, lambda row: f"{row.change_id} {etag_of(row.memory)}")
    reasons = [visibility.reason(change.reason) for change in fetched]
    rows = [
        ChangeEntry(
            change_id=change.change_id,
            at_ms=change.at_ms,
            reason=change_text(reason),
            cause=reason.cause,
            memory=change.memory,
            before=change.before,
        )
        for change, reason in zip(fetched, reasons, strict=True)
    ]
    return ChangeLog(changes=rows, next_cursor=following)


def undo_change(engine: Engine, caller: Caller, request: Undo) -> Changed:
    """Undo one change as a whole, or all that a session taught. Ended statements become active again.

    `id` is the `change_id` of the answer to a write, or of an entry of `GET /v1/changes`. With `memory` only
    the effect on that memory is taken back.

    Raises:
        NotFound: there is no such change, or it did nothing to `memory`; or nothing that holds was learned in the session.
        Conflict: a later change touched one of its memories.
    """
    review = engine.review
    changes = (
        review.undo_session(request.session.key)
        if request.session is not None
        else review.undo(request.id or "", memory_id=request.memory, keep_both=request.keep_both)
    )
    return Changed(changes=changes)
