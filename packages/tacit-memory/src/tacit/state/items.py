"""The stored form of items. In: an item. Out: its text, and back. Pure.

Objects are written as lists of pairs, because a purge and a rescan clean the texts in lists, but not the names of fields. In an item they
must clean every text, including the program's field names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tacit.model.item import Item
from tacit.state.named_value import Codec

_OBJECT, _LIST = "o", "l"


def _read(text: str) -> Item | None:
    namespace, key, value, created, updated, memory_id, statement = json.loads(text)
    return Item(
        namespace=tuple(namespace),
        key=key,
        value=_unpaired(value),
        created_at_ms=created,
        updated_at_ms=updated,
        memory_id=memory_id,
        text=statement,
    )


def _write(item: Item | None) -> str:
    assert item is not None
    fields = [
        list(item.namespace),
        item.key,
        _paired(item.value),
        item.created_at_ms,
        item.updated_at_ms,
        item.memory_id,
        item.text,
    ]
    return json.dumps(fields, separators=(",", ":"))


def _paired(value: object) -> object:
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return [_OBJECT, [[name, _paired(inner)] for name, inner in pairs]]
    if isinstance(value, list):
        return [_LIST, [_paired(inner) for inner in cast("list[object]", value)]]
    return value


def _unpaired(value: object) -> Any:
    if not isinstance(value, list):
        return value
    mark, inner = cast("list[Any]", value)
    if mark == _OBJECT:
        return {name: _unpaired(one) for name, one in inner}
    return [_unpaired(one) for one in inner]


ITEM_CODEC: Codec[Item | None] = Codec(read=_read, write=_write, empty=lambda: None)
