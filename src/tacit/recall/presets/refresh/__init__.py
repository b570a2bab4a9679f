"""The `refresh` preset: similarity with a share of age; its cadence stands in `cadence.py`."""

from __future__ import annotations

from tacit.recall.presets.refresh.score import similarity_relevance
from tacit.recall.stage import PresetParts, Score

PARTS = PresetParts(
    scores={
        "similarity": Score(
            judge=lambda query, candidate, kind, _settings: similarity_relevance(query, candidate, kind)
        )
    },
)
