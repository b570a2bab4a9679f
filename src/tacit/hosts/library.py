"""Library: a Python program that keeps its own list of messages, through `tacit.Tacit` or the SDK middleware.

In: what `Plain` reads (docs there), and three things more: tool calls with the arguments as the model wrote them (`args`),
`messages` and `sent` at the end of a message (the conversation so far, where there is no file of it; what its requests were like), and `{"event": "replay",
"session", "message_ids": [...]}`. Out: `{"system": text}` for what stands in the system prompt, `{"text": text}` for what
goes with the message or the tool result it was asked for; `{"history": [message ids]}` (of all texts only these stay);
`{"texts": {id: text}}`. Never: a decision.

The program sends its whole list with every request, so nothing that was handed over is stored for us: the same bytes go
out again each time, and a process that has lost them asks for a replay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from tacit.hosts.payload import MAX_OUTPUT_CHARS, Fields, bounded, clean, read_replay, replay_reply
from tacit.hosts.plain import Plain
from tacit.model.pack import Block
from tacit.model.signal import MessageEnded, RequestUsage, Signal
from tacit.ports.host import BESIDE_RESULTS, HostCapabilities, ReplayRequest

NAME = "library"
MAX_SENT = 16
_COUNTS = ("requests", "before", "kept", "before_bare", "kept_bare", "input_tokens", "cached_tokens")
_PLAIN = Plain(NAME)
_SYSTEM_EVENTS = frozenset({"start", "subagent"})
_TEXT_EVENTS = frozenset({"prompt", "tool_start", "tool_end", "tool_failed"})
_TOOLS = {
    "bash": "bash", "shell": "bash", "local_shell": "bash", "run_command": "bash", "execute_command": "bash", "terminal": "bash",
    "read": "read", "read_file": "read", "view": "read", "open_file": "read",
    "edit": "edit", "edit_file": "edit", "str_replace": "edit", "apply_patch": "edit", "patch": "edit",
    "str_replace_editor": "edit", "str_replace_based_edit_tool": "edit", "replace": "edit",
    "write": "write", "write_file": "write", "create_file": "write",
    "grep": "grep", "search_files": "grep", "glob": "glob", "list_files": "glob",
}  # fmt: skip
_PATHS = ("path", "file_path", "filePath", "filename", "file", "absolute_path", "target_file")
_COMMANDS = ("command", "cmd", "script")
_WORDS = (
    "new_string",
    "newString",
    "new_str",
    "content",
    "file_text",
    "text",
    "patch",
    "input",
    "query",
    "pattern",
    "url",
)


class Library:
    """The `Host` for programs that use Tacit as a library; also a `ReplayingHost`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """`library`."""
        return NAME

    @property
    def capabilities(self) -> HostCapabilities:
        """What is handed over for a tool call stands behind its result; a block may stand in the system prompt."""
        return HostCapabilities(
            arrival=BESIDE_RESULTS,
            cap_chars=60_000,
            stored=False,
            post_compaction=True,
            system_prompt=True,
        )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read one event; None for `ping` and `replay`.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        fields = Fields(NAME, payload)
        if fields.needed_identifier("event") in ("ping", "replay"):
            return None
        signal = _PLAIN.parse(_with_call(payload), at_ms=at_ms)
        if not isinstance(signal, MessageEnded):
            return signal
        messages = payload.get("messages")
        messages_json = clean(json.dumps(messages, ensure_ascii=False)) if isinstance(messages, list) else ""
        return replace(
            signal,
            messages=messages_json,
            sent=tuple(_sent(request) for request in fields.children("sent")[:MAX_SENT]),
        )

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """The reply as JSON; "" when there is nothing to say or the event takes no text."""
        event = payload.get("event")
        answer: dict[str, object] = {}
        if event not in _SYSTEM_EVENTS | _TEXT_EVENTS:
            return ""
        if not block.empty:
            in_system = event in _SYSTEM_EVENTS or block.placement == "system"
            answer["system" if in_system else "text"] = block.text
        if block.history is not None:
            answer["history"] = block.history
        if notice:
            answer["notice"] = notice
        return json.dumps(answer) if answer else ""

    def parse_replay(self, payload: Mapping[str, object]) -> ReplayRequest | None:
        """Read a request for what was handed over before; None for other events.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        return read_replay(Fields(NAME, payload), session="session", messages="message_ids")

    def encode_replay(self, texts: Mapping[str, str]) -> str:
        """`{"texts": {message id: exact text}}`; "" when nothing is known."""
        return replay_reply(texts)


def _sent(fields: Fields) -> RequestUsage:
    counts = {name: max(0, fields.whole(name) or 0) for name in _COUNTS}
    return RequestUsage(placement=fields.identifier("placement") or "none", **counts)


def _with_call(payload: Mapping[str, object]) -> Mapping[str, object]:
    """The payload with a tool call in the words that `Plain` reads, where it came with `args`."""
    raw = payload.get("args")
    if not isinstance(raw, Mapping):
        return payload
    args = cast("Mapping[str, object]", raw)
    name = payload.get("tool")
    tool = _TOOLS.get(name.lower(), name) if isinstance(name, str) else name
    if tool == "edit" and args.get("command") in ("view", "create"):  # one tool, told apart by its `command`
        tool = "read" if args["command"] == "view" else "write"
    command = "" if tool in ("read", "edit", "write") else _first(args, _COMMANDS)
    paths = [value for field in _PATHS if isinstance(value := args.get(field), str) and value]
    words = [clean(value) for field in _WORDS if isinstance(value := args.get(field), str) and value]
    called: dict[str, object] = {"tool": tool, "paths": paths, "command": command}
    called["text"] = bounded("\n".join(words), MAX_OUTPUT_CHARS)
    return {**payload, **called}


def _first(args: Mapping[str, object], names: Sequence[str]) -> str:
    for name in names:
        value = args.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list):
            return " ".join(str(item) for item in cast("list[object]", value))
    return ""
