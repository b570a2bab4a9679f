"""The kinds that hold under given settings: the built-in ones, changed and extended by the user's.

In: settings. Out: a registry. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.config.settings import KindSettings, Settings
from tacit.model.kinds import BUILTIN, Kind, KindRegistry


def kind_registry(settings: Settings) -> KindRegistry:
    """The registry with the kinds of `settings.kinds` added, or put in place of built-in ones of the same name."""
    return KindRegistry().extended(_kind(name, given) for name, given in settings.kinds.items())


def _kind(name: str, given: KindSettings) -> Kind:
    built_in = next((kind for kind in BUILTIN if kind.name == name), None)
    if built_in is not None:
        return replace(built_in, **given.model_dump())
    return Kind(name=name, **given.model_dump())
