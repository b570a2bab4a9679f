"""Errors as `application/problem+json` (RFC 9457), through one table from code to HTTP status.

In: an error. Out: a response with `type`, `title`, `status`, `detail`, `code`, `hint`. Never shows a traceback, and
nothing of an unexpected error but its class. No other module writes a problem; this one loads nothing of the API.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from tacit import errors
from tacit.errors import TacitError

MEDIA_TYPE = "application/problem+json"

STATUS: Mapping[str, int] = {
    "error": 500,
    "invalid_input": 422,
    "unknown_kind": 422,
    "unknown_setting": 422,
    "invalid_setting": 422,
    "invalid_scope": 422,
    "invalid_payload": 400,
    "not_found": 404,
    "ambiguous": 409,
    "conflict": 409,
    "refused_by_trust": 403,
    "refused_by_redaction": 403,
    "not_permitted": 403,
    "store_error": 500,
    "store_corrupt": 500,
    "store_full": 507,
    "store_read_only": 500,
    "store_busy": 503,
    "store_newer": 409,
    "not_a_backup": 422,
    "provider_error": 502,
    "embedder_mismatch": 409,
    "daemon_error": 500,
    "daemon_unavailable": 503,
    "daemon_newer": 409,
    "deadline_exceeded": 408,
    "host_error": 500,
    "sync_error": 422,
    "log_forked": 409,
    "unreadable_entry": 422,
    "not_logged_in": 403,
    # The API's own, for requests that reach no engine.
    "no_such_path": 404,
    "method_not_allowed": 405,
    "too_large": 413,
    "unsupported_media_type": 415,
    "precondition_failed": 412,
    "idempotency_mismatch": 422,
    "wrong_host": 421,
    "cross_origin": 403,
    "head_too_large": 431,
    "unauthorized": 401,
    "internal": 500,
}
"""HTTP status by error code. It has every error class of `tacit.errors`; docs/reference/errors.md lists them."""

RETRY_AFTER_S: Mapping[str, int] = {"store_busy": 1, "daemon_unavailable": 2}
"""Seconds after which a request may be sent again, by error code, for errors that pass by themselves."""


class RequestRefused(Exception):
    """Raised for a request that is refused before a verb is asked, for example because of its path, method, headers or size."""

    def __init__(
        self, code: str, detail: str, *, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.hint = hint
        self.headers = dict(headers or {})


def status_of(error: TacitError) -> int:
    """Return the HTTP status of an error. A subclass that is not listed has the status of its nearest listed parent."""
    codes = (str(kind.__dict__.get("code", "")) for kind in type(error).__mro__)
    return next((STATUS[code] for code in codes if code in STATUS), 500)


def status_of_class(name: str) -> int:
    """Return the HTTP status of the error class of `tacit.errors` with this name, such as `NotFound`."""
    return STATUS[cast(type[TacitError], getattr(errors, name)).code]


def problem_of(error: TacitError) -> Response:
    """Return the response for an error of Tacit."""
    headers = {"Retry-After": str(RETRY_AFTER_S[error.code])} if error.code in RETRY_AFTER_S else {}
    return problem(error.code, error.message, hint=error.hint, status=status_of(error), headers=headers)


def problem(
    code: str,
    detail: str,
    *,
    hint: str = "",
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a response with a problem (RFC 9457).

    Args:
        code: stable code; its words are the title.
        detail: what is wrong, where.
        hint: what to do, or empty.
        status: HTTP status; None = by the table.
        headers: further headers.
    """
    number = STATUS[code] if status is None else status
    body = problem_body(code, detail, hint=hint, status=number)
    return Response(body, status_code=number, headers=dict(headers or {}), media_type=MEDIA_TYPE)


class UnknownPath:
    """The ASGI application for every path and method that no route before it takes."""

    def __init__(self, known_routes: Sequence[BaseRoute]) -> None:
        """Take the routes before it, to say which methods a path has."""
        self._known_routes = tuple(known_routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a problem that says which methods the path has, or that there is no such path."""
        await self._refused(Request(scope))(scope, receive, send)

    def _refused(self, request: Request) -> Response:
        allowed = sorted(
            {
                method
                for route in self._known_routes
                if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE
                for method in route.methods or ()
            }
        )
        if allowed:
            return problem(
                "method_not_allowed",
                f"{request.url.path} does not take {request.method}.",
                hint=f"It takes {', '.join(allowed)}.",
                headers={"Allow": ", ".join(allowed)},
            )
        return problem(
            "no_such_path",
            f"There is no {request.url.path}.",
            hint="`GET /v1/openapi.json` describes every operation; all are below /v1.",
        )


def problem_body(code: str, detail: str, *, hint: str = "", status: int | None = None) -> bytes:
    """Return the JSON text of a problem, for code that writes its response itself; see `problem` for the arguments."""
    fields = {
        "type": f"urn:tacit:error:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": STATUS[code] if status is None else status,
        "detail": detail,
        "code": code,
        "hint": hint,
    }
    return json.dumps(fields, separators=(",", ":")).encode("ascii")
