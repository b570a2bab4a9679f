"""Settings of one agent or one project over the user's own: which there are, how to set and how to take them back.

In: a home and a place (`agents.<name>` or `projects.<folder>`). Out: a changed `config.yaml`, with comments and order as they
were, written whole or not at all. The only writer of that file besides the person. Checks before it writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, Literal, cast

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from tacit.config.home import Home
from tacit.config.layers import SettingsReport, read_settings
from tacit.config.yaml_file import read_settings_file
from tacit.errors import InvalidSetting

Holder = Literal["agents", "projects"]


def overridden(report: SettingsReport, holder: Holder) -> tuple[str, ...]:
    """Dotted keys whose value holds because an agent's or a project's section sets it, sorted; () = all inherited."""
    layer = "agent" if holder == "agents" else "own_project"
    return tuple(sorted(key for key, given in report.origins.items() if given[-1].layer == layer))


def set_override(home: Home, holder: Holder, name: str, values: Mapping[str, object]) -> None:
    """Put nested `values` into the section of `name`; what stands there besides stays.

    Raises:
        InvalidSetting, UnknownSetting: if the values or the file are wrong; nothing is written.
    """
    document = _read(home)
    section = _section(_section(document, holder), name)
    _merge(section, values)
    _write(home, document)


def set_user_values(home: Home, values: Mapping[str, object]) -> None:
    """Put nested `values` into the user's own settings, for every agent and project.

    Raises:
        InvalidSetting, UnknownSetting: if the values or the file are wrong; nothing is written.
    """
    document = _read(home)
    _merge(document, values)
    _write(home, document)


def reset_override(home: Home, holder: Holder, name: str, *, key: str = "") -> bool:
    """Take back everything that the section of `name` sets, or one dotted `key`; False when there is nothing.

    Raises:
        InvalidSetting: if the file cannot be read; nothing is written.
    """
    document = _read(home)
    path = [holder, name, *(key.split(".") if key else ())]
    at: Any = document
    above: list[tuple[Any, str]] = []
    for part in path:
        if not isinstance(at, Mapping) or part not in at:
            return False
        above.append((cast(Any, at), part))
        at = cast(Any, at)[part]
    parent, last = above.pop()
    del parent[last]
    while above and not parent:  # an empty section would say nothing
        parent, last = above.pop()
        del parent[last]
    _write(home, document)
    return True


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 4096
    return yaml


def _read(home: Home) -> Any:
    read_settings_file(home.config_file)  # refuses what a settings file must not hold
    text = home.config_file.read_text("utf-8") if home.config_file.is_file() else ""
    return cast(Any, _yaml()).load(text) or CommentedMap()


def _section(parent: Any, name: str) -> Any:
    if not isinstance(parent.get(name), Mapping):
        parent[name] = CommentedMap()
    return parent[name]


def _merge(section: Any, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        if isinstance(value, Mapping):
            _merge(_section(section, name), cast(Mapping[str, object], value))
        else:
            section[name] = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


def _write(home: Home, document: Any) -> None:
    """Replace the file, if what it would say is sound."""
    out = StringIO()
    if document:
        cast(Any, _yaml()).dump(document, out)
    part = home.config_file.with_name(f"{home.config_file.name}.{os.getpid()}.tmp")
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        part.write_text(out.getvalue(), "utf-8")
        for problem in _problems(home, part):
            raise problem
        part.replace(home.config_file)
    finally:
        part.unlink(missing_ok=True)


def _problems(home: Home, file: Path) -> Iterator[InvalidSetting]:
    document = read_settings_file(file)
    named: Mapping[str, object] = document.values if document else {}
    agents = _names(named, "agents")
    projects = _names(named, "projects")
    for agent in (*agents, ""):
        for root in (*(Path(name).expanduser() for name in projects), None):
            report = read_settings(home, root, agent=agent, environ={}, user_file=file)
            for warning in report.warnings:
                if not warning.note and warning.layer != "project":
                    yield InvalidSetting(str(warning.error), hint="Nothing was written.")


def _names(values: Mapping[str, object], holder: Holder) -> tuple[str, ...]:
    section = values.get(holder)
    return tuple(cast(Mapping[str, object], section)) if isinstance(section, Mapping) else ()
