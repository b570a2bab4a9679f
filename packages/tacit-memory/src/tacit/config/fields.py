"""The settings by dotted name, the conversion between nested and flat values, and the check of one layer.

In: the nested values of one layer. Out: flat, valid values, and a problem for every key that is not. Pure: reads no
file and no environment; a problem is a value here, and `layers` decides whether to raise it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from tacit.config.design_names import DESIGN_NAMES, DESIGN_ROOTS, note_on, settings_called, with_own_names
from tacit.config.plugins import plugin_group
from tacit.config.preset_files import preset_names
from tacit.config.settings import KindSettings, Settings
from tacit.errors import InvalidSetting, TacitError, UnknownSetting
from tacit.frozen import frozen
from tacit.model.kinds import BUILTIN

Flat = dict[str, object]
"""Settings by dotted key. A kind is one value, `kinds.<name>`, because its fields make sense only together."""

_KIND_FIELDS = tuple(KindSettings.model_fields)


@frozen
class Setting:
    """One setting of the configuration model.

    Attributes:
        key: dotted name, e.g. `recall.budgets.start`.
        field: pydantic's description of it.
        section: the class it belongs to.
    """

    key: str
    field: FieldInfo
    section: type[BaseModel]

    @property
    def takes_list(self) -> bool:
        """Whether a value of the setting is a list; a text for it is split at commas."""
        return get_origin(self.field.annotation) is tuple


@frozen
class CheckedLayer:
    """The result of checking a layer: its valid values, and an error for each other key."""

    values: Flat
    problems: tuple[tuple[str, TacitError], ...] = ()


@cache
def settings_by_key() -> dict[str, Setting]:
    """Return every setting by its dotted key, in the order of the model. Kinds that a user adds are not among them."""
    return {setting.key: setting for setting in _walk(Settings, "")}


def default_values() -> Flat:
    """Return the shipped value of every setting."""
    return {
        key: setting.field.get_default(call_default_factory=True)
        for key, setting in settings_by_key().items()
    }


def check_layer(
    values: Mapping[str, object], *, place: Callable[[str], str], from_text: bool = False
) -> CheckedLayer:
    """Check the nested `values` of one layer, and return the valid ones and the errors. Never raises for a wrong value.

    Args:
        values: nested mappings as a file or a caller gives them.
        place: names the place of a dotted key for messages.
        from_text: values are texts of environment variables: `"1500"` is a number, commas part a list.
    """
    problems: list[tuple[str, TacitError]] = []
    cleaned = _flatten_known(with_own_names(values), Settings, "", place, problems)
    if from_text:
        cleaned = _from_text(cleaned)
    while cleaned:
        try:
            checked = _validate(cleaned, strict=not from_text)
        except ValidationError as error:
            for detail in error.errors():
                location = tuple(str(segment) for segment in detail["loc"])
                key = _known_part(location)
                problems.append((key, _wrong_value(key, dict(detail), cleaned.get(key), place)))
                cleaned.pop(key, None)
            continue
        valid = {key: _value_at(checked, key) for key in cleaned}
        return CheckedLayer(values=valid, problems=tuple(problems))
    return CheckedLayer(values={}, problems=tuple(problems))


def build(values: Mapping[str, object]) -> Settings:
    """Return the settings that have these values by dotted key, which must have passed `check_layer`; the defaults for all others."""
    return Settings.model_validate(nest(values))


def nest(values: Mapping[str, object]) -> dict[str, object]:
    """Return values by dotted key as nested dictionaries: {"a.b": 1} -> {"a": {"b": 1}}."""
    nested: dict[str, object] = {}
    for key, value in values.items():
        *parents, last = key.split(".")
        at = nested
        for parent in parents:
            at = cast(dict[str, object], at.setdefault(parent, {}))
        at[last] = value
    return nested


def unknown_setting(key: str, place: str) -> UnknownSetting:
    """Return the error for a setting that does not exist, with the nearest existing name as a hint."""
    if any(name.startswith(f"{key}.") for name in settings_by_key()):
        return UnknownSetting(
            f"{place}: `{key}` is a section, not a setting.",
            hint=f"`tacit config get {key}` lists what is in it.",
        )
    near = nearest_key(key)
    parent = key.rpartition(".")[0]
    if meant := settings_called(key):
        note = note_on(key)
        hint = (
            f"Here it is called {' and '.join(f'`{name}`' for name in meant)}{f' ({note})' if note else ''}."
        )
    elif key in DESIGN_ROOTS:
        hint = "docs/reference/presets.md lists what the names of that design are called here."
    elif near:
        hint = f"Did you mean `{near}`?"
    elif any(name.startswith(f"{parent}.") for name in settings_by_key()):
        hint = f"`tacit config get {parent}` lists what is in it."
    else:
        hint = "docs/reference/settings.md lists every setting."
    return UnknownSetting(f"{place}: there is no setting `{key}`.", hint=hint)


def nearest_key(key: str) -> str:
    """Return the setting or section whose name is nearest to `key`; "" = none is near."""
    keys = list(settings_by_key())
    sections = sorted({name.rpartition(".")[0] for name in keys if "." in name} | {"kinds"})
    ending = [name for name in (*sections, *keys) if name.endswith(f".{key}")]
    if ending:
        return ending[0]
    parent, _, last = key.rpartition(".")
    siblings = {name for name in (*keys, *sections) if name.rpartition(".")[0] == parent}
    near = get_close_matches(last, [name.rpartition(".")[2] for name in siblings], n=1, cutoff=0.6)
    if near:
        return f"{parent}.{near[0]}".removeprefix(".")
    # Siblings are alike by the section that they share, which says nothing.
    remaining = [name for name in (*keys, *sections) if name not in siblings and name != parent]
    return next(iter(get_close_matches(key, remaining, n=1, cutoff=0.75)), "")


def section_of(annotation: object) -> type[BaseModel] | None:
    """Return the section class that an annotation names; None = it is a plain value."""
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _walk(model: type[BaseModel], prefix: str) -> Iterator[Setting]:
    for name, field in model.model_fields.items():
        section = section_of(field.annotation)
        if section is not None:
            yield from _walk(section, f"{prefix}{name}.")
        elif prefix + name != "kinds":
            yield Setting(key=prefix + name, field=field, section=model)


def _flatten_known(
    values: Mapping[str, object],
    model: type[BaseModel],
    prefix: str,
    place: Callable[[str], str],
    problems: list[tuple[str, TacitError]],
) -> Flat:
    """Flatten nested values to dotted keys that the model has, each beginning with `prefix` ("" or `section.`); the values are not checked.

    Adds (dotted key, error) to `problems` for each unknown key and each section that is not a mapping.
    """
    flat: Flat = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        field = model.model_fields.get(str(name))
        if field is None:
            problems += [(leaf, unknown_setting(leaf, place(leaf))) for leaf in _unknown_keys(key, value)]
            continue
        section = section_of(field.annotation)
        if section is None and key != "kinds":
            flat[key] = value
        elif value is None:  # `recall:` with nothing but comments below it
            continue
        elif not isinstance(value, Mapping):
            problems.append(
                (
                    key,
                    InvalidSetting(
                        f"{place(key)}: `{key}` is {_shown(value)}; expected a mapping.",
                        hint=f"Write `{key}:` and its settings below it, indented.",
                    ),
                )
            )
        elif section is not None:
            flat.update(
                _flatten_known(cast(Mapping[str, object], value), section, f"{key}.", place, problems)
            )
        else:
            flat.update(_clean_kinds(cast(Mapping[str, object], value), place, problems))
    return flat


_DESIGN_SECTIONS = frozenset(
    {
        *DESIGN_ROOTS,
        *(f"memory.injection.{name.partition('.')[0]}" for name in DESIGN_NAMES["typed"] if "." in name),
    }
)


def _unknown_keys(key: str, value: object) -> list[str]:
    """Return the keys to name in errors for an unknown one: of a section of a design the keys in it, else `key` itself."""
    if not isinstance(value, Mapping) or not value or key not in _DESIGN_SECTIONS:
        return [key]
    below = cast("Mapping[str, object]", value)
    return [leaf for name, inner in below.items() for leaf in _unknown_keys(f"{key}.{name}", inner)]


def _clean_kinds(
    kinds: Mapping[str, object], place: Callable[[str], str], problems: list[tuple[str, TacitError]]
) -> Flat:
    flat: Flat = {}
    built_in = {kind.name: {name: asdict(kind)[name] for name in _KIND_FIELDS} for kind in BUILTIN}
    for name, value in kinds.items():
        key = f"kinds.{name}"
        if not str(name).isascii() or not str(name).isidentifier() or str(name) != str(name).lower():
            problems.append(
                (
                    key,
                    InvalidSetting(
                        f"{place(key)}: {name!r} cannot name a kind.",
                        hint="Use lower-case letters, digits and _.",
                    ),
                )
            )
            continue
        if not isinstance(value, Mapping):
            problems.append(
                (
                    key,
                    InvalidSetting(
                        f"{place(key)}: `{key}` is {_shown(value)}; expected a mapping.",
                        hint="Write at least `label` and `prefix` below it, indented.",
                    ),
                )
            )
            continue
        kind_fields = cast(Mapping[str, object], value)
        unknown = [field for field in kind_fields if field not in _KIND_FIELDS]
        if unknown:
            field_key = f"{key}.{unknown[0]}"
            problems.append(
                (
                    field_key,
                    UnknownSetting(
                        f"{place(field_key)}: a kind has no field `{unknown[0]}`.",
                        hint=f"Its fields are {', '.join(_KIND_FIELDS)}.",
                    ),
                )
            )
            continue
        flat[key] = {**built_in.get(str(name), {}), **kind_fields}
    return flat


def _validate(flat: Flat, *, strict: bool) -> Settings:
    nested = nest(flat)
    if not strict:
        return Settings.model_validate(nested)
    try:
        # JSON mode: strict about `true` for a number or "1500" in quotes, yet a list may fill a tuple.
        text = json.dumps(nested)
    except TypeError:  # a caller's own values: tuples of enums, for one
        return Settings.model_validate(nested)
    return Settings.model_validate_json(text, strict=True)


def _value_at(settings: Settings, key: str) -> object:
    at: object = settings
    for segment in key.split("."):
        at = cast(dict[str, object], at)[segment] if isinstance(at, dict) else getattr(at, segment)
    return at


def _known_part(location: tuple[str, ...]) -> str:
    if location[:1] == ("kinds",):
        return ".".join(location[:2])
    settings = settings_by_key()
    for end in range(len(location), 0, -1):
        if ".".join(location[:end]) in settings:
            return ".".join(location[:end])
    # A check of a whole section names the section; the first setting in it stands for it.
    return next(name for name in settings if name.startswith(".".join(location)))


def _wrong_value(
    key: str, detail: dict[str, Any], input_value: object, place: Callable[[str], str]
) -> InvalidSetting:
    location = ".".join(str(segment) for segment in detail["loc"] if not isinstance(segment, int))
    name = location if location.startswith(key) else key
    expected = str(detail["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    if detail["type"] == "missing":
        return InvalidSetting(
            f"{place(key)}: `{key}` lacks `{name.rpartition('.')[2]}`.",
            hint="A new kind needs label and prefix.",
        )
    value: object = input_value if name == key else detail["input"]
    if name.startswith("kinds.") and name != key and isinstance(input_value, dict):
        value = cast(Flat, input_value).get(name.rpartition(".")[2], value)
    setting = settings_by_key().get(key)
    hint = ""
    if setting is not None:
        near = get_close_matches(str(value), choices_of(setting), n=1)
        bounded = setting.field.metadata or setting.field.annotation is bool
        limits = f"Allowed: {allowed_words(setting.field)}." if bounded else ""
        group = plugin_group(setting.field)
        if group is not None and value in group.refused:
            near, limits = [], ""
        elif group is not None:
            limits = "Is the package that provides it installed where Tacit runs?"
        hint = f"Did you mean `{near[0]}`?" if near else limits
    return InvalidSetting(
        f"{place(name)}: `{name}` is {_shown(value)}; expected {_lower_first(expected)}.", hint=hint
    )


def choices_of(setting: Setting) -> tuple[str, ...]:
    """Return all allowed values of a setting, of a list all allowed items; () = any value of its type."""
    if setting.key == "preset":
        return preset_names()
    plugins = plugin_group(setting.field)
    if plugins is not None:
        return plugins.names()
    annotation = setting.field.annotation
    inner = get_args(annotation)[0] if get_origin(annotation) is tuple else annotation
    return tuple(str(choice) for choice in get_args(inner)) if get_origin(inner) is Literal else ()


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _from_text(flat: Flat) -> Flat:
    settings = settings_by_key()
    return {
        key: _read_text(settings[key], value) if key in settings else value for key, value in flat.items()
    }


def _read_text(setting: Setting, value: object) -> object:
    if isinstance(value, str) and setting.takes_list:
        return tuple(item.strip() for item in value.split(",") if item.strip())
    return value


def allowed_words(field: Any) -> str:
    """Return the allowed values of a setting in words, such as "whole number ≥ 1, ≤ 200"; choices are in backticks."""
    annotation = field.annotation
    plugins = plugin_group(field)
    if plugins is not None:
        names = " · ".join(f"`{name}`" for name in plugins.built_in)
        return f"{names}, or an entry point of `{plugins.group}`"
    if get_origin(annotation) is dict:
        return "mapping of names to numbers"
    if get_origin(annotation) is tuple:
        return f"list of {_words(get_args(annotation)[0])}"
    limits = [
        f"{sign} {getattr(rule, name)}"
        for rule in field.metadata
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
        if getattr(rule, name, None) is not None
    ]
    return " ".join((_words(annotation), ", ".join(limits))).strip()


def _words(annotation: object) -> str:
    if get_origin(annotation) is Literal:
        return " · ".join(f"`{value}`" for value in get_args(annotation))
    if get_args(annotation):
        return " or ".join(_words(argument) for argument in get_args(annotation))
    names: dict[object, str] = {
        bool: "true, false",
        int: "whole number",
        float: "number",
        str: "text",
        type(None): "null",
    }
    return names[annotation]
