"""Answers as JSON.

In: the models of `tacit.verbs.answers`, and values of the program. Out: plain values, and bytes that any reader accepts (ASCII, so that
a lone surrogate in an old memory breaks nobody). The shapes decide the form; nothing is worded here.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from pydantic import TypeAdapter


def to_bytes(value: object) -> bytes:
    """Return plain values as JSON text."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def encode(value: object, shape: Any = None) -> Any:
    """Return `value` as plain JSON values, in the form of the type `shape`; None = its own type."""
    return _adapter(type(value) if shape is None else shape).dump_python(value, mode="json")


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)
