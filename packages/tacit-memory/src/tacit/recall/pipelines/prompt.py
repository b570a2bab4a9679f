"""Before a prompt: what the fitted gate, or a language model of the user's own, expects to be needed next.

In: a query that speaks of a prompt. Out: its pipeline. The gate judges the whole short list at once. A model that was asked at the prompt
judges in its place; one that was asked in the pause before adds to what the gate says.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tacit.model.evidence import Candidate
from tacit.recall.ask_model import ask_judge
from tacit.recall.guard import guard
from tacit.recall.pipelines import hand_over, nothing, second_stage
from tacit.recall.retrieve import ask, embed, fuse, load, measure
from tacit.recall.score import (
    ArmedWeights,
    Gate,
    cover,
    judge_threshold,
    judged,
    use_rates,
    with_armed,
    with_usage,
)
from tacit.recall.stage import Kit, Outcome, Pipeline, RecallState

NAMED = "named by the model"
"""Reason of a memory that a model at the prompt named."""


def prompt(kit: Kit, state: RecallState) -> Pipeline:
    """Return the pipeline before a prompt: embed, search, fuse, measure, judge by the gate, look at files, guard, drop what is known, pack, render.

    Without a search if the agent will do nothing after the prompt. With `context.judge` a model is asked first.
    """
    if state.nothing_coming:
        return nothing(kit, state)
    tools = kit.tools
    return Pipeline(
        ask=(
            *((("retrieve", ask_judge),) if state.context.judge is not None else ()),
            ("retrieve", partial(embed, tools, reference=kit.reference)),
        ),
        find=(
            ("retrieve", partial(ask, tools)),
            ("fuse", fuse),
            ("fuse", partial(load, tools, armed_too=True)),
            ("fuse", partial(cover, tools)),
            ("fuse", measure),
        ),
        choose=(
            ("score", partial(judge_prompt, kit.gate, kit.armed)),
            ("score", partial(kit.files.look, tools)),
            *second_stage(kit),
            ("guard", guard),
            *hand_over(kit, state),
        ),
    )


def judge_prompt(gate: Gate, weights: ArmedWeights | None, state: RecallState) -> Outcome[RecallState]:
    """Set the state's `scored`: by the model at the prompt if it answered, else by the gate, use counts, and what was armed.

    If the model answered, the threshold in the settings of the state changes, too (`judge_threshold`).
    """
    candidates = state.found or ()
    if (chances := state.judged) is not None:
        named = judged(
            state,
            [
                (chances.get(candidate.memory.id, 0.0), _named_reason(chances, candidate))
                for candidate in candidates
            ],
        ).kept
        least = judge_threshold(chances, state.settings.judge)
        thresholds = state.settings.thresholds.model_copy(update={state.query.surface.value: least})
        return Outcome(
            kept=named.changed(settings=state.settings.model_copy(update={"thresholds": thresholds}))
        )
    if not candidates:
        return judged(state, ())
    told = gate.judge(
        state.query,
        candidates,
        kinds=state.kinds,
        among=state.memories_asked,
        domain_similarity=state.domain_similarity,
    )
    rates = use_rates(state.context.usage)
    used = [
        with_usage(judgment, candidate.memory, rates) if candidate.memory.shown_count else judgment
        for candidate, (judgment, _) in zip(candidates, told, strict=True)
    ]
    parts = [own for _, own in told]
    return judged(state, with_armed(state, used, weights) if state.armed is not None else used, parts)


def _named_reason(chances: Mapping[str, float], candidate: Candidate) -> tuple[str, ...]:
    return (NAMED,) if candidate.memory.id in chances else ()
