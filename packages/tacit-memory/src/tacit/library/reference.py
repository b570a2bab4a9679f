"""The page of the library, made from its docstrings: `python -m tacit.library.reference > docs/reference/library.md`.

In: the public classes and functions. Out: Markdown. A test compares it with the page, so that the page cannot go stale.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import tacit

HEAD = """# Python library

Made from the docstrings of `packages/tacit-memory/src/tacit/library/` by `python -m tacit.library.reference`; do not edit by hand.
[Tacit in your own Python program](../guide/library.md) explains when to use what, with examples.

`from tacit import Tacit`. A `Tacit` is synchronous and safe to use from several threads; `Tacit.aio` has the same methods for a
program with an event loop. Every error is a `TacitError` with a `code` and a `hint`; [errors](errors.md) lists them. In a notebook,
values show themselves as tables.
"""

CLASSES = (
    "Tacit",
    "Session",
    "Recollection",
    "Found",
    "Stored",
    "MemoryPage",
    "MemoryRecord",
    "RecallRecord",
    "Considered",
    "Prepared",
    "InjectionResult",
    "InjectionFailed",
)
FUNCTIONS = ("is_block", "prune_blocks", "without_blocks", "open_engine")
_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):$")
_ENTRY = re.compile(r"^(\*{0,2}[\w, ]+?): (.*)$")


def render() -> str:
    """Return the text of `docs/reference/library.md`."""
    parts = [HEAD, *(_class(name) for name in CLASSES), "\n## Functions\n"]
    parts += [_function(name, getattr(tacit, name)) for name in FUNCTIONS]
    return "".join(parts)


def _class(name: str) -> str:
    kind: Any = getattr(tacit, name)
    parts = [f"\n## `{name}`\n\n{_docstring_markdown(kind)}"]
    if is_dataclass(kind):
        parts.append(f"\nFields: {', '.join(_field(field) for field in fields(kind))}.\n")
    parts += [_function(f"{name}.{member}", value) for member, value in _members(kind)]
    return "".join(parts)


def _field(field: Any) -> str:
    default = "" if field.default is MISSING else f" = {field.default!r}"
    return f"`{field.name}: {field.type}{default}`"


def _members(kind: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that the class itself defines, with their names, in the order of the source."""
    for name, value in kind.__dict__.items():
        if name.startswith("_"):
            continue
        if isinstance(value, classmethod | staticmethod):
            yield name, getattr(kind, name)
        elif inspect.isfunction(value) or isinstance(value, property):
            yield name, value


def _function(name: str, value: Any) -> str:
    title = f"\n### `{name}`\n\n"
    if isinstance(value, property):
        return title + _docstring_markdown(value.fget)
    return f"{title}```python\n{_signature(name, value)}\n```\n\n{_docstring_markdown(value)}"


def _signature(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    arguments: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in arguments:
            arguments.append("*")
        arguments.append(_argument(parameter))
    result = f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(arguments)}){result}"
    if len(line) <= 100:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){result}"


def _argument(parameter: inspect.Parameter) -> str:
    default = "" if parameter.default is parameter.empty else f" = {_value(parameter.default)}"
    return f"{parameter.name}: {parameter.annotation}{default}"


def _value(value: object) -> str:
    """Return a default as Python source; for an object without a literal, its type."""
    text = repr(value)
    return type(value).__name__ if text.startswith("<") else text


def _docstring_markdown(value: Any) -> str:
    """Return the docstring of the object `value` as Markdown, its sections (Args, Raises) as lists."""
    lines = inspect.cleandoc(value.__doc__ or "").splitlines()
    out: list[str] = []
    section = ""
    for line in lines:
        if _SECTION.match(line):
            section = line.rstrip(":")
            out.append(f"{section}:\n")
        elif not section or not line.strip():
            out.append(line)
        elif line.startswith("        "):  # goes on
            out[-1] = f"{out[-1]} {line.strip()}"
        else:
            out.append(_entry(line.strip(), listed=section != "Returns"))
    return "\n".join(out).rstrip() + "\n"


def _entry(line: str, *, listed: bool) -> str:
    match = _ENTRY.match(line)
    if not listed or match is None:
        return f"- {line}" if listed else line
    names = ", ".join(f"`{name.strip()}`" for name in match[1].split(","))
    return f"- {names}: {match[2]}"


if __name__ == "__main__":
    sys.stdout.write(render())
