"""The OpenAPI 3.1 document, made from the table of endpoints and the shapes of requests and answers.

In: nothing. Out: a document; `python -m tacit.api.openapi [FILE]` prints or writes it. Needs no daemon and no store.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import core_schema

from tacit import __version__
from tacit.api.agent_events import AGENT_ENDPOINTS, AgentEndpoint
from tacit.api.endpoints import ENDPOINTS, GENERAL, Endpoint
from tacit.api.problems import MEDIA_TYPE
from tacit.verbs.answers import Problem

REF = "#/components/schemas/{model}"
AGENT_GROUP = "Agents of your own"


class _Generator(GenerateJsonSchema):
    """Generates JSON schemas. In the schemas of answers every field is required, even if it has a default in the program."""

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        """Whether the schema requires `field`."""
        return self.mode == "serialization" or super().field_is_required(field, total)

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Whether a field gets its name as a title. A field that is written as another shape (`SentAs`) keeps the title of that shape."""
        serialization: dict[str, Any] = schema.get("serialization") or {}
        return super().field_title_should_be_set(serialization.get("return_schema") or schema)


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document as plain values."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - for whoever asks for the document

    shapes: list[tuple[str, JsonSchemaMode, Any]] = [
        *((endpoint.name, "validation", endpoint.request) for endpoint in ENDPOINTS),
        *((endpoint.name, "serialization", endpoint.answer) for endpoint in ENDPOINTS if endpoint.answer),
        ("Problem", "serialization", Problem),
        *((f"hook_{one.host}", "validation", one.events) for one in AGENT_ENDPOINTS),
        *((f"reply_{one.host}", "validation", one.reply) for one in AGENT_ENDPOINTS),
    ]
    adapters: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
        (name, mode, TypeAdapter(shape)) for name, mode, shape in shapes
    ]
    schemas, definitions = TypeAdapter.json_schemas(adapters, ref_template=REF, schema_generator=_Generator)
    components: dict[str, Any] = dict(definitions.get("$defs", {}))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        answer = schemas[endpoint.name, "serialization"] if endpoint.answer else None
        request_schema = schemas[endpoint.name, "validation"]
        operation = _operation(endpoint, request_schema, answer, components)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    for one in AGENT_ENDPOINTS:
        request, reply = (schemas[f"{part}_{one.host}", "validation"] for part in ("hook", "reply"))
        cast(dict[str, Any], _resolved(request, components))["examples"] = [*one.examples.values()]
        paths[f"/hook/{one.host}"] = {"post": _agent_operation(one, request, reply)}
    _drop_unused(components, paths)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tacit",
            "version": __version__,
            "description": "What `docs/reference/api.md` describes. Times are milliseconds since the epoch.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "tags": [{"name": name} for name in dict.fromkeys((*(one.group for one in ENDPOINTS), AGENT_GROUP))],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "`token` of run/daemon.json; not asked for on the Unix socket",
                }
            },
            "responses": {f"Status{status}": _problem(about) for status, about in GENERAL.items()},
        },
    }


def _operation(
    endpoint: Endpoint,
    request_schema: Mapping[str, Any],
    answer: Mapping[str, Any] | None,
    components: dict[str, Any],
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "tags": [endpoint.group],
        "summary": endpoint.summary,
        "description": endpoint.description,
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": endpoint.request.model_fields[name].description,
                "schema": {"type": "string", "minLength": 1, "maxLength": 500},
            }
            for name in endpoint.in_path
        ],
        "responses": {},
    }
    schema = _without_path(_resolved(request_schema, components), endpoint)
    if endpoint.reads == "query":
        operation["parameters"] += _query_parameters(schema)
    elif schema.get("properties"):
        cast("dict[str, Any]", _resolved(request_schema, components)).update(schema)
        operation["requestBody"] = {
            "required": bool(schema.get("required")),
            "content": {"application/json": {"schema": dict(request_schema)}},
        }
    if endpoint.matched:
        operation["parameters"].append(_header("If-Match", "`etag` of what is to be changed; else 412"))
    if endpoint.once:
        about = "a text of your own: the same request sent again with it is done once; kept for a day"
        operation["parameters"].append(_header("Idempotency-Key", about))
    for status in endpoint.statuses:
        operation["responses"][str(status)] = _response(endpoint, answer)
    _add_example(operation, _resolved(request_schema, components))
    for status, reasons in endpoint.errors.items():
        refusal = _refusal(status, " ".join(reasons))
        if status in endpoint.statuses:
            operation["responses"][str(status)]["content"] |= _problem("")["content"]
        else:
            operation["responses"][str(status)] = refusal
    return operation


def _without_path(schema: Mapping[str, Any], endpoint: Endpoint) -> Mapping[str, Any]:
    """Return the schema of a request without the parameters of the path."""
    fields = {
        name: field for name, field in schema.get("properties", {}).items() if name not in endpoint.in_path
    }
    rest = {name: value for name, value in schema.items() if name != "required"}
    required = [name for name in schema.get("required", ()) if name not in endpoint.in_path]
    return {**rest, "properties": fields, **({"required": required} if required else {})}


def _add_example(operation: dict[str, Any], request_schema: Mapping[str, Any]) -> None:
    """Add the recorded request and answer of an operation as examples: to its parameters, its request body and its response."""
    example = _examples().get(operation["operationId"], {})
    request: Mapping[str, Any] = example.get("request", {})
    values = {**example.get("at", {}), **request}
    for parameter in operation["parameters"]:
        if parameter["in"] in ("path", "query") and parameter["name"] in values:
            parameter["example"] = values[parameter["name"]]
    if "requestBody" in operation and request:
        shown: list[Any] = cast(dict[str, Any], request_schema).setdefault("examples", [])
        if request not in shown:
            shown.append(dict(request))
    for content in operation["responses"].get(str(example.get("status")), {}).get("content", {}).values():
        content["example"] = example["answer"]


@cache
def _examples() -> Mapping[str, Any]:
    """Return the recorded requests and answers by operation; tests/golden/api_day.py records them."""
    return json.loads((Path(__file__).parent / "examples.json").read_text("utf-8"))


def _agent_operation(
    endpoint: AgentEndpoint, request_schema: Mapping[str, Any], reply_schema: Mapping[str, Any]
) -> dict[str, Any]:
    deadline = {
        "name": "X-Tacit-Deadline-Ms",
        "in": "header",
        "required": False,
        "description": "how long you wait for the answer",
        "schema": {"type": "integer", "minimum": 1, "maximum": 60_000, "default": 800},
    }
    return {
        "operationId": endpoint.name,
        "tags": [AGENT_GROUP],
        "summary": endpoint.about,
        "description": endpoint.description,
        "parameters": [deadline],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": dict(request_schema)},
            },
        },
        "responses": {
            "200": {
                "description": "done; an empty text means that there is nothing to tell the model",
                "content": {
                    "application/json": {"schema": dict(reply_schema), "example": dict(endpoint.answer)},
                    "text/plain": {"schema": {"type": "string", "const": ""}},
                },
            },
            "400": _problem("The event cannot be read; `detail` names the field."),
            **{str(status): _refusal(status, GENERAL[status]) for status in (401, 403, 421)},
            "500": {"description": "The event failed. There is no body: go on without memory."},
            "503": {"description": "The daemon is busy. There is no body: go on without memory."},
            "504": {"description": "The deadline passed. There is no body: go on without memory."},
        },
    }


def _header(name: str, about: str) -> dict[str, Any]:
    schema = {
        "type": "string",
        "minLength": 1,
        "maxLength": 200,
        "pattern": r"^[\x20-\x7e]*[\x21-\x7e][\x20-\x7e]*$",
    }
    return {"name": name, "in": "header", "required": False, "description": about, "schema": schema}


def _response(endpoint: Endpoint, answer: Mapping[str, Any] | None) -> dict[str, Any]:
    response: dict[str, Any] = {"description": "done"}
    if endpoint.media_type != "application/json":
        response["content"] = {endpoint.media_type: {"schema": {"type": "string"}}}
    elif answer is not None:
        response["content"] = {endpoint.media_type: {"schema": dict(answer)}}
    if endpoint.matched and endpoint.method != "DELETE":
        response["headers"] = {"ETag": {"schema": {"type": "string"}}}
    return response


def _refusal(status: int, about: str) -> dict[str, Any]:
    """Return the OpenAPI response for a refusal; a reference to a shared one if it has the general reasons only."""
    if GENERAL.get(status) == about:
        return {"$ref": f"#/components/responses/Status{status}"}
    return _problem(about)


def _problem(about: str) -> dict[str, Any]:
    return {
        "description": about,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _query_parameters(schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    required: Sequence[str] = schema.get("required", ())
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": field.get("description", ""),
            "schema": _without_null(
                {key: value for key, value in field.items() if key not in ("description", "title")}
            ),
        }
        for name, field in schema.get("properties", {}).items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a query parameter without null: a query string cannot hold it."""
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if not options:
        return {key: value for key, value in schema.items() if key != "default" or value is not None}
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**rest, **options[0]} if len(options) == 1 else {**rest, "anyOf": options}


def _resolved(schema: Mapping[str, Any], components: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    return components[reference.rpartition("/")[2]] if isinstance(reference, str) else schema


def _drop_unused(components: dict[str, Any], paths: Mapping[str, Any]) -> None:
    """Remove the schemas to which nothing refers from `components`. Those of query requests are among them: their fields are parameters."""
    text = json.dumps([paths, components])
    used = {"Problem", *re.findall(r"#/components/schemas/([\w.-]+)", text)}
    for name in [name for name in components if name not in used]:
        del components[name]


def openapi_text() -> str:
    """Return the OpenAPI document as the text of a file."""
    return f"{json.dumps(openapi_document(), indent=1)}\n"


def main(arguments: Sequence[str]) -> int:
    """Print the OpenAPI document, or write it to the file that `arguments` names."""
    if arguments:
        Path(arguments[0]).write_text(openapi_text(), "utf-8")
    else:
        sys.stdout.write(openapi_text())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
