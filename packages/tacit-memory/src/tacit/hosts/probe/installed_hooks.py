"""The installed hooks that a probe runs a client with. In: what a host's settings file holds. Out: its hooks, or why the probe cannot run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from tacit.hosts.probe.process import ProbeResult, not_run


def hooks_only(settings: object, names: Sequence[str] = ("hooks",)) -> dict[str, object]:
    """Return the members `names` of a settings file. Permissions, keys and helpers of the user do not reach the probe."""
    if not isinstance(settings, dict):
        return {}
    fields = cast("dict[str, object]", settings)
    return {name: fields[name] for name in names if isinstance(fields.get(name), dict)}


def problem_of(hooks: str, *, file: Path, launcher: Path, host: str) -> ProbeResult | None:
    """Return the result of a probe that cannot run; None = it can.

    Args:
        hooks: the JSON text of the hooks.
        file: where they come from, for the advice.
        launcher: what one of them must call.
        host: the name that `tacit install` knows.
    """
    path = str(launcher)
    # JSON text may escape letters and backslashes of the path.
    if all(form not in hooks for form in (path, json.dumps(path)[1:-1])):
        return not_run(f"{file} has no hook that calls {launcher}. Run `tacit install {host}`.")
    if not launcher.exists():
        return not_run(f"The launcher {launcher} is missing. Run `tacit install {host}` again.")
    return None
