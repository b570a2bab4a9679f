"""What each preset adds to the shared stages, by the names that the settings use.

A preset is a YAML file in `tacit/presets`. One that does something differently also has a module here, whose `PARTS` hold its
score, its start pool, its layout with its own way to fill the block. Settings choose among them, and a user may combine them.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tacit.recall.stage import Layout, PresetParts, Score, StartPoolDesign

__all__ = ["LAYOUTS", "SCORES", "START_POOLS"]

_PARTS: tuple[PresetParts, ...] = tuple(
    import_module(f"{__name__}.{module.name}").PARTS for module in iter_modules(__path__)
)
SCORES: dict[str, Score] = {
    name: score for preset_parts in _PARTS for name, score in preset_parts.scores.items()
}
"""By the value of `recall.score`."""
START_POOLS: dict[str, StartPoolDesign] = {
    name: start_pool for preset_parts in _PARTS for name, start_pool in preset_parts.start_pools.items()
}
"""By the value of `recall.start_pool`."""
LAYOUTS: dict[str, Layout] = {
    name: layout for preset_parts in _PARTS for name, layout in preset_parts.layouts.items()
}
"""By the value of `recall.render`."""
