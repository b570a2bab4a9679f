"""Plain: the JSON form for agents of your own, and for tests. `tacit.api.agent_events` describes it for people and generators.

In: `{"event", "session", ...}`, see `FIELDS`. `version` is the form's; `key` makes an event that is sent again harmless.
Out: one signal; a reply `{"context": text, "surface", "memory_ids", "tokens", "notice"}`. Never: an unknown event, field or
version accepted in silence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypedDict, cast

from tacit.errors import InvalidPayload
from tacit.hosts.payload import (
    MAX_ID_CHARS,
    MAX_OUTPUT_CHARS,
    Fields,
    bounded,
    clean,
    digest,
    relative_paths,
    start_source,
)
from tacit.model.pack import Block, Surface
from tacit.model.session import SessionKey
from tacit.model.signal import (
    Compacting,
    MessageEnded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    Signal,
    SubagentStarted,
    ToolCall,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)
from tacit.ports.host import Delivery, HostCapabilities

NAME = "plain"
VERSION = 1
"""The version of this JSON form. It is raised when a field is removed or changes its meaning, not when one is added."""
COMMON = (
    "event",
    "session",
    "version",
    "key",
    "cwd",
    "agent",
    "agent_id",
    "parent",
    "transcript_path",
    "capture",
)
_CALL = ("tool", "call_id", "args", "paths", "command", "text")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "start": ("source",),
    "prompt": ("text", "message_id", "previous", "machine"),
    "tool_start": _CALL,
    "tool_end": (*_CALL, "output"),
    "tool_failed": (*_CALL, "error"),
    "compacting": ("automatic",),
    "subagent": ("agent_type", "task"),
    "message_end": ("text", "final", "messages"),
    "end": ("reason", "deleted"),
}
"""The fields of each event besides `COMMON`."""
ADVICE = "docs/guide/bring-your-own-agent.md describes every event."
_SILENT = frozenset({"compacting", "message_end", "end"})
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


class _EventFields(TypedDict):
    session: SessionKey
    key: str
    at_ms: int
    cwd: str
    agent: str
    agent_id: str
    transcript_path: str
    parent: SessionKey | None
    uncaptured: bool


class Plain:
    """The `Host` for agents that send our own JSON form. Another host with the same form passes its own name and fields."""

    __slots__ = ("_fields", "_name")

    def __init__(self, name: str = NAME, *, fields: Mapping[str, tuple[str, ...]] = FIELDS) -> None:
        self._name = name
        self._fields = fields

    @property
    def name(self) -> str:
        """The name of this host: `plain`, or the name that was passed."""
        return self._name

    @property
    def capabilities(self) -> HostCapabilities:
        """What this host can do. The program places the text itself, so every block can arrive before the action it is for."""
        return HostCapabilities(
            arrival=tuple((surface, "before") for surface in Surface if surface is not Surface.HOST),
            cap_chars=60_000,
            stored=True,
            post_compaction=True,
            title="Your own agent (`plain`)",
            basis="an interface of Tacit: the program that calls it places the text",
            deliveries=tuple(
                Delivery(surface=surface, where="where your agent puts the reply")
                for surface in Surface
                if surface is not Surface.HOST
            ),
            answers_again=True,
        )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read one event into its signal.

        Raises:
            InvalidPayload: naming the field that is missing or wrong, also for an unknown event.
        """
        fields = self.read(payload)
        event = fields.needed_identifier("event")
        if event in ("tool_start", "tool_end", "tool_failed"):
            return _tool(fields, _call_of(fields), event, at_ms)
        return _session_event(fields, event, at_ms)

    def read(self, payload: Mapping[str, object]) -> Fields:
        """Check the payload and return its fields: the event, the version and every field name must be known.

        Raises:
            InvalidPayload: naming the field that is missing, wrong or unknown.
        """
        fields = Fields(self._name, payload, advice=ADVICE)
        event = fields.needed_identifier("event")
        if event not in self._fields:
            raise fields.wrong("event", f"it is {event!r}", f"one of {', '.join(self._fields)}")
        version = fields.whole("version")
        if version not in (None, VERSION):
            raise fields.wrong(
                "version", f"it is {version}", f"{VERSION}, the only version that this Tacit reads"
            )
        known = (*COMMON, *self._fields[event])
        unknown = next((name for name in payload if name not in known), None)
        if unknown is not None:
            raise InvalidPayload(
                f"Payload of {self._name}: the event {event!r} has no field {clean(str(unknown))[:80]!r}.",
                hint=f"Its fields: {', '.join(known)}. {ADVICE}",
            )
        return fields

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """Return the reply as JSON; "" = there is nothing to say, or the event takes no text."""
        if payload.get("event") in _SILENT or (block.empty and not notice):
            return ""
        answer: dict[str, object] = {}
        if not block.empty:
            answer = {
                "context": block.text,
                "surface": block.surface.value,
                "memory_ids": list(block.memory_ids),
                "tokens": block.tokens,
            }
        if notice:
            answer["notice"] = notice
        return json.dumps(answer)


def _common(fields: Fields, event: str, at_ms: int, *parts: object) -> _EventFields:
    parent = fields.identifier("parent")
    return {
        "session": SessionKey(host=fields.host, session_id=fields.needed_identifier("session")),
        "key": fields.identifier("key") or f"{event}:{digest(at_ms, *parts)}",
        "at_ms": at_ms,
        "cwd": fields.path("cwd"),
        "agent": fields.identifier("agent"),
        "agent_id": fields.identifier("agent_id"),
        "transcript_path": fields.path("transcript_path"),
        "parent": SessionKey(host=fields.host, session_id=parent) if parent else None,
        "uncaptured": fields.raw("capture") is not None and not fields.flag("capture"),
    }


def _session_event(fields: Fields, event: str, at_ms: int) -> Signal:
    match event:
        case "start":
            name, source = start_source(fields)
            return SessionStarted(**_common(fields, event, at_ms, name), source=source)
        case "prompt":
            text = fields.needed_text("text")
            return PromptSubmitted(
                **_common(fields, event, at_ms, text),
                text=text,
                message_id=fields.identifier("message_id"),
                previous_message_end=fields.text("previous"),
                machine=fields.flag("machine"),
            )
        case "compacting":
            return Compacting(**_common(fields, event, at_ms), automatic=fields.flag("automatic"))
        case "subagent":
            agent, task = fields.identifier("agent_type"), fields.text("task")
            return SubagentStarted(**_common(fields, event, at_ms, agent, task), agent_type=agent, task=task)
        case "message_end":
            text = fields.text("text")
            return MessageEnded(
                **_common(fields, event, at_ms, text),
                text=text,
                final=fields.flag("final"),
                messages=_messages(fields),
            )
        case _:
            reason = fields.identifier("reason")
            common = _common(fields, event, at_ms, reason)
            return SessionEnded(**common, reason=reason, deleted=fields.flag("deleted"))


def _messages(fields: Fields) -> str:
    messages = fields.raw("messages")
    if messages is None:
        return ""
    if not isinstance(messages, list):
        raise fields.wrong("messages", f"it is of type {type(messages).__name__}", "a list of messages")
    return clean(json.dumps(messages, ensure_ascii=False))


def _tool(fields: Fields, call: ToolCall, event: str, at_ms: int) -> ToolStarting | ToolFinished | ToolFailed:
    common = _common(fields, event, at_ms, call.tool, call.call_id, call.paths, call.command, call.text)
    if event == "tool_start":
        return ToolStarting(**common, call=call)
    if event == "tool_end":
        return ToolFinished(**common, call=call, output=fields.text("output", limit=MAX_OUTPUT_CHARS))
    return ToolFailed(**common, call=call, error=fields.needed_text("error", limit=MAX_OUTPUT_CHARS))


def _call_of(fields: Fields) -> ToolCall:
    """Return the tool call in host-neutral terms: `paths`, `command` and `text` as given, else what its `args` contain."""
    tool, args = fields.needed_identifier("tool"), fields.raw("args")
    paths = fields.texts("paths", most=100)
    command = fields.text("command", limit=MAX_OUTPUT_CHARS)
    text = fields.text("text", limit=MAX_OUTPUT_CHARS)
    if args is not None:
        if not isinstance(args, Mapping):
            raise fields.wrong("args", f"it is of type {type(args).__name__}", "an object")
        given = cast("Mapping[str, object]", args)
        tool = _neutral_tool(tool, given)
        paths = paths or tuple(clean(value) for value in _texts(given, _PATHS) if len(value) <= MAX_ID_CHARS)
        if tool not in ("read", "edit", "write"):
            command = command or bounded(clean(_first(given, _COMMANDS)), MAX_OUTPUT_CHARS)
        text = text or bounded("\n".join(clean(value) for value in _texts(given, _WORDS)), MAX_OUTPUT_CHARS)
    return ToolCall(
        tool=tool,
        call_id=fields.identifier("call_id"),
        paths=relative_paths(paths, cwd=fields.path("cwd")),
        command=command,
        text=text,
    )


def _neutral_tool(name: str, args: Mapping[str, object]) -> str:
    tool = _TOOLS.get(name.lower(), name)
    if tool == "edit" and args.get("command") in ("view", "create"):  # one tool, told apart by its `command`
        return "read" if args["command"] == "view" else "write"
    return tool


def _texts(args: Mapping[str, object], names: Sequence[str]) -> list[str]:
    return [value for name in names if isinstance(value := args.get(name), str) and value]


def _first(args: Mapping[str, object], names: Sequence[str]) -> str:
    for name in names:
        value = args.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list):
            return " ".join(str(item) for item in cast("list[object]", value))
    return ""
