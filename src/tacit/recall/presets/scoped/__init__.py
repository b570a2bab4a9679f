"""The `scoped` preset: scope, frequency, recency and task; tokens for every scope, then the codes of past sessions."""

from __future__ import annotations

from tacit.recall.presets.scoped.packing import pack_scoped
from tacit.recall.presets.scoped.render import scoped_block, scoped_frame, scoped_item_line, scoped_line
from tacit.recall.presets.scoped.score import scoped_relevance
from tacit.recall.presets.scoped.start import scoped_start
from tacit.recall.stage import Layout, PresetParts, Score, StartPoolDesign

START_POOL_KEEP_MS = 15 * 60_000

PARTS = PresetParts(
    scores={
        "scoped": Score(
            judge=lambda query, candidate, kind, _settings: scoped_relevance(query, candidate, kind)
        )
    },
    start_pools={"score": StartPoolDesign(make=scoped_start, keep_ms=START_POOL_KEEP_MS, ranked=False)},
    layouts={
        "scoped": Layout(
            digest_apart=True,
            frame=scoped_frame,
            line=scoped_line,
            block=scoped_block,
            item_line=scoped_item_line,
            pack=pack_scoped,
            frame_is_most=True,
        )
    },
)
