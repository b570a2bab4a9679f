"""The `focused` preset, the default: relevance by situation, start packs by expected need, one line per memory."""

from __future__ import annotations

from tacit.config.settings import RecallSettings
from tacit.model.pack import Surface
from tacit.recall.budget import AS_RANKED
from tacit.recall.pipelines.action import action
from tacit.recall.pipelines.failure import failure
from tacit.recall.pipelines.on_demand import on_demand
from tacit.recall.pipelines.prompt import prompt
from tacit.recall.pipelines.start import BY_NEED, start
from tacit.recall.pipelines.subagent import subagent
from tacit.recall.render import answer_line, frame_lines, line_text, render_answer, render_block
from tacit.recall.retrieve import fitted_order
from tacit.recall.stage import Layout, Preset

ACTION_SPACES = ("lexical", "entity", "recent", "intent")
ACTION_CANDIDATES = 64
ACTION_ITEMS = 2
"""Most memories that a tool call gets."""


def adapt(settings: RecallSettings, surface: Surface) -> RecallSettings:
    """Return the settings for `surface`: at a tool call and after a failure more candidates and at most `ACTION_ITEMS` memories.

    At a tool call only `ACTION_SPACES` are asked, so that nothing is embedded.
    """
    if surface not in (Surface.ACTION, Surface.FAILURE):
        return settings
    spaces = settings.spaces
    if surface is Surface.ACTION:
        spaces = tuple(name for name in spaces if name in ACTION_SPACES)
    return settings.model_copy(
        update={
            "spaces": spaces,
            "candidates_per_space": max(settings.candidates_per_space, ACTION_CANDIDATES),
            "max_items": min(settings.max_items, ACTION_ITEMS),
        }
    )


PRESET = Preset(
    name="focused",
    pipelines={
        Surface.START: start,
        Surface.COMPACTION: start,
        Surface.PROMPT: prompt,
        Surface.ACTION: action,
        Surface.FAILURE: failure,
        Surface.SUBAGENT: subagent,
        Surface.ON_DEMAND: on_demand,
    },
    layout=Layout(
        frame=frame_lines,
        line=line_text,
        block=render_block,
        others={Surface.ON_DEMAND: Layout(frame=frame_lines, line=answer_line, block=render_answer)},
    ),
    start_pool=BY_NEED,
    # Fitted to put first what the score will want; it only orders candidates, the score decides.
    fuse=fitted_order,
    # Before a prompt meaning, letters and words propose; what a trigger says serves tool calls, and tells a prompt nothing
    # that its words do not (docs/adr/0087-words-before-a-prompt.md).
    spaces_prompt=("semantic", "character", "recent"),
    # A question is answered word by word, and with what was said around each hit. What tells of a coming action is not asked.
    spaces_on_demand=("semantic", "lexical", "late", "sequence"),
    # So many are read and judged.
    shortlist=12,
    shortlists={Surface.ACTION: ACTION_CANDIDATES, Surface.FAILURE: ACTION_CANDIDATES},
    # Further memories of one kind count less; a start pack is in the order of need, an answer in that of its question.
    order="diverse",
    orders={Surface.START: "value", Surface.COMPACTION: "value", Surface.ON_DEMAND: AS_RANKED},
    adapt=adapt,
    gated=True,
)
