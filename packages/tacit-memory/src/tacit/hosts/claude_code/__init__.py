"""Claude Code: hook payloads to signals, blocks to hook replies (measured on 2.1.328; docs/guide/claude-code.md).

In: the JSON that Claude Code writes to a hook's standard input. Out: one signal, or none; the JSON of a hook's answer,
or nothing. Never: an answer to Stop (text there makes Claude take another turn), a permission; a decision only as the
refusal of a call that a rule of the user blocks.

Idempotency keys are made of what the host repeats when one event reaches us twice (a hook in user and in project
settings): `tool_use_id`, `prompt_id` with the words, `agent_id`. Where the host names nothing (start, resume, clear,
compaction, end, and prompts of versions without `prompt_id`) the key holds the time of arrival in steps of five
seconds instead: twins arrive milliseconds apart, true repetitions do not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tacit.errors import InvalidInput
from tacit.hosts.payload import (
    CALL_HAS_RUN,
    MAX_OUTPUT_CHARS,
    Fields,
    compacting_signal,
    digest,
    flatten,
    hook_answer,
    joined,
    relative_paths,
    signal_fields,
    start_source,
    stop_signal,
    subagent_signal,
    time_step,
)
from tacit.model.pack import Block, Surface
from tacit.model.signal import (
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
from tacit.ports.host import BESIDE_RESULTS, Delivery, HostCapabilities, MemoryFile
from tacit.reading.prompts import by_program, machine_made, typed_command

NAME = "claude-code"
CAP_CHARS = 9_500
"""Claude Code keeps 10,000 characters of one context and puts longer ones into a file (measured: 9,996 kept)."""
_HARD_CAP = 9_990

_TAKES_CONTEXT = frozenset(
    {
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "SubagentStart",
    }
)
_OUR_SERVERS = ("mcp__tacit", "mcp__plugin_tacit_tacit")
_DEFAULT_AGENT = "general-purpose"
"""The type that Claude Code starts where the model names none."""
_TOOLS = {
    "Read": "read", "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit", "Write": "write", "Bash": "bash",
    "Grep": "grep", "Glob": "glob", "Task": "task", "Agent": "task", "WebFetch": "webfetch", "WebSearch": "websearch",
}  # fmt: skip

_DELIVERIES = (
    Delivery(surface=Surface.START, where="`<system-reminder>` in front of the first prompt"),
    Delivery(surface=Surface.PROMPT, where="`<system-reminder>` in the message of the prompt"),
    Delivery(
        surface=Surface.ACTION,
        where="`<system-reminder>` beside the result of the call",
        limit=CALL_HAS_RUN,
    ),
    Delivery(surface=Surface.FAILURE, where="`<system-reminder>` beside the failed result"),
    Delivery(surface=Surface.COMPACTION, where="`<system-reminder>` behind the summary"),
    Delivery(surface=Surface.SUBAGENT, where="`<system-reminder>` in front of the subagent's task"),
    Delivery(surface=Surface.ON_DEMAND, where="result of the MCP tool"),
)


class ClaudeCode:
    """The `Host` for Claude Code."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """`claude-code`."""
        return NAME

    @property
    def capabilities(self) -> HostCapabilities:
        """Context of tool hooks reaches the model with the result of the call; all context stays in the history."""
        return HostCapabilities(
            arrival=BESIDE_RESULTS,
            cap_chars=CAP_CHARS,
            stored=True,
            post_compaction=True,
            loads_rule_files=("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"),
            rule_file_fallbacks=("AGENTS.md",),
            memory_files=(MemoryFile(path="memory/MEMORY.md"),),
            refuses=True,
            title="Claude Code",
            basis="measured on version 2.1.328",
            tool_calls="The host asks before each call of `memory_get` and `memory_add`; `tacit install` offers the rule in `permissions.allow` with which it does not.",
            deliveries=_DELIVERIES,
        )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read a hook payload; None for events that mean nothing to us.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        fields = Fields(NAME, payload)
        if "cursor_version" in payload or "timestamp" in payload:
            return None  # Cursor and Copilot CLI run these hooks, too, and mark what they send so; they have adapters of their own
        event = fields.needed_identifier("hook_event_name")
        match event:
            case "SessionStart":
                return _session_start(fields, at_ms)
            case "UserPromptSubmit":
                return _prompt(fields, at_ms)
            case "PreToolUse" | "PostToolUse" | "PostToolUseFailure":
                return _tool(fields, event, at_ms)
            case "SubagentStart" | "SubagentStop":
                return _subagent(fields, event, at_ms)
            case "Stop" | "StopFailure":
                return stop_signal(fields, event, at_ms, turn_id=fields.identifier("prompt_id"))
            case "PreCompact":
                return compacting_signal(fields, at_ms, turn_id=fields.identifier("prompt_id"))
            case "SessionEnd":
                return _session_end(fields, at_ms)
            case _:
                return None

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """A hook answer with `additionalContext` and `systemMessage`; "" when both are empty or the event takes none.

        Raises:
            InvalidInput: if the block is longer than Claude Code keeps.
        """
        event = payload.get("hook_event_name")
        if event not in _TAKES_CONTEXT:
            return ""
        _check_length(block.text)
        return hook_answer(event, block, notice)


def _check_length(text: str) -> None:
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2  # the client counts UTF-16 units
    if units > _HARD_CAP:
        raise InvalidInput(
            f"A block of {units} characters is too long for Claude Code, which keeps 10,000.",
            hint=f"Cut packs to `capabilities.cap_chars` ({CAP_CHARS}) before rendering.",
        )


def _session_start(fields: Fields, at_ms: int) -> SessionStarted:
    name, source = start_source(fields)
    # A session id starts up or is forked off once; it resumes, clears and compacts again and again.
    once = name in ("startup", "fork")
    moment = "" if once else digest(fields.identifier("prompt_id"), time_step(at_ms))
    return SessionStarted(**signal_fields(fields, at_ms), key=f"start:{name}:{moment}", source=source)


def _prompt(fields: Fields, at_ms: int) -> PromptSubmitted:
    text = fields.needed_text("prompt")
    prompt_id = fields.identifier("prompt_id")
    sources = (fields.raw("source"), fields.raw("promptSource"))
    common = signal_fields(fields, at_ms)
    name = prompt_id or str(time_step(at_ms))
    # A subagent is prompted by the agent above it, never by the user: nothing in it is the user's word.
    program = bool(common["agent_id"]) or by_program(fields.raw("origin"), *sources)
    return PromptSubmitted(
        **common,
        key=f"prompt:{digest(name, text)}",
        text=text,
        message_id=prompt_id,
        machine=program or machine_made(text),
        command="" if program else typed_command(text),
    )


def _tool(fields: Fields, event: str, at_ms: int) -> ToolStarting | ToolFinished | ToolFailed:
    common = signal_fields(fields, at_ms)
    call = _call(fields)
    moment = call.call_id or digest(call.tool, call.paths, call.command, call.text, time_step(at_ms))
    key = f"{event}:{moment}"
    if event == "PreToolUse":
        return ToolStarting(**common, key=key, call=call)
    if event == "PostToolUse":
        return ToolFinished(**common, key=key, call=call, output=flatten(fields.raw("tool_response")))
    return ToolFailed(**common, key=key, call=call, error=fields.needed_text("error", limit=MAX_OUTPUT_CHARS))


def _call(fields: Fields) -> ToolCall:
    arguments = _tool_input(fields)
    name = fields.needed_identifier("tool_name")
    server, _, own_tool = name.rpartition("__")
    paths = [arguments.loose_text(key) for key in ("file_path", "notebook_path", "path")]
    words = [
        arguments.loose_text(key)
        for key in ("new_string", "new_source", "content", "description", "prompt", "pattern", "query", "url")
    ]
    if isinstance(arguments.raw("edits"), list):
        words += [edit.loose_text("new_string") for edit in arguments.children("edits")]
    return ToolCall(
        tool=_TOOLS.get(name, name),
        call_id=fields.identifier("tool_use_id"),
        paths=relative_paths(paths, cwd=fields.path("cwd")),
        command=arguments.loose_text("command"),
        text=joined(words),
        agent=arguments.loose_text("subagent_type") or _DEFAULT_AGENT if _TOOLS.get(name) == "task" else "",
        writes=mark_of_write(own_tool, arguments.raw) if server in _OUR_SERVERS else "",
    )


def _tool_input(fields: Fields) -> Fields:
    """The input of the call; `mcp_tool` hooks hand it over as the text of a JSON object."""
    raw = fields.raw("tool_input")
    if isinstance(raw, str):
        try:
            return Fields(NAME, json.loads(raw or "{}"), prefix="tool_input.")
        except (ValueError, RecursionError):
            raise fields.wrong("tool_input", "it is a text that is no JSON", "an object") from None
    return fields.child("tool_input")


def _subagent(fields: Fields, event: str, at_ms: int) -> SubagentStarted | MessageEnded | None:
    # Claude Code's own agents, such as the one that writes the summary of a compaction, have no type: they get no memory.
    return subagent_signal(fields, event, at_ms) if fields.identifier("agent_type") else None


def _session_end(fields: Fields, at_ms: int) -> SessionEnded:
    reason = fields.identifier("reason")
    return SessionEnded(
        **signal_fields(fields, at_ms),
        key=f"end:{digest(reason, fields.identifier('prompt_id'), time_step(at_ms))}",
        reason=reason,
    )


HOST = ClaudeCode()
