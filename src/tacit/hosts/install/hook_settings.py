"""Our groups among the hooks of a host's settings file (Claude Code and Gemini CLI share its form).

In: the file's text. Out: its text with or without our groups. No I/O.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import cast

from tacit.hosts.install import jsonc
from tacit.hosts.install.target import version_in

LAUNCHER_NAME = "tacit-hook"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    """The `hooks` of a settings file: groups of ours for some events, behind those of others.

    Attributes:
        path: the file.
        groups: our groups, each with its event.
        why: what they are for.
        unread: why the host would ignore what the file holds; "" when it reads it.
    """

    path: Path
    groups: tuple[tuple[str, Mapping[str, object]], ...]
    why: str = "calls Tacit when a session, prompt or tool call begins or ends (hooks)"
    unread: Callable[[Path, str], str] = lambda _path, _text: ""

    def holds(self, text: str) -> bool:
        """Whether every event has exactly our group, and no other event has one."""
        actual = [(event, group) for event, _, group in self._ours(text)]
        return sorted(actual, key=lambda pair: pair[0]) == sorted(self.groups, key=lambda pair: pair[0])

    def present(self, text: str) -> bool:
        """Whether any hook of ours is in it."""
        return next(self._ours(text), None) is not None

    def version(self, text: str) -> int:
        """The oldest version among our groups."""
        return min((version_in(json.dumps(group)) for _, _, group in self._ours(text)), default=1)

    def add(self, text: str | None) -> str:
        """The text with a group per event."""
        text = "{}\n" if not text or not text.strip() else text
        for event, group in self.groups:
            text = jsonc.append(text, ("hooks", event), group, path=self.path)
        return text

    def remove(self, text: str) -> str | None:
        """The text without our handlers, and without the lists that are empty then."""
        touched: set[str] = set()
        while (entry := next(self._ours(text), None)) is not None:
            event, index, group = entry
            touched.add(event)
            foreign = [n for n, handler in enumerate(_handlers(group)) if not _is_ours(handler)]
            if foreign:  # someone wrote a handler of their own into our group
                at = next(n for n, handler in enumerate(_handlers(group)) if _is_ours(handler))
                text = self._cut_handler(text, event, index, at)
            else:
                text = jsonc.cut(text, ("hooks", event), path=self.path, index=index)
        if not touched:
            return text
        for event in touched:
            node = jsonc.find(jsonc.read(text, path=self.path), ("hooks", event))
            if node is not None and node.value == []:
                text = jsonc.cut(text, ("hooks", event), path=self.path)
        node = jsonc.find(jsonc.read(text, path=self.path), ("hooks",))
        if node is not None and node.value == {}:
            text = jsonc.cut(text, ("hooks",), path=self.path)
        return None if text == "{}\n" else text

    def _ours(self, text: str) -> Iterator[tuple[str, int, object]]:
        """(event, index, group) of every group with a handler of ours."""
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


def _handlers(group: object) -> list[object]:
    if not isinstance(group, Mapping):
        return []
    handlers = cast("Mapping[str, object]", group).get("hooks")
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
    return any(PurePath(word).name == LAUNCHER_NAME for word in (command, *words[:1]))
