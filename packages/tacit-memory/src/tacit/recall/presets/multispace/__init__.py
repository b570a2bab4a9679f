"""The `multispace` preset: agreement of many spaces, sections with alerts before them and hints after them."""

from __future__ import annotations

from tacit.recall.presets.multispace.packing import pack_multispace
from tacit.recall.presets.multispace.render import multispace_block, multispace_frame, multispace_line
from tacit.recall.presets.multispace.score import multispace_relevance
from tacit.recall.stage import Layout, PresetParts, Score

PARTS = PresetParts(
    scores={
        "multispace": Score(
            judge=lambda query, candidate, kind, _settings: multispace_relevance(query, candidate, kind),
            ages_out=False,
        )
    },
    layouts={
        "multispace": Layout(
            frame=multispace_frame,
            line=multispace_line,
            block=multispace_block,
            pack=pack_multispace,
            frame_is_most=True,
        )
    },
)
