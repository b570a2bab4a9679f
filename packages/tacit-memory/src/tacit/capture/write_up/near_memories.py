"""Stored memories that a stretch may concern. In: the stretch, the store. Out: memories by short id, nearest first.

Only what the session's project may see and what is neither limited to a session nor restricted: the texts leave this machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tacit.capture.write_up.token_limit import Numbered
from tacit.errors import EmbedderMismatch, ProviderError
from tacit.model.memory import Memory
from tacit.model.scope import Scope, ScopeFilter
from tacit.ports.models import Embedder
from tacit.ports.store import SearchableStore
from tacit.safety.trust import may_leave

MOST_NEAR = 24
_PER_TEXT = 6
_MOST_TEXTS = 40
_TEXT_CHARS = 1200
_OFFSET = 60
"""Of reciprocal rank fusion (Cormack et al., 2009)."""


def find_near_memories(
    store: SearchableStore,
    embedder: Embedder,
    messages: Sequence[Numbered],
    *,
    scope: Scope,
    branch: str = "",
) -> Mapping[str, Memory]:
    """Memories near to the messages by words or by meaning, under ids made for this request: m1, m2, ...

    Memories that are bound to another unmerged branch than `branch` are left out.
    """
    texts = [message.text[:_TEXT_CHARS] for message in _telling(messages)]
    if not texts:
        return {}
    try:
        vectors = embedder.embed(texts)
    except ProviderError:
        vectors = None  # words alone must do
    visible = ScopeFilter.compared_with(scope)
    scores: dict[str, float] = defaultdict(float)
    with store.at_once():
        for place, text in enumerate(texts):
            rankings = [store.search.lexical(text, scope=visible, limit=_PER_TEXT)]
            if vectors is not None:
                try:
                    rankings.append(
                        store.search.semantic(
                            vectors[place], identity=embedder.identity, scope=visible, limit=_PER_TEXT
                        )
                    )
                except EmbedderMismatch:
                    vectors = None
            for ranking in rankings:
                for rank, hit in enumerate(ranking.hits):
                    scores[hit.memory_id] += 1 / (_OFFSET + rank)
        memories = store.get(sorted(scores, key=lambda name: (-scores[name], name)), scope=visible)
    sent = [
        memory
        for memory in memories
        if memory.status == "active" and may_leave(memory) and memory.branch_name in ("", branch)
    ][:MOST_NEAR]
    return {f"m{number}": memory for number, memory in enumerate(sent, start=1)}


def _telling(messages: Sequence[Numbered]) -> list[Numbered]:
    """The messages to search with: the user's, the newest; then the agent's."""
    chosen = [message for message in messages if message.message.role == "user"]
    agent_messages = [message for message in messages if message.message.role == "assistant"]
    return [
        *chosen[-_MOST_TEXTS:],
        *agent_messages[-max(0, _MOST_TEXTS - len(chosen)) or len(agent_messages) :],
    ][:_MOST_TEXTS]
