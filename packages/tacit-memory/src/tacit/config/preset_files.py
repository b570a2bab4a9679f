"""Reading the settings of the presets: `settings.yaml` in each folder of `presets`.

In: the name of a preset. Out: its nested values. Reads the YAML files of the installed package and nothing else;
imports no package above this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

from tacit.config.yaml_file import SettingsFile, parse_settings
from tacit.errors import InvalidSetting

_FOLDER, _FILE, _PATTERNS = "presets", "settings.yaml", "patterns.toml"
_FALSE_PASSES = "false_passes"
"""The section of a preset's file that holds no settings, but the share of unrelated pairs that may reach each cosine bar."""


@cache
def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    folder = files("tacit").joinpath(_FOLDER)
    return tuple(sorted(item.name for item in folder.iterdir() if item.joinpath(_FILE).is_file()))


@cache
def preset_file(name: str) -> SettingsFile:
    """Return the settings of the preset called `name`, with the lines of its keys.

    Raises:
        InvalidSetting: if there is none, naming those there are.
    """
    if name not in preset_names():
        raise InvalidSetting(
            f"There is no preset {name!r}.", hint=f"The presets are {', '.join(preset_names())}."
        )
    whole = _whole_file(name)
    return replace(whole, values={key: value for key, value in whole.values.items() if key != _FALSE_PASSES})


@cache
def _whole_file(name: str) -> SettingsFile:
    text = files("tacit").joinpath(_FOLDER, name, _FILE).read_text("utf-8")
    return parse_settings(text, place=f"preset {name}")


def false_passes(name: str) -> Mapping[str, object]:
    """Return the share of unrelated pairs that may reach each cosine bar of a preset, nested like its settings; empty = it states none."""
    return cast("Mapping[str, object]", _whole_file(name).values.get(_FALSE_PASSES, {}))


def patterns_file(name: str) -> Path:
    """Return the path of the table of patterns of a preset that has one (`capture.patterns`)."""
    return Path(str(files("tacit").joinpath(_FOLDER, name, _PATTERNS)))
