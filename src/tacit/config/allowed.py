"""The allowed values of a setting in words, for the settings page and messages. In: a field. Out: text. Pure."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

from tacit.config.plugins import plugin_group


def allowed_words(field: Any) -> str:
    """Such as "whole number ≥ 1, ≤ 200"; choices stand between backticks."""
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
        return " or ".join(_words(part) for part in get_args(annotation))
    names: dict[object, str] = {
        bool: "true, false", int: "whole number", float: "number", str: "text", type(None): "null"
    }  # fmt: skip
    return names[annotation]
