"""Stage 9: from pack to text. Deterministic, declarative, escaped; the same pack renders to the same bytes."""

from __future__ import annotations

from tacit.recall.render.block import frame_text, line_text, render_block
from tacit.recall.render.layout import ID_TOKENS, id_suffix, renderer

__all__ = ["ID_TOKENS", "frame_text", "id_suffix", "line_text", "render_block", "renderer"]
