"""Settings from all their layers: defaults < preset < embedder < level < user < own project < project < agent < environment < call.

In: a home, a project root, an agent, an environment, a caller's own values. Out: settings, with the layer that each
value came from and whatever was wrong on the way. The only reader of settings files and of the environment. A wrong
file never breaks an agent's turn: its wrong keys are left out and reported, and when what protects people's privacy
cannot be read, nothing is stored until it can.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel

from tacit.config.cosine_bars import embedder_bars, is_shipped
from tacit.config.design_names import DESIGN_SECTIONS
from tacit.config.fields import (
    CheckedLayer,
    Flat,
    build,
    check_layer,
    default_values,
    settings_by_key,
    unknown_setting,
)
from tacit.config.home import Home
from tacit.config.levels import KEY, THRESHOLD, levels_in_use, uses_levels
from tacit.config.preset_files import preset_file, preset_names
from tacit.config.project_rules import decide_project_value
from tacit.config.settings import EmbedderSettings, LevelName, Settings, kind_registry
from tacit.config.yaml_file import SettingsFile, read_settings_file
from tacit.errors import InvalidInput, InvalidSetting, TacitError, UnknownKind
from tacit.frozen import frozen
from tacit.model.kinds import BUILTIN_KINDS

LayerName = Literal[
    "default",
    "preset",
    "embedder",
    "level",
    "user",
    "own_project",
    "project",
    "agent",
    "safety",
    "environment",
    "call",
]
AGENT_SECTIONS = ("preset", "recall", "capture", "privacy", "project")
"""The sections that `agents.<name>` of the user's file may hold. All others belong to the process."""
KIND_LISTS = ("recall.kinds", "recall.ambient.pinned_kinds", "capture.kinds")
"""The settings that list kinds. Kinds that do not exist are removed from them."""
SectionT = TypeVar("SectionT", bound=BaseModel)
_VARIABLE_PREFIX = "TACIT_"
PROJECT_FILE = Path(".tacit") / "config.yaml"


@frozen
class Origin:
    """A layer's value of a setting, with the layer and the file, line or variable where it was read."""

    layer: LayerName
    place: str
    value: object

    @property
    def plain(self) -> object:
        """Return the value as JSON has it: a list for a tuple."""
        value = self.value
        return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


@frozen
class SettingsWarning:
    """A problem with a setting of one layer. `note` = the value is allowed but has no effect here; otherwise it was left out."""

    layer: LayerName
    key: str
    error: TacitError
    note: bool = False

    def __str__(self) -> str:
        return str(self.error)


@frozen
class SettingsReport:
    """The settings that hold, with the values of every layer and the problems found.

    Attributes:
        settings: what holds.
        warnings: what was left out, and why.
        origins: dotted key -> every layer that gave a value, lowest first; the last one holds.
    """

    settings: Settings
    warnings: tuple[SettingsWarning, ...] = ()
    origins: Mapping[str, tuple[Origin, ...]] = field(default_factory=dict[str, tuple[Origin, ...]])

    @property
    def sound(self) -> bool:
        """Whether every layer could be read and all of its values were valid."""
        return all(warning.note for warning in self.warnings)

    @property
    def wrong_keys(self) -> tuple[str, ...]:
        """Return the keys of the user's own layers that were wrong; "" = a whole file. A project's file, and names of unknown kinds, do not count."""
        return tuple(
            warning.key
            for warning in self.warnings
            if not (warning.note or warning.layer == "project" or isinstance(warning.error, UnknownKind))
        )

    def changed(self) -> tuple[str, ...]:
        """Return the settings whose value differs from the shipped default, without those that a level sets."""
        return tuple(
            key
            for key, default in default_values().items()
            if self.origins[key][-1].layer != "level" and self.origins[key][-1].value != default
        )

    def explain(self, key: str) -> tuple[Origin, ...]:
        """Return the value of `key` in every layer that gives one, lowest layer first; the last one holds.

        Raises:
            UnknownSetting: if there is no such setting; names the nearest one.
        """
        if key not in self.origins:
            raise unknown_setting(key, "settings")
        return self.origins[key]


def read_settings(
    home: Home,
    project_root: Path | None = None,
    *,
    agent: str = "",
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    user_file: Path | None = None,
    project_file: Path | None = None,
) -> SettingsReport:
    """Read every layer, and return the settings that result, with warnings for what was left out.

    Args:
        home: whose `config.yaml` is the user's layer.
        project_root: folder whose `.tacit/config.yaml` is the project's layer; None = no project.
        agent: name whose section `agents.<name>` of the user's file is the agent's layer.
        overrides: nested values of the caller, the topmost layer.
        environ: the environment; None = the process's own.
        user_file: read instead of the home's `config.yaml`, to check a file before it replaces that one.
        project_file: read instead of the project's file, for the same purpose.

    Raises:
        InvalidSetting, UnknownSetting: for `overrides`, which are the caller's own. A problem in a file or a variable is a warning.
    """
    reading = _LayerReading()
    read_file = reading.file("user", user_file or home.config_file)
    project_path = project_file or project_file_of(home, project_root)
    project_file_read = reading.file("project", project_path) if project_path is not None else None
    values = dict(read_file.values) if read_file else {}
    agents, projects = values.pop("agents", None), values.pop("projects", None)
    at_user = read_file.at if read_file else str
    user = reading.layer("user", values, place=at_user)
    of_project = _own_values(projects, "projects", project_root, at_user, reading)
    own_place = _place_of_project(projects, project_root, at_user)
    own = reading.layer("own_project", of_project, place=own_place)
    mine = _own_values(agents, "agents", agent, at_user, reading)
    agent_layer = reading.layer("agent", mine, place=lambda key: at_user(f"agents.{agent}.{key}"))
    project = reading.layer(
        "project", reading.project_values(project_file_read), place=_at(project_file_read)
    )
    safety: Flat = {"privacy.incognito": True} if reading.privacy_is_uncertain else {}
    from_environment = read_environment(os.environ if environ is None else environ)
    environment = reading.layer(
        "environment",
        from_environment.values,
        place=from_environment.at,
        from_text=True,
        guards_privacy=False,
    )
    call = _call_layer(overrides or {})
    above: dict[LayerName, CheckedLayer] = {
        "call": call, "environment": environment, "agent": agent_layer, "own_project": own, "user": user,
    }  # fmt: skip
    chosen = next(
        (layer.values["preset"] for layer in above.values() if "preset" in layer.values),
        Settings.model_fields["preset"].default,
    )
    stack = _Stack()
    stack.put("default", default_values(), place=lambda _: "defaults")
    stack.put("preset", _preset_values(str(chosen)), place=preset_file(str(chosen)).at)
    embedder = _embedder_in((user, environment, call))
    if _calibrates(str(chosen), embedder, (user, environment, call)):
        reading.bars(stack, str(chosen), home, embedder)
    reading.level(stack, preset=str(chosen), home=home, embedder=embedder, above=above, project=project)
    stack.put("user", user.values, place=at_user)
    stack.put("own_project", own.values, place=own_place)
    reading.restrict(stack, project.values, place=_at(project_file_read))
    stack.put("agent", agent_layer.values, place=lambda key: at_user(f"agents.{agent}.{key}"))
    stack.put("safety", safety, place=lambda _: "a file that could not be read whole")
    stack.put("environment", environment.values, place=from_environment.at)
    stack.put("call", call.values, place=lambda _: "call")
    settings = reading.with_own_kinds(build(stack.values()), stack)
    return SettingsReport(settings=settings, warnings=tuple(reading.warnings), origins=stack.origins())


def project_file_of(home: Home, project_root: Path | None) -> Path | None:
    """Return the path of a project's settings file. None = there is no project, or its file would be the user's own."""
    if project_root is None or project_root / PROJECT_FILE == home.config_file:
        return None
    return project_root / PROJECT_FILE


class _Stack:
    """Collects the values of the layers by dotted key, from the lowest layer to the highest."""

    def __init__(self) -> None:
        self._origins: dict[str, list[Origin]] = {}

    def put(self, layer: LayerName, values: Flat, *, place: Callable[[str], str]) -> None:
        for key, value in values.items():
            self._origins.setdefault(key, []).append(Origin(layer=layer, place=place(key), value=value))

    def value(self, key: str) -> object:
        return self._origins[key][-1].value if key in self._origins else None

    def values(self) -> Flat:
        return {key: origins[-1].value for key, origins in self._origins.items()}

    def origins(self) -> dict[str, tuple[Origin, ...]]:
        return {key: tuple(origins) for key, origins in self._origins.items()}


class _LayerReading:
    """Collects the problems that are met while all layers are read, and whether a privacy setting may be among what was lost."""

    def __init__(self) -> None:
        self.warnings: list[SettingsWarning] = []
        self.privacy_is_uncertain = False

    def note(self, layer: LayerName, key: str, error: TacitError, *, note: bool = False) -> None:
        self.warnings.append(SettingsWarning(layer=layer, key=key, error=error, note=note))

    def file(self, layer: LayerName, path: Path) -> SettingsFile | None:
        try:
            return read_settings_file(path)
        except InvalidSetting as error:
            self.note(layer, "", error)
            self.privacy_is_uncertain = True
            return None

    def layer(
        self,
        name: LayerName,
        values: Mapping[str, object],
        *,
        place: Callable[[str], str],
        from_text: bool = False,
        guards_privacy: bool = True,
    ) -> CheckedLayer:
        checked = check_layer(values, place=place, from_text=from_text)
        for key, error in (*checked.problems, *_preset_problem(checked, place)):
            self.note(name, key, error)
            if guards_privacy and get_close_matches(key.partition(".")[0], ("privacy", "capture")):
                self.privacy_is_uncertain = True
        sound = {
            key: value for key, value in checked.values.items() if key != "preset" or value in preset_names()
        }
        return replace(checked, values=sound)

    def project_values(self, file: SettingsFile | None) -> Mapping[str, object]:
        values = dict(file.values) if file is not None else {}
        if file is not None and values.pop("agents", None) is not None:
            self.note(
                "project", "agents", _refused("agents", file.at("agents"), "a project's file may not set it")
            )
        return values

    def bars(self, stack: _Stack, preset: str, home: Home, embedder: EmbedderSettings) -> None:
        """Add the preset's cosine bars for the embedder to the stack. If the measurement is damaged, note that and add none."""
        try:
            bars = embedder_bars(preset, embedder, home)
        except InvalidInput as error:
            self.note("embedder", "embedder", error, note=True)
            return
        if bars is not None:
            stack.put("embedder", bars.values, place=bars.place)

    def level(
        self,
        stack: _Stack,
        *,
        preset: str,
        home: Home,
        embedder: EmbedderSettings,
        above: Mapping[LayerName, CheckedLayer],
        project: CheckedLayer,
    ) -> None:
        """Add the prompt threshold of the chosen level to the stack. If the home's file of levels is damaged, note that and use the shipped levels.

        The layers `above` may choose, the highest first. The project's file may only choose a quieter one than the user's own.
        """
        choosing: LayerName | None = next(
            (name for name, layer in above.items() if KEY in layer.values), None
        )
        stating: LayerName | None = next(
            (name for name, layer in above.items() if THRESHOLD in layer.values), None
        )
        noted: LayerName | None = choosing or ("project" if KEY in project.values else None)
        if not uses_levels(preset):
            if noted is not None:
                text = f"`{KEY}` has no effect: the preset {preset} does not use levels."
                hint = f"`{THRESHOLD}` is its threshold before a prompt."
                self.note(noted, KEY, InvalidSetting(text, hint=hint), note=True)
            return
        if noted is not None and stating is not None:
            text = f"`{KEY}` has no effect: `{THRESHOLD}` is set, and wins."
            hint = f"`tacit config reset {THRESHOLD}` lets the level decide."
            self.note(noted, KEY, InvalidSetting(text, hint=hint), note=True)
        name = above[choosing].values[KEY] if choosing is not None else stack.value(KEY)
        if choosing in (None, "own_project", "user") and KEY in project.values:
            name = decide_project_value(KEY, current=name, proposed=project.values[KEY]).value
        level = cast(LevelName, name)
        try:
            levels = levels_in_use(embedder, home)
        except InvalidInput as error:
            self.note("level", KEY, error, note=True)
            return
        if levels.problem is not None:
            self.note("level", KEY, levels.problem, note=True)
        stack.put(
            "level", {THRESHOLD: levels.levels.of(level).threshold}, place=lambda _: levels.place(level)
        )

    def restrict(self, stack: _Stack, values: Flat, *, place: Callable[[str], str]) -> None:
        """Add those values of a project's file to the stack that it may set, and note the others."""
        accepted: Flat = {}
        for key, proposed in values.items():
            ruling = decide_project_value(key, current=stack.value(key), proposed=proposed)
            if ruling.refused:
                self.note("project", key, _refused(key, place(key), ruling.refused))
            elif ruling.note:
                text = f"{place(key)}: `{key}` has no effect: {ruling.note}."
                self.note("project", key, InvalidSetting(text), note=True)
            if ruling.applies:
                accepted[key] = ruling.value
        stack.put("project", accepted, place=place)

    def with_own_kinds(self, settings: Settings, stack: _Stack) -> Settings:
        """Return the settings with lists of kinds that exist; a list of the preset, which cannot know the user's own kinds, gets them added."""
        registry = kind_registry(settings)
        added = tuple(name for name in settings.kinds if name not in BUILTIN_KINDS)
        for key in KIND_LISTS:
            path = key.split(".")
            listed = cast("tuple[str, ...]", reduce(getattr, path, settings))
            for kind in listed:
                try:
                    registry.get(kind)
                except UnknownKind as error:
                    text = f"`{key}` names a kind that does not exist: {kind!r}."
                    self.note("user", key, UnknownKind(text, hint=error.hint))
            remaining = tuple(kind for kind in listed if kind in registry)
            if remaining and stack.origins()[key][-1].layer == "preset":
                remaining += added
            if remaining != listed:
                settings = with_value(settings, path, remaining)
        return settings


def with_value(section: SectionT, path: Sequence[str], value: object) -> SectionT:
    """Return a copy of the settings `section` in which the field at `path` (names of sections, then of the field) is `value`. Does not check the value."""
    name, *below = path
    if below:
        value = with_value(cast(BaseModel, getattr(section, name)), below, value)
    return section.model_copy(update={name: value})


def _embedder_in(above: tuple[CheckedLayer, ...]) -> EmbedderSettings:
    """Return the embedder settings that the layers give; `above` = the layers, lowest first."""
    embedder_values = {
        key.removeprefix("embedder."): value
        for layer in above
        for key, value in layer.values.items()
        if key.startswith("embedder.")
    }
    return EmbedderSettings.model_validate(embedder_values)


def _calibrates(preset: str, embedder: EmbedderSettings, above: tuple[CheckedLayer, ...]) -> bool:
    """Whether the preset's cosine bars are those measured for `embedder`; `above` = the layers that may say so, lowest first.

    Only a preset with a setting `calibrated` leaves it to the user, and only for the shipped model: its numbers are meant for that one.
    """
    key = f"recall.{preset}.calibrated"
    chosen = [layer.values[key] for layer in above if key in layer.values]
    return not (key in settings_by_key() and is_shipped(embedder)) or bool(chosen and chosen[-1])


def _refused(key: str, place: str, reason: str) -> InvalidSetting:
    return InvalidSetting(
        f"{place}: `{key}` is ignored: {reason}.",
        hint="Set it in your own config.yaml; a project's file can restrict, never widen.",
    )


def _at(file: SettingsFile | None) -> Callable[[str], str]:
    return file.at if file is not None else str


def _preset_problem(checked: CheckedLayer, place: Callable[[str], str]) -> Iterator[tuple[str, TacitError]]:
    name = checked.values.get("preset")
    if name is not None and name not in preset_names():
        names = ", ".join(preset_names())
        yield (
            "preset",
            InvalidSetting(
                f"{place('preset')}: there is no preset {name!r}.", hint=f"The presets are {names}."
            ),
        )


def _preset_values(name: str) -> Flat:
    file = preset_file(name)
    checked = check_layer(file.values, place=file.at)
    for _, error in checked.problems:
        raise error
    return {"preset": name, **checked.values}


def _own_values(
    sections: object,
    holder: str,
    chosen: str | Path | None,
    place: Callable[[str], str],
    reading: _LayerReading,
) -> Mapping[str, object]:
    """Return the section of one agent or project, `agents.<name>` or `projects.<folder>`.

    Errors in the other sections are noted as well, so that no typo stays hidden.
    """
    layer: LayerName = "agent" if holder == "agents" else "own_project"
    if sections is None:
        return {}
    if not isinstance(sections, Mapping):
        reading.note(
            layer,
            holder,
            InvalidSetting(
                f"{place(holder)}: `{holder}` is {sections!r}; expected a mapping from names to settings.",
            ),
        )
        return {}
    mine: dict[str, object] = {}
    for name, section in cast(Mapping[str, object], sections).items():
        key = f"{holder}.{name}"
        if section is None:
            continue
        if not isinstance(section, Mapping):
            reading.note(
                layer, key, InvalidSetting(f"{place(key)}: `{key}` is {section!r}; expected a mapping.")
            )
            continue
        matches = name == chosen if isinstance(chosen, str) else _same_folder(name, chosen)
        for section_name, value in cast(Mapping[str, object], section).items():
            if section_name not in AGENT_SECTIONS and section_name not in DESIGN_SECTIONS:
                reading.note(
                    layer,
                    f"{key}.{section_name}",
                    InvalidSetting(
                        f"{place(f'{key}.{section_name}')}: `{section_name}` cannot be set for one {holder.removesuffix('s')}.",
                        hint=f"There may be {', '.join(AGENT_SECTIONS)}.",
                    ),
                )
            elif matches:
                mine[section_name] = value
    return mine


def _place_of_project(
    projects: object, root: Path | None, at_user: Callable[[str], str]
) -> Callable[[str], str]:
    names: Mapping[str, object] = cast(Any, projects) if isinstance(projects, Mapping) else {}
    name = next((name for name in names if _same_folder(name, root)), None)
    return lambda key: at_user(f"projects.{name}.{key}" if name is not None else "projects")


def _same_folder(name: str, root: Path | None) -> bool:
    return root is not None and Path(name).expanduser() == root


def _call_layer(overrides: Mapping[str, object]) -> CheckedLayer:
    checked = check_layer(overrides, place=lambda _: "call")
    for _, error in (*checked.problems, *_preset_problem(checked, lambda _: "call")):
        raise error
    return checked


@frozen
class EnvironmentValues:
    """Settings in environment variables such as `TACIT_RECALL__BUDGETS__START=1500`; two underscores stand for a dot.

    Nested texts of the variables that name settings; `names` maps a dotted key to its variable.
    """

    values: Mapping[str, object]
    names: Mapping[str, str] = field(default_factory=dict[str, str])

    def at(self, key: str) -> str:
        """Return the name of the variable that gives a dotted key, in words."""
        below = (name for dotted, name in self.names.items() if dotted == key or dotted.startswith(f"{key}."))
        name = next(below, "")
        return f"environment variable {name}" if name else "environment"


def read_environment(environ: Mapping[str, str]) -> EnvironmentValues:
    """Return the settings in environment variables, as nested texts that are not checked yet.

    A variable with two underscores in its name is always taken for a setting, so that a misspelt one is noticed; one
    without only when a setting of the top level has that name. Variables of Tacit that are no settings (TACIT_HOME,
    TACIT_HOOK_...) are left alone.
    """
    top_level = {key for key in settings_by_key() if "." not in key}
    nested: dict[str, object] = {}
    names: dict[str, str] = {}
    for variable in sorted(environ):
        if not variable.startswith(_VARIABLE_PREFIX):
            continue
        segments = variable.removeprefix(_VARIABLE_PREFIX).lower().split("__")
        if not all(segments) or (len(segments) == 1 and segments[0] not in top_level):
            continue
        key = ".".join(segments)
        names[key] = variable
        at = nested
        for segment in segments[:-1]:
            below = at.get(segment)
            if not isinstance(below, dict):
                below = at[segment] = {}
            at = cast(dict[str, object], below)
        at[segments[-1]] = environ[variable]
    return EnvironmentValues(values=nested, names=names)
