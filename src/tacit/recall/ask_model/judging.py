"""Ask a model at the prompt, before the search. In: a query. Out: what the model names, or why the gate decides. A probe.

The model is given by whoever runs the recall, with its own deadline; see `tacit.app.prompt_judge`. Nothing is asked where no action
is coming. A model that is late, broken or paused changes nothing: the gate judges as without one, and the trace says so.
"""

from __future__ import annotations

from tacit.model.pack import Surface
from tacit.recall.stage import Outcome, RecallState


def ask_judge(state: RecallState) -> Outcome[RecallState]:
    """What the model at the prompt names, where there is one."""
    judge, query = state.context.judge, state.query
    if judge is None or query.surface is not Surface.PROMPT or state.nothing_coming or not state.score.gated:
        return Outcome(kept=state)
    answer = judge(query, state.settings, state.context.remaining_ms)
    return Outcome(kept=state.changed(judged=answer.named), facts=(answer.note,))
