"""Complete configurations as data, one YAML file each. A preset overlays the defaults; the user overlays it.

In: a preset's name. Out: its values. The files are read by `tacit.config`, which may not import this room.
"""

from __future__ import annotations

from tacit.config.preset_files import load_preset, preset_names

__all__ = ["load_preset", "preset_names"]
