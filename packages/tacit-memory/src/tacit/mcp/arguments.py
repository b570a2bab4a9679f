"""What the tools take: checked arguments, and their schemas in as few tokens as they can be said.

In: what a client sent. Out: models, or a refusal that names what is known. Every word of a description is paid for in each
session of every agent.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    WithJsonSchema,
)

from tacit.errors import InvalidInput
from tacit.model.kinds import BUILTIN_KINDS
from tacit.verbs.get import MOST_IDS

MAX_TOKENS = 20_000


def _as_list(value: object) -> object:
    """A list as models send it: a list, its JSON, or words between commas."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return cast(object, json.loads(value))
        except ValueError:
            pass
    return [item.strip() for item in value.split(",") if item.strip()]


def _as_phrases(value: object) -> object:
    """A list, or its JSON; other text stays as it is and is read like `--when`."""
    return _as_list(value) if isinstance(value, str) and value.lstrip().startswith("[") else value


MaxTokens = Annotated[int, Field(ge=50, le=MAX_TOKENS)]
Words = Annotated[list[str], BeforeValidator(_as_list)]
Phrase = Annotated[str, Field(max_length=300)]
Whens = Annotated[
    Annotated[str, Field(max_length=2000)] | Annotated[list[Phrase], Field(max_length=20)],
    BeforeValidator(_as_phrases),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),
]
MemoryId = Annotated[
    str, Field(min_length=1, max_length=100, description="Id, or the ending shown as (id ...)")
]
# The schema names the kinds; the engine checks them, because users may have kinds of their own.
_KIND_NAMES: list[JsonValue] = [kind.name for kind in BUILTIN_KINDS]
KindName = Annotated[str, Field(json_schema_extra={"enum": _KIND_NAMES})]
KindNames = Annotated[list[KindName], BeforeValidator(_as_list)]


class Arguments(BaseModel):
    """Of one tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Search(Arguments):
    """Of `memory_search`."""

    query: str = Field(
        min_length=1, max_length=20_000, description="What you want to know; name files, commands, errors."
    )
    max_tokens: MaxTokens = 1000


class Get(Arguments):
    """Of `memory_get`."""

    ids: Words = Field(min_length=1, max_length=MOST_IDS, description="As before the headlines")


class AddOne(Arguments):
    """Of `memory_add`."""

    content: str = Field(
        description="One durable statement that stands on its own, e.g. 'Migrations are written by hand.'"
    )
    headline: str | None = Field(
        default=None,
        max_length=200,
        description="Up to 60 characters: 'when SITUATION, COMMAND or ERROR: what to do'",
    )
    kind: KindName | None = None
    when: Whens | None = Field(
        default=None,
        description="Coming actions, paths, commands or situations it applies to: 'commit', 'path:*.sql', 'cmd:pytest', 'before a"
        " release', 'always'",
    )
    scope: Literal["project", "universal"] = Field(
        default="project", description="universal = all the user's projects"
    )
    files: Words | None = Field(default=None, description="Files it speaks of")
    sensitivity: Literal["project", "session", "restricted"] | None = Field(
        default=None, description="session = this session only; restricted = for the user's eyes"
    )
    user_words: str | None = Field(
        default=None, description="If the user said it: their words from this conversation, verbatim"
    )
    replaces: Words | None = Field(
        default=None,
        max_length=20,
        description="Ids or words of memories that hold no more. One that says the same stays: give its id or its words as `content`",
    )


class Update(Arguments):
    """Of `memory_update`."""

    id: MemoryId
    content: str | None = Field(default=None, description="The whole statement as it should be")
    kind: str | None = Field(default=None, max_length=100)
    when: Whens | None = Field(default=None, description="As in memory_add")
    user_words: str | None = Field(
        default=None, description="The user's words asking for it, verbatim; needed for what they said"
    )


class Context(Arguments):
    """Of `memory_context`."""

    query: str | None = Field(default=None, description="A topic; none = the start pack")
    scope: str | None = Field(
        default=None, description="universal, language:X, project:X or project:X:task:Y"
    )
    category: KindName | None = None


class Inject(Arguments):
    """Of `inject_context`."""

    topic: str | None = Field(default=None, description="none = what the user asked last")
    memory_types: KindNames | None = None
    max_tokens: MaxTokens = 1000


class Task(Arguments):
    """Of `get_context_for_task`."""

    task_description: str = Field(
        min_length=1, max_length=20_000, description="What you are about to do, to which files"
    )
    include_file_context: bool = True
    include_error_patterns: bool = True
    max_tokens: MaxTokens = 1000


class ListSome(Arguments):
    """Of `memory_list`."""

    kind: KindName | None = None
    scope: str | None = None
    text: str | None = Field(default=None, description="Words, in any order")
    limit: int = Field(default=20, ge=1, le=100)
    offset: int = Field(default=0, ge=0, le=100_000)
    max_tokens: MaxTokens = 1000


class Profile(Arguments):
    """Of `memory_profile`."""

    max_tokens: MaxTokens = 1000


class Forget(Arguments):
    """Of `memory_forget`."""

    id: MemoryId
    reason: str | None = None
    user_words: str | None = Field(
        default=None, description="The user's words asking for it, verbatim; needed for what they said"
    )


class Feedback(Arguments):
    """Of `memory_feedback`."""

    id: MemoryId
    useful: bool


class Why(Arguments):
    """Of `memory_why`."""

    id: str | None = Field(default=None, max_length=100, description="One memory; none = the last recalls")
    limit: int = Field(default=3, ge=1, le=20)
    max_tokens: MaxTokens = 1000


class Stats(Arguments):
    """Of `memory_stats`."""


def schema_of(model: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of `model`, without titles, null types and defaults that say nothing."""
    model_schema = model.model_json_schema()
    fields = {name: _slim(field) for name, field in model_schema.get("properties", {}).items()}
    schema: dict[str, Any] = {"type": "object", "properties": fields}
    return {**schema, "required": model_schema["required"]} if model_schema.get("required") else schema


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


def checked(model: type[Arguments], values: dict[str, Any]) -> Arguments:
    """The arguments.

    Raises:
        InvalidInput: naming the argument, what is wrong, and what is known.
    """
    try:
        return model.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    field_names = ", ".join(model.model_fields) or "none"
    if first["type"] == "extra_forbidden":
        raise InvalidInput(f"There is no argument `{name}`.", hint=f"Known: {field_names}.")
    if first["type"] == "missing":
        raise InvalidInput(f"The argument `{name}` is missing.", hint=f"Known: {field_names}.")
    subject, _, problem = str(first["msg"]).removeprefix("Value error, ").partition(" should ")
    said = f"should {problem}" if problem else f"cannot be used: {subject[:1].lower()}{subject[1:]}"
    raise InvalidInput(f"`{name}` {said}.", hint="Call again with another value.")
