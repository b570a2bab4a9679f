"""Items of programs: JSON objects under keys in namespaces, and a memory for the text of each, so that recall finds it.

In: items of a program. Out: the same items, without secrets. The memory of an item is in the scope of its namespace, which is the
scope of an agent: nobody else gets it. An item is stored and found without its memory, which reconciliation may merge or end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from tacit.app.values import Caller, Parts
from tacit.errors import (
    EmbedderMismatch,
    InvalidInput,
    NotFound,
    ProviderError,
    RefusedByRedaction,
    RefusedByTrust,
)
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Contradict, Merge, Supersede
from tacit.model.item import MOST_ITEMS, Item, agent_of, json_object, map_texts, namespace_path
from tacit.model.memory import Speaker
from tacit.model.scope import Scope, ScopeFilter, ScopeKind
from tacit.state.registry import ITEM

if TYPE_CHECKING:
    from tacit.app.engine import Engine

MAX_VALUE_CHARS = 1_000_000
MAX_LABELS = 20
MAX_NAME_CHARS = 1000
SOURCE = "store"
REMOVED = "its item was removed"
NO_SCORE = -2.0
"""Score of an item without a memory in the ranking: below every cosine, so that it comes last."""
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda mine, wanted: mine == wanted,
    "$ne": lambda mine, wanted: mine != wanted,
    "$gt": lambda mine, wanted: mine > wanted,
    "$gte": lambda mine, wanted: mine >= wanted,
    "$lt": lambda mine, wanted: mine < wanted,
    "$lte": lambda mine, wanted: mine <= wanted,
}


class Items:
    """The items of one store. Safe to use from several threads; the last writer of a key wins."""

    def __init__(self, engine: Engine, parts: Parts, *, refuse_incognito: Callable[[], None]) -> None:
        """Use the store of `parts`; `refuse_incognito` raises an error if nothing may be stored for an agent."""
        self._engine = engine
        self._parts = parts
        self._store = parts.store
        self._refuse_incognito = refuse_incognito

    def get(self, namespace: tuple[str, ...], key: str) -> Item | None:
        """Return the item under `key`; None = there is none."""
        return ITEM.find(self._store, *_named(namespace, key))

    def put(
        self,
        namespace: tuple[str, ...],
        key: str,
        value: Mapping[str, Any],
        *,
        text: str = "",
        speaker: Speaker = Speaker.USER,
    ) -> Item:
        """Store `value` under `key`, and replace an earlier value.

        Args:
            namespace: labels from the widest to the narrowest.
            key: names the item within the namespace.
            value: an object of JSON values; secrets in it are replaced by `[redacted:kind]`.
            text: the text of a memory that recall may find; "" = none. A text that no memory can hold (a secret, a long document) gives none.
            speaker: who states it; an agent's memories wait for the user.

        Raises:
            InvalidInput: if namespace, key or value cannot be used.
            RefusedByTrust: if an agent states it where incognito is on.
        """
        name = _named(namespace, key)
        if speaker is Speaker.AGENT:
            self._refuse_incognito()
        scope = Scope(kind=ScopeKind.AGENT, key=agent_of(namespace))
        redactor = self._parts.redactor.at(scope)

        def clean(words: str) -> str:
            return redactor.redact(words).text

        kept: dict[str, Any] = map_texts(json_object(value), clean)
        if len(ITEM.codec.write(_item(namespace, key, kept, 0))) > MAX_VALUE_CHARS:
            raise InvalidInput(
                f"The item {key!r} has more than {MAX_VALUE_CHARS} characters.",
                hint="Keep large documents elsewhere, and a reference to them here.",
            )
        before, now = self.get(namespace, key), self._parts.clock.now_ms()
        shown = clean(text.strip())
        same = before is not None and before.text == shown and bool(before.memory_id or not shown)
        memory_id = before.memory_id if before is not None and same else ""
        if before is not None and not same:
            self._end(before, speaker)
        if shown and not same:
            memory_id = self._state(text, namespace, scope, speaker)
        item = Item(
            namespace=namespace,
            key=key,
            value=kept,
            created_at_ms=before.created_at_ms if before is not None else now,
            updated_at_ms=now,
            memory_id=memory_id,
            text=shown,
        )
        ITEM.write(self._store, item, *name)
        return item

    def delete(self, namespace: tuple[str, ...], key: str, *, speaker: Speaker = Speaker.USER) -> None:
        """Remove the item, and end its memory if no other item has it; without an item it does nothing."""
        name = _named(namespace, key)
        item = ITEM.find(self._store, *name)
        ITEM.write(self._store, None, *name)
        if item is not None:
            self._end(item, speaker)

    def search(
        self,
        prefix: tuple[str, ...],
        *,
        where: Mapping[str, Any] | None = None,
        query: str = "",
        limit: int = 10,
        offset: int = 0,
    ) -> list[tuple[Item, float | None]]:
        """Return items below a namespace, each with its score, or None where it has none.

        Args:
            prefix: the namespace, with all below it; empty = all.
            where: fields that the value must have: values, or `{"$gt": value}` and its like.
            query: words: the items whose memories are nearest in meaning come first; those without a memory follow, the newest first.
            limit: most items, at most `MOST_ITEMS`.
            offset: number of items to skip.

        Raises:
            InvalidInput: for an operator that does not exist.
        """
        items = [item for item in self._below(prefix) if _fits(item.value, where or {})]
        items.sort(key=lambda item: (-item.updated_at_ms, item.namespace, item.key))
        scores = self._scores(query, items) if query.strip() else {}
        ranked = sorted(items, key=lambda item: -scores.get(item.memory_id, NO_SCORE))
        return [
            (item, scores.get(item.memory_id)) for item in ranked[offset : offset + min(limit, MOST_ITEMS)]
        ]

    def namespaces(self) -> list[tuple[str, ...]]:
        """List all namespaces that hold items, sorted."""
        return sorted({item.namespace for item in self._below(())})

    def _below(self, prefix: tuple[str, ...]) -> list[Item]:
        names = ITEM.names(self._store, *((namespace_path(prefix),) if prefix else ()))
        found = (ITEM.parse(self._store.get_value(name)) for name in names)
        return [item for item in found if item is not None]

    def _scores(self, query: str, items: Sequence[Item]) -> dict[str, float]:
        """Return `{memory id: cosine with the query}`; {} if no vector can be made."""
        ids = sorted({item.memory_id for item in items} - {""})
        scopes = {Scope(kind=ScopeKind.AGENT, key=agent_of(item.namespace)) for item in items}
        embedder = self._parts.embedder
        try:
            asked = embedder.embed([query])[0]
            near = self._store.get_vectors(ids, scope=ScopeFilter.of(*scopes), identity=embedder.identity)
        except (ProviderError, EmbedderMismatch):
            return {}
        return {memory_id: round(float(vector @ asked), 6) for memory_id, vector in near.items()}

    def _state(self, text: str, namespace: tuple[str, ...], scope: Scope, speaker: Speaker) -> str:
        """Store `text`; return the id of its memory, if only items of this namespace have it, else ""."""
        try:
            changes = self._engine.remember(text, scope=scope, speaker=speaker, source=SOURCE)
        except (InvalidInput, RefusedByRedaction):
            return ""
        for change in changes:
            if isinstance(change, Add | Supersede | Contradict) and change.memory.scope == scope:
                return change.memory.id
        merged = {change.memory.id for change in changes if isinstance(change, Merge)}
        return next(
            (
                item.memory_id
                for item in self._below(namespace)
                if item.memory_id and (item.memory_id in merged or item.text == text.strip())
            ),
            "",
        )

    def _end(self, item: Item, speaker: Speaker) -> None:
        if not item.memory_id or any(
            other.memory_id == item.memory_id and (other.namespace, other.key) != (item.namespace, item.key)
            for other in self._below(item.namespace)
        ):
            return
        try:
            memory = self._engine.show(item.memory_id, speaker=speaker)
            caller = Caller(speaker=speaker, by_tool=False)
            self._engine.agents.require_may_change(caller, memory, "end", user_words="")
            why = ChangeReason(cause=ChangeCause.FORGOTTEN, detail=REMOVED)
            self._engine.memories.retire(memory, reason=why)
        except (NotFound, InvalidInput, RefusedByTrust):
            return  # it has ended, or the user made it their own


def _item(namespace: tuple[str, ...], key: str, value: Mapping[str, Any], now: int) -> Item:
    return Item(namespace=namespace, key=key, value=value, created_at_ms=now, updated_at_ms=now)


def _named(namespace: tuple[str, ...], key: str) -> tuple[str, str]:
    """Return the two parts of an item's name in the store; raise `InvalidInput` if namespace or key cannot be used."""
    usable = 0 < len(namespace) <= MAX_LABELS and all(namespace)
    path, name = namespace_path(namespace), quote(key, safe="", errors="surrogatepass")
    if not usable or len(path) > MAX_NAME_CHARS or len(name) > MAX_NAME_CHARS:
        raise InvalidInput(
            "The namespace or the key of an item cannot be used.",
            hint=f"A namespace has 1 to {MAX_LABELS} labels that are not empty; both have at most {MAX_NAME_CHARS} characters.",
        )
    return path, name


def _fits(value: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    return all(_matches(value.get(name), wanted) for name, wanted in where.items())


def _matches(mine: Any, wanted: Any) -> bool:
    operators: Mapping[str, Any] = cast("Mapping[str, Any]", wanted) if isinstance(wanted, Mapping) else {}
    if not operators or not all(name.startswith("$") for name in operators):
        return bool(mine == wanted)
    for name, operand in operators.items():
        if name not in _COMPARE:
            raise InvalidInput(
                f"There is no operator {name!r} for a filter of items.", hint=f"Known: {', '.join(_COMPARE)}."
            )
        try:
            if not _COMPARE[name](mine, operand):
                return False
        except TypeError:  # values of kinds that have no order
            return False
    return True
