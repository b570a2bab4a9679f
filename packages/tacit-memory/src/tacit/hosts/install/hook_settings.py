"""Our entries among the hooks of a host's settings file: groups for Claude Code, Codex and Gemini CLI, single handlers for Cursor.

In: the file's text. Out: its text with or without our entries. No I/O.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import cast

from tacit.hosts.install import jsonc
from tacit.hosts.install.target import version_in

LAUNCHER_NAMES = ("tacit-hook", "tacit-hook.exe")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """The `hooks` of a settings file: one entry of ours for each event, after those of others.

    Attributes:
        path: the file.
        groups: our entries, each with its event. An entry is a group with a list of handlers, or a single handler.
        why: what they are for.
        unread: why the host would ignore the content of the file; "" when it reads it.
        opening: the content of a new file.
        rules: the rules for tools that the file shall hold beside those of others.
    """

    path: Path
    groups: tuple[tuple[str, Mapping[str, object]], ...]
    why: str = "calls Tacit when a session, prompt or tool call begins or ends (hooks)"
    unread: Callable[[Path, str], str] = lambda _path, _text: ""
    opening: str = "{}\n"
    rules: tuple[str, ...] = ()

    def holds(self, text: str) -> bool:
        """Whether every event has exactly our entry, and no other event has one."""
        actual = [(event, group) for event, _, group in self._ours(text)]
        return sorted(actual, key=lambda pair: pair[0]) == sorted(self.groups, key=lambda pair: pair[0])

    def present(self, text: str) -> bool:
        """Whether any hook of ours is in it."""
        return next(self._ours(text), None) is not None

    def version(self, text: str) -> int:
        """The oldest version among our entries."""
        return min((version_in(json.dumps(group)) for _, _, group in self._ours(text)), default=1)

    def add(self, text: str | None) -> str:
        """The text with an entry for each event."""
        text = self.opening if not text or not text.strip() else text
        for event, group in self.groups:
            text = jsonc.append(text, ("hooks", event), group, path=self.path)
        return text

    def remove(self, text: str) -> str | None:
        """The text without our handlers, and without the lists that are empty then."""
        touched: set[str] = set()
        while (entry := next(self._ours(text), None)) is not None:
            event, index, group = entry
            touched.add(event)
            ours = [_is_ours(handler) for handler in _handlers(group)]
            if not all(ours):  # someone wrote a handler of their own into our group
                text = self._cut_handler(text, event, index, ours.index(True))
            else:
                text = jsonc.cut(text, ("hooks", event), path=self.path, index=index)
        if not touched:
            return text
        text = jsonc.prune(text, *(("hooks", event) for event in touched), ("hooks",), path=self.path)
        return None if text == self.opening else text

    def _ours(self, text: str) -> Iterator[tuple[str, int, object]]:
        """(event, index, entry) of every entry with a handler of ours."""
        hooks = jsonc.find(jsonc.read(text, path=self.path), ("hooks",))
        for member in hooks.members if hooks is not None else ():
            for index, item in enumerate(member.node.items):
                if any(_is_ours(handler) for handler in _handlers(item.value)):
                    yield member.key, index, item.value

    def _cut_handler(self, text: str, event: str, index: int, at: int) -> str:
        array = jsonc.find(jsonc.read(text, path=self.path), ("hooks", event))
        assert array is not None
        group = array.items[index]
        inside = jsonc.cut(text[group.start : group.end], ("hooks",), path=self.path, index=at)
        return text[: group.start] + inside + text[group.end :]


def group_of(handler: Mapping[str, object], matcher: str = "") -> Mapping[str, object]:
    """Return the group with one handler; "" = for all calls."""
    return {"matcher": matcher, "hooks": [handler]} if matcher else {"hooks": [handler]}


def not_plain_json(path: Path, text: str, *, reader: str, reads_mark: bool = True) -> str:
    """Say why the host `reader` would ignore this settings file as a whole; "" when it reads it.

    It reads no comments and no trailing commas, which editors allow: measured on Claude Code 2.1.328 and Codex 0.169.0. `reads_mark`
    = it reads a file that begins with a byte order mark, as Claude Code does.
    """
    if text.startswith("\ufeff") and not reads_mark:
        return (
            f"{reader} ignores all of {path}: it begins with a byte order mark. Save it as UTF-8 without one."
        )
    try:
        json.loads(text.removeprefix("\ufeff") or "{}")
    except ValueError as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        return (
            f"{reader} ignores all of {path}{line}: it takes plain JSON, without comments and trailing commas. "
            "Take them out of it."
        )
    except RecursionError:
        return ""  # whoever changes the file reports it
    return ""


def _handlers(entry: object) -> list[object]:
    """The handlers of a group; a single handler counts as a group of its own."""
    if not isinstance(entry, Mapping):
        return []
    fields = cast("Mapping[str, object]", entry)
    if "hooks" not in fields:
        return [entry]
    handlers = fields["hooks"]
    return cast("list[object]", handlers) if isinstance(handlers, list) else []


def _is_ours(handler: object) -> bool:
    if not isinstance(handler, Mapping):
        return False
    fields = cast("Mapping[str, object]", handler)
    return _calls_launcher(fields.get("command")) or (
        fields.get("type") == "mcp_tool" and fields.get("server") == "tacit"
    )


def _calls_launcher(command: object) -> bool:
    """Whether `command` is the launcher's path, or a line for a shell that begins with it."""
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    return any(PureWindowsPath(word).name in LAUNCHER_NAMES for word in (command, *words[:1]))
