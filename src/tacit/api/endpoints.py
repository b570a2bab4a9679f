"""The table of endpoints: what the routes serve, what docs/reference/api.md lists and what the OpenAPI document says.

In: nothing. Out: one entry per method and path. Pure data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from tacit.api import handlers, programs
from tacit.api import requests as core_requests
from tacit.api.admin import digests, jobs, purging, settings
from tacit.api.admin import handlers as admin_handlers
from tacit.api.admin import requests as admin_requests
from tacit.api.answering import Answer
from tacit.api.documents import metrics, openapi
from tacit.api.stream import stream

Handler = Callable[..., Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path.

    Attributes:
        method: HTTP method.
        path: below the root, with parameters in braces.
        reads: where the request's values are: the JSON body or the query string.
        request: the model that checks them.
        handler: what answers.
        answers: name of a shape in `tacit.api.answers`; "" = no content.
        group: the heading it stands under.
        statuses: what it answers when all goes well.
        matched: what `If-Match` is held to: the memory of the path, or the settings; "" = it is not read.
        must_match: whether there must be an `If-Match`.
        once: whether an `Idempotency-Key` is read.
        media_type: of the answer.
        ahead: whether somebody's turn waits for the answer, as for a hook's.
        users: what the user alone may do here, in words; "" = everybody may ask.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    reads: Literal["body", "query"]
    request: type[BaseModel]
    handler: Handler
    answers: str
    group: str
    statuses: tuple[int, ...] = (200,)
    matched: Literal["", "memory", "settings"] = ""
    must_match: bool = False
    once: bool = False
    media_type: str = "application/json"
    ahead: bool = False
    users: str = ""

    @property
    def names_change(self) -> bool:
        """Whether the answer names the change that was written."""
        return self.answers in ("Changed", "OneMemory", "Decided")

    @property
    def about(self) -> str:
        """The first paragraph of the handler's docstring."""
        return (self.handler.__doc__ or "").strip()

    @property
    def name(self) -> str:
        """A name for generated clients, such as `get_memories_id_history`."""
        words = self.path.removeprefix("/v1/").replace("{", "").replace("}", "").replace(".", "_")
        return f"{self.method.lower()}_{words.replace('/', '_')}"


_MEMORY = "/v1/memories/{id}"
_TRACE = "/v1/traces/{id}"
_SESSION = "/v1/sessions/{host}/{session_id}"
_CHANGE = "change memories"
_REVIEW = "decide what waits for review"
_SHARING = "decide which folders share a project"


def _group(name: str, *endpoints: Callable[[str], Endpoint]) -> tuple[Endpoint, ...]:
    return tuple(made(name) for made in endpoints)


def _get(
    path: str,
    request: type[BaseModel],
    handler: Handler,
    answers: str,
    *,
    media_type: str = "application/json",
) -> Callable[[str], Endpoint]:
    return lambda group: Endpoint(
        method="GET", path=path, reads="query", request=request, handler=handler, answers=answers, group=group,
        media_type=media_type,
    )  # fmt: skip


def _send(
    method: Literal["POST", "PUT", "PATCH"], path: str, request: type[BaseModel], handler: Handler, answers: str,
    *, statuses: tuple[int, ...] = (200,), matched: Literal["", "memory", "settings"] = "", must_match: bool = False,
    once: bool = False, ahead: bool = False, users: str = "",
) -> Callable[[str], Endpoint]:  # fmt: skip
    return lambda group: Endpoint(
        method=method, path=path, reads="body", request=request, handler=handler, answers=answers, group=group,
        statuses=statuses, matched=matched, must_match=must_match, once=once, ahead=ahead, users=users,
    )  # fmt: skip


def _delete(
    path: str,
    request: type[BaseModel],
    handler: Handler,
    answers: str,
    *,
    matched: Literal["memory", "settings"],
) -> Callable[[str], Endpoint]:
    return lambda group: Endpoint(
        method="DELETE", path=path, reads="query", request=request, handler=handler, answers=answers, group=group,
        matched=matched,
    )  # fmt: skip


ENDPOINTS: tuple[Endpoint, ...] = (
    *_group(
        "Memories",
        _send("POST", "/v1/remember", core_requests.Remember, handlers.remember, "Changed", statuses=(201, 200), once=True),
        _get("/v1/memories", core_requests.ListMemories, handlers.list_memories, "MemoryPage"),
        _get("/v1/search", admin_requests.Search, admin_handlers.search, "Hits"),
        _get(_MEMORY, core_requests.AsOf, handlers.show, "OneMemory"),
        _send("PUT", _MEMORY, admin_requests.Replace, admin_handlers.replace, "OneMemory", matched="memory", must_match=True,
              users=_CHANGE),
        _send("PATCH", _MEMORY, core_requests.Edit, handlers.edit, "OneMemory", matched="memory", users=_CHANGE),
        _delete(_MEMORY, core_requests.Forget, handlers.forget, "OneMemory", matched="memory"),
        _send("POST", f"{_MEMORY}/supersede", admin_requests.Supersede, admin_handlers.supersede, "Changed", statuses=(201,),
              matched="memory", once=True, users=_CHANGE),
        _send("POST", f"{_MEMORY}/merge", admin_requests.MergeInto, admin_handlers.merge, "Changed", matched="memory", users=_CHANGE),
        _get(f"{_MEMORY}/history", core_requests.NoBody, handlers.history, "Versions"),
        _get(f"{_MEMORY}/relations", core_requests.NoBody, admin_handlers.relations, "Relations"),
        _get(f"{_MEMORY}/exposures", admin_requests.Page, admin_handlers.exposures_of, "ExposurePage"),
        _send("POST", f"{_MEMORY}/feedback", core_requests.Feedback, handlers.feedback, "", statuses=(204,)),
        _get("/v1/graph", admin_requests.AskGraph, admin_handlers.graph, "GraphView"),
        _get("/v1/changes", core_requests.ListChanges, handlers.changes, "ChangeLog"),
        _send("POST", "/v1/purge", admin_requests.Purge, purging.purge, "Purged", users="remove memories for good"),
        _send("POST", "/v1/undo", core_requests.Undo, handlers.undo, "Changed", users="take changes back"),
        _get("/v1/review", core_requests.ListReview, handlers.review_queue, "ReviewQueue"),
        _send("POST", "/v1/review", core_requests.DecideAll, handlers.decide_all, "Decided", users=_REVIEW),
        _send("POST", "/v1/review/{id}", core_requests.Decide, handlers.decide, "Changed", users=_REVIEW),
        _get("/v1/projects", core_requests.NoBody, admin_handlers.projects, "Projects"),
        _get("/v1/projects/here", core_requests.AtFolder, admin_handlers.membership, "FolderProject"),
        _send("POST", "/v1/projects/join", core_requests.AtFolder, admin_handlers.join, "FolderProject", users=_SHARING),
        _send("POST", "/v1/projects/separate", core_requests.AtFolder, admin_handlers.separate, "FolderProject", users=_SHARING),
        _get("/v1/kinds", core_requests.NoBody, admin_handlers.kinds, "Kinds"),
    ),
    *_group(
        "Recall",
        _send("POST", "/v1/recall", core_requests.Recall, handlers.recall, "RecalledView"),
        _send("POST", "/v1/inject", programs.Inject, programs.inject, "Injected", statuses=(200, 408, 500),
              ahead=True),
        _get("/v1/context", core_requests.AtFolder, handlers.context, "BlockView"),
        _get("/v1/timeline", admin_requests.Timeline, admin_handlers.timeline, "TimelinePage"),
        _get("/v1/traces", core_requests.ListTraces, handlers.traces, "Traces"),
        _get("/v1/traces/stream", core_requests.NoBody, stream, "RecallRow", media_type="text/event-stream"),
        _get(_TRACE, core_requests.NoBody, admin_handlers.trace, "OneTrace"),
        _get(f"{_TRACE}/replay", admin_requests.Threshold, admin_handlers.replay, "ReplayedView"),
        _send("POST", f"{_TRACE}/feedback", admin_requests.TraceFeedback, admin_handlers.judge, "Verdicts", statuses=(201,)),
        _get("/v1/feedback", core_requests.NoBody, admin_handlers.verdicts, "Verdicts"),
        _send("POST", "/v1/tune", core_requests.Tune, handlers.tune, "TuneReport"),
    ),
    *_group(
        "Sessions",
        _get("/v1/sessions", admin_requests.ListSessions, admin_handlers.sessions, "SessionPage"),
        _get(_SESSION, core_requests.NoBody, admin_handlers.session, "OneSession"),
        _get("/v1/digests", admin_requests.ListDigests, digests.digests, "Digests"),
        _get("/v1/learned", admin_requests.AskLearned, digests.learned, "SessionLearned"),
        _send("POST", f"{_SESSION}/mute", core_requests.Mute, handlers.mute, "Muted"),
        _get("/v1/exposures", admin_requests.ListExposures, admin_handlers.exposures, "ExposurePage"),
    ),
    *_group(
        "Learning",
        _send("POST", "/v1/projects/init", core_requests.InitProject, handlers.init_project, "Imported"),
        _get("/v1/transcripts", core_requests.FindTranscripts, handlers.transcripts, "Transcripts"),
        _send("POST", "/v1/backfill", core_requests.Backfill, handlers.backfill, "CaptureReport",
              users="have past sessions learned from, since they count as your words"),
        _send("POST", "/v1/write-ups", core_requests.WriteUps, handlers.write_ups, "WrittenUp",
              users="have sessions sent to a language model"),
    ),
    *_group(
        "Settings",
        _get("/v1/settings", admin_requests.AtPlace, settings.show, "SettingsAnswer"),
        _send("PATCH", "/v1/settings", admin_requests.ChangeSettings, settings.change, "SettingsAnswer", matched="settings"),
        _delete("/v1/settings", admin_requests.RevertSettings, settings.revert, "Reverted", matched="settings"),
        _get("/v1/settings/diff", admin_requests.AtPlace, settings.differences, "Differences"),
        _get("/v1/settings/schema", core_requests.NoBody, settings.schema, "Document"),
        _get("/v1/settings/explain/{key}", admin_requests.AtPlace, settings.explain, "OneSetting"),
        _get("/v1/agents", core_requests.NoBody, settings.agents, "Agents"),
        _get("/v1/agents/{name}", core_requests.NoBody, settings.agent, "OneAgent"),
        _send("PATCH", "/v1/agents/{name}", admin_requests.ChangeAgent, settings.change_agent, "OneAgent",
              matched="settings"),
    ),
    *_group(
        "The whole",
        _get("/v1/status", core_requests.NoBody, handlers.status, "EngineStatus"),
        _get("/v1/health", core_requests.NoBody, admin_handlers.health, "Health"),
        _get("/v1/metrics", core_requests.NoBody, metrics, "", media_type="text/plain"),
        _get("/v1/openapi.json", core_requests.NoBody, openapi, "Document"),
        _get("/v1/stats", core_requests.NoBody, handlers.stats, "StoreUse"),
        _get("/v1/stats/timeline", admin_requests.ChartTime, admin_handlers.charts, "SeriesView"),
        _get("/v1/stats/holdout", programs.TrialTime, programs.holdout, "HoldoutView"),
        _send("POST", "/v1/rescan", core_requests.BeginRescan, handlers.rescan, "Rescan"),
        _send("POST", "/v1/backup", core_requests.Backup, handlers.backup, "Target", statuses=(201,)),
        _get("/v1/check", core_requests.NoBody, handlers.check, "Problems"),
        _send("POST", "/v1/jobs", admin_requests.BeginJob, jobs.begin, "OneJob", statuses=(202,)),
        _get("/v1/jobs", core_requests.NoBody, jobs.jobs, "Jobs"),
    ),
)  # fmt: skip
