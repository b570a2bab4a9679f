"""The API without HTTP, for the library in the process of the engine. In: an endpoint's method and path, values. Out: its answer as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic_core import to_json

from tacit.api.answering import Answer, Parameters
from tacit.api.endpoints import ENDPOINTS
from tacit.api.routes import answer_of, checked_body, checked_values, encoded
from tacit.app.engine import Engine
from tacit.app.values import PROGRAM
from tacit.model.memory import Speaker

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
