"""Requests without blocks, to compare them with those of a program that has no memory."""

from __future__ import annotations

import re
from typing import Any

BLOCK = re.compile(r"(?:\n\n)?<tacit-memory\b.*?</tacit-memory>", re.DOTALL)


def bare(value: Any) -> Any:
    """A request as it was before anything was added to it."""
    if isinstance(value, str):
        return BLOCK.sub("", value)
    if isinstance(value, dict):
        found = {name: bare(one) for name, one in value.items()}
        return {
            n: v
            for n, v in found.items()
            if not (n in ("system", "instructions") and v in ("", []) and value[n] != v)
        }
    if isinstance(value, list):
        kept = [(one, bare(one)) for one in value]
        return [new for old, new in kept if new == old or not emptied(new)]
    return value


def emptied(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("text") == "" or value.get("content") in ("", []))
