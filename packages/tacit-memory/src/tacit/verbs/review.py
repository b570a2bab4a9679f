"""The review queue: what waits for the user, and their decisions."""

from __future__ import annotations

from typing import Annotated, Self, cast

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.maintenance.review import DECISIONS, BulkAction, ReviewAction, ReviewCause, ReviewFilter
from tacit.app.values import Caller
from tacit.verbs.answers import Decided, GroupCount, ReviewEntry, ReviewGroups, ReviewQueue
from tacit.verbs.requests import MAX_CONTENT_CHARS, Folder, Page, Request, from_cursor, to_cursor

ReviewValues = Annotated[tuple[Annotated[str, Field(max_length=400)], ...], Field(max_length=100)]


class ReviewWhere(Request):
    """Filters for entries of the review queue. A filter that is left out matches all entries."""

    cwd: Folder = Field(default="", description="only memories visible from this folder; default: all")
    kind: ReviewValues = Field(default=(), description="only these kinds")
    source: ReviewValues = Field(default=(), description="only from these sources, such as an imported file")
    tier: ReviewValues = Field(default=(), description="only with these trust tiers")
    cause: tuple[ReviewCause, ...] = Field(
        default=(),
        max_length=4,
        description="only these causes: a contradiction, added by an agent, imported, captured and not confirmed",
    )
    scope: ReviewValues = Field(default=(), description="only of these projects or other scopes")
    text: str = Field(default="", max_length=1000, description="only with all of these words, in any order")

    @property
    def wanted(self) -> ReviewFilter:
        """Return the filters as the application takes them."""
        return ReviewFilter(
            kind=self.kind,
            source=self.source,
            tier=self.tier,
            cause=self.cause,
            scope=self.scope,
            text=self.text.strip(),
        )


class ListReview(ReviewWhere, Page):
    """A request for a page of the review queue."""


class Decide(Request):
    """A decision on one entry of the review queue, or the same on many as one change."""

    action: ReviewAction = Field(
        description="`accept` = it is active and ends what it contradicts; `reject` = it is dropped and not learned again;"
        " `merge` = both say the same, for one statement; `keep` = both stay active"
    )
    content: str | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_CONTENT_CHARS,
        description="for `accept` of one statement: better words",
    )
    into: str | None = Field(
        default=None, max_length=100, description="for `merge`: the memory that says the same"
    )
    ids: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(
        default=(), max_length=10_000, description="of these statements, or their beginnings or endings"
    )
    where: ReviewWhere | None = Field(
        default=None, description="instead of `ids`: all statements that match; pairs are left out"
    )
    count: int | None = Field(
        default=None,
        ge=0,
        description="with `where`: the expected number of matches, `total` without the pairs in `groups.cause`; if it differs, nothing is decided",
    )

    @model_validator(mode="after")
    def _says_which(self) -> Self:
        if bool(self.ids) == (self.where is not None):
            raise ValueError("either ids or where")
        if (self.where is None) != (self.count is None):
            raise ValueError("count together with where")
        alone = self.action in ("merge", "keep") or self.content is not None or self.into is not None
        if alone and len(self.ids) != 1:
            raise ValueError("one id for merge, keep, content and into")
        return self


def list_review(engine: Engine, caller: Caller, request: ListReview) -> ReviewQueue:
    """List what waits for the user: pairs that may contradict each other, and unconfirmed statements.

    Each entry has a `reason` in words. `total` counts the entries that match, `waiting` all entries, and
    `groups` says how many there are by kind, source, tier, cause and scope.
    """
    visibility = engine.visibility(caller.speaker)
    page = engine.review.queue.page(
        request.wanted,
        scope=engine.visible(request.cwd) if request.cwd else None,
        limit=request.limit,
        after=from_cursor(request.cursor) if request.cursor else None,
        levels=visibility.levels,
    )
    entries = [
        ReviewEntry(
            memory=entry.memory,
            other=entry.other,
            cause=entry.cause,
            reason=visibility.words(entry.reason),
            alike=entry.alike,
        )
        for entry in page.items
    ]
    groups = {
        name: [GroupCount(value=value, count=count) for value, count in counts]
        for name, counts in page.groups.items()
    }
    return ReviewQueue(
        review=entries,
        total=page.total,
        waiting=page.waiting,
        groups=ReviewGroups(**groups),
        next_cursor=to_cursor(page.following) if page.following else None,
    )


def decide_reviews(engine: Engine, caller: Caller, request: Decide) -> Decided:
    """Make one decision on one or many statements of the review queue. It is one change, which `undo` reverts.

    Accepting a statement makes it active and ends what it contradicts; rejecting it retires it, and it is not
    learned again. Name the statements by `ids`, or by `where` together with the `count` that you expect. If another
    number matches, nothing is decided. A pair that contradicts each other is decided by itself, so that a decision on
    many ends nothing unseen. `changes` tells what became of one statement.

    Raises:
        NotFound: one of the memories does not exist.
        Ambiguous: several memories have one of the ids.
        InvalidInput: one of several `ids` belongs to a pair.
        RefusedByRedaction: `content` holds a secret.
        Conflict: another number of statements matches than `count`.
    """
    where = request.where
    if len(request.ids) == 1:
        changes = engine.review.decide(
            request.ids[0], request.action, content=request.content, into=request.into
        )
        return Decided(decided=1, changes=changes)
    changes = engine.review.decide_all(
        cast("BulkAction", request.action),
        ids=request.ids,
        where=where.wanted if where is not None else None,
        scope=engine.visible(where.cwd) if where is not None and where.cwd else None,
        expected_count=request.count,
    )
    return Decided(decided=sum(change.reason.cause in DECISIONS for change in changes))
