"""Names that the presets' design documents use for what a setting here says, for people who know those.

In: nothing. Out: a table. The error for an unknown setting names the one that is meant; docs/reference/presets.md lists all.
"""

from __future__ import annotations

from collections.abc import Mapping

DESIGN_NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "scoped": {
        "MEMORY_BUDGET.universal": ("recall.scopes.universal",),
        "MEMORY_BUDGET.language": ("recall.scopes.language",),
        "MEMORY_BUDGET.project": ("recall.scopes.project",),
        "MEMORY_BUDGET.reserve": ("recall.scopes.reserve",),
        "SESSION_CODES_BUDGET": ("recall.scopes.done", "recall.scopes.decided", "recall.scopes.open"),
        "QUERY_BUDGET.universal": ("recall.scopes.asked_universal",),
        "QUERY_BUDGET.language": ("recall.scopes.asked_language",),
        "QUERY_BUDGET.project": ("recall.scopes.asked_project",),
        "STARTUP_TOTAL": ("recall.budgets.start",),
        "STARTUP_BUDGET": ("recall.budgets.start",),
        "QUERY_TOTAL": ("recall.budgets.on_demand",),
        "SESSION_CAP": ("recall.session_tokens",),
    },
}
"""Preset -> name in its design -> the settings of the same meaning."""


def settings_called(key: str) -> tuple[str, ...]:
    """The settings that a design calls `key`, in any case and below any section; () = none does."""
    wanted = f".{key}".casefold()
    every = [(f".{name}".casefold(), own) for names in DESIGN_NAMES.values() for name, own in names.items()]
    named = [own for name, own in every if wanted.endswith(name)]
    below = [own for name, own in every if name.startswith(f"{wanted}.")]
    return tuple(dict.fromkeys(setting for own in named[:1] or below for setting in own))
