"""The spaces: ways to measure closeness, each with its own scale and thresholds. A new one is a module and a line below."""

from __future__ import annotations

from tacit.recall.spaces import (
    causal,
    character,
    code,
    entity,
    expanded,
    graph,
    intent,
    late,
    lexical,
    periodic,
    recent,
    semantic,
    sequence,
)
from tacit.recall.spaces.space import Space, SpaceQuery

__all__ = ["SPACES", "Space", "SpaceQuery"]

SPACES: dict[str, Space] = {
    space.name: space
    for space in (
        semantic.SPACE,
        lexical.SPACE,
        code.SPACE,
        entity.SPACE,
        character.SPACE,
        recent.SPACE,
        intent.SPACE,
        periodic.SPACE,
        sequence.SPACE,
        causal.SPACE,
        graph.SPACE,
        late.SPACE,
        expanded.SPACE,
    )
}
"""Known spaces in their fixed order."""
