"""The presets: complete ways to remember, each whole in a folder of its own.

A folder holds `settings.yaml` (what differs from the defaults, each with its reason), `preset.py` with the `PRESET` (its pipelines and
layout), where it has settings of its own `settings.py`, and a README that says what it promises and which test shows it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.recall.stage import Preset


@cache
def preset_of(name: str) -> Preset:
    """Return the preset called `name`, as in the settings; imports its module. ModuleNotFoundError for an unknown name."""
    return import_module(f"{__name__}.{name}.preset").PRESET
