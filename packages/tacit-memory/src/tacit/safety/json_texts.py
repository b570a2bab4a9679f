"""JSON cleaned after the fact: stored values, lines of logs, what waits. In: JSON and a function that cleans one text. Out: the JSON without it.

What names things (ids, hashes, folders, scopes) stays as it is. A term that was read from a text goes where it holds a piece
of what was taken out of that text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

from tacit.safety.escape import Clean
from tacit.safety.redacted_words import NOTHING_REDACTED, RedactedWords, find_redacted_words

_NAMES = frozenset(
    {
        "id", "key", "session", "session_id", "host", "memory_id", "memory_ids", "content_hash", "superseded_by", "scope", "scopes", "project_id", "project_root",
        "root", "cwd", "path", "transcript_path", "head", "kind", "status", "surface", "preset", "source_id", "target_id", "parent", "agent", "injected", "kept",
        "digest_id", "todo_id", "seen_signal_keys", "name", "remote", "links", "type", "tier", "sensitivity",
    }
)  # fmt: skip
_TERMS_TEXT = "objects paths commands topics phrases tools files why notes recent_files edited_files"
_TERMS = frozenset(_TERMS_TEXT.split())
"""Names of lists with terms that were read from a text."""


def cleaned_json(body: str, clean: Clean) -> str:
    """Return a JSON text with `clean` applied to every text in it; the same string if nothing changes. A text that is not JSON is cleaned as a whole."""
    try:
        value = cast("object", json.loads(body))
    except (ValueError, RecursionError):
        return clean(body)
    lost = NOTHING_REDACTED
    for text in _texts(value):
        lost |= find_redacted_words(text, clean(text))
    if not lost and all(clean(text) == text for text in _texts(value)):
        return body
    return json.dumps(_cleaned(value, clean, lost), ensure_ascii=body.isascii(), separators=(",", ":"))


def _texts(value: object, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        if name not in _NAMES:
            yield value
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _texts(item, name)
    elif isinstance(value, dict):
        entity = "key" in value and set(cast("dict[str, object]", value)) == {"kind", "key"}
        for key, item in cast("dict[str, object]", value).items():
            yield from _texts(item, "" if entity and key == "key" else key)


def _cleaned(value: object, clean: Clean, lost: RedactedWords, name: str = "") -> object:
    if isinstance(value, str):
        if name in _NAMES:
            return value
        return clean(lost.without(value) if name in ("signature", "error_signature") else value)
    if isinstance(value, list):
        items = cast("list[object]", value)
        if name == "entities":
            items = [item for item in items if not _entity_holds(item, clean, lost)]
        elif name in _TERMS:
            items = [item for item in items if not (isinstance(item, str) and lost.held_by(item))]
        return [_cleaned(item, clean, lost, name) for item in items]
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {key: _cleaned(field, clean, lost, key) for key, field in fields.items()}
    return value


def _entity_holds(entity: object, clean: Clean, lost: RedactedWords) -> bool:
    key = cast("dict[str, object]", entity).get("key") if isinstance(entity, dict) else None
    return isinstance(key, str) and (lost.held_by(key) or clean(key) != key)
