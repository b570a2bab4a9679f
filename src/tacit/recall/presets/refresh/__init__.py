"""The `refresh` preset: similarity with a share of age, and the `[MEMORY]` block; its cadence stands in `cadence.py`."""

from __future__ import annotations

from tacit.model.pack import Surface
from tacit.recall.presets.refresh.render import (
    relevant_block,
    relevant_frame,
    relevant_line,
    section_line,
    sections_block,
    sections_frame,
)
from tacit.recall.presets.refresh.score import similarity_relevance
from tacit.recall.presets.refresh.start import sections_start
from tacit.recall.render.block import frame_text, line_text, render_block
from tacit.recall.stage import Layout, PresetParts, Score, StartPoolDesign

START_POOL_KEEP_MS = 15 * 60_000
_RELEVANT = Layout(frame=relevant_frame, line=relevant_line, block=relevant_block)
_FOUND = Layout(frame=lambda surface: "\n".join(frame_text(surface)), line=line_text, block=render_block)
PARTS = PresetParts(
    scores={
        "similarity": Score(
            judge=lambda query, candidate, kind, _settings: similarity_relevance(query, candidate, kind)
        )
    },
    start_pools={"sections": StartPoolDesign(make=sections_start, keep_ms=START_POOL_KEEP_MS)},
    layouts={
        "memory": Layout(
            frame=sections_frame,
            line=section_line,
            block=sections_block,
            frame_is_most=True,
            digest_apart=True,
            others={
                Surface.PROMPT: _RELEVANT,
                Surface.ACTION: _FOUND,
                Surface.FAILURE: _FOUND,
                Surface.ON_DEMAND: _FOUND,
            },
        )
    },
)
