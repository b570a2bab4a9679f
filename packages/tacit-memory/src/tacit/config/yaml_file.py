"""The one reader of YAML: settings files, and the front matter of the files of a team.

In: a path, or the text of a file. Out: plain values with the line of every key. Refuses what these files never need
(anchors, aliases, merge keys, custom tags, repeated keys, deep nesting, large files), so that a hostile project
file costs little time and no memory. Never interprets a key.
"""

from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field
from io import StringIO
from pathlib import Path
from typing import Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, NodeEvent
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

from tacit.errors import InvalidSetting
from tacit.frozen import frozen

MAX_BYTES = 64 * 1024
"""The largest settings file that is read, in bytes. Reading takes about a second for 300 kB, and prompts wait for it; real files have a few kB."""
MAX_DEPTH = 12

_NESTED = re.compile(rf"(?:[\[{{]\s*){{{MAX_DEPTH + 1}}}")
"""More opening brackets in a row than `MAX_DEPTH`. They are refused before the YAML scanner reads them."""
_TOML_TABLE = re.compile(r"^\[[A-Za-z_.]+\]\s*$", re.MULTILINE)
"""The head of a table of TOML on a line of its own."""
_TAGS = ("null", "bool", "int", "float", "str", "timestamp", "map", "seq")


@frozen
class SettingsFile:
    """The values in one settings file. `lines` holds the line of every dotted key, counted from 1."""

    place: str
    values: Mapping[str, object]
    lines: Mapping[str, int] = field(default_factory=dict[str, int])

    def at(self, key: str) -> str:
        """Return `path:line` of a dotted key for messages, or of its nearest section that is in the file; the path alone if none is."""
        while key not in self.lines and "." in key:
            key = key.rpartition(".")[0]
        return f"{self.place}:{self.lines[key]}" if key in self.lines else self.place


def read_settings_file(path: Path) -> SettingsFile | None:
    """Read and parse the settings file at `path`; None = there is no such file.

    Raises:
        InvalidSetting: if it cannot be read or understood; names the file and, where known, the line.
    """
    try:
        # A pipe or a device would block, and a project's file may be a link to one.
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidSetting(f"{path} cannot be read: it is no regular file.", hint="Remove it.")
        with path.open("rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidSetting(
            f"{path} cannot be read: {error.strerror or error}.", hint="Check that it is a file you may read."
        ) from error
    if len(raw) > MAX_BYTES:
        raise InvalidSetting(
            f"{path} is larger than {MAX_BYTES // 1024} kB.",
            hint="Settings files have a few kB; make it smaller.",
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidSetting(
            f"{path} is not UTF-8 text (byte {error.start}).", hint="Save it as UTF-8."
        ) from error
    return parse_settings(text, place=str(path))


def parse_settings(text: str, *, place: str) -> SettingsFile:
    """Parse the text of a settings file. `place` is its name in messages.

    Raises:
        InvalidSetting: naming `place`, the line where known, and what to do.
    """
    if _TOML_TABLE.search(text):
        _refuse_toml(text, place)
    yaml = YAML(typ="safe", pure=True)
    try:
        _refuse_unneeded(yaml, text, place)
        node: Any = cast(Any, yaml).compose(StringIO(text))
        lines: dict[str, int] = {}
        values: object = {} if node is None else _plain(yaml, node, place, "", lines)
    except MarkedYAMLError as error:
        raise _syntax_error(error, place) from error
    except YAMLError as error:
        raise InvalidSetting(
            f"{place} is not YAML: {str(error).splitlines()[0]}.", hint="Correct the file, or remove it."
        ) from error
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise InvalidSetting(
            f"{place} holds {_shape(values)} at its top level; expected a mapping.",
            hint="Write `section:` and below it, indented, `key: value`.",
        )
    return SettingsFile(place=place, values=cast(dict[str, object], values), lines=lines)


def _refuse_toml(text: str, place: str) -> None:
    """Raise if `text` is TOML from its first table on; the error says the same in YAML."""
    begin = next(table.start() for table in _TOML_TABLE.finditer(text))
    try:
        values = tomllib.loads(text[begin:])
    except tomllib.TOMLDecodeError:
        return
    written = StringIO()
    cast(Any, YAML()).dump(values, written)
    line = text.count("\n", 0, begin) + 1
    raise InvalidSetting(
        f"{place}:{line} is TOML; settings are YAML.", hint=f"The same in YAML:\n{written.getvalue()}"
    )


def without_key(text: str, path: Sequence[str]) -> str:
    """Return `text` without the key at `path` and without the sections that are empty then; unchanged if it has no such key.

    Whole lines go, so that every comment before another key stays where it was. Of `{a: 1, b: 2}` the key alone goes.
    """
    for length in range(len(path), 0, -1):
        span = _key_slice(cast(Any, YAML(typ="safe", pure=True)).compose(StringIO(text)), path[:length], text)
        if span is None:
            return text
        text = text[: span.start] + text[span.stop :]
        above = _node_at(cast(Any, YAML(typ="safe", pure=True)).compose(StringIO(text)), path[: length - 1])
        if not isinstance(above, ScalarNode):  # a section with nothing below it reads as null
            return text
    return text


def _node_at(node: object, path: Sequence[str]) -> object:
    for name in path:
        pair = _pair(node, name)
        if pair is None:
            return None
        node = pair[1]
    return node


def _pair(node: object, name: str) -> tuple[Any, Any] | None:
    return next((pair for pair in _pairs(node) if str(pair[0].value) == name), None)


def _pairs(node: object) -> list[tuple[Any, Any]]:
    return cast("list[tuple[Any, Any]]", cast(Any, node).value) if isinstance(node, MappingNode) else []


def _key_slice(node: object, path: Sequence[str], text: str) -> slice | None:
    """Return the part of `text` with the key at `path` and its value, without the comments and blank lines after it; None = there is no such key."""
    parent = _node_at(node, path[:-1])
    pair = _pair(parent, path[-1])
    if pair is None:
        return None
    if not cast(Any, parent).flow_style:
        return _line_slice(pair[0], text)
    pairs = _pairs(parent)
    at = pairs.index(pair)
    if len(pairs) == 1 and len(path) > 1:
        return _key_slice(node, path[:-1], text)
    if at + 1 < len(pairs):
        return slice(int(pair[0].start_mark.index), int(pairs[at + 1][0].start_mark.index))
    return slice(
        int((pairs[at - 1][1].end_mark if at else pair[0].start_mark).index), int(pair[1].end_mark.index)
    )


def _line_slice(key: object, text: str) -> slice:
    """Return the part of `text` with the lines of `key` and of everything below it."""
    lines = text.splitlines(keepends=True)
    mark = cast(Any, key).start_mark
    first, column = int(mark.line), int(mark.column)
    end = first + 1
    for number in range(first + 1, len(lines)):
        words = lines[number].lstrip()
        if not words.strip() or words.startswith("#"):
            continue
        indent = len(lines[number]) - len(words)
        if indent < column or (indent == column and not words.startswith("-")):
            break
        end = number + 1
    return slice(sum(map(len, lines[:first])), sum(map(len, lines[:end])))


def _refuse_unneeded(yaml: YAML, text: str, place: str) -> None:
    depth = 0
    if nested := _NESTED.search(text):
        raise _too_deep(place, text.count("\n", 0, nested.start()) + 1)
    events: Any = cast(Any, yaml).parse(StringIO(text))
    for event in events:
        line: int = event.start_mark.line + 1
        if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and cast(Any, event).anchor):
            raise InvalidSetting(
                f"{place}:{line} uses an anchor or alias.",
                hint="Write the value out; settings need no references.",
            )
        if isinstance(event, CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _too_deep(place, line)
        elif isinstance(event, CollectionEndEvent):
            depth -= 1


def _too_deep(place: str, line: int) -> InvalidSetting:
    return InvalidSetting(
        f"{place}:{line} is nested more than {MAX_DEPTH} levels deep.", hint="No setting needs that."
    )


def _plain(yaml: YAML, node: object, place: str, prefix: str, lines: dict[str, int]) -> object:
    untyped_node = cast(Any, node)
    tag = str(untyped_node.tag).removeprefix("tag:yaml.org,2002:")
    position = f"{place}:{untyped_node.start_mark.line + 1}"
    if tag not in _TAGS:
        raise InvalidSetting(
            f"{position} uses the tag {untyped_node.tag!s}.", hint="Settings are plain values."
        )
    if isinstance(node, MappingNode):
        mapping: dict[str, object] = {}
        for key_node, value_node in cast(Any, node).value:
            key = _key(key_node, place)
            line: int = key_node.start_mark.line + 1
            if key in mapping:
                raise InvalidSetting(
                    f"{place}:{line} repeats the key {key!r}.",
                    hint="Keep one of them; the other would be lost.",
                )
            lines[prefix + key] = line
            mapping[key] = _plain(yaml, value_node, place, f"{prefix}{key}.", lines)
        return mapping
    if isinstance(node, SequenceNode):
        return [_plain(yaml, item, place, prefix, {}) for item in untyped_node.value]
    if tag == "timestamp":
        return str(untyped_node.value)
    try:
        return cast(Any, yaml).constructor.construct_object(node, deep=True)
    except (ValueError, LookupError, ArithmeticError) as error:  # thousands of digits, or `!!bool maybe`
        raise InvalidSetting(
            f"{position} holds a value that cannot be read.", hint="Correct that line."
        ) from error


def _key(node: object, place: str) -> str:
    untyped_node = cast(Any, node)
    if isinstance(node, ScalarNode) and untyped_node.value != "<<":
        return str(untyped_node.value)
    raise InvalidSetting(
        f"{place}:{untyped_node.start_mark.line + 1} has a key that is not a word.",
        hint="Keys are plain setting names.",
    )


def _syntax_error(error: MarkedYAMLError, place: str) -> InvalidSetting:
    yaml_error = cast(Any, error)
    mark = yaml_error.problem_mark or yaml_error.context_mark
    position = f"{place}:{mark.line + 1}" if mark is not None else place
    problem = str(yaml_error.problem or yaml_error.context or "cannot be read")
    if "'\\t'" in problem or "\t" in problem:
        return InvalidSetting(
            f"{position} is indented with a tab.", hint="YAML allows only spaces for indentation."
        )
    return InvalidSetting(f"{position} is not YAML: {problem}.", hint="Correct that line.")


def _shape(value: object) -> str:
    return "a list" if isinstance(value, list) else f"the single value {str(value)[:40]!r}"
