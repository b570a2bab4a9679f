"""The page of the API, made from the table of endpoints so that it cannot go stale.

In: nothing. Out: `docs/reference/api.md` as text; `python -m tacit.api.reference` prints it.
"""

from __future__ import annotations

import sys
from typing import Any

from pydantic import BaseModel

from tacit.api.agent_events import AGENT_ENDPOINTS, AgentEndpoint, AgentEventFields, event_name
from tacit.api.endpoints import ENDPOINTS, Endpoint
from tacit.api.openapi import AGENT_GROUP

_INTRODUCTION = """\
# HTTP API

Made from `packages/tacit-memory/src/tacit/api/` by `python -m tacit.api.reference`; do not edit by hand.

The daemon serves it on the socket `run/daemon.sock` of the home:

```
curl --unix-socket ~/.tacit/run/daemon.sock http://tacit/v1/status
curl --unix-socket ~/.tacit/run/daemon.sock http://tacit/v1/memories \\
  -H 'Content-Type: application/json' -d '{"content": "Run `make lint` before every commit.", "cwd": "/work/shop"}'
```

[Conventions](api-conventions.md) explains what all operations have in common: who may ask, ids, times, lists, errors, undo, versions.

`GET /v1/openapi.json` is this page as an OpenAPI 3.1 document, with an example of each operation, for generated clients; the page
shows it at `/ui/api`, and `python -m tacit.api.openapi FILE` writes it without a daemon.
"""

_AGENTS = """\
An agent tells the daemon of its events and inserts what it answers. [Bring your own agent](../guide/bring-your-own-agent.md) explains
when to send which. Each event is one JSON object; `event` names it. Unknown events, fields and versions are refused (400
`invalid_payload`), an unknown host as well (404 `not_found`). 503 (busy), 504 (past the deadline) and 500 have no body: the agent
goes on without memory. The header `X-Tacit-Deadline-Ms` says how long the agent waits (800 if it says nothing).
"""


def api_page() -> str:
    """Return the text of `docs/reference/api.md`."""
    sections = [_INTRODUCTION]
    group = ""
    for endpoint in ENDPOINTS:
        if endpoint.group != group:
            group = endpoint.group
            sections.append(f"## {group}\n")
        sections.append(_section(endpoint))
    sections.append(f"## {AGENT_GROUP}\n\n{_AGENTS}")
    sections += map(_agent_section, AGENT_ENDPOINTS)
    return "\n".join(sections)


def _agent_section(endpoint: AgentEndpoint) -> str:
    common = () if endpoint.host != "plain" else AgentEventFields.model_fields
    tables = [f"### `POST /hook/{endpoint.host}`\n\n{endpoint.about}\n"]
    if common:
        tables.append(_table("every event", AgentEventFields, skip=()))
    for shape in endpoint.shapes:
        about = (shape.__doc__ or "").strip()
        skip = ("event", *AgentEventFields.model_fields)
        tables.append(f"`{event_name(shape)}`: {about}\n")
        if any(name not in skip for name in shape.model_fields):
            tables.append(_table(f"`{event_name(shape)}`", shape, skip=skip))
    tables.append(_table("answer", endpoint.reply, skip=()))
    return "\n".join(tables)


def _table(title: str, shape: type[BaseModel], *, skip: tuple[str, ...]) -> str:
    schema: dict[str, Any] = shape.model_json_schema()
    required = schema.get("required", [])
    rows = [
        f"| `{name}`{' (required)' if name in required else ''} | {_type(schema, schema['properties'][name])} "
        f"| {field.description} |"
        for name, field in shape.model_fields.items()
        if name not in skip
    ]
    return "\n".join([f"| {title} | values | meaning |", "|---|---|---|", *rows, ""])


def _section(endpoint: Endpoint) -> str:
    text = f"### `{endpoint.method} {endpoint.path}`\n\nOperation `{endpoint.name}`. {_words(endpoint)}\n{_conditions(endpoint)}"
    if set(endpoint.request.model_fields) <= set(endpoint.in_path):
        return text
    source = "JSON body" if endpoint.reads == "body" else "Query string"
    return f"{text}\n{_table(source, endpoint.request, skip=tuple(endpoint.in_path))}"


def _words(endpoint: Endpoint) -> str:
    """Return summary and description of an endpoint, and the refusals that are not explained in general."""
    refusals = [f"{status}: {reason}" for status, reasons in endpoint.raised.items() for reason in reasons]
    return "\n\n".join((endpoint.summary, endpoint.description, *([" ".join(refusals)] if refusals else ())))


def _conditions(endpoint: Endpoint) -> str:
    conditions = [
        "Reads `If-Match`." if endpoint.matched else "",
        "Reads `Idempotency-Key`." if endpoint.once else "",
        f"Answers `{endpoint.media_type}`." if endpoint.media_type != "application/json" else "",
    ]
    text = " ".join(condition for condition in conditions if condition)
    return f"\n{text}\n" if text else ""


def _type(schema: dict[str, Any], field: dict[str, Any]) -> str:
    if "$ref" in field:
        definition: dict[str, Any] = schema["$defs"][field["$ref"].rpartition("/")[2]]
        if "enum" in definition:
            return _type(schema, definition)
        return "object with " + ", ".join(f"`{name}`" for name in definition["properties"])
    if "anyOf" in field:
        return " or ".join(_type(schema, option) for option in field["anyOf"] if option.get("type") != "null")
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if field.get("type") == "array":
        return f"list of {_type(schema, field['items'])}"
    limits = [
        f"{words} {field[name]}"
        for name, words in (
            ("minimum", "≥"),
            ("maximum", "≤"),
            ("maxLength", "at most"),
        )
        if name in field
    ]
    if "maxLength" in field:
        limits[-1] += " characters"
    if "type" not in field:
        return "anything"
    return " ".join([str(field["type"]), ", ".join(limits)]).strip()


if __name__ == "__main__":
    sys.stdout.write(api_page())
