"""Statements that the user rejected, so that they are not learned again. In: rejected memories, new statements. Out: named values, a verdict.

Kept by scope; a statement that repeats one of them is turned away unless the user states it explicitly.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.model.memory import Memory
from tacit.model.scope import Scope
from tacit.ports.store import ValueChanges, ValueName, ValueStore
from tacit.state.registry import REJECTED
from tacit.statements.same import same_statement


class Rejected:
    """The rejected statements of a store."""

    def __init__(self, store: ValueStore) -> None:
        self._store = store

    def texts(self, scope: Scope) -> tuple[str, ...]:
        """Rejected statements of `scope`, oldest first."""
        return REJECTED.read(self._store, scope)

    def changed(self, *, add: Sequence[Memory], drop: Sequence[Memory]) -> ValueChanges:
        """The values that also hold `add` and no longer `drop`; {} where they are so already."""
        values: dict[ValueName, str | None] = {}
        for scope in dict.fromkeys(memory.scope for memory in (*add, *drop)):
            texts = self.texts(scope)
            added = (memory.content for memory in add if memory.scope == scope)
            out = {memory.content for memory in (*add, *drop) if memory.scope == scope}
            remaining = (*(text for text in texts if text not in out), *added)
            if remaining != texts:
                values |= REJECTED.change(remaining, scope)
        return values

    def match(self, content: str, rejected: Sequence[str]) -> str:
        """Return the statement among `rejected`, those of its scope, that `content` repeats; "" = none. Case does not count."""
        words = content.casefold()
        return next((text for text in rejected if same_statement(text.casefold(), words)), "")
