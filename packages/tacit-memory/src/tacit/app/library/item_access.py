"""Access to items of a program, in this process or in the daemon. In: namespaces, keys, values. Out: frozen values. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

from tacit.model.item import json_object
from tacit.model.memory import Speaker

if TYPE_CHECKING:
    from tacit.app.engine import Engine

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundItem:
    """An item.

    Attributes:
        namespace: labels from the widest to the narrowest.
        key: the name of the item in its namespace.
        value: a JSON object.
        created_at_ms, updated_at_ms: milliseconds since the Unix epoch.
        score: similarity to the query, higher is better; None = there was no query, or the item has no memory.
    """

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    created_at_ms: int
    updated_at_ms: int
    score: float | None = None


class ItemAccess(Protocol):
    """Access to the items of programs; see `tacit.app.queries.items.Items`."""

    def get(self, namespace: Namespace, key: str) -> FoundItem | None:
        """Return the item under `key`; None = there is none."""
        ...

    def put(self, namespace: Namespace, key: str, value: Mapping[str, Any], *, text: str = "") -> FoundItem:
        """Store `value` under `key`. `text` becomes a memory of the namespace's agent."""
        ...

    def delete(self, namespace: Namespace, key: str) -> None:
        """Remove an item and end its memory."""
        ...

    def search(
        self, prefix: Namespace, *, where: Mapping[str, Any] | None, query: str, limit: int, offset: int
    ) -> list[FoundItem]:
        """Return items whose namespace begins with `prefix`."""
        ...

    def namespaces(self) -> list[Namespace]:
        """Return all namespaces with items, sorted."""
        ...


class LocalItems:
    """Access in the same process."""

    def __init__(self, engine: Engine, speaker: Speaker) -> None:
        """Use `engine` with the authority of `speaker`."""
        self._items = engine.items
        self._speaker = speaker

    def get(self, namespace: Namespace, key: str) -> FoundItem | None:
        """See `ItemAccess`."""
        item = self._items.get(namespace, key)
        return _found(item) if item is not None else None

    def put(self, namespace: Namespace, key: str, value: Mapping[str, Any], *, text: str = "") -> FoundItem:
        """See `ItemAccess`."""
        return _found(self._items.put(namespace, key, value, text=text, speaker=self._speaker))

    def delete(self, namespace: Namespace, key: str) -> None:
        """See `ItemAccess`."""
        self._items.delete(namespace, key, speaker=self._speaker)

    def search(
        self, prefix: Namespace, *, where: Mapping[str, Any] | None, query: str, limit: int, offset: int
    ) -> list[FoundItem]:
        """See `ItemAccess`."""
        found = self._items.search(prefix, where=where, query=query, limit=limit, offset=offset)
        return [_found(item, score) for item, score in found]

    def namespaces(self) -> list[Namespace]:
        """See `ItemAccess`."""
        return self._items.namespaces()


class DaemonItems:
    """Access through the daemon. Uses only the standard library."""

    def __init__(self, ask: Callable[[str, str, object], Any]) -> None:
        """Send requests with `ask`: method, path, body."""
        self._ask = ask

    def get(self, namespace: Namespace, key: str) -> FoundItem | None:
        """See `ItemAccess`."""
        item = self._ask("GET", _path(namespace, key), None)["item"]
        return _from_answer(item) if item is not None else None

    def put(self, namespace: Namespace, key: str, value: Mapping[str, Any], *, text: str = "") -> FoundItem:
        """See `ItemAccess`."""
        body = {"namespace": list(namespace), "key": key, "value": json_object(value), "text": text}
        return _from_answer(self._ask("PUT", "/v1/items", body)["item"])

    def delete(self, namespace: Namespace, key: str) -> None:
        """See `ItemAccess`."""
        self._ask("DELETE", _path(namespace, key), None)

    def search(
        self, prefix: Namespace, *, where: Mapping[str, Any] | None, query: str, limit: int, offset: int
    ) -> list[FoundItem]:
        """See `ItemAccess`."""
        body = {
            "prefix": list(prefix),
            "where": where or {},
            "query": query,
            "limit": limit,
            "offset": offset,
        }
        return [_from_answer(item) for item in self._ask("POST", "/v1/items/search", body)["items"]]

    def namespaces(self) -> list[Namespace]:
        """See `ItemAccess`."""
        path, found = "/v1/items/namespaces", list[Namespace]()
        cursor: str | None = ""
        while cursor is not None:
            answer = self._ask("GET", f"{path}?{urlencode({'cursor': cursor})}" if cursor else path, None)
            found += [tuple(name) for name in answer["namespaces"]]
            cursor = answer["next_cursor"]
        return found


def _path(namespace: Namespace, key: str) -> str:
    query = urlencode([*(("namespace", label) for label in namespace), ("key", key)])
    return f"/v1/items?{query}"


def _found(item: Any, score: float | None = None) -> FoundItem:
    return FoundItem(
        namespace=item.namespace,
        key=item.key,
        value=item.value,
        created_at_ms=item.created_at_ms,
        updated_at_ms=item.updated_at_ms,
        score=score,
    )


def _from_answer(item: Mapping[str, Any]) -> FoundItem:
    return FoundItem(
        namespace=tuple(item["namespace"]),
        key=item["key"],
        value=item["value"],
        created_at_ms=item["created_at_ms"],
        updated_at_ms=item["updated_at_ms"],
        score=item["score"],
    )
