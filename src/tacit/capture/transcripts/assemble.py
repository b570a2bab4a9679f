"""Builds turns from a stream of messages. In: texts, tool calls and results in order. Out: `Turn`s.

Consecutive assistant messages become one turn; tool results find their call by id. Never reads a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from tacit.capture.transcripts.cleaning import clean_prompt, clean_reply, refusal
from tacit.capture.turn import ToolUse, Turn, turn_key

MAX_ERROR = 4000
_TOOLS = {
    "bash": "bash", "shell": "bash", "exec_command": "bash", "run_shell_command": "bash", "execute": "bash",
    "read": "read", "view": "read", "read_file": "read",
    "edit": "edit", "multiedit": "edit", "notebookedit": "edit", "str_replace": "edit", "patch": "edit",
    "apply_patch": "edit", "replace": "edit",
    "write": "write", "create": "write", "write_file": "write",
    "todowrite": "todo", "todo_write": "todo", "taskcreate": "todo",
}  # fmt: skip
_PATH_FIELDS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")


def text_of(content: object) -> str:
    """The text of message content: a string, or a list of blocks of which `text` blocks count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts: list[str] = []
    for block in cast("list[object]", content):
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, Mapping):
            fields = cast("Mapping[str, object]", block)
            text = fields.get("text")
            if fields.get("type") in (None, "text", "input_text", "output_text") and isinstance(text, str):
                parts.append(text)
    return "\n".join(part for part in parts if part)


def time_of(value: object) -> int:
    """Milliseconds since the epoch from an ISO 8601 text or a number; 0 when there is none."""
    if isinstance(value, bool):
        return 0
    if isinstance(value, int | float):
        return int(value) if value > 100_000_000_000 else int(value * 1000)
    if isinstance(value, str) and value:
        try:
            return int(datetime.fromisoformat(value).timestamp() * 1000)
        except ValueError:
            return 0
    return 0


def tool_use(name: str, call_id: str, raw: object, *, said: str = "") -> ToolUse:
    """A tool call from its host's name and input."""
    given: Mapping[str, object] = cast("Mapping[str, object]", raw) if isinstance(raw, Mapping) else {}
    tool = _TOOLS.get(name.lower(), name.lower())
    command = given.get("command", "")
    if isinstance(command, list):
        command = " ".join(str(part) for part in cast("list[object]", command))
    paths = tuple(value for name in _PATH_FIELDS if isinstance(value := given.get(name), str) and value)
    return ToolUse(
        tool=tool,
        call_id=call_id,
        command=command if tool == "bash" and isinstance(command, str) else "",
        paths=paths,
        said=said,
        todos=_todos(given.get("todos")),
    )


def _todos(raw: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(raw, list):
        return ()
    found: list[tuple[str, str]] = []
    for entry in cast("list[object]", raw):
        if isinstance(entry, Mapping):
            fields = cast("Mapping[str, object]", entry)
            text = fields.get("content") or fields.get("text")
            if isinstance(text, str) and text.strip():
                found.append((text.strip(), str(fields.get("status", "pending"))))
    return tuple(found)


@dataclass(slots=True, kw_only=True)
class TurnBuilder:
    """Collects messages in order. `prompts` = user prompts counted before; mutable, lives for one reading."""

    prompts: int = 0
    turns: list[Turn] = field(default_factory=list[Turn])
    _texts: list[str] = field(default_factory=list[str])
    _tools: list[ToolUse] = field(default_factory=list[ToolUse])
    _by_id: dict[str, int] = field(default_factory=dict[str, int])
    _at_ms: int = 0
    _said: str = ""

    def user(self, text: str, at_ms: int) -> None:
        """A prompt; machine-made ones vanish, but still end the assistant's turn."""
        words = clean_prompt(text)
        if not words:
            return
        self._close()
        self.prompts += 1
        self._append("user", words, (), at_ms)

    def reply(self, text: str, at_ms: int) -> None:
        """A piece of the assistant's message."""
        words = clean_reply(text)
        if words:
            self._at_ms = self._at_ms or at_ms
            self._texts.append(words)
            self._said = words

    def call(self, name: str, call_id: str, raw: object, at_ms: int) -> None:
        """A tool call; its result comes later."""
        self._at_ms = self._at_ms or at_ms
        use = tool_use(name, call_id, raw, said=self._said)
        self._said = ""
        if call_id:
            self._by_id[call_id] = len(self._tools)
        self._tools.append(use)

    def result(self, call_id: str, *, failed: bool, text: str, at_ms: int) -> None:
        """The result of a call. A refused call becomes the user's words, if there are any."""
        position = self._by_id.get(call_id)
        if position is None:
            return
        refused, words = refusal(text) if failed else (False, "")
        error = text[:MAX_ERROR] if failed and not refused else ""
        self._tools[position] = replace(
            self._tools[position], finished=not refused, failed=failed and not refused, error=error
        )
        if words:
            self.user(words, at_ms)

    def done(self) -> tuple[Turn, ...]:
        """All turns."""
        self._close()
        return tuple(self.turns)

    def _close(self) -> None:
        if self._texts or self._tools:
            self._append("assistant", "\n\n".join(self._texts), tuple(self._tools), self._at_ms)
        self._texts, self._tools, self._by_id, self._at_ms, self._said = [], [], {}, 0, ""

    def _append(self, role: str, text: str, tools: Sequence[ToolUse], at_ms: int) -> None:
        speaker = "user" if role == "user" else "assistant"
        self.turns.append(
            Turn(
                index=len(self.turns),
                number=self.prompts,
                role=speaker,
                text=text,
                tools=tuple(tools),
                at_ms=at_ms,
                key=turn_key(speaker, text, at_ms, self.prompts),
            )
        )
