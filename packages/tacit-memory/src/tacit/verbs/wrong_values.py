"""Says in plain words which value of a request cannot be used, and what is expected. In: an error of pydantic. Out: an error of Tacit.

The API and the tools of agents use it, so that neither shows the words of the library that checks the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from tacit.errors import InvalidInput

_EXPECTED: Mapping[str, str] = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a JSON object",
    "model_type": "a JSON object",
    "model_attributes_type": "a JSON object",
}
"""What is expected where a value has a wrong type, by pydantic's type of the error."""
_BOUNDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda context: f"at least {_shortly(context['ge'])}",
    "less_than_equal": lambda context: f"at most {_shortly(context['le'])}",
    "greater_than": lambda context: f"more than {_shortly(context['gt'])}",
    "less_than": lambda context: f"less than {_shortly(context['lt'])}",
    "too_short": lambda context: f"at least {_counted(context['min_length'], 'entry', 'entries')}",
    "too_long": lambda context: f"at most {_counted(context['max_length'], 'entry', 'entries')}",
    "string_too_long": lambda context: f"at most {context['max_length']} characters",
    "string_pattern_mismatch": lambda context: f"a text that matches {context['pattern']}",
    "literal_error": lambda context: str(context["expected"]),
}
"""The same where a value is outside of its bounds, made from the context of the error."""
_OWN = "Value error, "
"""How the message of an error begins that Tacit raised itself while a value was checked."""
_TYPE_NAMES = frozenset({"str", "int", "float", "bool", "list", "tuple", "dict", "none"})
SHOWN_CHARS = 80


def wrong_value(error: ValidationError, *, known: Sequence[str], noun: str = "field") -> InvalidInput:
    """Return (not raise) the refusal that tells of the first wrong value.

    Args:
        error: what pydantic says.
        known: the names that the request may have.
        noun: what a name is called: a field, or an argument.
    """
    errors = error.errors(include_url=False)
    first = errors[0]
    field = _name_of(first["loc"])
    message = str(first["msg"])
    hint = f"Known: {', '.join(known) or f'no {noun}s'}."
    if first["type"] == "extra_forbidden":
        return InvalidInput(f"There is no {noun} `{field}`.", hint=hint)
    if first["type"] == "missing":
        return InvalidInput(f"The {noun} `{field}` is missing.", hint=hint)
    if message.startswith(_OWN):  # ours: it says what is wrong and what to do
        said = message.removeprefix(_OWN).rstrip(".")
        return InvalidInput(f"`{field}`: {said}." if field else f"The request needs {said}.")
    if first["type"] == "string_too_short":
        return InvalidInput(f"`{field}` is too short; expected some words.")
    # A field that may be one of several types has an error for each.
    same = [one for one in errors if _name_of(one["loc"]) == field]
    expected = " or ".join(dict.fromkeys(_expected(one) for one in same))
    shown = repr(first["input"])
    shown = shown if len(shown) <= SHOWN_CHARS else f"{shown[: SHOWN_CHARS - 3]}..."
    return InvalidInput(f"{f'`{field}`' if field else 'The request'} is {shown}; expected {expected}.")


def _expected(error: Mapping[str, Any]) -> str:
    made = _BOUNDS.get(error["type"])
    if made is not None:
        return made(error.get("ctx", {}))
    return _EXPECTED.get(error["type"]) or _plain(str(error["msg"]))


def _plain(message: str) -> str:
    text = re.sub(r"^\w+ should (?:be|have) ", "", message).rstrip(".")
    return f"{text[:1].lower()}{text[1:]}"


def _name_of(place: Sequence[int | str]) -> str:
    """Return the dotted path of a field, such as `items.2.name`; it ends before the first part that is no plain lower-case name, such as the name of a type that pydantic adds."""
    parts = [str(place[0])] if place else []
    for part in place[1:]:
        if isinstance(part, str) and (part in _TYPE_NAMES or not (part.isidentifier() and part.islower())):
            break
        parts.append(str(part))
    return ".".join(parts)


def _shortly(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def _counted(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"
