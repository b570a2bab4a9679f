"""Items of programs: JSON objects under keys in namespaces."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.queries.items import MAX_LABELS, MAX_NAME_CHARS
from tacit.app.values import Caller
from tacit.model.item import MOST_ITEMS, Item
from tacit.verbs.answers import ItemList, ItemView, NamespaceList, OneItem
from tacit.verbs.cursors import MAX_CHARS, part_of, rows_before, to_cursor
from tacit.verbs.requests import MAX_CONTENT_CHARS, LongPage, Request

Label = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]


Namespace = Annotated[tuple[Label, ...], Field(min_length=1, max_length=MAX_LABELS)]


class ItemName(Request):
    """A request that names an item by namespace and key."""

    namespace: Namespace = Field(description="labels of its namespace, from the widest to the narrowest")
    key: str = Field(max_length=MAX_NAME_CHARS, description="its key within the namespace")


class PutItem(ItemName):
    """A request to store an item."""

    value: dict[str, Any] = Field(description="its value")
    text: str = Field(
        default="",
        max_length=MAX_CONTENT_CHARS,
        description="what recall may find and hand over; empty = nothing",
    )


class SearchItems(Request):
    """A search for items."""

    prefix: tuple[Label, ...] = Field(
        default=(), max_length=MAX_LABELS, description="namespace, with all below it; default: all"
    )
    where: dict[str, Any] = Field(
        default={},
        description="fields that the value must have: values, or one of `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte` with a value",
    )
    query: str = Field(
        default="",
        max_length=4000,
        description="words: the items whose memories are nearest in meaning come first",
    )
    limit: int = Field(default=10, ge=1, le=MOST_ITEMS, description="most items")
    offset: int = Field(default=0, ge=0, le=10_000_000, description="number of items to skip")
    cursor: str | None = Field(
        default=None,
        max_length=MAX_CHARS,
        description="`next_cursor` of the part before, instead of `offset`",
    )


def get_item(engine: Engine, caller: Caller, request: ItemName) -> OneItem:
    """Get an item by its namespace and key.

    `item` is null if there is none. Items are JSON objects that programs keep, for example through the store
    of LangGraph.
    """
    item = engine.items.get(request.namespace, request.key)
    return OneItem(item=_view(item) if item is not None else None)


def put_item(engine: Engine, caller: Caller, request: PutItem) -> OneItem:
    """Store an item. It replaces the item with the same key.

    Secrets in it are redacted. Its `text` becomes a memory of the namespace's agent, which recall may find.

    Raises:
        RefusedByTrust: an agent asks where `privacy.incognito` is on.
    """
    item = engine.items.put(
        request.namespace, request.key, request.value, text=request.text, speaker=caller.speaker
    )
    return OneItem(item=_view(item))


def delete_item(engine: Engine, caller: Caller, request: ItemName) -> None:
    """Remove an item and end its memory.

    It does nothing if there is no such item. The memory ends only if no other item has the same one; its history stays.
    """
    engine.items.delete(request.namespace, request.key, speaker=caller.speaker)


def search_items(engine: Engine, caller: Caller, request: SearchItems) -> ItemList:
    """Find items in a namespace and all namespaces below it.

    With `query` the nearest in meaning come first, else the newest. `where` filters by the fields of the
    value.
    """
    skip = rows_before(request.cursor) if request.cursor else request.offset
    found = engine.items.search(
        request.prefix, where=request.where, query=request.query, limit=request.limit + 1, offset=skip
    )
    items = [_view(item, score) for item, score in found[: request.limit]]
    following = to_cursor((skip + request.limit, "")) if len(found) > request.limit else None
    return ItemList(items=items, next_cursor=following)


def list_namespaces(engine: Engine, caller: Caller, request: LongPage) -> NamespaceList:
    """List the namespaces that hold items.

    A namespace is a list of labels, from the widest to the narrowest.
    """
    found = engine.items.namespaces()
    rows, following = part_of(lambda _: found, request, "\0".join)
    return NamespaceList(namespaces=rows, next_cursor=following)


def _view(item: Item, score: float | None = None) -> ItemView:
    return ItemView(
        namespace=item.namespace,
        key=item.key,
        value=item.value,
        created_at_ms=item.created_at_ms,
        updated_at_ms=item.updated_at_ms,
        memory_id=item.memory_id,
        score=score,
    )
