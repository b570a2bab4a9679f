"""The pipelines of the read path: for each surface a module whose first function lists, in order, what happens there.

A pipeline has three parts: `ask` may wait for a model, `find` reads the store, `choose` makes a block of the candidates. What stands in
a list happens. A preset names the pipeline of each surface, one of these or its own. Here stand the parts that many of them share.
"""

from __future__ import annotations

from functools import partial

from tacit.model.pack import Surface
from tacit.recall.budget import budget
from tacit.recall.guard import drop_known, find_pairs, guard, read_again
from tacit.recall.index import index
from tacit.recall.render import deliver, render
from tacit.recall.retrieve import ask, embed, find_nothing, fuse, load, measure
from tacit.recall.stage import START_SURFACES, Kit, Pipeline, RecallState, Step, Steps

INDEXED = (*START_SURFACES, Surface.PROMPT, Surface.SUBAGENT)
"""Surfaces whose blocks may hold an index."""


def search(kit: Kit, state: RecallState, *, judge: Step, reach: Steps = (), beside: Steps = ()) -> Pipeline:
    """Search, judge, and hand over what may come and is not known yet.

    Args:
        kit: what the steps are bound to.
        state: before the first step.
        judge: gives the candidates their relevance.
        reach: steps that hold them to the floors of a preset.
        beside: steps that add what comes unsought, behind the guard.
    """
    if state.nothing_coming:
        return nothing(kit, state, beside=beside)
    tools = kit.tools
    return Pipeline(
        ask=(("retrieve", partial(embed, tools)),),
        find=(
            ("retrieve", partial(ask, tools)),
            ("fuse", fuse),
            ("fuse", partial(load, tools)),
            ("fuse", measure),
        ),
        choose=(
            ("score", judge),
            ("score", partial(kit.files.look, tools)),
            *reach,
            *second_stage(kit),
            ("guard", guard),
            *beside,
            *hand_over(kit, state),
        ),
    )


def nothing(kit: Kit, state: RecallState, *, beside: Steps = ()) -> Pipeline:
    """After a prompt that makes the agent do nothing no search is made; only what comes `beside` is handed over."""
    return Pipeline(
        find=(("retrieve", find_nothing),),
        choose=(("guard", guard), *beside, *(hand_over(kit, state) if beside else (("deliver", deliver),))),
        at_once=False,
    )


def second_stage(kit: Kit) -> Steps:
    """The user's own second-stage model, where there is one."""
    return (("score", partial(read_again, kit.tools)),) if kit.tools.reranker is not None else ()


def hand_over(kit: Kit, state: RecallState) -> Steps:
    """From what passed the guard to the block; with an index of what it leaves out where the surface has one and the settings give it tokens."""
    has_index = state.query.surface in INDEXED and state.settings.budgets.index > 0
    indexed: Steps = (("budget", partial(index, kit.tools)),) if has_index else ()
    return (
        ("dedupe", drop_known),
        ("dedupe", partial(find_pairs, kit.tools)),
        ("budget", budget),
        *indexed,
        ("render", render),
        ("deliver", deliver),
    )
