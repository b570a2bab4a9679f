"""Statements that the user rejected, so that they are not learned again. In: rejected memories, new statements. Out: named values, a verdict.

Kept by scope; a statement that repeats one of them, or nearly so, is turned away
unless the user states it explicitly.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.capture.reconcile.compare import overlap, parse_statement
from tacit.capture.reconcile.judge import find_repetition
from tacit.errors import ProviderError
from tacit.model.memory import Memory
from tacit.model.scope import Scope
from tacit.ports.models import Embedder
from tacit.ports.store import ValueChanges, ValueName, ValueStore
from tacit.state.registry import REJECTED

MIN_SHARED_WORDS = 0.25
"""Least overlap of content words at which it is worth asking whether two statements say the same."""


class Rejected:
    """The rejected statements of a store."""

    def __init__(self, store: ValueStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

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

    def match(self, content: str, rejected: Sequence[str], *, near: float) -> str:
        """Return the statement among `rejected`, those of its scope, that `content` repeats; "" = none.

        `near` = least cosine of a near duplicate.
        """
        if not rejected:
            return ""
        mine = parse_statement(content)
        for text in rejected:
            if parse_statement(text).text == mine.text:
                return text
        words = frozenset(mine.order)
        alike = [
            text
            for text in rejected
            if overlap(words, frozenset(parse_statement(text).order)) >= MIN_SHARED_WORDS
        ]
        return self._said_again(content, alike, near) if alike else ""

    def _said_again(self, content: str, alike: Sequence[str], near: float) -> str:
        try:
            first, *vectors = self._embedder.embed([content, *alike])
        except ProviderError:
            return ""
        compared = [(text, float(first @ vector)) for text, vector in zip(alike, vectors, strict=True)]
        place = find_repetition(content, compared, near=near)
        return alike[place] if place is not None else ""
