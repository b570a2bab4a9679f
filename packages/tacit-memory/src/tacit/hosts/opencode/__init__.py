"""OpenCode: what our plugin (`plugins/opencode/tacit.js`) sends and gets (measured on 1.18.33; docs/guide/agents.md).

In: `{"event", "sessionID", "directory", ...}` as the plugin makes it. Out: one signal, or none; a reply of
`{"system": text}` (the stable text in the system prompt), `{"text": text}` (kept with the message or the tool result
it was asked for), `{"history": [message ids]}` (of all texts only these stay), `{"mode": "system_every_call"}`, `{"notice": line}`. Never: a decision that the plugin must take.

A subagent is a session of its own with a parent. Its first prompt is the parent's task, so it becomes
`SubagentStarted`; all its prompts are written by a program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypedDict

from tacit.hosts.payload import (
    MAX_OUTPUT_CHARS,
    MAX_REPLAY,
    Fields,
    digest,
    joined,
    read_replay,
    relative_paths,
    replay_reply,
    start_source,
    time_step,
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
    mark_of_write,
)
from tacit.ports.host import BESIDE_RESULTS, Delivery, HostCapabilities, ReplayRequest
from tacit.reading.prompts import machine_made

NAME = "opencode"
CAP_CHARS = 60_000
"""OpenCode has no cap of its own; this one only bounds a mistake."""

_SYSTEM_EVENTS = frozenset({"session.start", "system", "subagent", "compacted"})
_OUR_SERVER = "tacit_"
"""The start of our own tools' names: OpenCode puts the name of the MCP server before them."""
_TEXT_EVENTS = frozenset({"prompt", "tool.before", "tool.after", "tool.failed"})
_TOOLS = {"apply_patch": "edit", "patch": "edit", "multiedit": "edit", "shell": "bash"}
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)

_DELIVERIES = (
    Delivery(surface=Surface.START, where="end of the system message"),
    Delivery(surface=Surface.PROMPT, where="text part of the user message, behind the prompt"),
    Delivery(
        surface=Surface.ACTION,
        where="end of the call's result",
        limit="the call that it is for has run by then; the next one can follow the rule",
    ),
    Delivery(surface=Surface.FAILURE, where="end of the failed result"),
    Delivery(surface=Surface.COMPACTION, where="system message, renewed"),
    Delivery(surface=Surface.SUBAGENT, where="system message of the subagent"),
    Delivery(surface=Surface.ON_DEMAND, where="result of the MCP tool"),
)


class OpenCode:
    """The `Host` for OpenCode; also a `ReplayingHost`, because only the plugin stores the texts that were handed over."""

    __slots__ = ()

    name = NAME
    capabilities = HostCapabilities(
        arrival=BESIDE_RESULTS,
        cap_chars=CAP_CHARS,
        stored=False,
        post_compaction=True,
        loads_rule_files=("AGENTS.md",),
        rule_file_fallbacks=("CLAUDE.md", "CONTEXT.md"),
        system_prompt=True,
        agents_without_tools=("explore",),
        title="OpenCode",
        basis="measured on version 1.18.33",
        tool_calls="The host does not ask before `memory_get` and `memory_add`, unless your `permission` says so.",
        deliveries=_DELIVERIES,
    )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read what the plugin sent into a signal; None for events that mean nothing to us (`ping`, `replay`, unknown ones).

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        fields = Fields(NAME, payload)
        event = fields.needed_identifier("event")
        match event:
            case "session.start" | "system" | "compacted":
                return _started(fields, event, at_ms)
            case "subagent":
                return _subagent(fields, at_ms)
            case "prompt":
                return _prompt(fields, at_ms)
            case "tool.before" | "tool.after" | "tool.failed":
                return _tool(fields, event, at_ms)
            case "compacting":
                return _compacting(fields, at_ms)
            case "message.end" | "idle":
                return _message_end(fields, event, at_ms)
            case "deleted" | "end":
                return _ended(fields, event, at_ms)
            case _:
                return None

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """Return the reply as JSON; "" = there is nothing to say, or the event takes no text."""
        event = payload.get("event")
        takes_system, takes_text = event in _SYSTEM_EVENTS, event in _TEXT_EVENTS
        if not (takes_system or takes_text):
            return ""
        answer: dict[str, object] = {}
        if not block.empty:
            every_call = block.placement == "system"
            answer["system" if takes_system or every_call else "text"] = block.text
            if every_call:
                answer["mode"] = "system_every_call"
        if block.history is not None:
            answer["history"] = block.history
        if notice:
            answer["notice"] = notice
        return json.dumps(answer) if answer else ""

    def parse_replay(self, payload: Mapping[str, object]) -> ReplayRequest | None:
        """Read the event `{"event": "replay", "sessionID", "messageIDs": [...]}`, by which the plugin asks for earlier texts again; None for other events.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        return read_replay(Fields(NAME, payload), session="sessionID", messages="messageIDs")

    def encode_replay(self, texts: Mapping[str, str]) -> str:
        """Return the answer to a replay request, `{"texts": {message id: exact text}}`; "" = no text is known."""
        return replay_reply(texts)


def _session(fields: Fields) -> SessionKey:
    return SessionKey(host=NAME, session_id=fields.needed_identifier("sessionID"))


def _parent(fields: Fields) -> SessionKey | None:
    parent = fields.identifier("parentID")
    return SessionKey(host=NAME, session_id=parent) if parent else None


def _forked_from(fields: Fields) -> SessionKey | None:
    origin = fields.identifier("forkOf")
    return SessionKey(host=NAME, session_id=origin) if origin else None


def _event_key(fields: Fields, at_ms: int) -> str:
    """Return what tells this event from a repeat, for the signal's key: the id that the plugin gave it, else the number of the five-second step of its arrival."""
    return fields.identifier("id") or str(time_step(at_ms))


class _PluginFields(TypedDict):
    session: SessionKey
    at_ms: int
    cwd: str
    agent: str
    transcript_path: str
    parent: SessionKey | None


def _common(fields: Fields, at_ms: int, *, agent: bool = True, transcript: bool = True) -> _PluginFields:
    """Return the fields that signals share. `agent` or `transcript` False = this event does not give them."""
    return _PluginFields(
        session=_session(fields),
        at_ms=at_ms,
        cwd=fields.path("directory"),
        agent=fields.identifier("agent") if agent else "",
        transcript_path=fields.path("transcriptPath") if transcript else "",
        parent=_parent(fields),
    )


def _started(fields: Fields, event: str, at_ms: int) -> SessionStarted | SubagentStarted:
    if fields.identifier("parentID") and event != "compacted":
        return _subagent(fields, at_ms)
    name, source = start_source(fields)
    name, source = ("compact", "compact") if event == "compacted" else (name, source)
    # A session starts or is forked once; it resumes once per life of the plugin (`id`) and compacts once per event (`id`).
    moment = "" if name in ("startup", "fork") else _event_key(fields, at_ms)
    copied = zip(
        fields.texts("originals", most=MAX_REPLAY), fields.texts("copies", most=MAX_REPLAY), strict=False
    )
    common = _common(fields, at_ms)
    if source == "fork":
        common["parent"] = _forked_from(fields)
    return SessionStarted(
        **common,
        key=f"start:{name}:{moment}",
        source=source,
        copied=tuple(copied),
        turns_back=max(0, fields.whole("turnsBack") or 0),
    )


def _subagent(fields: Fields, at_ms: int) -> SubagentStarted:
    common = _common(fields, at_ms)
    return SubagentStarted(
        **common,
        key="subagent",
        agent_id=common["session"].session_id,
        agent_type=common["agent"],
        task=fields.text("text"),
    )


def _prompt(fields: Fields, at_ms: int) -> PromptSubmitted:
    text = fields.needed_text("text")
    message_id = fields.identifier("messageID")
    common = _common(fields, at_ms)
    return PromptSubmitted(
        **common,
        key=f"prompt:{message_id}" if message_id else f"prompt:{digest(_event_key(fields, at_ms), text)}",
        text=text,
        message_id=message_id,
        previous_message_end=fields.text("previous", limit=MAX_OUTPUT_CHARS),
        machine=common["parent"] is not None or fields.flag("synthetic") or machine_made(text),
    )


def _tool(fields: Fields, event: str, at_ms: int) -> ToolStarting | ToolFinished | ToolFailed:
    common, call = _common(fields, at_ms, transcript=False), _call(fields)
    key = f"{event}:{call.call_id or digest(call.tool, call.paths, call.command, _event_key(fields, at_ms))}"
    if event == "tool.before":
        # What a subagent notes is of the session that the user types in.
        if call.writes and not call.fetches and common["parent"]:
            common["session"] = common["parent"]
        return ToolStarting(**common, key=key, call=call)
    output = fields.text("output", limit=MAX_OUTPUT_CHARS)
    exit_code = fields.whole("exit")
    if event == "tool.after" and not exit_code:
        return ToolFinished(**common, key=key, call=call, output=output)
    if event == "tool.after":
        error = f"Exit code {exit_code}\n{output}"
    else:
        error = fields.needed_text("error", limit=MAX_OUTPUT_CHARS)
    return ToolFailed(**common, key=key, call=call, error=error)


def _call(fields: Fields) -> ToolCall:
    arguments = fields.child("args")
    name = fields.needed_identifier("tool")

    word = arguments.loose_text
    words = [word(key) for key in ("newString", "content", "patchText", "prompt", "pattern", "query", "url")]
    if isinstance(arguments.raw("edits"), list):
        words += [edit.loose_text("newString") for edit in arguments.children("edits")]
    paths = [word("filePath"), word("path"), *_PATCHED_FILE.findall(word("patchText"))]
    return ToolCall(
        tool=_TOOLS.get(name, name),
        call_id=fields.identifier("callID"),
        paths=relative_paths(paths, cwd=fields.path("directory")),
        command=word("command"),
        text=joined(words),
        writes=mark_of_write(name.removeprefix(_OUR_SERVER), arguments.raw)
        if name.startswith(_OUR_SERVER)
        else "",
    )


def _compacting(fields: Fields, at_ms: int) -> Compacting:
    return Compacting(
        session=_session(fields),
        key=f"compacting:{_event_key(fields, at_ms)}",
        at_ms=at_ms,
        cwd=fields.path("directory"),
        automatic=fields.flag("automatic"),
    )


def _message_end(fields: Fields, event: str, at_ms: int) -> MessageEnded | None:
    common = _common(fields, at_ms)
    text = fields.text("text")
    if not text:  # an idle without words would wipe out the end of the last message
        return None
    key = f"{event}:{digest(fields.identifier('messageID') or _event_key(fields, at_ms), text)}"
    return MessageEnded(**common, key=key, text=text, final=event == "idle")


def _ended(fields: Fields, event: str, at_ms: int) -> SessionEnded:
    deleted = event == "deleted"
    return SessionEnded(
        **_common(fields, at_ms, agent=False),
        key="deleted" if deleted else f"end:{_event_key(fields, at_ms)}",
        reason="deleted" if deleted else fields.identifier("reason"),
        deleted=deleted,
    )


HOST = OpenCode()
