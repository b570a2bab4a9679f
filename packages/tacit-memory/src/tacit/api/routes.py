"""The routes under /v1, for the daemon to mount.

In: an engine. Out: Starlette routes. Reads a request with a size limit, checks it, runs the handler on a thread and
turns every error into a problem response. A named boundary: nothing that a handler raises leaves this module.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, get_origin

from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from tacit.api.answering import Answer, Parameters, Service, to_bytes
from tacit.api.asking import answer_of, checked_body, checked_values, encoded, refuse_path_fields
from tacit.api.conditions import IdempotencyCache, precondition
from tacit.api.endpoints import ENDPOINTS, Endpoint
from tacit.api.openapi import openapi_document
from tacit.api.problems import RequestRefused, UnknownPath, problem, problem_of
from tacit.api.stream import Streams
from tacit.app.values import PROGRAM
from tacit.errors import InvalidInput, TacitError
from tacit.safety.authority import speaker_of

if TYPE_CHECKING:
    from tacit.hosts.install import HostStatus

MAX_PATH_CHARS = 500
"""The most characters of a parameter in a path."""

Run = Callable[[Callable[[], Answer[Any]]], Awaitable[Answer[Any]]]

_log = logging.getLogger(__name__)


def build_routes(
    engine: Service,
    *,
    run: Run = run_in_threadpool,
    run_ahead: Run = run_in_threadpool,
    counters: Callable[[], Mapping[str, float]] = dict,
    installed: Callable[[], Mapping[str, HostStatus]] | None = None,
    leaving: Callable[[], bool] = lambda: False,
    reopen: Callable[[Callable[[], Any]], Any] | None = None,
) -> list[BaseRoute]:
    """Make the routes of the API.

    Args:
        engine: what answers.
        run: runs a blocking function away from the event loop; the daemon may pass its own bounded pool.
        run_ahead: the same for what somebody's turn waits for.
        counters: numbers of the process, for the status.
        installed: the state of each known agent's files; None = they are not looked at.
        leaving: whether the process is about to end or to open another engine: open streams end then.
        reopen: does something while the store is closed, and opens it again; None = that is not possible here.

    Returns:
        Routes with absolute paths; the last one answers every other path under /v1 with a problem.
    """
    once, streams = IdempotencyCache(), Streams(leaving=leaving)
    process = Parameters(
        counters=counters, installed=installed, recalls=streams.recalls, document=cache(openapi_document)
    )
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
    return [*routes, Route("/v1/{rest:path}", UnknownPath(routes))]


def _serve(
    endpoint: Endpoint,
    engine: Service,
    run: Run,
    once: IdempotencyCache,
    process: Parameters,
) -> Callable[[Request], Awaitable[Response]]:
    def work(request: Request, body: bytes, gone: asyncio.Future[Any] | None) -> Answer[Any]:
        # Those of its own path: the route that this one is mounted below may have some, too.
        values = {name: str(request.path_params[name]) for name in endpoint.in_path}
        _check_path(values)
        checked = _checked(request, body, endpoint, values)
        caller = replace(PROGRAM, speaker=speaker_of(request.scope))
        at = replace(process, values=values, caller=caller)
        if gone is not None:
            at = replace(at, waits=lambda: not gone.done())
        with precondition(endpoint, engine, at, request.headers):
            return encoded(answer_of(endpoint, engine, at, checked), endpoint)

    async def serve(request: Request) -> Response:
        gone: asyncio.Future[Any] | None = None
        try:
            if endpoint.reads == "query":
                _refuse_body(request)
                body = b""
            else:
                body = await _body(request, endpoint.max_bytes)
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
                "internal",
                f"Tacit failed with {type(error).__name__}.",
                hint="`tacit status --log` has the details.",
            )
        finally:
            if gone is not None:
                gone.cancel()

    return serve


def _response(answer: Answer[Any]) -> Response:
    headers = {"ETag": f'"{answer.etag}"'} if answer.etag else {}
    if answer.events is not None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(answer.events, media_type="text/event-stream", headers=headers)
    if answer.body is None:
        return Response(status_code=answer.status)
    return Response(
        to_bytes(answer.body), status_code=answer.status, headers=headers, media_type="application/json"
    )


def _checked(request: Request, body: bytes, endpoint: Endpoint, in_path: Mapping[str, str]) -> BaseModel:
    fields = {name: value for name, value in in_path.items() if name in endpoint.request.model_fields}
    if endpoint.reads == "query":
        values = _query_values(request, endpoint.request)
        refuse_path_fields(values, endpoint)
        return checked_values({**values, **fields}, endpoint)
    _refuse_query(request)
    _refuse_repeated_names(body)
    return checked_body(body or b"{}", endpoint, fields)


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


def _refuse_repeated_names(body: bytes) -> None:
    """Raise InvalidInput if an object of a JSON body has a name twice: parsers differ in which of the two counts. Other faults are left to the check."""

    def check(pairs: list[tuple[str, Any]]) -> None:
        names = Counter(name for name, _ in pairs)
        if len(names) < len(pairs):
            name, times = names.most_common(1)[0]
            raise InvalidInput(f"`{name[:80]}` is given {times} times.", hint="Give it once.")

    with suppress(ValueError, RecursionError):
        json.loads(body, object_pairs_hook=check)


def _refuse_body(request: Request) -> None:
    if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
        raise InvalidInput("The body is not read here.", hint="Put its fields into the query string.")


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
