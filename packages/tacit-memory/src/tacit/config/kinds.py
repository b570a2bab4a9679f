"""The kinds that hold under given settings: the built-in ones, changed and extended by the user's.

In: settings. Out: a registry. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.config.settings import KindSettings, Settings
from tacit.model.kinds import BUILTIN, Kind, KindRegistry


def kind_registry(settings: Settings) -> KindRegistry:
    """Return the built-in kinds with those of `settings.kinds` added; a kind there replaces the built-in one of the same name."""
    return KindRegistry().extended(
        _kind(name, kind_settings) for name, kind_settings in settings.kinds.items()
    )


def _kind(name: str, settings: KindSettings) -> Kind:
    built_in = next((kind for kind in BUILTIN if kind.name == name), None)
    if built_in is not None:
        # What the user leaves out stays as it is; of the two natures the one that is stated ends the other.
        changed = settings.model_dump(exclude_unset=True)
        if settings.standing:
            changed["episodic"] = False
        elif settings.episodic:
            changed["standing"] = False
        return replace(built_in, **changed)
    return Kind(name=name, **settings.model_dump())
