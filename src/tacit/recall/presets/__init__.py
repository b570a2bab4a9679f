"""What each preset adds to the shared stages, by the names that the settings use. A preset is a YAML file and a module here.

The module holds what the preset does differently: a score, a start pool, a layout with its own way to fill the block. Its
settings choose among them, and a user may combine them.
"""

from __future__ import annotations

from tacit.recall.presets import ambient, focused, multispace, refresh, scoped, typed
from tacit.recall.stage import Layout, Score, StartPoolDesign

__all__ = ["LAYOUTS", "SCORES", "START_POOLS"]

_PARTS = (focused.PARTS, typed.PARTS, ambient.PARTS, multispace.PARTS, scoped.PARTS, refresh.PARTS)

SCORES: dict[str, Score] = {name: part for parts in _PARTS for name, part in parts.scores.items()}
"""By the value of `recall.score`."""
START_POOLS: dict[str, StartPoolDesign] = {
    name: part for parts in _PARTS for name, part in parts.start_pools.items()
}
"""By the value of `recall.start_pool`."""
LAYOUTS: dict[str, Layout] = {name: part for parts in _PARTS for name, part in parts.layouts.items()}
"""By the value of `recall.render`."""
