"""The table of endpoints: what the routes serve, what docs/reference/api.md lists and what the OpenAPI document says.

In: nothing. Out: one entry per method and path. Pure data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from typing import Any, Literal, get_args, get_type_hints

from pydantic import BaseModel

from tacit.api import handlers, items, programs, transfer
from tacit.api.admin import handlers as admin_handlers
from tacit.api.admin import settings, sync, teams
from tacit.api.admin.why_not import why_not
from tacit.api.answering import Answer
from tacit.api.documents import get_metrics, get_openapi
from tacit.api.problems import status_of_class
from tacit.api.stream import stream_traces

MAX_BODY_BYTES = 4_500_000
"""The longest content (1,000,000 characters) at four bytes each, and room for the rest."""
Handler = Callable[..., Answer[Any]]
_RAISES = re.compile(r"^ *(\w+): (.+)$", flags=re.MULTILINE)


GENERAL: Mapping[int, str] = {
    400: "The body is not JSON.",
    401: "On the loopback port: neither the token nor a signed-in page.",
    403: "On the loopback port: a page of another origin asks.",
    412: "It was changed since the version in `If-Match`.",
    413: f"The body is larger than {MAX_BODY_BYTES:,} bytes.",
    415: "The body is not declared as `application/json`.",
    421: "On the loopback port: the header `Host` names no loopback address.",
    422: "A value cannot be used; `detail` names it.",
    428: "The header `If-Match` is missing.",
    500: "Tacit or its store failed; `code` says how.",
    503: "The daemon is busy or the store is locked; try again after `Retry-After` seconds.",
    507: "No space is left on the device.",
}
"""Why any request may be refused, by status."""


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
        max_bytes: of the body.
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
    max_bytes: int = MAX_BODY_BYTES

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
    def name(self) -> str:
        """The id of the operation, by which generated clients call it: the handler's name."""
        return self.handler.__name__

    @property
    def summary(self) -> str:
        """What it does, in one line: the first of the handler's docstring."""
        return self._words.partition("\n\n")[0]

    @property
    def description(self) -> str:
        """Who may call it, what it changes and how to take that back: the rest of the docstring."""
        return self._words.partition("\n\n")[2]

    @property
    def raised(self) -> Mapping[int, Sequence[str]]:
        """Why the handler refuses, by status: the docstring's `Raises`."""
        reasons: dict[int, list[str]] = {}
        for error, words in _RAISES.findall(self._raises):
            reasons.setdefault(status_of_class(error), []).append(f"{words[:1].upper()}{words[1:]}")
        return reasons

    @property
    def errors(self) -> Mapping[int, Sequence[str]]:
        """Why it is refused, by status: by its handler, and by the checks that all requests pass."""
        general = {
            **GENERAL,
            403: f"Only the user can {self.users}. {GENERAL[403]}" if self.users else GENERAL[403],
            413: GENERAL[413].replace(f"{MAX_BODY_BYTES:,}", f"{self.max_bytes:,}"),
            422: f"{GENERAL[422]} Or the `Idempotency-Key` came with another request before."
            if self.once
            else GENERAL[422],
        }
        absent = {
            *((400, 413, 415) if self.reads == "query" else ()),
            *(() if self.matched else (412,)),
            *(() if self.must_match else (428,)),
            *((507,) if self.method == "GET" else ()),
        }
        reasons = {status: list(words) for status, words in self.raised.items()}
        for status, words in general.items():
            if status not in absent:
                reasons.setdefault(status, []).append(words)
        return dict(sorted(reasons.items()))

    @property
    def _words(self) -> str:
        return self._docstring[0]

    @property
    def _raises(self) -> str:
        return self._docstring[1]

    @property
    def _docstring(self) -> tuple[str, str]:
        """The handler's docstring without its `Raises`, each paragraph in one line; and the `Raises`, each error in one line."""
        words, _, raises = cleandoc(self.handler.__doc__ or "").partition("\n\nRaises:\n")
        paragraphs = (" ".join(paragraph.split()) for paragraph in words.split("\n\n"))
        return "\n\n".join(paragraphs), raises


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
    max_bytes: int = MAX_BODY_BYTES,
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
        max_bytes=max_bytes,
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
        _get("/v1/search", admin_handlers.search_memories),
        _get(_MEMORY, handlers.get_memory),
        _send("PUT", _MEMORY, admin_handlers.replace_memory, matched="memory", must_match=True,
              users=_CHANGE),
        _send("PATCH", _MEMORY, handlers.edit_memory, matched="memory", users=_CHANGE),
        _delete(_MEMORY, handlers.forget_memory, matched="memory"),
        _send("POST", f"{_MEMORY}/supersede", admin_handlers.supersede_memory, statuses=(201,),
              matched="memory", once=True, users=_CHANGE),
        _send("POST", f"{_MEMORY}/merge", admin_handlers.merge_memory, matched="memory", users=_CHANGE),
        _get(f"{_MEMORY}/history", handlers.list_memory_versions),
        _get(f"{_MEMORY}/relations", admin_handlers.list_memory_relations),
        _get(f"{_MEMORY}/exposures", admin_handlers.list_memory_exposures),
        _send("POST", f"{_MEMORY}/feedback", handlers.rate_memory, statuses=(204,)),
        _get("/v1/graph", admin_handlers.get_graph),
        _get("/v1/changes", handlers.list_changes),
        _send("POST", "/v1/purge", admin_handlers.purge_memories, users="remove memories for good"),
        _send("POST", "/v1/undo", handlers.undo_change, users="take changes back"),
        _get("/v1/review", handlers.list_review),
        _send("POST", "/v1/review", handlers.decide_reviews, users=_REVIEW),
        _send("POST", "/v1/review/{id}", handlers.decide_review, users=_REVIEW),
        _get("/v1/projects", admin_handlers.list_projects),
        _get("/v1/projects/here", admin_handlers.get_folder_project),
        _send("POST", "/v1/projects/join", admin_handlers.join_project, users=_SHARING),
        _send("POST", "/v1/projects/separate", admin_handlers.separate_project, users=_SHARING),
        _get("/v1/team", sync.get_repository_team),
        _send("POST", "/v1/team/join", sync.join_repository_team, users=_TEAM),
        _send("POST", "/v1/team/leave", sync.leave_repository_team, users=_TEAM),
        _send("POST", "/v1/team/share", sync.share_in_repository, users=_TEAM),
        _send("POST", "/v1/team/unshare", sync.unshare_in_repository, users=_TEAM),
        _get("/v1/teams", teams.list_teams),
        _get("/v1/teams/known", teams.list_known_teams),
        _send("POST", "/v1/teams", teams.add_team, users=_TEAM),
        _send("POST", "/v1/teams/join", teams.join_team, users=_TEAM),
        _send("POST", "/v1/teams/leave", teams.leave_team, users=_TEAM),
        _get("/v1/teams/members", teams.list_members),
        _send("POST", "/v1/teams/members", teams.put_member, users=_TEAM),
        _send("POST", "/v1/teams/members/remove", teams.remove_member, users=_TEAM),
        _send("POST", "/v1/teams/projects", teams.put_team_project, users=_TEAM),
        _send("POST", "/v1/teams/projects/remove", teams.remove_team_project, users=_TEAM),
        _send("POST", "/v1/teams/service-accounts", teams.put_service_account, users=_TEAM),
        _get("/v1/teams/audit", teams.list_audit),
        _get("/v1/teams/mine", teams.get_owned),
        _get("/v1/teams/requests", teams.list_share_requests),
        _send("POST", "/v1/teams/requests", teams.request_sharing, users=_TEAM),
        _send("POST", "/v1/teams/requests/decide", teams.decide_share_request, users=_TEAM),
        _send("POST", "/v1/teams/unshare", teams.unshare_memory, users=_TEAM),
        _get("/v1/sync", sync.get_sync),
        _send("POST", "/v1/sync", sync.sync, users=_DEVICES),
        _send("POST", "/v1/sync/login", sync.log_in, users=_DEVICES),
        _send("POST", "/v1/sync/sign-in", sync.begin_sign_in, users=_DEVICES),
        _send("POST", "/v1/sync/sign-in/finish", sync.finish_sign_in, users=_DEVICES),
        _send("POST", "/v1/sync/logout", sync.log_out, users=_DEVICES),
        _send("POST", "/v1/sync/invites", sync.invite_device, users=_DEVICES),
        _get("/v1/sync/devices", sync.list_devices),
        _send("POST", "/v1/sync/devices/revoke", sync.revoke_device, users=_DEVICES),
        _get("/v1/export", transfer.export_memories, media_type="text/plain"),
        _send("POST", "/v1/export", transfer.write_export, statuses=(201,)),
        _send("POST", "/v1/import", transfer.import_memories, users="import memories",
              max_bytes=transfer.MAX_IMPORT_BYTES),
        _get("/v1/kinds", admin_handlers.list_kinds),
        _get("/v1/spaces", admin_handlers.list_spaces),
    ),
    *_group(
        "Recall",
        _send("POST", "/v1/recall", handlers.recall),
        _send("POST", "/v1/get", handlers.get_memories),
        _send("POST", "/v1/why-not", why_not),
        _send("POST", "/v1/inject", programs.inject, statuses=(200, 408, 500),
              ahead=True),
        _get("/v1/context", handlers.get_start_pack),
        _get("/v1/timeline", admin_handlers.list_recalls),
        _get("/v1/traces", handlers.list_traces),
        _get("/v1/traces/stream", stream_traces, media_type="text/event-stream"),
        _get(_TRACE, admin_handlers.get_trace),
        _get(f"{_TRACE}/replay", admin_handlers.replay_trace),
        _send("POST", f"{_TRACE}/feedback", admin_handlers.rate_trace, statuses=(201,)),
        _get("/v1/feedback", admin_handlers.list_verdicts),
        _send("POST", "/v1/tune", handlers.tune),
    ),
    *_group(
        "Items",
        _get("/v1/items", items.get_item),
        _send("PUT", "/v1/items", items.put_item),
        _delete("/v1/items", items.delete_item, statuses=(204,)),
        _send("POST", "/v1/items/search", items.search_items),
        _get("/v1/items/namespaces", items.list_namespaces),
    ),
    *_group(
        "Sessions",
        _get("/v1/sessions", admin_handlers.list_sessions),
        _get(_SESSION, admin_handlers.get_session),
        _get("/v1/digests", admin_handlers.list_digests),
        _get("/v1/learned", admin_handlers.get_learned),
        _send("POST", f"{_SESSION}/mute", handlers.mute_session),
        _get("/v1/exposures", admin_handlers.list_exposures),
    ),
    *_group(
        "Learning",
        _send("POST", "/v1/projects/init", handlers.import_project_rules),
        _get("/v1/transcripts", handlers.list_transcripts),
        _send("POST", "/v1/backfill", handlers.import_transcripts,
              users="have past sessions learned from, since they count as your words"),
        _send("POST", "/v1/write-ups", handlers.write_up_session,
              users="have sessions sent to a language model"),
    ),
    *_group(
        "Settings",
        _get("/v1/settings", settings.get_settings),
        _send("PATCH", "/v1/settings", settings.change_settings, matched="settings"),
        _delete("/v1/settings", settings.revert_settings, matched="settings"),
        _get("/v1/settings/diff", settings.list_setting_differences),
        _get("/v1/settings/schema", settings.get_settings_schema),
        _get("/v1/settings/explain/{key}", settings.explain_setting),
        _get("/v1/agents", settings.list_agents),
        _get("/v1/agents/{name}", settings.get_agent),
        _send("PATCH", "/v1/agents/{name}", settings.change_agent,
              matched="settings"),
    ),
    *_group(
        "System",
        _get("/v1/status", handlers.get_status),
        _get("/v1/health", admin_handlers.get_health),
        _get("/v1/metrics", get_metrics, media_type="text/plain"),
        _get("/v1/openapi.json", get_openapi),
        _get("/v1/stats", handlers.get_stats),
        _get("/v1/stats/timeline", admin_handlers.get_charts),
        _get("/v1/stats/holdout", programs.get_holdout),
        _send("POST", "/v1/rescan", handlers.rescan),
        _send("POST", "/v1/backup", transfer.create_backup, statuses=(201,)),
        _get("/v1/backups", transfer.list_backups),
        _send("POST", "/v1/restore", transfer.restore_backup, users="replace your store by another one"),
        _get("/v1/check", transfer.check_store),
        _send("POST", "/v1/jobs", admin_handlers.begin_job, statuses=(202,)),
        _get("/v1/jobs", admin_handlers.list_jobs),
    ),
)  # fmt: skip
