"""Settings from environment variables: `TACIT_RECALL__BUDGETS__START=1500`.

In: an environment mapping. Out: nested texts, and the name of the variable behind every dotted key. Two underscores
part the levels. Variables of Tacit that are no settings (TACIT_HOME, TACIT_HOOK_...) are left alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
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
    """Collect the variables that name settings.

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


ARRAY_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def one_thread_for_arrays(environ: MutableMapping[str, str] | None = None) -> None:
    """Have numpy compute on the thread that asks, unless the user says otherwise; before numpy is loaded.

    What a recall multiplies is too small to be shared out: on a busy machine waiting for the other threads took twenty times
    as long as the work.
    """
    given = os.environ if environ is None else environ
    for name in ARRAY_THREADS:
        given.setdefault(name, "1")


def no_reports_of_onnxruntime(environ: MutableMapping[str, str] | None = None) -> None:
    """Keep onnxruntime from reporting to its makers; call it before onnxruntime is imported, which decides it for good.

    From 1.29 on its packages for Linux and macOS send what was loaded and how fast it ran, and keep a device id and a
    queue in `~/.cache/Microsoft` (https://github.com/microsoft/onnxruntime/pull/27379). Nothing of that is ours to send.
    """
    given = os.environ if environ is None else environ
    given["ORT_DISABLE_TELEMETRY"] = "1"


def secret(name: str, environ: Mapping[str, str] | None = None) -> str:
    """The value of the variable that a setting names as holder of a key; "" when it is not set."""
    return (os.environ if environ is None else environ).get(name, "")


def search_path(environ: Mapping[str, str] | None = None) -> str:
    """Where programs are looked for; "" when nothing is said."""
    return (os.environ if environ is None else environ).get("PATH", "")
