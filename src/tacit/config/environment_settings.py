"""Settings from environment variables: `TACIT_RECALL__BUDGETS__START=1500`.

In: an environment mapping. Out: nested texts, and the name of the variable behind every dotted key. Two underscores
part the levels. Variables of Tacit that are no settings (TACIT_HOME, TACIT_HOOK_...) are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from tacit.config.fields import settings_by_key

PREFIX = "TACIT_"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentValues:
    """Nested texts of the variables that name settings; `names` maps a dotted key to its variable."""

    values: Mapping[str, object]
    names: Mapping[str, str] = field(default_factory=dict[str, str])

    def at(self, key: str) -> str:
        """The variable of a dotted key."""
        below = (name for known, name in self.names.items() if known == key or known.startswith(f"{key}."))
        name = next(below, "")
        return f"environment variable {name}" if name else "environment"


def read_environment(environ: Mapping[str, str]) -> EnvironmentValues:
    """Collect the values of the environment variables that name a setting.

    A variable with two underscores in its name is always taken for a setting, so that a misspelt one is noticed; one
    without only when a setting of the top level has that name.
    """
    top_level = {key for key in settings_by_key() if "." not in key}
    nested: dict[str, object] = {}
    names: dict[str, str] = {}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX):
            continue
        parts = variable.removeprefix(PREFIX).lower().split("__")
        if not all(parts) or (len(parts) == 1 and parts[0] not in top_level):
            continue
        key = ".".join(parts)
        names[key] = variable
        at = nested
        for part in parts[:-1]:
            below = at.get(part)
            if not isinstance(below, dict):
                below = at[part] = {}
            at = cast(dict[str, object], below)
        at[parts[-1]] = environ[variable]
    return EnvironmentValues(values=nested, names=names)
