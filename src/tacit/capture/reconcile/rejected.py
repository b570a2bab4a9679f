"""What the user rejected, so that it is not learned again. In: rejected memories, new statements. Out: named values, a verdict.

Kept by scope, the last `MOST` of each; a statement that repeats one of them, or nearly so, is turned away
unless the user states it explicitly.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from tacit.capture.reconcile.compare import overlap, take_apart
from tacit.capture.reconcile.judge import says_again
from tacit.errors import ProviderError
from tacit.model.memory import Memory
from tacit.model.scope import Scope
from tacit.ports.models import Embedder
from tacit.ports.store import Store

MOST = 300
ALIKE = 0.25
"""Least overlap of content words at which it is worth asking whether two statements say the same."""


def rejected_name(scope: Scope) -> str:
    """Name of the value that holds what was rejected in `scope`."""
    return f"capture/rejected/{scope}"


class Rejected:
    """What was rejected, in one store."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    def texts(self, scope: Scope) -> tuple[str, ...]:
        """Rejected statements of `scope`, oldest first."""
        try:
            raw = cast("object", json.loads(self._store.get_value(rejected_name(scope)) or "[]"))
        except ValueError:
            return ()
        return tuple(str(text) for text in cast("list[object]", raw)) if isinstance(raw, list) else ()

    def changed(self, *, add: Sequence[Memory], drop: Sequence[Memory]) -> dict[str, str | None]:
        """The values that also hold `add` and no longer `drop`; {} where they are so already."""
        values: dict[str, str | None] = {}
        for scope in dict.fromkeys(one.scope for one in (*add, *drop)):
            known = list(self.texts(scope))
            added = [one.content for one in add if one.scope == scope]
            out = {one.content for one in (*add, *drop) if one.scope == scope}
            kept = [*(text for text in known if text not in out), *added][-MOST:]
            if kept != known:
                values[rejected_name(scope)] = json.dumps(kept, ensure_ascii=False) if kept else None
        return values

    def match(self, content: str, known: Sequence[str], *, near: float) -> str:
        """The statement among `known`, the rejected ones of its scope, that `content` repeats; "" = none.

        `near` = least cosine of a near duplicate.
        """
        if not known:
            return ""
        mine = take_apart(content)
        for text in known:
            if take_apart(text).text == mine.text:
                return text
        words = frozenset(mine.order)
        alike = [text for text in known if overlap(words, frozenset(take_apart(text).order)) >= ALIKE]
        return self._said_again(content, alike, near) if alike else ""

    def _said_again(self, content: str, alike: Sequence[str], near: float) -> str:
        try:
            first, *rest = self._embedder.embed([content, *alike])
        except ProviderError:
            return ""
        others = [(text, float(first @ vector)) for text, vector in zip(alike, rest, strict=True)]
        place = says_again(content, others, near=near)
        return alike[place] if place is not None else ""
