"""What the tools take: checked arguments, and their schemas in as few tokens as they can be said. A tool that asks a verb takes fields of its request.

In: what a client sent. Out: models, or a refusal that names what is known. Every word of a description is paid for in each
session of every agent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
)
from pydantic.json_schema import SkipJsonSchema

from tacit.errors import InvalidInput
from tacit.model.kinds import BUILTIN_KINDS
from tacit.verbs.requests import MOST_TOKENS
from tacit.verbs.wrong_values import wrong_value


def _as_list(value: object) -> object:
    """Return a list that a model sent as JSON text or as words between commas; any value but a text is returned unchanged."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return cast(object, json.loads(value))
        except ValueError:
            pass
    return [item.strip() for item in value.split(",") if item.strip()]


MaxTokens = Annotated[int, Field(ge=50, le=MOST_TOKENS)]
Unshown = SkipJsonSchema
"""Marks an argument that is taken, but not in the schema: an answer that leaves something out names it, or it is seldom needed."""
# The schema of `memory_add` names the kinds; the engine checks them, because users may have kinds of their own.
KIND_NAMES: list[JsonValue] = [kind.name for kind in BUILTIN_KINDS]
AS_IN_ADD = "As in memory_add"
DESIGN_NAMES: Mapping[str, str] = {"category": "kind", "memory_types": "kind"}
"""Names of arguments in the designs that presets are made from, and the one name that they have here. Both are taken."""
Says = Mapping[str, Mapping[str, Any]]
"""For a tool that asks a verb: its arguments, which are fields of the verb's request, and for each what its schema tells agents instead."""
A_LIST: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}, "anyOf": ()}


class Arguments(BaseModel):
    """The base class of the arguments of a tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SearchArguments(Arguments):
    """Arguments of `memory_search`: a question, and how long the answer may be."""

    query: str = Field(
        min_length=1, max_length=20_000, description="What you want to know; name files, commands, errors."
    )
    max_tokens: MaxTokens = 1000


class ContextArguments(Arguments):
    """Arguments of `memory_context`: what the context is about (a topic, a scope, a kind)."""

    query: str | None = Field(default=None, description="A topic; none = the start pack")
    scope: str | None = Field(
        default=None, description="universal, language:X, project:X or project:X:task:Y"
    )
    kind: str | None = Field(default=None, description=AS_IN_ADD)


class InjectArguments(Arguments):
    """Arguments of `inject_context`: a topic, the kinds of memories, and how long the answer may be."""

    topic: str | None = Field(default=None, description="none = what the user asked last")
    kind: Annotated[list[str], BeforeValidator(_as_list)] | None = Field(default=None, description=AS_IN_ADD)
    max_tokens: Unshown[MaxTokens] = 1000


class TaskArguments(Arguments):
    """Arguments of `get_context_for_task`: the task, what to look at for it, and how long the answer may be."""

    task_description: str = Field(min_length=1, max_length=20_000, description="What you will do; name files")
    include_file_context: Unshown[bool] = True
    include_error_patterns: Unshown[bool] = True
    max_tokens: Unshown[MaxTokens] = 1000


class ListArguments(Arguments):
    """Arguments of `memory_list`: which memories to list, which page of them, and how long the answer may be."""

    kind: str | None = Field(default=None, description=AS_IN_ADD)
    scope: str | None = None
    text: str | None = None
    limit: int = Field(default=20, ge=1, le=100)
    offset: Unshown[int] = Field(default=0, ge=0, le=100_000)
    max_tokens: Unshown[MaxTokens] = 1000


class ProfileArguments(Arguments):
    """Arguments of `memory_profile`: how long the answer may be."""

    max_tokens: Unshown[MaxTokens] = 1000


class WhyArguments(Arguments):
    """Arguments of `memory_why`: one memory or a number of recalls, and how long the answer may be."""

    id: str | None = Field(default=None, max_length=100, description="One memory; none = the last recalls")
    limit: int = Field(default=3, ge=1, le=20)
    max_tokens: Unshown[MaxTokens] = 1000


class StatsArguments(Arguments):
    """Arguments of `memory_stats`: none."""


class HelpArguments(Arguments):
    """Arguments of `memory_help`: none."""


def schema_of(model: type[BaseModel], says: Says | None = None) -> dict[str, Any]:
    """Return the JSON schema of `model`, shortened: no titles, limits, null types or empty defaults, because every session pays for its tokens.

    With `says` it is the request of a verb: only the fields that it names, and their descriptions and defaults are those for agents.
    """
    model_schema = model.model_json_schema()
    fields: dict[str, dict[str, Any]] = model_schema.get("properties", {})
    if says is not None:
        fields = {
            name: {**_without(fields[name], "description", "default"), **told} for name, told in says.items()
        }
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: _slim(field) for name, field in fields.items()},
    }
    required = [name for name in model_schema.get("required", ()) if name in fields]
    return {**schema, "required": required} if required else schema


def _without(field: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in field.items() if name not in names}


def _slim(field: dict[str, Any]) -> dict[str, Any]:
    slim = {key: value for key, value in field.items() if key not in _UNSAID and value is not None}
    options = cast(list[dict[str, Any]], slim.pop("anyOf", []))
    for option in options:
        if option.get("type") != "null":
            slim = {**{key: value for key, value in option.items() if key not in _UNSAID}, **slim}
    if "items" in slim:
        slim["items"] = _slim(slim["items"])
    if "enum" in slim:  # its values say that they are texts
        slim.pop("type", None)
    return slim


_UNSAID = ("title", "maxLength", "minLength", "maxItems", "maximum", "minimum")


def checked(model: type[BaseModel], values: Mapping[str, Any], says: Says | None = None) -> BaseModel:
    """Check the arguments of a call, and return them as a `model`. With `says`, `model` is the request of a verb.

    Raises:
        InvalidInput: naming the argument, what is wrong, and what is known.
    """
    names = tuple(model.model_fields if says is None else says)
    given: dict[str, Any] = {}
    for name, value in values.items():
        known_as = name if name in names else DESIGN_NAMES.get(name, name)
        if known_as not in names:
            raise InvalidInput(
                f"There is no argument `{name}`.", hint=f"Known: {', '.join(names) or 'none'}."
            )
        if value is not None:
            given[known_as] = value
    if says is not None:
        given = _as_request(model, given, says)
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise wrong_value(error, known=names, noun="argument") from error


def _as_request(model: type[BaseModel], given: Mapping[str, Any], says: Says) -> dict[str, Any]:
    """Return arguments as fields of a verb's request: lists that were sent as text are parsed, and empty or default values are left out.

    Raises:
        InvalidInput: for a value that is none of those that the tool offers.
    """
    fields = model.model_json_schema()["properties"]
    request: dict[str, Any] = {}
    for name, value in given.items():
        told = says[name]
        if value == told.get("default") or (value in ("", []) and not model.model_fields[name].is_required()):
            continue
        offered = told.get("enum")
        if offered is not None and offered is not KIND_NAMES and value not in offered:
            raise InvalidInput(f"`{name}` is {value!r}; expected {' or '.join(offered)}.")
        types = {option.get("type") for option in fields[name].get("anyOf", (fields[name],))}
        is_list = "array" in types and ("string" not in types or str(value).lstrip().startswith("["))
        request[name] = _as_list(value) if is_list else value
    return request
