"""A store of LangGraph that keeps its items in Tacit.

In: the operations of `BaseStore`. Out: their results, in the same order. Values are kept exactly, except secrets. The text of an item
becomes a memory in the scope of the agent of its namespace. Unlike the middleware, the store raises if it fails: programs rely on it.
"""

# pyright: basic, reportMissingImports=false
# The framework is not in the environment in which types are checked.

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tacit.library.engine_access import ItemAccess
from tacit.library.tacit import Tacit
from tacit.library.values import FoundItem
from tacit.model.item import MOST_ITEMS, agent_of
from tacit_integrations.framework import imported_from

with imported_from("langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )

TEXT_FIELDS = ("text", "content", "memory")
Namespace = tuple[str, ...]


class TacitStore(BaseStore):
    """A store of LangGraph that keeps items in the memory: `create_agent(..., store=TacitStore())`. Safe to use from several threads.

    Items have no time to live: `put` with `ttl` is refused.
    """

    def __init__(self, memory: Tacit | None = None, *, fields: Sequence[str] = TEXT_FIELDS) -> None:
        """Keep items in `memory`.

        Args:
            memory: an open memory; None = the one of this machine's daemon (`Tacit.connect()`).
            fields: fields of a value that may hold its text; the first one that is present counts. `put(..., index=[...])` names other
                fields for one item, and with `index=False` the item gets no memory.
        """
        self._memory = memory or Tacit.connect()
        self._fields = tuple(fields)

    @staticmethod
    def agent(namespace: Namespace) -> str:
        """Return the agent whose conversations get the memories of `namespace`: `MemoryMiddleware(agent=store.agent(namespace))`."""
        return agent_of(namespace)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations in order, and return their results.

        Raises:
            InvalidInput: a namespace, key, value or filter is not valid.
            DaemonUnavailable: the memory needs a daemon, and none runs.
        """
        return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `batch` in a thread, for a program with an event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _done(self, op: Op) -> Result:
        items = self._memory.items
        match op:
            case GetOp():
                found = items.get(op.namespace, op.key)
                return _item(found) if found is not None else None
            case PutOp(value=None):
                items.delete(op.namespace, op.key)
                return None
            case PutOp():
                items.put(op.namespace, op.key, op.value or {}, text=self._text(op))
                return None
            case SearchOp():
                return _search(items, op)
            case ListNamespacesOp():
                return _namespaces(items.namespaces(), op)
            case _:
                raise ValueError(f"Unknown operation {type(op).__name__}.")

    def _text(self, op: PutOp) -> str:
        """Return the text of an item for recall; "" = the item gets no memory."""
        value = op.value or {}
        if op.index is False:
            return ""
        names = self._fields if op.index is None else tuple(op.index)
        texts = [text for name in names for text in _texts(value, name.split("."))]
        return "\n".join(texts[:1] if op.index is None else texts)


def _texts(value: Any, path: Sequence[str]) -> list[str]:
    """Return the texts at a path such as `facts[*].text`."""
    if not path:
        return [value] if isinstance(value, str) and value.strip() else []
    name, _, rest = path[0].partition("[")
    inner = value.get(name) if isinstance(value, Mapping) else None
    if rest != "*]":
        return _texts(inner, path[1:])
    return [text for one in (inner if isinstance(inner, list) else []) for text in _texts(one, path[1:])]


def _search(items: ItemAccess, op: SearchOp) -> list[SearchItem]:
    found: list[FoundItem] = []
    while len(found) < op.limit:
        limit = min(MOST_ITEMS, op.limit - len(found))
        part = items.search(
            op.namespace_prefix,
            where=op.filter,
            query=op.query or "",
            limit=limit,
            offset=op.offset + len(found),
        )
        found += part
        if len(part) < limit:
            break
    return [
        SearchItem(
            namespace=item.namespace,
            key=item.key,
            value=dict(item.value),
            created_at=_time(item.created_at_ms),
            updated_at=_time(item.updated_at_ms),
            score=item.score,
        )
        for item in found
    ]


def _namespaces(all_names: Sequence[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    fitting = [name for name in all_names if all(_fits(name, c) for c in op.match_conditions or ())]
    cut = sorted({name[: op.max_depth] if op.max_depth is not None else name for name in fitting})
    return cut[op.offset : op.offset + op.limit]


def _fits(name: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(name) < len(path):
        return False
    part = name[: len(path)] if condition.match_type == "prefix" else name[len(name) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _item(found: FoundItem) -> Item:
    return Item(
        namespace=found.namespace,
        key=found.key,
        value=dict(found.value),
        created_at=_time(found.created_at_ms),
        updated_at=_time(found.updated_at_ms),
    )


def _time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
