"""Plain: a small JSON form for people who build their own agent, and for tests.

In: `{"event", "session", ...}`; every event needs `event`, `session`, and, to be told twice harmlessly, `key`.
Out: one signal; a reply `{"context": text, "surface", "memory_ids", "tokens", "notice"}`. Never: an unknown event
accepted in silence.

| event | fields besides `cwd`, `agent`, `agent_id`, `parent`, `transcript_path`, `capture` (false = nothing is learned) |
|---|---|
| start | `source` (startup, resume, clear, compact, fork) |
| prompt | `text`, `message_id`, `previous`, `machine` |
| tool_start, tool_end, tool_failed | `tool`, `call_id`, `paths`, `command`, `text`, `output`, `error` |
| compacting | `automatic` |
| subagent | `agent_type`, `task` |
| message_end | `text`, `final` |
| end | `reason`, `deleted` |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypedDict, get_args

from tacit.hosts.payload import MAX_OUTPUT_CHARS, Fields, digest, relative_paths
from tacit.model.pack import Block, Surface
from tacit.model.session import SessionKey
from tacit.model.signal import (
    Compacting,
    MessageEnded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    Signal,
    StartSource,
    SubagentStarted,
    ToolCall,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)
from tacit.ports.host import Delivery, HostCapabilities

NAME = "plain"
EVENTS = (
    "start",
    "prompt",
    "tool_start",
    "tool_end",
    "tool_failed",
    "compacting",
    "subagent",
    "message_end",
    "end",
)
_SILENT = frozenset({"compacting", "message_end", "end"})


class _Common(TypedDict):
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
    """The `Host` for agents that speak our own JSON; another host that speaks it, too, gives its own name."""

    __slots__ = ("_name",)

    def __init__(self, name: str = NAME) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """`plain`, or the name that was given."""
        return self._name

    @property
    def capabilities(self) -> HostCapabilities:
        """A builder puts the text where they like, so everything can arrive before the action it is for."""
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
        )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read one event.

        Raises:
            InvalidPayload: naming the field that is missing or wrong, also for an unknown event.
        """
        fields = Fields(self._name, payload)
        event = fields.needed_identifier("event")
        if event not in EVENTS:
            raise fields.wrong("event", f"it is {event!r}", f"one of {', '.join(EVENTS)}")
        if event in ("tool_start", "tool_end", "tool_failed"):
            return _tool(fields, event, at_ms)
        return _session_event(fields, event, at_ms)

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """The reply as JSON; "" when there is nothing to say or the event takes no text."""
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


def _common(fields: Fields, event: str, at_ms: int, *parts: object) -> _Common:
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
        "uncaptured": fields.raw("capture") is False,
    }


def _session_event(fields: Fields, event: str, at_ms: int) -> Signal:
    match event:
        case "start":
            source = fields.identifier("source") or "startup"
            sources: dict[str, StartSource] = {name: name for name in get_args(StartSource)}
            if source not in sources:
                raise fields.wrong("source", f"it is {source!r}", f"one of {', '.join(sources)}")
            return SessionStarted(**_common(fields, event, at_ms, source), source=sources[source])
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
            return MessageEnded(**_common(fields, event, at_ms, text), text=text, final=fields.flag("final"))
        case _:
            reason = fields.identifier("reason")
            common = _common(fields, event, at_ms, reason)
            return SessionEnded(**common, reason=reason, deleted=fields.flag("deleted"))


def _tool(fields: Fields, event: str, at_ms: int) -> ToolStarting | ToolFinished | ToolFailed:
    call = ToolCall(
        tool=fields.needed_identifier("tool"),
        call_id=fields.identifier("call_id"),
        paths=relative_paths(fields.texts("paths", most=100), cwd=fields.path("cwd")),
        command=fields.text("command", limit=MAX_OUTPUT_CHARS),
        text=fields.text("text", limit=MAX_OUTPUT_CHARS),
    )
    common = _common(fields, event, at_ms, call.tool, call.call_id, call.paths, call.command, call.text)
    if event == "tool_start":
        return ToolStarting(**common, call=call)
    if event == "tool_end":
        return ToolFinished(**common, call=call, output=fields.text("output", limit=MAX_OUTPUT_CHARS))
    return ToolFailed(**common, call=call, error=fields.needed_text("error", limit=MAX_OUTPUT_CHARS))
