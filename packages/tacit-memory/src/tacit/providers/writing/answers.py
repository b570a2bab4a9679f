"""Reading what providers answer. In: loose JSON values, an answer's text. Out: typed parts, or an error that says why not. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import cast

from tacit.errors import ProviderError
from tacit.ports.writer import WriterRequest

_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)


def object_of(raw: object) -> Mapping[str, object]:
    """Return `raw` if it is a JSON object, else an empty one."""
    return cast("Mapping[str, object]", raw) if isinstance(raw, dict) else {}


def json_object(text: str) -> Mapping[str, object]:
    """Return the JSON object in a text; empty if it holds anything else."""
    try:
        return object_of(json.loads(text))
    except ValueError:
        return {}


def items_of(raw: object) -> list[object]:
    """Return `raw` if it is a JSON list, else an empty list."""
    return cast("list[object]", raw) if isinstance(raw, list) else []


def count_of(*raw: object) -> int:
    """Return the sum of those values that are positive integers; other values count as 0."""
    return sum(value for value in raw if isinstance(value, int) and not isinstance(value, bool) and value > 0)


def checked_text(text: str, request: WriterRequest, *, name: str) -> str:
    """Return the text of an answer if it fits the request: not empty or, if the request has a schema, a JSON object with the required fields.

    Raises:
        ProviderError: if it is not.
    """
    if request.schema is None:
        if text.strip():
            return text
        raise ProviderError(f"The writer {name} gave an empty answer.", reason="garbage")
    fenced = _FENCE.fullmatch(text)
    bare = (fenced[1] if fenced else text).strip()
    try:
        answer: object = json.loads(bare)
    except ValueError as error:
        raise ProviderError(
            f"The writer {name} did not answer with JSON: {error}", reason="garbage"
        ) from error
    missing = [field for field in items_of(request.schema.get("required")) if field not in object_of(answer)]
    if not isinstance(answer, dict) or missing:
        raise ProviderError(
            f"The answer of the writer {name} does not fit its schema (missing: {missing}).", reason="garbage"
        )
    return json.dumps(answer, ensure_ascii=False)
