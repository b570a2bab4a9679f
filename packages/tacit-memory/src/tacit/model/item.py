"""Items: JSON objects that a program keeps under a key in a namespace. In: values, namespaces. Out: checked values, the agent of their memories. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast
from urllib.parse import quote

from tacit.errors import InvalidInput
from tacit.frozen import frozen

MAX_DEPTH = 100
MOST_ITEMS = 1000
"""Most items that one search finds."""
AGENT_PREFIX = "store/"
MAX_AGENT_CHARS = 200


@frozen
class Item:
    """A JSON object under a key in a namespace.

    Attributes:
        namespace: labels from the widest to the narrowest.
        key: names it within the namespace.
        value: the object.
        created_at_ms, updated_at_ms: milliseconds since the Unix epoch.
        memory_id: the memory that holds its text; "" = none.
        text: the text that the memory was made from, redacted.
    """

    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    created_at_ms: int
    updated_at_ms: int
    memory_id: str = ""
    text: str = ""


def map_texts(value: object, change: Callable[[str], str]) -> Any:
    """Return a copy of a JSON value with `change` applied to every text in it at any depth, including the names of fields."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {
            change(name): map_texts(inner, change)
            for name, inner in cast("Mapping[str, object]", value).items()
        }
    if isinstance(value, list | tuple):
        return [map_texts(inner, change) for inner in cast("list[object]", value)]
    return value


def json_object(value: object) -> dict[str, Any]:
    """Return a copy of `value` with JSON types only.

    Raises:
        InvalidInput: if it is no JSON object, or nested deeper than `MAX_DEPTH`.
    """
    try:
        copied: object = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"The value of the item cannot be kept: {error}.",
            hint="Give a dictionary of texts, numbers, booleans, None, lists and dictionaries.",
        ) from error
    if not isinstance(copied, dict):
        raise InvalidInput(
            f"The value of the item is a {type(value).__name__}.", hint="Give a dictionary with text keys."
        )
    if _deeper(cast("dict[str, Any]", copied), MAX_DEPTH):
        raise InvalidInput(
            f"The value of the item is nested deeper than {MAX_DEPTH} levels.", hint="Flatten it."
        )
    return cast("dict[str, Any]", copied)


def _deeper(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = (
        cast("dict[str, object]", value).values() if isinstance(value, dict) else cast("list[object]", value)
    )
    return levels == 0 or any(_deeper(one, levels - 1) for one in inner)


def namespace_path(namespace: Iterable[str]) -> str:
    """Return the labels, quoted and joined by slashes. Two namespaces never have the same path."""
    return "/".join(quote(label, safe="", errors="surrogatepass") for label in namespace)


def agent_of(namespace: Iterable[str]) -> str:
    """Return the name of the agent whose scope holds the memories of a namespace's items: conversations of this agent get them.

    Two namespaces never have the same agent. A path that is too long for the name of an agent is hashed.
    """
    path = namespace_path(namespace)
    name = f"{AGENT_PREFIX}{path}"
    if len(name) <= MAX_AGENT_CHARS:
        return name
    return f"{AGENT_PREFIX}#{hashlib.blake2b(path.encode(), digest_size=20).hexdigest()}"
