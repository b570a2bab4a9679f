"""What the context or a better candidate says already, by meaning. Reads stored vectors; the rule is `dedupe`'s.

In: candidates that passed, ids of what the context holds. Out: those that say something else.
"""

from __future__ import annotations

from tacit.recall.dedupe import without_similar
from tacit.recall.stage import Outcome, RecallState, Tools


def drop_similar(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Drop what lies nearer than `semantic_threshold` to a better candidate or to the context; nothing where it is 0.

    A memory without a stored vector stays.
    """
    fresh, threshold, window = state.fresh or (), state.settings.semantic_threshold, state.context.window
    if not threshold or not fresh:
        return Outcome(kept=state)
    vectors = tools.store.get_vectors(
        [*window, *(candidate.memory.id for candidate in fresh)],
        scope=state.query.scope,
        identity=tools.embedder.identity,
    )
    apart = without_similar(fresh, vectors=vectors, window=window, threshold=threshold)
    return Outcome(kept=state.changed(fresh=apart.kept), drops=apart.drops)
