"""Cursor: hook payloads to signals, blocks to hook answers. Written from cursor.com/docs/hooks, not run (docs/guide/cursor.md).

In: the JSON that Cursor writes to a hook's standard input. Out: one signal, or none; the JSON of a hook's answer, or
nothing. Never: a follow-up message (text there makes the agent take another turn), a permission; a decision only as the refusal of a
call that a rule of the user blocks.

Only two events take text for the model: `sessionStart` and `postToolUse`. The block for a prompt or for a tool that failed by itself waits for
the next result of a tool. The other events keep the record and lead to capture.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from tacit.hosts.payload import (
    CALL_HAS_RUN,
    MAX_OUTPUT_CHARS,
    Fields,
    SignalFields,
    digest,
    flatten,
    joined,
    relative_paths,
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
    ToolCall,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)
from tacit.ports.host import Delivery, HostCapabilities
from tacit.reading.prompts import machine_made, typed_command

NAME = "cursor"
CAP_CHARS = 9_500
"""The documentation names no cap; this is the smallest that another host was measured to have."""
_TAKES_CONTEXT = frozenset({"sessionStart", "postToolUse"})
_TOOLS = {
    "Shell": "bash", "Read": "read", "Write": "write", "StrReplace": "edit", "Edit": "edit", "MultiEdit": "edit",
    "ApplyPatch": "edit", "Grep": "grep", "Glob": "glob", "Task": "task", "WebFetch": "webfetch", "WebSearch": "websearch",
}  # fmt: skip
_PATHS = ("file_path", "path", "target_file", "absolute_file_path")
_WORDS = ("new_string", "content", "contents", "description", "prompt", "pattern", "query", "url")
_PROMPT_LIMIT = "`beforeSubmitPrompt` takes no text: the block goes with the next result of a tool, and with none where the agent calls no tool"
_DELIVERIES = (
    Delivery(
        surface=Surface.START,
        where="initial system context",
        limit="Cursor does not wait for the hook: a late answer can miss the first request",
    ),
    Delivery(surface=Surface.PROMPT, where="after the first result of a tool", limit=_PROMPT_LIMIT),
    Delivery(
        surface=Surface.ACTION,
        where="after the result of the call",
        limit=CALL_HAS_RUN,
    ),
    Delivery(
        surface=Surface.FAILURE,
        where="after the result of a command with an exit code",
        limit="`postToolUseFailure` takes no text: the block for a tool that fails by itself goes with the next result of a tool",
    ),
    Delivery(surface=Surface.COMPACTION, limit="no event comes after a compaction"),
    Delivery(surface=Surface.SUBAGENT, limit="`subagentStart` takes no text"),
    Delivery(surface=Surface.ON_DEMAND, where="result of the MCP tool"),
)


class Cursor:
    """The `Host` for Cursor."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """`cursor`."""
        return NAME

    @property
    def capabilities(self) -> HostCapabilities:
        """Text goes in at the start of a session and after tool results; it stays in the conversation."""
        return HostCapabilities(
            arrival=(
                (Surface.START, "before"),
                (Surface.PROMPT, "after"),
                (Surface.ACTION, "after"),
                (Surface.FAILURE, "before"),
                (Surface.COMPACTION, "never"),
                (Surface.SUBAGENT, "never"),
                (Surface.ON_DEMAND, "before"),
            ),
            cap_chars=CAP_CHARS,
            stored=True,
            post_compaction=False,
            loads_rule_files=("AGENTS.md", ".cursorrules"),
            refuses=True,
            title="Cursor",
            basis="read in its documentation (cursor.com/docs/hooks), not run",
            tool_calls="The host asks before MCP tools as you set it. A list of tools in its file replaces the one in its settings, so Tacit writes none.",
            deliveries=_DELIVERIES,
        )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read a hook payload; None for events that mean nothing to us.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        fields = Fields(NAME, payload)
        match fields.needed_identifier("hook_event_name"):
            case "sessionStart":
                return SessionStarted(**_common(fields, at_ms), key="start:startup", source="startup")
            case "beforeSubmitPrompt":
                return _prompt(fields, at_ms)
            case "preToolUse" | "postToolUse" | "postToolUseFailure" as event:
                return _tool(fields, event, at_ms)
            case "afterAgentResponse":
                return _response(fields, at_ms)
            case "sessionEnd":
                reason = fields.identifier("reason")
                return SessionEnded(
                    **_common(fields, at_ms), key=f"end:{_moment(fields, at_ms)}", reason=reason
                )
            case "preCompact":
                automatic = fields.identifier("trigger") == "auto"
                key = f"compacting:{_moment(fields, at_ms)}"
                return Compacting(**_common(fields, at_ms), key=key, automatic=automatic)
            case _:
                return None

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:  # noqa: ARG002 - Cursor shows people a line only with a refusal
        """A hook answer with `additional_context`, or a refusal; "" when there is nothing to say or the event takes none."""
        event = payload.get("hook_event_name")
        if block.empty:
            return ""
        if event == "preToolUse" and block.refuses:
            message = "A rule in your Tacit memory refuses this call once."
            return json.dumps({"permission": "deny", "agent_message": block.text, "user_message": message})
        return json.dumps({"additional_context": block.text}) if self.carries(payload) else ""

    def carries(self, payload: Mapping[str, object]) -> bool:
        """Whether Cursor hands the text of this event's answer to the model."""
        return payload.get("hook_event_name") in _TAKES_CONTEXT


def _session(fields: Fields) -> SessionKey:
    alone = fields.raw("conversation_id") is None and fields.raw("session_id") is not None
    return SessionKey(
        host=NAME, session_id=fields.needed_identifier("session_id" if alone else "conversation_id")
    )


def _cwd(fields: Fields) -> str:
    """The folder of a tool's call, else the first folder of the workspace."""
    roots = fields.raw("workspace_roots")
    first = cast("list[object]", roots)[0] if isinstance(roots, list) and roots else ""
    return fields.path("cwd") or (first if isinstance(first, str) else "")


def _common(fields: Fields, at_ms: int) -> SignalFields:
    return SignalFields(
        session=_session(fields),
        at_ms=at_ms,
        cwd=_cwd(fields),
        agent="",
        agent_id="",
        transcript_path=fields.path("transcript_path"),
    )


def _moment(fields: Fields, at_ms: int) -> str:
    """Name of an event that happens once per generation; where Cursor names none, the five-second step of its arrival."""
    return digest(fields.identifier("generation_id") or time_step(at_ms))


def _prompt(fields: Fields, at_ms: int) -> PromptSubmitted:
    text = fields.needed_text("prompt")
    generation = fields.identifier("generation_id")
    return PromptSubmitted(
        **_common(fields, at_ms),
        key=f"prompt:{digest(generation or time_step(at_ms), text)}",
        text=text,
        message_id=generation,
        machine=machine_made(text),
        command=typed_command(text),
    )


def _tool(fields: Fields, event: str, at_ms: int) -> ToolStarting | ToolFinished | ToolFailed:
    common, call = _common(fields, at_ms), _call(fields)
    key = (
        f"{event}:{call.call_id or digest(call.tool, call.paths, call.command, call.text, time_step(at_ms))}"
    )
    if event == "preToolUse":
        return ToolStarting(**common, key=key, takes_no_text=True, call=call)
    if event == "postToolUseFailure":
        error = fields.needed_text("error_message", limit=MAX_OUTPUT_CHARS)
        return ToolFailed(**common, key=key, call=call, error=error)
    exit_code, output = _output(fields)
    if exit_code:
        return ToolFailed(**common, key=key, call=call, error=f"Exit code {exit_code}\n{output}")
    return ToolFinished(**common, key=key, call=call, output=output)


def _call(fields: Fields) -> ToolCall:
    arguments = fields.child("tool_input")
    name = fields.needed_identifier("tool_name")

    word = arguments.loose_text
    tool = _TOOLS.get(name, name)
    return ToolCall(
        tool=tool,
        call_id=fields.identifier("tool_use_id"),
        paths=relative_paths([word(key) for key in _PATHS], cwd=_cwd(fields)),
        command=word("command"),
        text=joined(map(word, _WORDS)),
        agent=word("subagent_type") if tool == "task" else "",
    )


def _output(fields: Fields) -> tuple[int, str]:
    """The exit code of a command (0 where there is none) and the texts of a tool's output, which comes as JSON in a text."""
    raw = fields.text("tool_output", limit=MAX_OUTPUT_CHARS)
    try:
        value: object = json.loads(raw)
    except (ValueError, RecursionError):
        return 0, raw
    if not isinstance(value, Mapping):
        return 0, flatten(value)
    output = cast("Mapping[str, object]", value)
    code = output.get("exitCode")
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else 0
    return exit_code, flatten({name: part for name, part in output.items() if name != "exitCode"})


def _response(fields: Fields, at_ms: int) -> MessageEnded | None:
    """The words of the agent's message; an empty one would wipe out the end of the message before."""
    text = fields.text("text")
    if not text:
        return None
    key = f"response:{digest(_moment(fields, at_ms), text)}"
    return MessageEnded(**_common(fields, at_ms), key=key, text=text, final=True)


HOST = Cursor()
