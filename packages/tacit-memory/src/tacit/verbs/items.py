"""Items of programs: JSON objects under keys in namespaces."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.queries.items import MAX_LABELS, MAX_NAME_CHARS
from tacit.app.values import Caller
from tacit.model.item import MOST_ITEMS, Item
from tacit.verbs.answers import ItemList, ItemView, OneItem
from tacit.verbs.requests import MAX_CONTENT_CHARS, Page, Request, part_of, rows_before, to_cursor

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


class SearchItems(Page):
    """A search for items, or for the namespaces that hold them."""

    prefix: tuple[Label, ...] = Field(
        default=(), max_length=MAX_LABELS, description="namespace, with all below it; default: all"
    )
    key: str | None = Field(
        default=None, max_length=MAX_NAME_CHARS, description="only the item with this key in `prefix` itself"
    )
    namespaces: bool = Field(default=False, description="list namespaces instead of items")
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
    """Find items in a namespace and all namespaces below it, the item with one key, or the namespaces that hold items.

    Items are JSON objects that programs keep, for example through the store of LangGraph. With `query` the nearest
    in meaning come first, else the newest. `where` filters by the fields of the value.
    """
    if request.namespaces:
        names = [name for name in engine.items.namespaces() if name[: len(request.prefix)] == request.prefix]
        part, following = part_of(lambda _: names, request, "\0".join)
        return ItemList(items=(), namespaces=part, next_cursor=following)
    if request.key is not None:
        item = engine.items.get(request.prefix, request.key)
        return ItemList(items=() if item is None else (_view(item),), namespaces=(), next_cursor=None)
    skip = rows_before(request.cursor) if request.cursor else request.offset
    found = engine.items.search(
        request.prefix, where=request.where, query=request.query, limit=request.limit + 1, offset=skip
    )
    items = [_view(item, score) for item, score in found[: request.limit]]
    following = to_cursor((skip + request.limit, "")) if len(found) > request.limit else None
    return ItemList(items=items, namespaces=(), next_cursor=following)


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
