"""The allowed values of a setting as data, for pages and programs that edit it. In: the model. Out: facts. Pure."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, cast, get_args, get_origin

from tacit.config.fields import Setting, choices_of, settings_by_key
from tacit.config.layers import AGENT_SECTIONS
from tacit.config.plugins import plugin_group
from tacit.config.project_rules import ALLOWED
from tacit.frozen import frozen

SettingType = Literal["boolean", "integer", "number", "string", "choice", "list", "mapping"]
PROCESS_SECTIONS = (
    "daemon.", "store.", "embedder.", "kinds.", "capture.extractor.", "recall.anticipate.", "recall.judge.",
)  # fmt: skip
"""Prefixes of settings that are read only when the daemon starts. All others take effect within a second of a change."""
PINNED_GUIDANCE = (
    "They come before every prompt only while `recall.ambient.enabled` is on. Pin few kinds. For an assistant of one person or a small team: todo and goal; in long projects also decision. "
    "Many people in one place: none. Broad kinds (fact, event, observation) dilute the prompt; pin them only for a reason. "
    "Nothing here is forbidden."
)
NEEDS_AMBIENT = ("recall.ambient.pinned_kinds", "recall.ambient.pinned_limit", "recall.ambient.pinned_sort")
AMBIENT = "recall.ambient.enabled"
"""The settings `NEEDS_AMBIENT` have no effect unless this setting is on."""
GUIDANCE = {"recall.ambient.pinned_kinds": PINNED_GUIDANCE}
"""Advice on a setting, besides its meaning. Source: the ambient seed, "Recommended usage" section."""


@frozen
class Described:
    """A description of one setting: its allowed values, its default, and who may set it.

    Attributes:
        key, section, about: dotted name, the part before its last dot, meaning.
        type, items: type of the value; for a list, `items` is the type of its items.
        nullable: whether null is a value.
        choices: all allowed values, of a list all allowed items; () = any value of the type.
        minimum, maximum: of a number, inclusive unless `above_minimum`.
        default: the shipped value.
        per_agent: whether an agent or a project of one's own may have another value.
        project: in which direction a project's file may move it; "" = not at all.
        restart: whether it takes effect only when the daemon starts anew.
        guidance: advice on the setting; "" = none.
    """

    key: str
    section: str
    about: str
    type: SettingType
    items: SettingType | None
    nullable: bool
    choices: tuple[str, ...]
    minimum: float | None
    maximum: float | None
    above_minimum: bool
    default: object
    per_agent: bool
    project: str
    restart: bool
    guidance: str


@cache
def describe_settings() -> dict[str, Described]:
    """Return the description of every setting by its dotted name, in the order of the model. Kinds that a user adds are not among them."""
    return {key: _describe(setting) for key, setting in settings_by_key().items()}


def _describe(setting: Setting) -> Described:
    annotation: Any = setting.field.annotation
    arguments = get_args(annotation)
    nullable = type(None) in arguments and get_origin(annotation) is not Literal
    if nullable:
        annotation = next(argument for argument in arguments if argument is not type(None))
    item: Any = get_args(annotation)[0] if get_origin(annotation) is tuple else None
    limits = {
        name: cast(float, value)
        for rule in setting.field.metadata
        for name in ("ge", "gt", "le", "lt")
        if (value := getattr(rule, name, None)) is not None
    }
    top = setting.key.partition(".")[0]
    default = setting.field.get_default(call_default_factory=True)
    return Described(
        key=setting.key,
        section=setting.key.rpartition(".")[0],
        about=setting.field.description or "",
        type="choice" if plugin_group(setting.field) else _type(annotation),
        items=None if item is None else _type(item),
        nullable=nullable,
        choices=choices_of(setting),
        minimum=limits.get("ge", limits.get("gt")),
        maximum=limits.get("le", limits.get("lt")),
        above_minimum="gt" in limits,
        default=list(cast("tuple[object, ...]", default)) if isinstance(default, tuple) else default,
        per_agent=top in AGENT_SECTIONS,
        project=ALLOWED.get(setting.key, ""),
        restart=f"{setting.key}.".startswith(PROCESS_SECTIONS),
        guidance=GUIDANCE.get(setting.key, ""),
    )


def _type(annotation: object) -> SettingType:
    origin = get_origin(annotation)
    if origin is tuple:
        return "list"
    if origin is dict:
        return "mapping"
    if origin is Literal:
        return "choice"
    names: dict[object, SettingType] = {bool: "boolean", int: "integer", float: "number"}
    return names.get(annotation, "string")
