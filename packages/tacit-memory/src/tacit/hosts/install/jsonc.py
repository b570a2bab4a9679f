"""Changing one place of a JSON file and no other byte. In: text (comments and trailing commas allowed). Out: text.

A small reader notes where every value begins and ends; an edit is an insertion or a cut at such a place. Whatever the
file held before stays as it was: formatting, order of keys, comments, doubled keys. Never reads or writes a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tacit.errors import HostError
from tacit.frozen import frozen

MAX_DEPTH = 200
_SCALAR = re.compile(r"[^\s,\]}:/\"\[{]+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"', re.DOTALL)
_GAP = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)


@frozen
class JsonNode:
    """A JSON value and its place in the text, `text[start:end]`. `value` is the plain Python value."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    value: object
    members: tuple[Member, ...] = ()
    items: tuple[JsonNode, ...] = ()

    def member(self, key: str) -> Member | None:
        """Return the member with this key, the last one if it is doubled, as JSON readers do; None = there is none."""
        return next((member for member in reversed(self.members) if member.key == key), None)


@frozen
class Member:
    """One `"key": value` of an object; `start` is the index at which the key begins."""

    key: str
    start: int
    node: JsonNode


class _JsonReader:
    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        self.path = path
        self.at = 1 if text.startswith("\ufeff") else 0

    def fail(self, problem: str) -> HostError:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - (self.text.rfind("\n", 0, self.at) + 1) + 1
        return HostError(
            f"{self.path} is not valid JSON: {problem} at line {line}, column {column}. Nothing was written.",
            hint="Correct that line, or move the file away, and run the command again.",
        )

    def gap(self) -> None:
        match = _GAP.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise self.fail("a text in double quotes is expected")
        try:
            text = json.loads(match.group())
        except ValueError:
            raise self.fail("a text with a wrong escape") from None
        self.at = match.end()
        return str(text)

    def value(self, depth: int) -> JsonNode:
        if depth > MAX_DEPTH:
            raise self.fail("values are nested too deep")
        start, sign = self.at, self.peek()
        if sign == "{":
            return self.object(depth)
        if sign == "[":
            return self.array(depth)
        if sign == '"':
            text = self.string()
            return JsonNode(kind="scalar", start=start, end=self.at, value=text)
        match = _SCALAR.match(self.text, self.at)
        if match is None:
            raise self.fail("a value is expected")
        try:
            parsed: object = json.loads(match.group())
        except ValueError:
            raise self.fail(f"{match.group()[:40]!r} is no value") from None
        self.at = match.end()
        return JsonNode(kind="scalar", start=start, end=self.at, value=parsed)

    def object(self, depth: int) -> JsonNode:
        start = self.at
        self.at += 1
        members: list[Member] = []
        while True:
            self.gap()
            if self.peek() == "}":
                break
            key_start = self.at
            key = self.string()
            self.gap()
            if self.peek() != ":":
                raise self.fail("a colon is expected")
            self.at += 1
            self.gap()
            members.append(Member(key=key, start=key_start, node=self.value(depth + 1)))
            if not self.comma("}"):
                break
        self.at += 1
        value = {member.key: member.node.value for member in members}
        return JsonNode(kind="object", start=start, end=self.at, value=value, members=tuple(members))

    def array(self, depth: int) -> JsonNode:
        start = self.at
        self.at += 1
        items: list[JsonNode] = []
        while True:
            self.gap()
            if self.peek() == "]":
                break
            items.append(self.value(depth + 1))
            if not self.comma("]"):
                break
        self.at += 1
        value = [item.value for item in items]
        return JsonNode(kind="array", start=start, end=self.at, value=value, items=tuple(items))

    def comma(self, closing: str) -> bool:
        """Move past a comma; False = the container ends here."""
        self.gap()
        if self.peek() == ",":
            self.at += 1
            return True
        if self.peek() == closing:
            return False
        raise self.fail(f"a comma or {closing!r} is expected")


def read(text: str, *, path: Path) -> JsonNode:
    """Parse a whole file, which must be one JSON object (comments and trailing commas allowed), into nodes with their places.

    Raises:
        HostError: naming file, line and column.
    """
    reader = _JsonReader(text, path)
    reader.gap()
    if reader.peek() != "{":
        raise reader.fail("an object is expected")
    node = reader.value(0)
    reader.gap()
    if reader.at != len(text):
        raise reader.fail("nothing more is expected")
    return node


def find(root: JsonNode, keys: Sequence[str]) -> JsonNode | None:
    """Return the node at the path `keys`; None = there is none."""
    node: JsonNode | None = root
    for key in keys:
        member = node.member(key) if node is not None else None
        node = member.node if member else None
    return node


def put(text: str, keys: Sequence[str], value: object, *, path: Path) -> str:
    """Return the text with the member at `keys` set to `value`, with missing objects created; unchanged if it has that value already.

    Raises:
        HostError: if the file cannot be read or something on the way is no object.
    """
    node = read(text, path=path)
    for depth, key in enumerate(keys):
        if node.kind != "object":
            raise _not_that(path, keys[:depth], "an object")
        member = node.member(key)
        if member is None:
            for later in reversed(keys[depth + 1 :]):
                value = {later: value}
            return _insert(text, node, f"{json.dumps(key, ensure_ascii=False)}: ", value)
        node = member.node
    if node.value == value:
        return text
    return text[: node.start] + _write(value, _style(text), _indent_at(text, node.start)) + text[node.end :]


def append(text: str, keys: Sequence[str], value: object, *, path: Path) -> str:
    """Return the text with `value` added at the end of the array at `keys`; a missing array and missing objects are created.

    Raises:
        HostError: if the file cannot be read or something on the way has the wrong type.
    """
    node = find(read(text, path=path), keys)
    if node is None:
        return put(text, keys, [value], path=path)
    if node.kind != "array":
        raise _not_that(path, keys, "a list")
    return _insert(text, node, "", value)


def cut(text: str, keys: Sequence[str], *, path: Path, index: int | None = None) -> str:
    """Return the text without the member at `keys`, or with `index` without that element of the array at `keys`; unchanged if the member or the array is missing.

    `index` must be the position of an element.

    Raises:
        HostError: if the text is no JSON object.
    """
    root = read(text, path=path)
    parent = find(root, keys if index is not None else keys[:-1])
    if parent is None:
        return text
    if index is not None:
        spans = [(item.start, item.end) for item in parent.items]
        at = index
    else:
        spans = [(member.start, member.node.end) for member in parent.members]
        positions = [n for n, member in enumerate(parent.members) if member.key == keys[-1]]
        if not positions:
            return text
        at = positions[-1]
    start, end = spans[at]
    if at + 1 < len(spans):  # up to the next one, so that its own indentation stays
        return text[:start] + text[_after_comma(text, end) :].lstrip(" \t\r\n")
    if at > 0:  # back to the end of the one before, with the comma between; a trailing comma stays one
        return text[: spans[at - 1][1]] + text[end:]
    inner = text[parent.start + 1 : parent.end - 1]
    alone = not (
        inner[: start - parent.start - 1].strip() or text[_after_comma(text, end) : parent.end - 1].strip()
    )
    if alone:
        return text[: parent.start + 1] + text[parent.end - 1 :]
    return text[:start] + text[_after_comma(text, end) :]  # comments of others stay


def prune(text: str, *places: Sequence[str], path: Path) -> str:
    """Return the text without those members at `places` that are empty objects or lists. They are tried in this order."""
    for keys in places:
        node = find(read(text, path=path), keys)
        if keys and node is not None and node.value in ([], {}):
            text = cut(text, keys, path=path)
    return text


def _after_comma(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    stop = gap.end() if gap else at
    return stop + 1 if text[stop : stop + 1] == "," else at


def _insert(text: str, parent: JsonNode, lead: str, value: object) -> str:
    """Return the text with `value` after the last child of `parent`, in the style of the file. `lead` = what stands before it, such as the key."""
    style = _style(text)
    newline, unit = style
    outer = _indent_at(text, parent.start)
    children = [member.node for member in parent.members] or list(parent.items)
    starts = [member.start for member in parent.members] or [item.start for item in parent.items]
    if not children:
        body = lead + _write(value, style, outer + unit)
        inside = text[parent.start + 1 : parent.end - 1]
        stripped = inside.rstrip(" \t\r\n")
        filled = f"{text[: parent.start + 1]}{stripped}{newline}{outer}{unit}{body}{newline}{outer}"
        return filled + text[parent.end - 1 :]
    one_line = "\n" not in text[parent.start : parent.end]
    inner = _indent_at(text, starts[-1]) if not one_line else outer + unit
    body = lead + _write(value, style, inner)
    end = children[-1].end
    behind = _after_comma(text, end)
    comma = "" if behind != end else ","
    if comma:
        return f"{text[:end]},{newline}{inner}{body}{text[end:]}"
    return f"{text[:behind]}{newline}{inner}{body},{text[behind:]}"


def _style(text: str) -> tuple[str, str]:
    """Return (line end, one step of indentation) as the file has them."""
    newline = "\r\n" if "\r\n" in text else "\n"
    first = re.search(r"\n([ \t]+)\S", text)
    return newline, first.group(1) if first else "  "


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _write(value: object, style: tuple[str, str], indent: str) -> str:
    newline, unit = style
    plain = json.dumps(value, indent=unit, ensure_ascii=False)
    return plain.replace("\n", newline + indent)


def _not_that(path: Path, keys: Sequence[str], expected: str) -> HostError:
    place = ".".join(keys) or "the whole file"
    return HostError(
        f"{path}: {place} is not {expected}. Nothing was written.",
        hint=f"Make it {expected}, or remove it, and run the command again.",
    )
