"""Adding and removing whole tables of a TOML file without another change. In: text. Out: text. Never reads or writes a file.

A table is added at the end of the file. It is removed with its header and its keys; comments and empty lines after its last key
stay. Only `tomllib` parses the syntax: a line opens a table if the text before it is a complete TOML document.
After every edit, the file must have the same content as before, except for the table.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from tacit.errors import HostError
from tacit.frozen import frozen

Keys = tuple[str, ...]
_HEADER = re.compile(r"^[ \t]*\[.*$", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@frozen
class _TomlTable:
    """The place of a table that has a header: `text[start:end]` is the header and the lines down to the last key."""

    keys: Keys
    start: int
    end: int


def read(text: str, *, path: Path) -> dict[str, object]:
    """Parse the text of the file into plain values. `path` is only for errors.

    Raises:
        HostError: if it is not valid TOML; it names the line.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise HostError(
            f"{path} is not valid TOML: {error}. Nothing was written.",
            hint="Correct that line, or move the file away, and run the command again.",
        ) from None
    except RecursionError:
        raise HostError(
            f"{path} cannot be read as TOML: values are nested too deep. Nothing was written.",
            hint="Correct these values, or move the file away, and run the command again.",
        ) from None


def find(values: object, keys: Sequence[str]) -> object:
    """Return the value at the path `keys`; None = there is none."""
    value: object = values
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, object]", value).get(key)
    return value


def table(values: Mapping[str, object], keys: Sequence[str]) -> Mapping[str, object]:
    """Return the table at the path `keys`; {} = there is none."""
    value = find(values, keys)
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def add(text: str, keys: Keys, values: Mapping[str, str | Sequence[str]], *, path: Path) -> str:
    """Return the text with a new table `keys` holding `values` at its end. No such table may exist yet.

    Raises:
        HostError: if no table can be added, because the file has an inline table such as `mcp_servers = {...}`.
    """
    expected = read(text, path=path)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [
        f"[{'.'.join(map(_key, keys))}]",
        *(f"{_key(name)} = {_value(value)}" for name, value in values.items()),
    ]
    gap = "" if not text else newline if text.endswith("\n") else 2 * newline
    after = text + gap + newline.join(lines) + newline
    _put(
        expected,
        keys,
        {name: value if isinstance(value, str) else list(value) for name, value in values.items()},
    )
    if _parsed(after) != expected:
        raise HostError(
            f"{path} writes {keys[0]} in a form that no table can be added to. Nothing was written.",
            hint=f"Write it as tables, `[{keys[0]}.name]`, and run the command again.",
        )
    return after


def remove(text: str, ours: Callable[[Keys], bool], *, path: Path) -> str:
    """Return the text without the tables whose keys `ours` accepts, and without the one empty line before each.

    Raises:
        HostError: if one of them is not written as a separate table.
    """
    before = read(text, path=path)
    gone = [table for table in _tables(text) if ours(table.keys)]
    for table in reversed(gone):
        start = table.start - _gap_before(text, table.start)
        text = text[:start] + text[table.end :]
    for keys in dict.fromkeys(table.keys for table in gone):
        _drop(before, keys)
    after = _parsed(text)
    if after is None or _without_empty(after) != _without_empty(before):
        names = ", ".join(".".join(table.keys) for table in gone)
        raise HostError(
            f"{names} of {path} cannot be taken out of it. Nothing was written.",
            hint="Take these tables out by hand, and run the command again.",
        )
    return text


def _tables(text: str) -> Iterator[_TomlTable]:
    """Yield the tables that have a header, in order."""
    opened = [(match.start(), match.end()) for match in _HEADER.finditer(text)]
    real = [(start, end) for start, end in opened if _parsed(text[:start]) is not None]
    for index, (start, end) in enumerate(real):
        limit = real[index + 1][0] if index + 1 < len(real) else len(text)
        keys = _keys_of(text[start:end])
        if keys:
            yield _TomlTable(keys=keys, start=start, end=_end_of_keys(text, end, limit))


def _keys_of(header: str) -> Keys:
    keys: list[str] = []
    value: object = _parsed(header.strip())
    while True:
        if isinstance(value, list):
            items = cast("list[object]", value)
            value = items[0] if items else {}
        if not isinstance(value, dict) or not value:
            return tuple(keys)
        name, value = next(iter(cast("dict[str, object]", value).items()))
        keys.append(name)


def _end_of_keys(text: str, at: int, limit: int) -> int:
    """Return the end of a table's last line that is neither empty nor a comment; `at` = the end of its header, `limit` = where the next table begins."""
    lines: list[tuple[int, int]] = []
    start = at
    while start < limit:
        end = text.find("\n", start, limit) + 1 or limit
        lines.append((start, end))
        start = end
    while len(lines) > 1:
        start, end = lines[-1]
        line = text[start:end].strip()
        if line and not line.startswith("#"):
            break
        lines.pop()
    return lines[-1][1] if lines else at


def _gap_before(text: str, start: int) -> int:
    """Return the length of the empty line before a table, which `add` wrote; 0 = there is none."""
    for newline in ("\r\n", "\n"):
        if text[:start].endswith(2 * newline):
            return len(newline)
    return 0


def _parsed(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        return None


def _put(values: dict[str, object], keys: Keys, value: object) -> None:
    for key in keys[:-1]:
        below = values.setdefault(key, {})
        if not isinstance(below, dict):
            return
        values = cast("dict[str, object]", below)
    values[keys[-1]] = value


def _drop(values: dict[str, object], keys: Keys) -> None:
    for key in keys[:-1]:
        below = values.get(key)
        if not isinstance(below, dict):
            return
        values = cast("dict[str, object]", below)
    values.pop(keys[-1], None)


def _without_empty(value: object) -> object:
    """Return `value` without empty tables: these exist only because of tables below them, which are gone."""
    if not isinstance(value, dict):
        return value
    fields = {name: _without_empty(each) for name, each in cast("dict[str, object]", value).items()}
    return {name: each for name, each in fields.items() if each != {}}


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: str | Sequence[str]) -> str:
    if not isinstance(value, str):
        return f"[{', '.join(map(_value, value))}]"
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return (
        '"'
        + "".join(char if char >= " " and char != "\x7f" else f"\\u{ord(char):04x}" for char in quoted)
        + '"'
    )
