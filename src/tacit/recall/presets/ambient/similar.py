"""What the context or a better candidate says already, by meaning. Reads the store and embeds; the rule is `dedupe`'s.

In: candidates that passed, ids of what the context holds. Out: those that say something else.
"""

from __future__ import annotations

from tacit.errors import ProviderError
from tacit.model.note import Note, NoteCause
from tacit.recall.dedupe import without_similar
from tacit.recall.retrieve import QUERY_CHARS
from tacit.recall.stage import Outcome, RecallState, Tools


def drop_similar(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Drop what lies nearer than `semantic_threshold` to a better candidate or to the context; nothing where it is 0.

    All of it stays where nothing can be embedded.
    """
    fresh, threshold = state.fresh or (), state.settings.semantic_threshold
    if not threshold or not fresh:
        return Outcome(kept=state)
    window = tools.store.get(state.context.window, scope=state.query.scope)
    held = {memory.id: memory.content for memory in window}
    texts = held | {candidate.memory.id: candidate.memory.content for candidate in fresh}
    try:
        rows = tools.embedder.embed([text[:QUERY_CHARS] for text in texts.values()])
    except ProviderError as error:
        return Outcome(kept=state, facts=(Note(cause=NoteCause.NOT_COMPARED, detail=str(error)),))
    vectors = dict(zip(texts, rows, strict=True))
    apart = without_similar(fresh, vectors=vectors, window=tuple(held), threshold=threshold)
    return Outcome(kept=state.changed(fresh=apart.kept), drops=apart.drops)
