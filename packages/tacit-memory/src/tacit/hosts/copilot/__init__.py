"""GitHub Copilot CLI: hook payloads to signals, blocks to hook answers (measured on 1.0.102; docs/guide/copilot.md).

In: the JSON that Copilot writes to a hook's standard input. Our hooks have the names of its second format (`SessionStart`), because there the
payload says which event it is; only that of a starting subagent does not, and is known by its fields. Out: one signal, or none; the JSON of a hook's answer,
or nothing. Never: an answer to `Stop` (text there makes the agent take another turn), text before a call (it would come as a message of the user), a permission; a decision only
as the refusal of a call that a rule of the user blocks.

A payload names no prompt and no call, so keys hold the time that Copilot stamps on the event: the hooks of the user and of the project,
which both run for one event, get the same one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tacit.hosts.payload import (
    CALL_HAS_RUN,
    MAX_OUTPUT_CHARS,
    Fields,
    SignalFields,
    digest,
    joined,
    relative_paths,
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
)
from tacit.ports.host import BESIDE_RESULTS, Delivery, HostCapabilities
from tacit.reading.prompts import machine_made, typed_command

NAME = "copilot"
CAP_CHARS = 9_500
"""Copilot cuts the text of tool hooks at 10 KB and counts characters, not bytes (measured: 9,400 whole, 9,000 of two bytes each whole, 40,000 cut); at a start and a prompt 40,000 arrive whole."""
_TAKES_CONTEXT = frozenset(
    {"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "SubagentStart"}
)
_TOOLS = {
    "Read": "read", "Edit": "edit", "Write": "write", "Bash": "bash", "Grep": "grep", "Glob": "glob", "Agent": "task",
    "WebFetch": "webfetch", "WebSearch": "websearch",
}  # fmt: skip
_EXIT = re.compile(r"<shellId: [^<>\n]* completed with exit code (\d+)>\s*\Z")
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_WORDS = ("new_str", "file_text", "description", "prompt", "pattern", "query", "url")
_DELIVERIES = (
    Delivery(surface=Surface.START, where="user message of its own in front of the first prompt"),
    Delivery(surface=Surface.PROMPT, where="`<system_reminder>` behind the prompt, in its message"),
    Delivery(surface=Surface.ACTION, where="end of the call's result", limit=CALL_HAS_RUN),
    Delivery(
        surface=Surface.FAILURE,
        where="end of the result of a command with an exit code; user message behind the result of another tool that failed",
        limit="a call that Copilot refuses by itself raises no event",
    ),
    Delivery(
        surface=Surface.COMPACTION,
        where="`<system_reminder>` behind the next prompt",
        limit="no event comes after a compaction, so a turn that is compacted in the middle goes on without it",
    ),
    Delivery(
        surface=Surface.SUBAGENT,
        where="in front of the subagent's task, in its message",
        limit="Copilot raises no event for its own agent `general-purpose`",
    ),
    Delivery(surface=Surface.ON_DEMAND, where="result of the MCP tool"),
)


class Copilot:
    """The `Host` for GitHub Copilot CLI."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """`copilot`."""
        return NAME

    @property
    def capabilities(self) -> HostCapabilities:
        """Text of prompts and results stays in the history; that of the start is asked for again when a session resumes."""
        return HostCapabilities(
            arrival=BESIDE_RESULTS,
            cap_chars=CAP_CHARS,
            stored=True,
            post_compaction=False,
            start_stays=False,
            compaction_at_prompt=True,
            loads_rule_files=("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"),
            refuses=True,
            log_delay_ms=2_000,  # measured on 1.0.102: rows come up to 0.6 s late, the first ones of a session 1.6 s
            agents_without_tools=("explore",),
            title="GitHub Copilot CLI",
            basis="measured on version 1.0.102",
            tool_calls="The host asks before `memory_add`, not before `memory_get`. It keeps rules for single tools only by folder, in a file of its own state, so Tacit writes none.",
            deliveries=_DELIVERIES,
        )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read a hook payload; None for events that mean nothing to us.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        fields = Fields(NAME, payload)
        match event_of(payload) or fields.needed_identifier("hook_event_name"):
            case "SessionStart":
                return _session_start(fields, at_ms)
            case "UserPromptSubmit":
                return _prompt(fields, at_ms)
            case "PreToolUse" | "PostToolUse" | "PostToolUseFailure" as event:
                return _tool(fields, event, at_ms)
            case "SubagentStart":
                return _subagent(fields, at_ms)
            case "Stop" | "SubagentStop" as event:
                return _stop(fields, event, at_ms)
            case "PreCompact":
                return Compacting(
                    **_common(fields, at_ms, transcript="transcript_path"),
                    key=f"compacting:{_moment(fields, at_ms)}",
                    automatic=fields.identifier("trigger") == "auto",
                )
            case "SessionEnd":
                reason = fields.identifier("reason")
                return SessionEnded(
                    **_common(fields, at_ms), key=f"end:{_moment(fields, at_ms)}", reason=reason
                )
            case _:
                return None

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:  # noqa: ARG002 - Copilot shows people nothing of a hook's answer
        """A hook answer with `additionalContext`, or a refusal; "" when there is nothing to say or the event takes none."""
        event = event_of(payload)
        if block.empty:
            return ""
        if event == "PreToolUse" and block.refuses:
            return json.dumps({"permissionDecision": "deny", "permissionDecisionReason": block.text})
        return json.dumps({"additionalContext": block.text}) if event in _TAKES_CONTEXT else ""


def event_of(payload: Mapping[str, object]) -> str:
    """The event's name; that of a starting subagent does not say it. "" = unknown."""
    event = payload.get("hook_event_name")
    if event is None and ("agentName" in payload or "sessionId" in payload):
        return "SubagentStart"
    return event if isinstance(event, str) else ""


def _session(fields: Fields) -> SessionKey:
    """The session; a subagent, which Copilot gives a session of its own, belongs to that of its parent."""
    field = "sessionId" if fields.raw("hook_event_name") is None else "session_id"
    own = fields.needed_identifier(field)
    return SessionKey(host=NAME, session_id=fields.identifier("parent_agent_id") or own)


def _common(fields: Fields, at_ms: int, *, agent: bool = False, transcript: str = "") -> SignalFields:
    return SignalFields(
        session=_session(fields),
        at_ms=at_ms,
        cwd=fields.path("cwd"),
        agent=fields.identifier("agent_type") if agent else "",
        agent_id=fields.identifier("agent_id") if agent else "",
        transcript_path=fields.path(transcript) if transcript else "",
    )


def _moment(fields: Fields, at_ms: int) -> str:
    """Name of an event: the time that Copilot stamps on it; without one, the five-second step of its arrival."""
    return digest(fields.raw("timestamp") or time_step(at_ms))


def _session_start(fields: Fields, at_ms: int) -> SessionStarted:
    name, source = start_source(fields)
    moment = "" if name == "startup" else _moment(fields, at_ms)
    return SessionStarted(**_common(fields, at_ms), key=f"start:{name}:{moment}", source=source)


def _prompt(fields: Fields, at_ms: int) -> PromptSubmitted:
    text = fields.needed_text("prompt")
    common = _common(fields, at_ms, agent=True)
    # A subagent is prompted by the agent above it, never by the user: nothing in it is the user's word.
    by_program = bool(common["agent_id"])
    return PromptSubmitted(
        **common,
        key=f"prompt:{digest(_moment(fields, at_ms), text)}",
        text=text,
        machine=by_program or machine_made(text),
        command="" if by_program else typed_command(text),
    )


def _tool(fields: Fields, event: str, at_ms: int) -> ToolStarting | ToolFinished | ToolFailed:
    common, call = _common(fields, at_ms, agent=True), _call(fields)
    key = (
        f"{event}:{digest(call.tool, call.paths, call.command, call.text, fields.raw('timestamp') or at_ms)}"
    )
    if event == "PreToolUse":
        return ToolStarting(**common, key=key, takes_no_text=True, call=call)
    if event == "PostToolUseFailure":
        error = fields.needed_text("error", limit=MAX_OUTPUT_CHARS)
        return ToolFailed(**common, key=key, call=call, error=error)
    output = fields.child("tool_result").text("text_result_for_llm", limit=MAX_OUTPUT_CHARS)
    code = _EXIT.search(output[-200:]) if call.tool == "bash" else None
    if code is None or code[1] == "0":
        return ToolFinished(**common, key=key, call=call, output=output)
    error = f"Exit code {code[1]}\n{_EXIT.sub('', output).rstrip()}"
    return ToolFailed(**common, key=key, call=call, error=error)


def _call(fields: Fields) -> ToolCall:
    given = fields.raw("tool_input")
    patch_alone = isinstance(given, str)
    arguments = Fields(NAME, {"input": given}) if patch_alone else fields.child("tool_input")
    name = fields.needed_identifier("tool_name")

    word = arguments.loose_text
    tool = _TOOLS.get(name, name)
    patch = word("input") if tool == "edit" else ""
    return ToolCall(
        tool=tool,
        paths=relative_paths([word("path"), *_PATCHED_FILE.findall(patch)], cwd=fields.path("cwd")),
        command=word("command"),
        text=joined((*map(word, _WORDS), patch)),
        agent=word("agent_type") if tool == "task" else "",
    )


def _subagent(fields: Fields, at_ms: int) -> SubagentStarted:
    agent = fields.identifier("agent_type") or fields.needed_identifier("agentName")
    agent_id = fields.needed_identifier("agent_id")
    common = _common(fields, at_ms, transcript="transcriptPath")
    common["agent"], common["agent_id"] = agent, agent_id
    return SubagentStarted(**common, key=f"subagent:{agent_id}", agent_type=agent)


def _stop(fields: Fields, event: str, at_ms: int) -> MessageEnded:
    """The end of a message. Copilot hands over the words of a subagent alone; those of the main agent stand in its transcript."""
    common = _common(fields, at_ms, agent=True, transcript="transcript_path")
    key = f"{event}:{digest(common['agent_id'], _moment(fields, at_ms))}"
    return MessageEnded(**common, key=key, text=fields.text("last_assistant_message"), final=True)


HOST = Copilot()
