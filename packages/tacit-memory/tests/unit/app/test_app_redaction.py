"""What is cleaned before a trace is stored: every text in it but the names of things."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from tacit.app.redaction import clean_trace
from tacit.model.trace import Trace

SECRET = "hush"
NAMES = {
    "id", "session", "preset", "project_id", "injected",
    "situation.actions", "situation.languages",
    "stages.stage", "stages.kept", "stages.drops.memory_id", "stages.drops.why.detail", "stages.losses.source",
    "candidates.memory_id", "candidates.kind", "candidates.scores", "candidates.parts",
    "asked.tool",
}  # fmt: skip
"""Fields with names of memories, kinds, branches, models and tools, which stay. A new field of a trace is cleaned or stands here."""


def filled(kind: Any) -> Any:
    """Make a value of the type, with `SECRET` as every text that is not one of a fixed set."""
    if kind is str:
        return SECRET
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{field.name: filled(hints[field.name]) for field in fields(kind)})  # type: ignore[operator]
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return next(iter(kind))
    origin, parts = get_origin(kind), get_args(kind)
    if origin is tuple:
        return tuple(filled(part) for part in parts if part is not Ellipsis)
    if isinstance(kind, UnionType):
        return filled(next(part for part in parts if part is not NoneType))
    return kind(0) if isinstance(kind, type) else parts[0]


def places_of(value: Any, place: str = "") -> Iterator[str]:
    """The fields below `value` that hold `SECRET`."""
    if is_dataclass(value):
        for field in fields(value):
            yield from places_of(getattr(value, field.name), f"{place}.{field.name}".removeprefix("."))
    elif isinstance(value, tuple):
        for part in value:
            yield from places_of(part, place)
    elif value == SECRET:
        yield place


def test_every_text_of_a_trace_is_cleaned_but_the_names_of_things():
    whole = filled(Trace)
    stored = clean_trace(whole, lambda text: text.replace(SECRET, "[redacted]"), project_id=SECRET)
    assert {*places_of(whole)} > NAMES
    assert {*places_of(stored)} == NAMES, (
        "clean the new field in app/redaction.py, or say here that it names a thing"
    )
