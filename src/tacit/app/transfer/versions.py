"""All versions of one memory, in any scope. In: a store, an id. Out: versions, oldest first.

A store shows versions by the scopes that hold memories now; what a memory was moved away from may hold none any more.
"""

from __future__ import annotations

from tacit.model.scope import ScopeFilter
from tacit.ports.store import MemoryStore, Recorded

MOST = 1_000_000


def versions_of(store: MemoryStore, memory_id: str) -> tuple[Recorded, ...]:
    """Every version of the memory; () = there is none of this id."""
    seen = set(store.scopes().scopes)
    while True:
        found = store.recorded(scope=ScopeFilter.of(*seen), limit=MOST, memory_id=memory_id)
        earlier = {one.before.scope for one in found if one.before is not None} - seen
        if not earlier:
            return tuple(reversed(found))
        seen |= earlier
