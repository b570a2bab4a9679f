"""Changing settings files: the user's own, one agent's or one project's section of it, and the file that a project brings.

In: a home, a place, values. Out: a changed file, with comments and order as they were, written whole or not at all, by one
process at a time. The only writer of these files besides the person. Checks before it writes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, Literal, cast

from filelock import FileLock, Timeout
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from tacit.config.design_names import names_of, with_own_names
from tacit.config.home import Home
from tacit.config.layers import PROJECT_FILE, SettingsReport, SettingsWarning, read_settings
from tacit.config.yaml_file import read_settings_file, without_key
from tacit.errors import InvalidSetting, TacitError
from tacit.frozen import frozen

Holder = Literal["agents", "projects"]
SCHEMA_FILE = "settings.schema.json"
HINT = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""The first line of a settings file that Tacit creates, with which editors check and complete it. See `tacit config get --schema`."""
WAIT_S = 5.0
_LIST = re.compile(r"^( *)[^\s#-][^\n]{0,400}:[^\S\n]*(?:#[^\n]*)?\n( *)- ", re.MULTILINE)
_PLACE = re.compile(r"^.*?\.(?:yaml|tmp)(?::\d+)?: ")


@frozen
class SettingsTarget:
    """The file and the section in it whose settings are written or reset.

    `user` = for everything; `agents` = for the agent `name`; `projects` = the user's own for the project in the folder `name`;
    `project_file` = the file in that folder that comes with the project's code, which can only restrict.
    """

    holder: Literal["user", "agents", "projects", "project_file"] = "user"
    name: str = ""


def file_of(home: Home, place: SettingsTarget) -> Path:
    """Return the path of the settings file that `place` lies in; it may be absent."""
    if place.holder == "project_file":
        return Path(place.name).expanduser() / PROJECT_FILE
    return home.config_file


def overridden(report: SettingsReport, holder: Holder) -> tuple[str, ...]:
    """Return the dotted keys whose value comes from the section of an agent or project, sorted; () = it overrides none."""
    layer = "agent" if holder == "agents" else "own_project"
    return tuple(sorted(key for key, origins in report.origins.items() if origins[-1].layer == layer))


def named_holders(home: Home, holder: Holder) -> tuple[str, ...]:
    """Return the agents or projects that have a section in the user's file, in its order; () if it cannot be read."""
    try:
        document = read_settings_file(home.config_file)
    except InvalidSetting:
        return ()
    return _names(document.values if document else {}, holder)


def set_values(
    home: Home, place: SettingsTarget, values: Mapping[str, object]
) -> tuple[SettingsWarning, ...]:
    """Write nested or dotted `values` to a target. Other values, and comments, stay. Waits up to `WAIT_S` for another writer.

    Returns:
        What was written although it has no effect here (a project's file that would widen).

    Raises:
        InvalidSetting, UnknownSetting: if the values or the file are wrong; nothing is written.
    """
    file = file_of(home, place)
    if place.holder == "project_file" and not Path(place.name).expanduser().is_dir():
        raise InvalidSetting(f"There is no folder {place.name}.", hint="Name the folder of a project.")
    with _alone(home):
        document, text = _read(file)
        comments = "" if document else text  # where there is nothing else, nothing would carry them
        section = document
        for segment in _path(document, place):
            section = _section(section, segment)
        _merge(section, with_own_names(_nested(values)))
        return _write(home, place, comments + _dumped(document, text))


def reset_values(home: Home, place: SettingsTarget, *, key: str = "") -> bool:
    """Remove one dotted `key` from a target, or everything it holds ("" = everything). Return False if there was nothing to remove.

    Taking back everything of the user's own leaves the sections of agents and projects alone.

    Raises:
        InvalidSetting: if the file cannot be read; nothing is written.
    """
    file = file_of(home, place)
    with _alone(home):
        document, before = _read(file)
        within, text = _path(document, place), before
        if key:
            for name in names_of(key):
                text = without_key(text, [*within, *name.split(".")])
        elif place.holder in ("agents", "projects"):
            text = without_key(text, list(within))
        else:
            for name in [name for name in document if name not in ("agents", "projects")]:
                text = without_key(text, [name])
        if text == before:
            return False
        if place.holder == "project_file" and not text.strip():
            _remove(file)  # nothing is left in it, no comment either
        else:
            _write(home, place, text)
        return True


def _remove(file: Path) -> None:
    """Delete a project's file, and its folder if that is empty then."""
    file.unlink(missing_ok=True)
    with suppress(OSError):
        file.parent.rmdir()


@contextmanager
def _alone(home: Home) -> Generator[None]:
    home.ensure()
    try:
        with FileLock(home.run_dir / "settings.lock", timeout=WAIT_S, mode=0o600):
            yield
    except Timeout:
        raise InvalidSetting(
            f"Another program is writing {home.config_file}.", hint="Try again in a moment."
        ) from None


def _path(document: Any, place: SettingsTarget) -> tuple[str, ...]:
    """Return the path of keys from the top of the file to the target. A project's section may be named by its folder from `~`."""
    if place.holder not in ("agents", "projects"):
        return ()
    if place.holder == "projects":
        folder = Path(place.name).expanduser()
        same = (name for name in _names(document, "projects") if Path(name).expanduser() == folder)
        return ("projects", next(same, place.name))
    return ("agents", place.name)


def _yaml(text: str = "") -> YAML:
    """Return a YAML reader and writer that keeps comments, quotes, and the indentation of lists in `text`."""
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 4096
    offset = _LIST.search(text)
    if offset is not None and len(offset[2]) > len(offset[1]):
        deeper = len(offset[2]) - len(offset[1])
        yaml.indent(mapping=2, sequence=deeper + 2, offset=deeper)
    return yaml


def _read(file: Path) -> tuple[Any, str]:
    """Return the values in a file and its text; empty ones if there is no file. Raises InvalidSetting for a file with forbidden content."""
    read_settings_file(file)  # refuses what a settings file must not hold
    text = file.read_text("utf-8") if file.is_file() else ""
    return cast(Any, _yaml()).load(text) or CommentedMap(), text


def _dumped(document: Any, before: str) -> str:
    out = StringIO()
    if document:
        cast(Any, _yaml(before)).dump(document, out)
    return out.getvalue()


def _section(parent: Any, name: str) -> Any:
    if not isinstance(parent.get(name), Mapping):
        parent[name] = CommentedMap()
    return parent[name]


def _nested(values: Mapping[str, object]) -> dict[str, object]:
    """Turn values by dotted name into nested mappings."""
    nested: dict[str, object] = {}
    for name, value in values.items():
        *parents, last = name.split(".")
        at = nested
        for parent in parents:
            at = cast(dict[str, object], at.setdefault(parent, {}))
        if isinstance(value, Mapping) and parents[:1] != ["kinds"]:
            below = _nested(cast("Mapping[str, object]", value))
            _merge(at.setdefault(last, {}), below)
        else:
            at[last] = value
    return nested


def _merge(section: Any, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        if isinstance(value, Mapping):
            _merge(_section(section, name), cast(Mapping[str, object], value))
        else:
            section[name] = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


def _write(home: Home, place: SettingsTarget, text: str) -> tuple[SettingsWarning, ...]:
    """Replace the file with `text` if all of its settings are valid, and return notes on values without effect. Raises the error of the first new problem."""
    file = file_of(home, place)
    new = not file.exists()
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    temporary.parent.mkdir(parents=True, exist_ok=True)
    try:
        if place.holder != "project_file":
            temporary.touch(mode=0o600)
        temporary.write_text(HINT + text if new and place.holder != "project_file" else text, "utf-8")
        if place.holder == "project_file":
            notes = _notes_of_project(home, Path(place.name).expanduser(), temporary)
        else:
            notes = ()
            before = [problem.message for problem in _problems(home, file)]
            for problem in _problems(home, temporary):
                # What was wrong already is named where it stands; what is new stands nowhere yet.
                earlier = [text for text in before if _bare(text) == _bare(problem.message)]
                message = earlier[0] if earlier else _bare(problem.message)
                raise type(problem)(message, hint=f"{problem.hint} Nothing was written.".strip())
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)
    if new and place.holder != "project_file":
        _write_schema(file.with_name(SCHEMA_FILE))
    return notes


def _write_schema(file: Path) -> None:
    from tacit.config.reference import schema_text  # noqa: PLC0415 - made of every room here, and seldom needed

    file.touch(mode=0o600)
    file.write_text(schema_text(), "utf-8")


def _notes_of_project(home: Home, root: Path, file: Path) -> tuple[SettingsWarning, ...]:
    report = read_settings(home, root, environ={}, project_file=file)
    warnings = [warning for warning in report.warnings if warning.layer == "project"]
    for warning in warnings:
        if not warning.note:
            raise type(warning.error)(_bare(warning.error.message), hint=warning.error.hint)
    return tuple(
        replace(warning, error=InvalidSetting(_bare(warning.error.message), hint=warning.error.hint))
        for warning in warnings
    )


def _problems(home: Home, file: Path) -> Iterator[TacitError]:
    """Yield the errors in a user's file, for every agent and project that it names."""
    try:
        document = read_settings_file(file)
    except InvalidSetting as error:
        yield error
        return
    values: Mapping[str, object] = document.values if document else {}
    agents = _names(values, "agents")
    projects = _names(values, "projects")
    for agent in (*agents, ""):
        for root in (*(Path(name).expanduser() for name in projects), None):
            report = read_settings(home, root, agent=agent, environ={}, user_file=file)
            for warning in report.warnings:
                if not warning.note and warning.layer != "project":
                    yield warning.error


def _bare(message: str) -> str:
    """Return a message without the file and line at its beginning."""
    return _PLACE.sub("", message)


def _names(values: Mapping[str, object], holder: Holder) -> tuple[str, ...]:
    section = values.get(holder)
    return tuple(cast(Mapping[str, object], section)) if isinstance(section, Mapping) else ()
