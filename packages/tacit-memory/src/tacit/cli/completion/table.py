"""The table of all words that a shell may complete, made from the commands and settings: `python -m tacit.cli.completion.table`.

In: the application, the settings. Out: JSON, kept beside this module, so that a shell need not wait until the commands are loaded. A test
compares both.
"""

from __future__ import annotations

import json
import sys
from typing import Any, get_args

WANTED: dict[str, str] = {
    "memory": "memory",
    "memories": "memory",
    "--replaces": "memory",
    "--into": "memory",
    "--kind": "kind",
    "--scope": "scope",
    "--surface": "surface",
    "--status": "status",
    "--sensitivity": "sensitivity",
    "--when": "when",
    "--session": "session",
    "session": "session",
    "--trace": "trace",
    "--agent": "agent",
    "host": "host",
    "--host": "host",
    "--role": "role",
    "key": "setting",
    "value": "setting_value",
}
"""Name of an argument, or an option -> the sort of its values. What is not named takes what the user types."""
IN_REVIEW = {"memory": "waiting"}
"""The same for the commands of `tacit review`, which take what waits."""


def table() -> dict[str, Any]:
    """Commands with their options and arguments, values by sort, settings with their choices."""
    from tacit.cli.main import whole_tree
    from tacit.cli.memories import STATUSES
    from tacit.config.describe import describe_settings
    from tacit.hosts.install import CLIENTS
    from tacit.hosts.registry import BUILT_IN
    from tacit.model.kinds import KindRegistry
    from tacit.model.memory import Sensitivity
    from tacit.model.pack import Surface
    from tacit.model.shared import Role
    from tacit.model.trigger import ACTIONS
    from tacit.reading.languages import LANGUAGES

    surfaces = [surface.value for surface in Surface if surface is not Surface.HOST]
    values: dict[str, list[tuple[str, str]]] = {
        "surface": [(name, "") for name in surfaces],
        "status": [(name, "") for name in STATUSES],
        "sensitivity": [(level.name.lower(), "") for level in Sensitivity],
        "when": [(name, "") for name in ("always", *ACTIONS)],
        "host": [(name, "") for name in (*BUILT_IN, *CLIENTS)],
        "role": [(name, "") for name in get_args(Role)],
        "builtin_kind": [(kind.name, kind.label) for kind in KindRegistry()],
        "fixed_scope": [
            ("universal", "everywhere"),
            *((f"language:{name}", "") for name in sorted(LANGUAGES)),
        ],
    }
    settings = {
        key: {"help": about.about} | ({"choices": list(about.choices)} if about.choices else {})
        for key, about in describe_settings().items()
    }
    for about in settings.values():
        about["help"] = str(about["help"])[:60]
    return {"commands": _node(whole_tree()), "values": values, "settings": settings}


def _node(command: Any, *, group: str = "") -> dict[str, Any]:
    """One command, or group of commands."""
    node: dict[str, Any] = {"help": _first_sentence(command.help or "")}
    options: dict[str, dict[str, Any]] = {}
    arguments: list[str] = []
    repeats = False
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            arguments.append(_wanted(parameter.name, group))
            repeats = repeats or parameter.nargs == -1
            continue
        if getattr(parameter, "hidden", False):
            continue
        takes = not (parameter.is_flag or parameter.count)
        for name in (*parameter.opts, *parameter.secondary_opts):
            value = _wanted(name, group) if takes else None
            options[name] = {"help": _first_sentence(parameter.help or ""), "value": value}
    options["--help"] = {"help": "Show this message and exit.", "value": None}
    node["options"] = options
    if arguments:
        node |= {"arguments": arguments} | ({"repeats": True} if repeats else {})
    below = getattr(command, "commands", None)
    if below is not None:
        node["below"] = {name: _node(one, group=group or name) for name, one in below.items()}
    return node


def _wanted(name: str, group: str) -> str:
    sort = WANTED.get(name, "")
    return IN_REVIEW.get(sort, sort) if group == "review" else sort


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0][:60]


def render() -> str:
    """The file's text."""
    return json.dumps(table(), indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render())
