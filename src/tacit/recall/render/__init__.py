"""Stage 9: from pack to text. Deterministic, declarative, escaped; the same pack renders to the same bytes."""

from __future__ import annotations

from tacit.recall.render.block import frame_text, line_text, render_block, rendering

__all__ = ["frame_text", "line_text", "render_block", "rendering"]
