"""The list of memories that a model chooses from. In: a scope, the store. Out: numbered lines, the same as long as nothing changes.

Only what may leave the machine and may be handed over unasked: active, valid, stated or proven, neither a note nor for one
session nor restricted. The oldest come first, so that a new memory changes only the end of the list and a provider can cache the
rest. In a store with more memories than `MOST_LISTED` those with the broadest triggers are listed, pinned ones first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.model.scope import ScopeFilter, ScopeKind
from tacit.ports.store import SearchableStore
from tacit.safety.trust import may_leave, why_not_on

MOST_LISTED = 150
LINE_CHARS = 320
_READ = 2 * MOST_LISTED
"""Some of those that are read may not be listed."""
_KEPT_MS = 15 * 60_000
_MOST_KEPT = 16
_SURFACES = (Surface.PROMPT, Surface.ACTION, Surface.FAILURE)
_LISTED_SCOPES = (ScopeKind.UNIVERSAL, ScopeKind.LANGUAGE, ScopeKind.PROJECT, ScopeKind.AGENT)
"""Memories of a path or a session come and go with the files at hand: with them no two lists would be the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolList:
    """A list of memories.

    Attributes:
        memories: in the order of their numbers, which begin at 1.
        text: one line for each, redacted.
        at_ms: when it was made.
    """

    memories: tuple[Memory, ...]
    text: str
    at_ms: int


class PoolLists:
    """The lists of the scopes used last. Safe to use from several threads."""

    def __init__(self, *, store: SearchableStore, kinds: KindRegistry) -> None:
        self._store = store
        self._kinds = kinds
        self._lock = Lock()
        self._lists: OrderedDict[tuple[ScopeFilter, tuple[str, ...]], tuple[int, PoolList]] = OrderedDict()

    def of(
        self, scope: ScopeFilter, *, kinds: tuple[str, ...], prepare: Callable[[str], str], at_ms: int
    ) -> PoolList:
        """The list of what `scope` shows at `at_ms`.

        Args:
            scope: who asks; paths and sessions are left out.
            kinds: kinds that are handed over unasked; () = all.
            prepare: takes secrets out of a text.
            at_ms: the moment.
        """
        scope = ScopeFilter.of(
            *(visible_scope for visible_scope in scope.scopes if visible_scope.kind in _LISTED_SCOPES)
        )
        change, key = self._store.change(), (scope, kinds)
        with self._lock:
            cached = self._lists.get(key)
        if cached is not None and cached[0] == change and 0 <= at_ms - cached[1].at_ms < _KEPT_MS:
            return cached[1]
        memories = self._listed(scope, kinds, at_ms)
        lines = (
            f"{number}. [{self._kinds.of_stored(memory.kind).label.lower()}] {_line(prepare(memory.content))}\n"
            for number, memory in enumerate(memories, start=1)
        )
        pool_list = PoolList(memories=memories, text="".join(lines), at_ms=at_ms)
        with self._lock:
            self._lists[key] = (change, pool_list)
            self._lists.move_to_end(key)
            while len(self._lists) > _MOST_KEPT:
                self._lists.popitem(last=False)
        return pool_list

    def _listed(self, scope: ScopeFilter, kinds: tuple[str, ...], at_ms: int) -> tuple[Memory, ...]:
        listed_kinds = [name for name in self._store.kinds(scope=scope) if not kinds or name in kinds]
        hits = self._store.search.standing(listed_kinds, scope=scope, limit=_READ, broadest=True).hits
        read = self._store.get([hit.memory_id for hit in hits], scope=scope)
        may = [memory for memory in read if memory.validity.holds_at(at_ms) and _may_be_named(memory)]
        return tuple(sorted(may[:MOST_LISTED], key=lambda memory: (memory.created_at_ms, memory.id)))


def _may_be_named(memory: Memory) -> bool:
    """Whether a model may read it, and some surface may hand it over."""
    return (
        memory.status == "active"
        and may_leave(memory)
        and any(why_not_on(memory, surface) is None for surface in _SURFACES)
    )


def _line(text: str) -> str:
    """One line; a long one ends with a whole word."""
    line = " ".join(text.split())
    return line if len(line) <= LINE_CHARS else line[:LINE_CHARS].rsplit(" ", 1)[0] + " ..."
