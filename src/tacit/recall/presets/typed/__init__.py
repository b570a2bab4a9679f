"""The `typed` preset: five weighted parts of relevance, fixed lists at the start, sections by type."""

from __future__ import annotations

from tacit.recall.presets.typed.query import typed_query
from tacit.recall.presets.typed.render import typed_block, typed_frame, typed_line, typed_text
from tacit.recall.presets.typed.score import typed_relevance
from tacit.recall.presets.typed.start import typed_start
from tacit.recall.stage import Layout, PresetParts, Score, StartPoolDesign

START_POOL_KEEP_MS = 5 * 60_000
"""Source: section 8.3 of the typed seed."""

PARTS = PresetParts(
    scores={
        "typed": Score(
            judge=lambda query, candidate, kind, settings: typed_relevance(
                query, candidate, kind, weights=settings.typed
            ),
            ask=typed_query,
        )
    },
    start_pools={"typed": StartPoolDesign(make=typed_start, keep_ms=START_POOL_KEEP_MS)},
    layouts={
        "typed": Layout(
            frame=typed_frame, line=typed_line, block=typed_block, text=typed_text, frame_is_most=True
        )
    },
)
