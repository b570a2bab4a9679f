"""The table of endpoints: what the routes serve, what docs/reference/api.md lists and what the OpenAPI document says.

In: nothing. Out: one entry per method and path. Pure data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from importlib import import_module
from inspect import cleandoc
from typing import Any, Literal, get_args, get_type_hints

from pydantic import BaseModel

from tacit.safety.trust import USERS_ALONE
from tacit.verbs.requests import MAX_IMPORT_BYTES

MAX_BODY_BYTES = 4_500_000
"""The most bytes of a request's body: the longest content (1,000,000 characters) at four bytes each, and room for the rest."""
Handler = Callable[..., Any]
_BRACES = re.compile(r"\{(\w+)\}")
_RAISES = re.compile(r"^ *(\w+): (.+)$", flags=re.MULTILINE)


GENERAL: Mapping[int, str] = {
    400: "The request is no valid HTTP, or its body is not JSON.",
    401: "On the loopback port: neither the token nor a signed-in page.",
    403: "On the loopback port: a page of another origin asks.",
    412: "It was changed since the version in `If-Match`.",
    413: f"The body is larger than {MAX_BODY_BYTES:,} bytes.",
    415: "The body is not declared as `application/json`.",
    421: "On the loopback port: the header `Host` names no loopback address.",
    422: "A value cannot be used; `detail` names it.",
    500: "Tacit or its store failed; `code` says how.",
    503: "The daemon is busy or the store is locked; try again after `Retry-After` seconds.",
    507: "No space is left on the device.",
}
"""The reasons for which any request may be refused, by HTTP status."""


@cache
def _loaded(target: str) -> Handler:
    module, _, name = target.rpartition(".")
    return getattr(import_module(f"tacit.{module}"), name)


@cache
def _hints(handler: Handler) -> dict[str, Any]:
    return get_type_hints(handler, include_extras=True)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path of the API, with the handler that answers it.

    Attributes:
        method: HTTP method.
        path: below the root, with parameters in braces.
        target: module and name of the handler; the module is loaded when it is first asked for, as a program asks few of all.
        group: its heading in the reference.
        statuses: HTTP statuses of a success.
        matched: what `If-Match` is compared with: the memory in the path, or the settings; "" = the header is ignored.
        once: whether an `Idempotency-Key` is accepted.
        media_type: media type of the answer.
        ahead: whether a person's prompt waits for the answer, as for a hook; it is then answered before others.
        max_bytes: most bytes of the body.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    target: str
    _: KW_ONLY
    group: str = ""
    statuses: tuple[int, ...] = (200,)
    matched: Literal["", "memory", "settings"] = ""
    once: bool = False
    media_type: str = "application/json"
    ahead: bool = False
    max_bytes: int = MAX_BODY_BYTES

    @property
    def reads(self) -> Literal["body", "query"]:
        """Where the values of the request are: in the JSON body, or in the query string."""
        return "query" if self.method in ("GET", "DELETE") else "body"

    @property
    def handler(self) -> Handler:
        """Return the verb that answers, or a function that is given the process as well; its signature names request and answer."""
        return _loaded(self.target)

    @property
    def request(self) -> type[BaseModel]:
        """Return the model that checks the request; its fields include the parameters of the path."""
        return _hints(self.handler)["request"]

    @property
    def is_verb(self) -> bool:
        """Whether the handler is a verb, which knows nothing of HTTP, and not a function of the API."""
        return "caller" in _hints(self.handler)

    @property
    def answer(self) -> Any:
        """Return the type of the answer's body; None = the answer has no content, or is not JSON."""
        returned = _hints(self.handler)["return"]
        (body,) = (returned,) if self.is_verb else get_args(returned)
        return None if body is type(None) or self.statuses == (204,) else body

    @property
    def users(self) -> str:
        """Return what only the user may do with this endpoint, in words; "" = an agent may ask it, too."""
        return USERS_ALONE.get(self.name, "")

    @property
    def ends_memory(self) -> bool:
        """Whether the endpoint ends the memory in its path, so that the answer has no etag."""
        return self.method == "DELETE" and self.matched == "memory"

    @property
    def in_path(self) -> Sequence[str]:
        """Return the names of the parameters in the path."""
        return _BRACES.findall(self.path)

    @property
    def name(self) -> str:
        """Return the name of the handler, which is the operation id in the OpenAPI document."""
        return self.target.rpartition(".")[2]

    @property
    def summary(self) -> str:
        """Return the first paragraph of the handler's docstring."""
        return self._words.partition("\n\n")[0]

    @property
    def description(self) -> str:
        """Return the rest of the handler's docstring, without `Raises`."""
        return self._words.partition("\n\n")[2]

    @property
    def raised(self) -> Mapping[int, Sequence[str]]:
        """Return the reasons for which the handler refuses, by HTTP status, from the `Raises` of its docstring."""
        from tacit.api.problems import status_of_class  # noqa: PLC0415 - loads the web framework, which only the document needs here

        reasons: dict[int, list[str]] = {}
        for error, words in _RAISES.findall(self._raises):
            reasons.setdefault(status_of_class(error), []).append(f"{words[:1].upper()}{words[1:]}")
        return reasons

    @property
    def errors(self) -> Mapping[int, Sequence[str]]:
        """Return all reasons for which a request is refused, by HTTP status: those of the handler, and those of the general checks."""
        general = {
            **GENERAL,
            403: f"Only the user can {self.users}. {GENERAL[403]}" if self.users else GENERAL[403],
            413: GENERAL[413].replace(f"{MAX_BODY_BYTES:,}", f"{self.max_bytes:,}"),
            422: f"{GENERAL[422]} Or the `Idempotency-Key` came with another request before."
            if self.once
            else GENERAL[422],
        }
        absent = {
            *((413, 415) if self.reads == "query" else ()),
            *((400,) if self.reads == "query" and not self.matched else ()),
            *(() if self.matched else (412,)),
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
        """Return the handler's docstring in two parts: the text with each paragraph on one line, and the `Raises` with each error on one line."""
        words, _, raises = cleandoc(self.handler.__doc__ or "").partition("\n\nRaises:\n")
        paragraphs = (" ".join(paragraph.split()) for paragraph in words.split("\n\n"))
        return "\n\n".join(paragraphs), raises


_MEMORY = "/v1/memories/{id}"
_SESSION = "/v1/sessions/{host}/{session_id}"


def _group(name: str, *endpoints: Endpoint) -> tuple[Endpoint, ...]:
    return tuple(replace(endpoint, group=name) for endpoint in endpoints)


ENDPOINTS: tuple[Endpoint, ...] = (
    *_group(
        "Memories",
        Endpoint("POST", "/v1/memories", "verbs.remember.remember", statuses=(201, 200), once=True),
        Endpoint("GET", "/v1/memories", "verbs.listing.list_memories"),
        Endpoint("GET", _MEMORY, "verbs.show.get_memory"),
        Endpoint("PATCH", _MEMORY, "verbs.edit.edit_memory", matched="memory", once=True),
        Endpoint("DELETE", _MEMORY, "verbs.forget.forget_memory", matched="memory"),
        Endpoint("POST", "/v1/feedback", "verbs.feedback.rate_memory"),
        Endpoint("GET", "/v1/exposures", "verbs.show.list_exposures"),
        Endpoint("GET", "/v1/changes", "verbs.undo.list_changes"),
        Endpoint("POST", "/v1/undo", "verbs.undo.undo_change"),
        Endpoint("POST", "/v1/purge", "verbs.upkeep.purge_memories"),
        Endpoint("GET", "/v1/review", "verbs.review.list_review"),
        Endpoint("POST", "/v1/review", "verbs.review.decide_reviews"),
        Endpoint("GET", "/v1/kinds", "verbs.listing.list_kinds"),
    ),
    *_group(
        "Recall",
        Endpoint("POST", "/v1/recall", "verbs.recall.recall"),
        Endpoint("POST", "/v1/fetches", "verbs.fetch.fetch_memories"),
        Endpoint("POST", "/v1/why-not", "verbs.why_not.why_not"),
        Endpoint("POST", "/v1/injections", "api.operations.inject", statuses=(200, 408, 500),
              ahead=True),
        Endpoint("GET", "/v1/traces", "verbs.why.list_traces"),
        Endpoint("GET", "/v1/traces/stream", "api.stream.stream_traces", media_type="text/event-stream"),
        Endpoint("GET", "/v1/traces/{id}", "verbs.why.get_trace"),
        Endpoint("POST", "/v1/tuning", "verbs.upkeep.tune"),
    ),
    *_group(
        "Sessions",
        Endpoint("GET", "/v1/sessions", "verbs.sessions.list_sessions"),
        Endpoint("GET", _SESSION, "verbs.sessions.get_session"),
        Endpoint("PATCH", _SESSION, "verbs.sessions.mute_session"),
        Endpoint("GET", "/v1/digests", "verbs.sessions.list_digests"),
        Endpoint("GET", "/v1/transcripts", "verbs.learn.list_transcripts"),
        Endpoint("POST", "/v1/transcripts", "verbs.learn.import_transcripts"),
        Endpoint("POST", "/v1/write-ups", "verbs.learn.write_up_session"),
    ),
    *_group(
        "Projects",
        Endpoint("GET", "/v1/projects", "verbs.projects.list_projects"),
        Endpoint("PUT", "/v1/projects", "verbs.projects.put_folder_project"),
        Endpoint("POST", "/v1/projects", "verbs.projects.import_project_rules"),
        Endpoint("GET", "/v1/repository", "verbs.teams.get_repository_team"),
        Endpoint("PUT", "/v1/repository", "verbs.teams.put_repository_team"),
    ),
    *_group(
        "Teams",
        Endpoint("PUT", "/v1/shares", "verbs.share.share_memory"),
        Endpoint("GET", "/v1/teams", "verbs.teams.list_teams"),
        Endpoint("POST", "/v1/teams", "verbs.teams.add_team"),
        Endpoint("PATCH", "/v1/teams", "verbs.teams.change_team"),
        Endpoint("GET", "/v1/teams/members", "verbs.teams.list_members"),
        Endpoint("PUT", "/v1/teams/members", "verbs.teams.put_member"),
        Endpoint("GET", "/v1/teams/requests", "verbs.teams.list_share_requests"),
        Endpoint("PATCH", "/v1/teams/requests", "verbs.teams.decide_share_request"),
        Endpoint("GET", "/v1/teams/audit", "verbs.teams.list_audit"),
    ),
    *_group(
        "Devices",
        Endpoint("GET", "/v1/sync", "verbs.sync.get_sync"),
        Endpoint("POST", "/v1/sync", "verbs.sync.sync"),
        Endpoint("PUT", "/v1/sync", "verbs.sync.log_in"),
        Endpoint("DELETE", "/v1/sync", "verbs.sync.log_out"),
        Endpoint("POST", "/v1/sync/sign-in", "verbs.sync.sign_in"),
        Endpoint("POST", "/v1/sync/devices", "verbs.sync.change_devices"),
    ),
    *_group(
        "Items",
        Endpoint("PUT", "/v1/items", "verbs.items.put_item"),
        Endpoint("DELETE", "/v1/items", "verbs.items.delete_item", statuses=(204,)),
        Endpoint("POST", "/v1/items/search", "verbs.items.search_items"),
    ),
    *_group(
        "Settings",
        Endpoint("GET", "/v1/settings", "verbs.settings.get_settings"),
        Endpoint("PATCH", "/v1/settings", "verbs.settings.change_settings", matched="settings"),
        Endpoint("POST", "/v1/model-tests", "verbs.settings.try_model"),
        Endpoint("GET", "/v1/agents", "verbs.settings.list_agents"),
        Endpoint("PATCH", "/v1/agents/{name}", "verbs.settings.change_agent",
              matched="settings"),
    ),
    *_group(
        "Store",
        Endpoint("POST", "/v1/export", "verbs.transfer.export_memories"),
        Endpoint("POST", "/v1/import", "verbs.transfer.import_memories",
              max_bytes=MAX_IMPORT_BYTES),
        Endpoint("POST", "/v1/backups", "verbs.transfer.create_backup", statuses=(201,)),
        Endpoint("GET", "/v1/backups", "verbs.transfer.list_backups"),
        Endpoint("POST", "/v1/restore", "api.operations.restore_backup"),
        Endpoint("POST", "/v1/rescan", "verbs.upkeep.rescan"),
        Endpoint("POST", "/v1/jobs", "verbs.upkeep.begin_job", statuses=(202,)),
        Endpoint("GET", "/v1/jobs", "verbs.upkeep.list_jobs"),
    ),
    *_group(
        "System",
        Endpoint("GET", "/v1/status", "api.documents.get_status"),
        Endpoint("GET", "/v1/stats", "verbs.upkeep.get_stats"),
        Endpoint("GET", "/v1/openapi.json", "api.documents.get_openapi"),
    ),
)  # fmt: skip
