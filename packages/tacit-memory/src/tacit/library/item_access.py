"""Access to items of a program, through either way to an engine. In: namespaces, keys, values. Out: frozen values. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.library.conversions import item_from
from tacit.library.engine_access import EngineAccess
from tacit.library.values import FoundItem
from tacit.model.item import MOST_ITEMS, json_object

Namespace = tuple[str, ...]
ITEMS = "/v1/items"


class ItemAccess:
    """Access to the items of programs; see `tacit.app.queries.items.Items`."""

    def __init__(self, way: EngineAccess) -> None:
        """Access items through `way`."""
        self._way = way

    def get(self, namespace: Namespace, key: str) -> FoundItem | None:
        """Return the item under `key`; None = there is none."""
        found = self._search(prefix=list(namespace), key=key)["items"]
        return item_from(found[0]) if found else None

    def put(self, namespace: Namespace, key: str, value: Mapping[str, Any], *, text: str = "") -> FoundItem:
        """Store `value` under `key`; it replaces what is stored there. `text` becomes a memory of the namespace's agent."""
        body = {"namespace": list(namespace), "key": key, "value": json_object(value), "text": text}
        return item_from(self._way.ask("PUT", ITEMS, body)["item"])

    def delete(self, namespace: Namespace, key: str) -> None:
        """Remove an item, and end its memory if no other item has the same one. Does nothing if there is no such item."""
        self._way.ask("DELETE", ITEMS, {"namespace": namespace, "key": key})

    def search(
        self, prefix: Namespace, *, where: Mapping[str, Any] | None, query: str, limit: int, offset: int
    ) -> list[FoundItem]:
        """Return items whose namespace begins with `prefix`: with a query the nearest in meaning first, else the newest first."""
        found = self._search(prefix=list(prefix), where=where or {}, query=query, limit=limit, offset=offset)
        return [item_from(item) for item in found["items"]]

    def namespaces(self) -> list[Namespace]:
        """Return all namespaces with items, sorted."""
        found = list[Namespace]()
        cursor: str | None = None
        while True:
            answer = self._search(namespaces=True, limit=MOST_ITEMS, cursor=cursor)
            found += [tuple(name) for name in answer["namespaces"]]
            cursor = answer["next_cursor"]
            if cursor is None:
                return found

    def _search(self, **fields: object) -> Any:
        return self._way.ask("POST", f"{ITEMS}/search", fields)
