"""The routes under /v1, for the daemon to mount.

In: an engine. Out: Starlette routes. Reads a request with a size limit, checks it, runs the handler on a thread and
turns every error into a problem response. A named boundary: nothing that a handler raises leaves this module.
"""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Match, Route

from tacit.api.answering import Answer, Parameters, Service
from tacit.api.conditions import IdempotencyCache, matching
from tacit.api.encoding import encode, to_bytes
from tacit.api.endpoints import ENDPOINTS, Endpoint
from tacit.api.openapi import openapi_document
from tacit.api.problems import RequestRefused, problem, problem_of
from tacit.api.stream import Streams
from tacit.errors import InvalidInput, InvalidPayload, TacitError
from tacit.model.memory import Speaker
from tacit.safety.authority import require, speaker_of

MAX_PATH_CHARS = 500
"""The longest name of a thing in a path."""

_NAMES = re.compile(r"{(\w+)")
"""Names in a path, such as `/v1/memories/{id}`."""
_SHOULD = re.compile(r"^\w+ should (?:be|have) ")
"""How messages of pydantic begin: `Input should be less than ...`, `String should have at most ...`."""

Run = Callable[[Callable[[], Answer[Any]]], Awaitable[Answer[Any]]]

_log = logging.getLogger(__name__)


def _no_numbers() -> Mapping[str, float]:
    return {}


def _stays() -> bool:
    return False


def build_routes(
    engine: Service,
    *,
    run: Run = run_in_threadpool,
    run_ahead: Run = run_in_threadpool,
    counters: Callable[[], Mapping[str, float]] = _no_numbers,
    leaving: Callable[[], bool] = _stays,
    reopen: Callable[[Callable[[], Any]], Any] | None = None,
) -> list[BaseRoute]:
    """Make the routes.

    Args:
        engine: what answers.
        run: runs a blocking function away from the event loop; the daemon may pass its own bounded pool.
        run_ahead: the same for what somebody's turn waits for.
        counters: numbers of the process, for health and metrics.
        leaving: whether the process is about to end or to open another engine: open streams end then.
        reopen: does something while the store is closed, and opens it again; None = that is not possible here.

    Returns:
        Routes with absolute paths; the last one answers every other path under /v1 with a problem.
    """
    once, streams = IdempotencyCache(), Streams(leaving=leaving)
    process = Parameters(counters=counters, recalls=streams.recalls, document=cache(openapi_document))
    if reopen is not None:
        process = replace(process, reopened=reopen)
    routes: list[BaseRoute] = [
        Route(
            endpoint.path,
            _serve(endpoint, engine, run_ahead if endpoint.ahead else run, once, process),
            methods=[endpoint.method],
        )
        for endpoint in ENDPOINTS
    ]
    known_routes = tuple(routes)
    methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

    async def unknown(request: Request) -> Response:
        return _unknown_path(request, known_routes)

    return [*routes, Route("/v1/{rest:path}", unknown, methods=methods)]


def _serve(
    endpoint: Endpoint,
    engine: Service,
    run: Run,
    once: IdempotencyCache,
    process: Parameters,
) -> Callable[[Request], Awaitable[Response]]:
    names = _NAMES.findall(endpoint.path)

    def work(request: Request, body: bytes, gone: asyncio.Future[Any] | None) -> Answer[Any]:
        checked = _checked(request, body, endpoint)
        # Those of its own path: the route that this one is mounted below may have some, too.
        values = {name: str(request.path_params[name]) for name in names}
        _check_path(values)
        at = replace(process, values=values, speaker=admitted(request, checked))
        if gone is not None:
            at = replace(at, waits=lambda: not gone.done())
        with matching(endpoint, engine, at, request.headers):
            if not endpoint.names_change:
                return _encoded(endpoint.handler(engine, at, checked), endpoint)
            with engine.noting_changes() as written:
                answer = endpoint.handler(engine, at, checked)
            with_change_id = answer.body.model_copy(update={"change_id": written[-1] if written else None})
            return _encoded(replace(answer, body=with_change_id), endpoint)

    def admitted(request: Request, checked: BaseModel) -> Speaker:
        speaker = speaker_of(request.scope)
        trial = getattr(checked, "dry_run", False)
        require(authorized=not endpoint.users or speaker is Speaker.USER or trial, what=endpoint.users)
        return speaker

    async def serve(request: Request) -> Response:
        gone: asyncio.Future[Any] | None = None
        try:
            body = b"" if endpoint.reads == "query" else await _body(request, endpoint.max_bytes)
            if endpoint.ahead:
                # What the client did not wait for does not count as given. Behind the body only the end of the connection can follow.
                gone = asyncio.ensure_future(request.receive())
            answer = await run(
                lambda: once.answered(endpoint, request, body, lambda: work(request, body, gone))
            )
            return _response(answer)
        except TacitError as error:
            return problem_of(error)
        except RequestRefused as refused:
            return problem(refused.code, refused.detail, hint=refused.hint, headers=refused.headers)
        except ClientDisconnect:
            return Response(status_code=400)
        # The API's boundary: one broken request must not show or break more than itself.
        except Exception as error:  # noqa: BLE001
            # The frames without the message: that may hold the text of a memory.
            frames = "".join(traceback.format_tb(error.__traceback__))
            _log.error("%s %s failed: %s\n%s", endpoint.method, endpoint.path, type(error).__name__, frames)
            return problem(
                "internal", f"Tacit failed with {type(error).__name__}.", hint="`tacit logs` has the details."
            )
        finally:
            if gone is not None:
                gone.cancel()

    return serve


def _encoded(answer: Answer[Any], endpoint: Endpoint) -> Answer[Any]:
    """The answer as plain values, made on the thread of the handler, not on the event loop."""
    body = None if answer.body is None else encode(answer.body, endpoint.answer)
    return replace(answer, body=body, status=answer.status or endpoint.statuses[0])


def _response(answer: Answer[Any]) -> Response:
    headers = {"ETag": f'"{answer.etag}"'} if answer.etag else {}
    if answer.events is not None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(answer.events, media_type=answer.media_type, headers=headers)
    if answer.text is not None:
        return Response(answer.text, status_code=answer.status, headers=headers, media_type=answer.media_type)
    if answer.body is None:
        return Response(status_code=answer.status)
    return Response(
        to_bytes(answer.body), status_code=answer.status, headers=headers, media_type=answer.media_type
    )


def _checked(request: Request, body: bytes, endpoint: Endpoint) -> BaseModel:
    try:
        if endpoint.reads == "query":
            return endpoint.request.model_validate(_query_values(request, endpoint.request))
        _refuse_query(request)
        return endpoint.request.model_validate_json(body or b"{}", strict=True)
    except ValidationError as error:
        raise _invalid(error, endpoint) from error


def _check_path(values: Mapping[str, str]) -> None:
    for name, value in values.items():
        if len(value) > MAX_PATH_CHARS:
            raise InvalidInput(f"`{name}` has {len(value)} characters; expected at most {MAX_PATH_CHARS}.")


def _query_values(request: Request, model: type[BaseModel]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in request.query_params:
        texts = request.query_params.getlist(name)
        field = model.model_fields.get(name)
        if field is not None and get_origin(field.annotation) is tuple:
            values[name] = texts
        elif len(texts) > 1:
            raise InvalidInput(f"`{name}` is given {len(texts)} times.", hint="Give it once.")
        else:
            values[name] = texts[0]
    return values


def _refuse_query(request: Request) -> None:
    if request.query_params:
        names = ", ".join(f"`{name}`" for name in request.query_params)
        raise InvalidInput(
            f"{names} in the query string is not read here.", hint="Put it into the JSON body."
        )


async def _body(request: Request, max_bytes: int) -> bytes:
    declared = request.headers.get("content-length", "")
    too_large = RequestRefused(
        "too_large", f"The body is larger than {max_bytes} bytes.", hint="Send less at once."
    )
    if declared.isdecimal() and int(declared) > max_bytes:
        raise too_large
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise too_large
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and media_type != "application/json":
        raise RequestRefused(
            "unsupported_media_type",
            f"The body is {media_type or 'of no declared type'}; expected application/json.",
            hint="Send the header `Content-Type: application/json`.",
        )
    return bytes(body)


def _invalid(error: ValidationError, endpoint: Endpoint) -> TacitError:
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    message = str(first["msg"])
    expected = _SHOULD.sub("", message.removeprefix("Value error, ")).rstrip(".")
    if first["type"] == "json_invalid":
        return InvalidPayload(f"The body is not JSON: {expected}.", hint="Send one JSON object.")
    if not field:
        return InvalidInput(f"The fields do not fit together; expected {expected[:1].lower()}{expected[1:]}.")
    names = ", ".join(endpoint.request.model_fields) or "no fields"
    if first["type"] == "extra_forbidden":
        return InvalidInput(f"There is no field `{field}`.", hint=f"Known: {names}.")
    if first["type"] == "missing":
        return InvalidInput(f"The field `{field}` is missing.", hint=f"Known: {names}.")
    if first["type"] == "string_pattern_mismatch":
        expected = f"a text that matches {first.get('ctx', {}).get('pattern')}"
    if first["type"] == "string_too_short":
        return InvalidInput(f"`{field}` is too short; expected some words.")
    if message.startswith("Value error, "):  # ours: it says what is wrong and what to do
        return InvalidInput(f"`{field}`: {expected}.")
    shown = repr(first["input"])
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    return InvalidInput(f"`{field}` is {shown}; expected {expected[:1].lower()}{expected[1:]}.")


def _unknown_path(request: Request, known_routes: tuple[BaseRoute, ...]) -> Response:
    allowed = sorted(
        {
            method
            for route in known_routes
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
        hint="`GET /v1/openapi.json` describes every operation.",
    )
