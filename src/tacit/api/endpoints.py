"""The table of endpoints: what the routes serve, what docs/reference/api.md lists and what the OpenAPI document says.

In: nothing. Out: one entry per method and path. Pure data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from pydantic import BaseModel

from tacit.api import handlers, items, programs
from tacit.api.admin import handlers as admin_handlers
from tacit.api.admin import settings, teams
from tacit.api.admin.why_not import why_not
from tacit.api.answering import Answer
from tacit.api.documents import metrics, openapi
from tacit.api.stream import stream

Handler = Callable[..., Answer[Any]]


@cache
def _hints(handler: Handler) -> dict[str, Any]:
    return get_type_hints(handler, include_extras=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method of one path.

    Attributes:
        method: HTTP method.
        path: below the root, with parameters in braces.
        reads: where the request's values are: the JSON body or the query string.
        handler: what answers; its signature names the model that checks the request and the shape of the answer.
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
    handler: Handler
    group: str
    statuses: tuple[int, ...] = (200,)
    matched: Literal["", "memory", "settings"] = ""
    must_match: bool = False
    once: bool = False
    media_type: str = "application/json"
    ahead: bool = False
    users: str = ""

    @property
    def request(self) -> type[BaseModel]:
        """The model that checks the request."""
        return _hints(self.handler)["request"]

    @property
    def answer(self) -> Any:
        """The type of the answer's body; None = no content, or no JSON."""
        (body,) = get_args(_hints(self.handler)["return"])
        return None if body is type(None) else body

    @property
    def names_change(self) -> bool:
        """Whether the answer names the change that was written."""
        return "change_id" in getattr(self.answer, "model_fields", ())

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
_DEVICES = "decide which devices share this memory"
_TEAM = "decide what is shared with a team, and which team is believed"


def _group(name: str, *endpoints: Callable[[str], Endpoint]) -> tuple[Endpoint, ...]:
    return tuple(make(name) for make in endpoints)


def _get(
    path: str,
    handler: Handler,
    *,
    media_type: str = "application/json",
) -> Callable[[str], Endpoint]:
    return lambda group: Endpoint(
        method="GET",
        path=path,
        reads="query",
        handler=handler,
        group=group,
        media_type=media_type,
    )


def _send(
    method: Literal["POST", "PUT", "PATCH"],
    path: str,
    handler: Handler,
    *,
    statuses: tuple[int, ...] = (200,),
    matched: Literal["", "memory", "settings"] = "",
    must_match: bool = False,
    once: bool = False,
    ahead: bool = False,
    users: str = "",
) -> Callable[[str], Endpoint]:
    return lambda group: Endpoint(
        method=method,
        path=path,
        reads="body",
        handler=handler,
        group=group,
        statuses=statuses,
        matched=matched,
        must_match=must_match,
        once=once,
        ahead=ahead,
        users=users,
    )


def _delete(
    path: str,
    handler: Handler,
    *,
    matched: Literal["", "memory", "settings"] = "",
    statuses: tuple[int, ...] = (200,),
) -> Callable[[str], Endpoint]:
    return lambda group: Endpoint(
        method="DELETE",
        path=path,
        reads="query",
        handler=handler,
        group=group,
        statuses=statuses,
        matched=matched,
    )


ENDPOINTS: tuple[Endpoint, ...] = (
    *_group(
        "Memories",
        _send("POST", "/v1/remember", handlers.remember, statuses=(201, 200), once=True),
        _get("/v1/memories", handlers.list_memories),
        _get("/v1/search", admin_handlers.search),
        _get(_MEMORY, handlers.show),
        _send("PUT", _MEMORY, admin_handlers.replace, matched="memory", must_match=True,
              users=_CHANGE),
        _send("PATCH", _MEMORY, handlers.edit, matched="memory", users=_CHANGE),
        _delete(_MEMORY, handlers.forget, matched="memory"),
        _send("POST", f"{_MEMORY}/supersede", admin_handlers.supersede, statuses=(201,),
              matched="memory", once=True, users=_CHANGE),
        _send("POST", f"{_MEMORY}/merge", admin_handlers.merge, matched="memory", users=_CHANGE),
        _get(f"{_MEMORY}/history", handlers.history),
        _get(f"{_MEMORY}/relations", admin_handlers.relations),
        _get(f"{_MEMORY}/exposures", admin_handlers.exposures_of),
        _send("POST", f"{_MEMORY}/feedback", handlers.feedback, statuses=(204,)),
        _get("/v1/graph", admin_handlers.graph),
        _get("/v1/changes", handlers.changes),
        _send("POST", "/v1/purge", admin_handlers.purge, users="remove memories for good"),
        _send("POST", "/v1/undo", handlers.undo, users="take changes back"),
        _get("/v1/review", handlers.review_queue),
        _send("POST", "/v1/review", handlers.decide_all, users=_REVIEW),
        _send("POST", "/v1/review/{id}", handlers.decide, users=_REVIEW),
        _get("/v1/projects", admin_handlers.projects),
        _get("/v1/projects/here", admin_handlers.membership),
        _send("POST", "/v1/projects/join", admin_handlers.join, users=_SHARING),
        _send("POST", "/v1/projects/separate", admin_handlers.separate, users=_SHARING),
        _get("/v1/team", admin_handlers.team),
        _send("POST", "/v1/team/join", admin_handlers.join_team, users=_TEAM),
        _send("POST", "/v1/team/leave", admin_handlers.leave_team, users=_TEAM),
        _send("POST", "/v1/team/share", admin_handlers.share, users=_TEAM),
        _send("POST", "/v1/team/unshare", admin_handlers.unshare, users=_TEAM),
        _get("/v1/teams", teams.teams),
        _get("/v1/teams/known", teams.known),
        _send("POST", "/v1/teams", teams.add_team, users=_TEAM),
        _send("POST", "/v1/teams/join", teams.join, users=_TEAM),
        _send("POST", "/v1/teams/leave", teams.leave, users=_TEAM),
        _get("/v1/teams/members", teams.members),
        _send("POST", "/v1/teams/members", teams.put_member, users=_TEAM),
        _send("POST", "/v1/teams/members/remove", teams.remove_member, users=_TEAM),
        _send("POST", "/v1/teams/projects", teams.put_project, users=_TEAM),
        _send("POST", "/v1/teams/projects/remove", teams.remove_project, users=_TEAM),
        _send("POST", "/v1/teams/service-accounts", teams.put_service, users=_TEAM),
        _get("/v1/teams/audit", teams.audit),
        _get("/v1/teams/mine", teams.owned),
        _get("/v1/teams/requests", teams.requests),
        _send("POST", "/v1/teams/requests", teams.ask, users=_TEAM),
        _send("POST", "/v1/teams/requests/decide", teams.decide, users=_TEAM),
        _send("POST", "/v1/teams/unshare", teams.unshare, users=_TEAM),
        _get("/v1/sync", admin_handlers.sync_status),
        _send("POST", "/v1/sync", admin_handlers.sync_now, users=_DEVICES),
        _send("POST", "/v1/sync/login", admin_handlers.sync_login, users=_DEVICES),
        _send("POST", "/v1/sync/sign-in", admin_handlers.sync_sign_in, users=_DEVICES),
        _send("POST", "/v1/sync/sign-in/finish", admin_handlers.sync_signed_in, users=_DEVICES),
        _send("POST", "/v1/sync/logout", admin_handlers.sync_logout, users=_DEVICES),
        _send("POST", "/v1/sync/invites", admin_handlers.sync_invite, users=_DEVICES),
        _get("/v1/sync/devices", admin_handlers.sync_devices),
        _send("POST", "/v1/sync/devices/revoke", admin_handlers.sync_revoke, users=_DEVICES),
        _get("/v1/kinds", admin_handlers.kinds),
        _get("/v1/spaces", admin_handlers.spaces),
    ),
    *_group(
        "Recall",
        _send("POST", "/v1/recall", handlers.recall),
        _send("POST", "/v1/why-not", why_not),
        _send("POST", "/v1/inject", programs.inject, statuses=(200, 408, 500),
              ahead=True),
        _get("/v1/context", handlers.context),
        _get("/v1/timeline", admin_handlers.timeline),
        _get("/v1/traces", handlers.traces),
        _get("/v1/traces/stream", stream, media_type="text/event-stream"),
        _get(_TRACE, admin_handlers.trace),
        _get(f"{_TRACE}/replay", admin_handlers.replay),
        _send("POST", f"{_TRACE}/feedback", admin_handlers.judge, statuses=(201,)),
        _get("/v1/feedback", admin_handlers.verdicts),
        _send("POST", "/v1/tune", handlers.tune),
    ),
    *_group(
        "Items",
        _get("/v1/items", items.get),
        _send("PUT", "/v1/items", items.put),
        _delete("/v1/items", items.delete, statuses=(204,)),
        _send("POST", "/v1/items/search", items.search),
        _get("/v1/items/namespaces", items.namespaces),
    ),
    *_group(
        "Sessions",
        _get("/v1/sessions", admin_handlers.sessions),
        _get(_SESSION, admin_handlers.session),
        _get("/v1/digests", admin_handlers.digests),
        _get("/v1/learned", admin_handlers.learned),
        _send("POST", f"{_SESSION}/mute", handlers.mute),
        _get("/v1/exposures", admin_handlers.exposures),
    ),
    *_group(
        "Learning",
        _send("POST", "/v1/projects/init", handlers.init_project),
        _get("/v1/transcripts", handlers.transcripts),
        _send("POST", "/v1/backfill", handlers.backfill,
              users="have past sessions learned from, since they count as your words"),
        _send("POST", "/v1/write-ups", handlers.write_ups,
              users="have sessions sent to a language model"),
    ),
    *_group(
        "Settings",
        _get("/v1/settings", settings.show),
        _send("PATCH", "/v1/settings", settings.change, matched="settings"),
        _delete("/v1/settings", settings.revert, matched="settings"),
        _get("/v1/settings/diff", settings.differences),
        _get("/v1/settings/schema", settings.schema),
        _get("/v1/settings/explain/{key}", settings.explain),
        _get("/v1/agents", settings.agents),
        _get("/v1/agents/{name}", settings.agent),
        _send("PATCH", "/v1/agents/{name}", settings.change_agent,
              matched="settings"),
    ),
    *_group(
        "System",
        _get("/v1/status", handlers.status),
        _get("/v1/health", admin_handlers.health),
        _get("/v1/metrics", metrics, media_type="text/plain"),
        _get("/v1/openapi.json", openapi),
        _get("/v1/stats", handlers.stats),
        _get("/v1/stats/timeline", admin_handlers.charts),
        _get("/v1/stats/holdout", programs.holdout),
        _send("POST", "/v1/rescan", handlers.rescan),
        _send("POST", "/v1/backup", handlers.backup, statuses=(201,)),
        _get("/v1/check", handlers.check),
        _send("POST", "/v1/jobs", admin_handlers.begin_job, statuses=(202,)),
        _get("/v1/jobs", admin_handlers.jobs),
    ),
)  # fmt: skip
