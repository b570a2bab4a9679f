"""Statements that hold no more, for a question about the past. In: a question, the store. Out: their cosines, and what replaced them.

Ended memories are in no index, so that no other question can meet them. Where one asks for the past, those that share its words
and the newest ones are compared by the vectors that the store kept, and what a memory found replaced comes with it. What somebody
forgot, rejected or took back, and what faded, is not the past: it stays out. Never writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.model.change_reason import ChangeCause
from tacit.model.evidence import Hit, Ranking
from tacit.model.ids import newest_id_first
from tacit.model.memory import Memory
from tacit.model.query import Query
from tacit.ports.store import MemoryFilter, SearchableStore
from tacit.recall.stage import RecallState, Tools
from tacit.safety.trust import ENDED_STATUSES

MAX_BY_WORDS = 64
"""Most ended memories that are found by their words."""
MAX_NEWEST = 200
"""So many that ended last are compared by meaning alone."""
ENDED = MemoryFilter(statuses=ENDED_STATUSES, order="updated")
NO_PAST = frozenset(
    {
        ChangeCause.FORGOTTEN,
        ChangeCause.FORGOTTEN_BY_AGENT,
        ChangeCause.NOT_USEFUL,
        ChangeCause.DELETED_FROM_EXPORT,
        ChangeCause.UNDONE,
        ChangeCause.REJECTED,
        ChangeCause.FADED,
        ChangeCause.OVER_LIMIT,
        ChangeCause.CONSOLIDATED,
    }
)
"""Causes for which a memory was retired that say nothing about the time in which it held."""


def rank_ended(tools: Tools, state: RecallState) -> Ranking:
    """Semantic ranking of the ended memories that a question about the past may mean; those without a vector have 0."""
    query, store = state.query, tools.store
    ended = replace(ENDED, kinds=query.kinds)
    by_words = store.find_memories(query.text, ended, scope=query.scope, limit=MAX_BY_WORDS)
    newest = store.list_memories(ended, scope=query.scope, limit=MAX_NEWEST)
    cosines = _cosines(tools, state, [memory.id for memory in newest])
    nearest = sorted(cosines, key=lambda memory_id: (-cosines[memory_id], newest_id_first(memory_id)))[
        :MAX_BY_WORDS
    ]
    ids = list(dict.fromkeys((*(hit.memory_id for hit in by_words), *nearest)))
    cosines |= _cosines(tools, state, [memory_id for memory_id in ids if memory_id not in cosines])
    ended_ids = [memory.id for memory in store.get(ids, scope=query.scope) if held_once(memory, query, store)]
    hits = [Hit(memory_id=memory_id, score=cosines.get(memory_id, 0.0)) for memory_id in ended_ids]
    return Ranking(
        space="semantic",
        hits=tuple(sorted(hits, key=lambda hit: (-hit.score, newest_id_first(hit.memory_id)))),
    )


def find_replaced(pool: Sequence[Memory], query: Query, store: SearchableStore) -> tuple[Memory, ...]:
    """The ended memories that those of `pool` replaced, in the order of their ids, without those of the pool."""
    pool_ids = {memory.id for memory in pool}
    edges = store.relations(sorted(pool_ids), scope=query.scope)
    old = {e.target_id for e in edges if e.type == "updates" and e.source_id in pool_ids} - pool_ids
    return tuple(m for m in store.get(sorted(old), scope=query.scope) if held_once(m, query, store))


def held_once(memory: Memory, query: Query, store: SearchableStore) -> bool:
    """Whether a memory has ended and tells of the past."""
    if memory.status == "superseded":
        return True
    if memory.status != "retired":
        return False
    versions = store.recorded(scope=query.scope, limit=1, memory_id=memory.id)
    return all(version.reason.cause not in NO_PAST for version in versions)


def _cosines(tools: Tools, state: RecallState, ids: Sequence[str]) -> dict[str, float]:
    if state.vector is None or not ids:
        return {}
    stored = tools.store.get_vectors(ids, scope=state.query.scope, identity=tools.embedder.identity)
    return {memory_id: float(vector @ state.vector) for memory_id, vector in stored.items()}
