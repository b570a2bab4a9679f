"""The `focused` preset, the default: relevance by situation, start packs by expected need, one line per memory."""

from __future__ import annotations

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import Kind
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.recall.render import answer_line, frame_text, line_text, render_answer, render_block
from tacit.recall.score.situation import situation_relevance
from tacit.recall.stage import Judgment, Layout, PresetParts, Score, StartPoolDesign

ACTION_SPACES = ("lexical", "entity", "recent", "intent")
ACTION_CANDIDATES = 64
ACTION_ITEMS = 2
"""A tool call gets at most so many memories: what governs exactly this, no more."""
START_POOL_KEEP_MS = 15 * 60_000


def judge(query: Query, candidate: Candidate, kind: Kind, settings: RecallSettings) -> Judgment:
    """Relevance by situation where candidates are judged one by one; before a prompt, at a call and after a failure all are judged together."""
    del settings
    trigger = candidate.memory.trigger
    if query.surface is Surface.SUBAGENT and kind.standing and trigger.always and candidate.memory.pinned:
        return 1.0, ("always, and pinned",)
    return situation_relevance(query, candidate, kind)


def adapt(settings: RecallSettings, surface: Surface) -> RecallSettings:
    """At a tool call the trigger decides, so nothing is embedded, more is looked at and less handed over. After a failure more is looked at, too."""
    if surface is Surface.FAILURE:
        return settings.model_copy(
            update={
                "candidates_per_space": max(settings.candidates_per_space, ACTION_CANDIDATES),
                "shortlist": max(settings.shortlist, ACTION_CANDIDATES),
                "max_items": min(settings.max_items, ACTION_ITEMS),
            }
        )
    if surface is not Surface.ACTION:
        return settings
    return settings.model_copy(
        update={
            "spaces": tuple(name for name in settings.spaces if name in ACTION_SPACES),
            "candidates_per_space": max(settings.candidates_per_space, ACTION_CANDIDATES),
            "shortlist": max(settings.shortlist, ACTION_CANDIDATES),
            "max_items": min(settings.max_items, ACTION_ITEMS),
        }
    )


def _frame(surface: Surface) -> str:
    return "\n".join(frame_text(surface))


PARTS = PresetParts(
    scores={"situation": Score(judge=judge, adapt=adapt, gated=True, by_match=True)},
    start_pools={
        "need": StartPoolDesign(make=None, keep_ms=START_POOL_KEEP_MS, one_digest=True, order="value")
    },
    layouts={
        "lines": Layout(
            frame=_frame,
            line=line_text,
            block=render_block,
            others={Surface.ON_DEMAND: Layout(frame=_frame, line=answer_line, block=render_answer)},
        )
    },
)
