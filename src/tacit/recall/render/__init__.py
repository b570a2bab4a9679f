"""Stage 9: from pack to text. Deterministic, declarative, escaped; the same pack renders to the same bytes."""

from __future__ import annotations

from tacit.recall.render.block import frame_text, line_text, render_block
from tacit.recall.render.layout import LAYOUTS, Layout, rendering

__all__ = ["LAYOUTS", "Layout", "frame_text", "line_text", "render_block", "rendering"]
