"""The table of endpoints: what the routes serve and what docs/reference/api.md lists.

In: nothing. Out: one entry per method and path. Pure data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from tacit.api import handlers
from tacit.api import requests as ask

Handler = Callable[..., handlers.Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path.

    Attributes:
        method: HTTP method.
        path: below the root, with parameters in braces.
        reads: where the request's values are: the JSON body or the query string.
        request: the model that checks them.
        handler: what answers.
    """

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    reads: Literal["body", "query"]
    request: type[BaseModel]
    handler: Handler

    @property
    def about(self) -> str:
        """The first paragraph of the handler's docstring."""
        return (self.handler.__doc__ or "").strip()


def _get(path: str, request: type[BaseModel], handler: Handler) -> Endpoint:
    return Endpoint(method="GET", path=path, reads="query", request=request, handler=handler)


def _post(path: str, request: type[BaseModel], handler: Handler) -> Endpoint:
    return Endpoint(method="POST", path=path, reads="body", request=request, handler=handler)


_MEMORY = "/v1/memories/{id}"

ENDPOINTS: tuple[Endpoint, ...] = (
    _post("/v1/remember", ask.Remember, handlers.remember),
    _post("/v1/recall", ask.Recall, handlers.recall),
    _get("/v1/context", ask.AtFolder, handlers.context),
    _get("/v1/memories", ask.ListMemories, handlers.list_memories),
    _get(_MEMORY, ask.NoBody, handlers.show),
    Endpoint(method="PATCH", path=_MEMORY, reads="body", request=ask.Edit, handler=handlers.edit),
    Endpoint(method="DELETE", path=_MEMORY, reads="query", request=ask.Forget, handler=handlers.forget),
    _get(f"{_MEMORY}/history", ask.NoBody, handlers.history),
    _get("/v1/changes", ask.ListChanges, handlers.changes),
    _post("/v1/undo", ask.Undo, handlers.undo),
    _get("/v1/review", ask.ListReview, handlers.review_queue),
    _post("/v1/review/{id}", ask.Decide, handlers.decide),
    _post(f"{_MEMORY}/feedback", ask.Feedback, handlers.feedback),
    _get("/v1/traces", ask.ListTraces, handlers.traces),
    _post("/v1/tune", ask.Tune, handlers.tune),
    _post("/v1/rescan", ask.Rescan, handlers.rescan),
    _post("/v1/sessions/{host}/{session_id}/mute", ask.Mute, handlers.mute),
    _post("/v1/projects/init", ask.AtFolder, handlers.init_project),
    _get("/v1/transcripts", ask.FindTranscripts, handlers.transcripts),
    _post("/v1/backfill", ask.Backfill, handlers.backfill),
    _get("/v1/status", ask.NoBody, handlers.status),
    _get("/v1/stats", ask.NoBody, handlers.stats),
    _post("/v1/backup", ask.Backup, handlers.backup),
    _get("/v1/check", ask.NoBody, handlers.check),
    _post("/v1/reindex", ask.NoBody, handlers.reindex),
)
