"""The `ambient` preset: rank fusion with importance and age, pinned memories, one cap on every surface, nothing that says the same twice."""

from __future__ import annotations

from tacit.recall.budget import pack_candidates
from tacit.recall.presets.ambient.render import ambient_block, ambient_frame, ambient_line
from tacit.recall.presets.ambient.score import ambient_relevance
from tacit.recall.stage import Layout, PresetParts, Score

PARTS = PresetParts(
    scores={
        "ambient": Score(
            judge=lambda query, candidate, kind, _settings: ambient_relevance(query, candidate, kind)
        )
    },
    layouts={
        "ambient": Layout(
            frame=ambient_frame,
            line=ambient_line,
            block=ambient_block,
            pack=lambda state: pack_candidates(state, state.fresh or (), most=state.settings.max_items),
        )
    },
)
