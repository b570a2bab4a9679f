"""What a pack with sections needs beside its candidates. In: a query, the store. Out: recent work, and which session was last.

A probe of the fuse stage; what it finds goes on as values. Never decides what is handed over.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.errors import ProviderError
from tacit.model.evidence import Candidate
from tacit.model.kinds import DIGEST
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.query import Query
from tacit.model.scope import UNIVERSAL
from tacit.ports.models import Vectors
from tacit.ports.store import MemoryFilter, MemoryStore
from tacit.presets.multispace.divergence import TURN, WINDOW_MEMORIES, current_work, in_window
from tacit.reading.terms import find_entities
from tacit.recall.retrieve import QUERY_CHARS, embed_in_time
from tacit.recall.stage import Outcome, RecallState, Tools
from tacit.text.stemming import stems

DIGESTS_READ = 5


def read_sections(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """What the sections need: recent work, and the digest of the last session."""
    query = state.query
    if "semantic" in state.space_scores and query.text.strip():
        state = _with_recent_work(tools, state)
    last = last_session(query, store=tools.store)
    return Outcome(kept=state.changed(last_session=last.id if last else ""))


def _with_recent_work(tools: Tools, state: RecallState) -> RecallState:
    """The state with the work since the last shift; memories that the semantic ranking left out get their cosine."""
    query = state.query
    memories = recent_memories(query, store=tools.store)
    turn_texts = tuple(dict.fromkeys(text[:QUERY_CHARS] for text in state.context.turns if text.strip()))
    texts = [*(memory.content for memory in memories), *turn_texts]
    if not texts:
        return state
    try:
        rows = embed_in_time(
            [query.text[:QUERY_CHARS], *texts],
            embedder=tools.embedder,
            executor=tools.executor,
            remaining_ms=state.context.remaining_ms,
        )
    except (ProviderError, TimeoutError):
        return state
    near, between = rows[1:] @ rows[0], rows[1:] @ rows[1:].T
    begins = current_work(texts, between.tolist(), turns=len(turn_texts))
    ranked = state.space_scores["semantic"]
    fresh = {memory.id: float(value) for memory, value in zip(memories, near, strict=False)}
    since = max(0, begins - len(memories))
    turns = _turns(query, turn_texts, near[len(memories) :])[since:]
    return state.changed(
        recent={memory.id: memory for memory in memories[begins:]},
        turns=turns,
        space_scores={**state.space_scores, "semantic": {**fresh, **ranked}},
    )


def _turns(query: Query, turn_texts: Sequence[str], near: Vectors) -> tuple[Candidate, ...]:
    """What was said, as candidates of the spaces that can measure plain words."""
    query_stems = stems(query.text)
    query_entities = {entity for entity in query.entities if entity.kind in ("file", "symbol")}
    return tuple(
        Candidate(
            memory=_turn(number, text, at_ms=query.at_ms),
            scores=(
                ("semantic", float(value)),
                ("lexical", len(query_stems & stems(text)) / max(1, len(query_stems))),
                ("code", len(query_entities & set(find_entities(text))) / max(1, len(query_entities))),
            ),
            fused=0.0,
        )
        for number, (text, value) in enumerate(zip(turn_texts, near, strict=True))
    )


def _turn(number: int, text: str, *, at_ms: int) -> Memory:
    return Memory(
        id=f"{TURN}-{number}",
        kind=TURN,
        content=text,
        scope=UNIVERSAL,
        provenance=Provenance(tier=TrustTier.USER, source=TURN),
        validity=Validity(valid_from_ms=at_ms),
        created_at_ms=at_ms,
        updated_at_ms=at_ms,
    )


def recent_memories(query: Query, *, store: MemoryStore) -> tuple[Memory, ...]:
    """Memories that are recent work, oldest first; nothing that is newer than the query."""
    newest = store.list_memories(MemoryFilter(), scope=query.scope, limit=WINDOW_MEMORIES)
    recent = [
        m for m in newest if m.created_at_ms <= query.at_ms and in_window(m, query) and m.kind != DIGEST
    ]
    return tuple(sorted(recent, key=lambda m: (m.created_at_ms, m.id)))


def last_session(query: Query, *, store: MemoryStore) -> Memory | None:
    """The newest digest of another session; None where there is none."""
    digests = store.list_memories(MemoryFilter(kinds=(DIGEST,)), scope=query.scope, limit=DIGESTS_READ)
    other_digests = [
        m
        for m in digests
        if m.created_at_ms <= query.at_ms
        and f"{m.provenance.host}/{m.provenance.session_id}" != query.session
        and query.elsewhere(m) is None
    ]
    return max(other_digests, key=lambda m: (m.updated_at_ms, m.id), default=None)
