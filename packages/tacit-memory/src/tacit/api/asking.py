"""How an endpoint is asked: its request is checked, its handler answers, and the answer becomes plain JSON values.

In: an endpoint and the values of a request. Out: an answer, or a `TacitError`. The routes do this with what comes over HTTP, the library
without it; nothing here loads the web framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from tacit.api.answering import Answer, Parameters, Service, encode
from tacit.api.endpoints import ENDPOINTS, Endpoint
from tacit.app.engine import Engine
from tacit.app.values import PROGRAM
from tacit.errors import InvalidInput, InvalidPayload, TacitError
from tacit.model.memory import Speaker
from tacit.safety.trust import require_user
from tacit.verbs.asking import ask_verb, has_change_id
from tacit.verbs.wrong_values import wrong_value

_ONE_OBJECT = "Send one JSON object."


def answer_of(endpoint: Endpoint, engine: Service, at: Parameters, request: BaseModel) -> Answer[Any]:
    """Ask the handler of `endpoint` with a checked request, and return its answer with status and etag.

    Raises:
        RefusedByTrust: if the caller may not ask this.
        TacitError: what the verb refuses.
    """
    if not endpoint.is_verb:
        require_user(endpoint.name, at.speaker, trial=getattr(request, "dry_run", False))
        return endpoint.handler(engine, at, request)
    caller = replace(at.caller, cwd=getattr(request, "cwd", ""))
    body = ask_verb(endpoint.handler, engine, caller, request)
    unwritten = has_change_id(type(body)) and body.change_id is None
    return Answer(
        None if endpoint.answer is None else body,
        status=endpoint.statuses[-1] if unwritten else endpoint.statuses[0],
        etag="" if endpoint.ends_memory else getattr(body, "etag", ""),
    )


def encoded(answer: Answer[Any], endpoint: Endpoint) -> Answer[Any]:
    """Return the answer with its body as plain JSON values. Called in the handler's thread, so that the event loop is not blocked."""
    body = None if answer.body is None else encode(answer.body, endpoint.answer)
    return replace(answer, body=body, status=answer.status or endpoint.statuses[0])


def checked_values(values: Mapping[str, Any], endpoint: Endpoint) -> BaseModel:
    """Return the request in the values of a query string.

    Raises:
        InvalidInput: naming the field and what is expected.
    """
    try:
        return endpoint.request.model_validate(values)
    except ValidationError as error:
        raise _invalid(error, endpoint) from error


def checked_body(body: bytes, endpoint: Endpoint, in_path: Mapping[str, str]) -> BaseModel:
    """Return the request in a JSON body and in the parameters of the path.

    Raises:
        InvalidPayload: if the body is not JSON.
        InvalidInput: naming the field and what is expected.
    """
    try:
        if in_path:
            sent: object = from_json(body)
            if isinstance(sent, dict):
                values = cast("dict[str, Any]", sent)
                refuse_path_fields(values, endpoint)
                body = to_json({**values, **in_path})
        return endpoint.request.model_validate_json(body, strict=True)
    except ValidationError as error:
        raise _invalid(error, endpoint) from error
    except ValueError as error:
        raise InvalidPayload(f"The body is not JSON: {error}.", hint=_ONE_OBJECT) from error


def refuse_path_fields(values: Mapping[str, Any], endpoint: Endpoint) -> None:
    """Raise `InvalidInput` if the query or body names what already stands in the path."""
    for name in endpoint.in_path:
        if name in values:
            hint = f"Known: {', '.join(_known_names(endpoint)) or 'no fields'}."
            raise InvalidInput(f"There is no field `{name}`.", hint=hint)


def _known_names(endpoint: Endpoint) -> list[str]:
    return [name for name in endpoint.request.model_fields if name not in endpoint.in_path]


def _invalid(error: ValidationError, endpoint: Endpoint) -> TacitError:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        said = str(first["msg"]).removeprefix("Invalid JSON: ").rstrip(".")
        return InvalidPayload(f"The body is not JSON: {said}.", hint=_ONE_OBJECT)
    if first["type"] in ("model_type", "dict_type") and not first["loc"]:
        return InvalidInput("The body is no JSON object.", hint=_ONE_OBJECT)
    return wrong_value(error, known=_known_names(endpoint))


_BY_PATH = {(endpoint.method, endpoint.path): endpoint for endpoint in ENDPOINTS}


def ask_endpoint(
    engine: Engine, speaker: Speaker, method: str, path: str, values: Mapping[str, object]
) -> Answer[Any]:
    """Call an endpoint without HTTP, with the authority of `speaker`. `path` has its parameters in braces; `values` holds all fields of the request.

    Raises:
        TacitError: what the API refuses.
    """
    endpoint = _BY_PATH[method, path]
    given = {name: value for name, value in values.items() if value is not None}
    in_path = {name: str(given.pop(name)) for name in endpoint.in_path}
    if endpoint.reads == "query":
        request = checked_values({**given, **in_path}, endpoint)
    else:
        request = checked_body(to_json(given), endpoint, in_path)
    at = Parameters(values=in_path, caller=replace(PROGRAM, speaker=speaker))
    return encoded(answer_of(endpoint, engine, at, request), endpoint)
