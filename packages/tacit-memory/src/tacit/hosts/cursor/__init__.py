"""Cursor: hook payloads to signals, blocks to hook answers. Written from cursor.com/docs/hooks, not run (docs/guide/agents.md).

Only two events take text for the model: `sessionStart` and `postToolUse`. The block for a prompt or for a tool that failed by itself waits for
the next result of a tool. The other events keep the record and lead to capture.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import cast

from tacit.hosts.hooks import DeferringHookHost, HookEvent, SignalFields, field_or_step, said
from tacit.hosts.payload import CALL_HAS_RUN, MAX_OUTPUT_CHARS, Fields, digest, flatten, time_step
from tacit.model.pack import Surface
from tacit.model.signal import SessionStarted, ToolCall
from tacit.ports.host import Delivery, HostCapabilities

_REFUSED = "A rule in your Tacit memory refuses this call once."
_PROMPT_LIMIT = "`beforeSubmitPrompt` takes no text: the block goes with the next result of a tool, and with none where the agent calls no tool"


def _generation(fields: Fields, at_ms: int) -> str:
    """Return a hash of the generation id, as a part of the key of an event that happens once per generation; without an id, of the five-second step of its arrival."""
    return digest(fields.identifier("generation_id") or time_step(at_ms))


_Event = partial(HookEvent, agent=False)
_EVENTS = {
    "sessionStart": _Event(means="start", context=True),
    "beforeSubmitPrompt": _Event(means="prompt", by=(field_or_step("generation_id"),)),
    "preToolUse": _Event(means="tool_start", takes_no_text=True),
    "postToolUse": _Event(means="tool_end", context=True),
    "postToolUseFailure": _Event(means="tool_failed", text="error_message"),
    # An empty message would wipe out the end of the message before.
    "afterAgentResponse": _Event(
        means="message_end", key="response", by=(_generation, said("text")), text="text", needs="text"
    ),
    "preCompact": _Event(means="compacting", by=(field_or_step("generation_id"),)),
    "sessionEnd": _Event(means="end", by=(field_or_step("generation_id"),)),
}
_TOOLS = {
    "Shell": "bash", "Read": "read", "Write": "write", "StrReplace": "edit", "Edit": "edit", "MultiEdit": "edit",
    "ApplyPatch": "edit", "Grep": "grep", "Glob": "glob", "Task": "task", "WebFetch": "webfetch", "WebSearch": "websearch",
}  # fmt: skip


class Cursor(DeferringHookHost):
    """The `Host` for Cursor. Text goes in at the start of a session and after tool results; it stays in the conversation."""

    __slots__ = ()

    name = "cursor"
    capabilities = HostCapabilities(
        arrival=(
            (Surface.START, "before"),
            (Surface.PROMPT, "after"),
            (Surface.ACTION, "after"),
            (Surface.FAILURE, "before"),
            (Surface.COMPACTION, "never"),
            (Surface.SUBAGENT, "never"),
            (Surface.ON_DEMAND, "before"),
        ),
        cap_chars=9_500,  # the documentation names no cap; this is the smallest that another host was measured to have
        stored=True,
        post_compaction=False,
        loads_rule_files=("AGENTS.md", ".cursorrules"),
        refuses=True,
        title="Cursor",
        basis="read in its documentation (cursor.com/docs/hooks), not run",
        tool_calls="The host asks before MCP tools as you set it. A list of tools in its file replaces the one in its settings, so Tacit writes none.",
        deliveries=(
            Delivery(
                surface=Surface.START,
                where="initial system context",
                limit="Cursor does not wait for the hook: a late answer can miss the first request",
            ),
            Delivery(surface=Surface.PROMPT, where="after the first result of a tool", limit=_PROMPT_LIMIT),
            Delivery(surface=Surface.ACTION, where="after the result of the call", limit=CALL_HAS_RUN),
            Delivery(
                surface=Surface.FAILURE,
                where="after the result of a command with an exit code",
                limit="`postToolUseFailure` takes no text: the block for a tool that fails by itself goes with the next result of a tool",
            ),
            Delivery(surface=Surface.COMPACTION, limit="no event comes after a compaction"),
            Delivery(surface=Surface.SUBAGENT, limit="`subagentStart` takes no text"),
            Delivery(surface=Surface.ON_DEMAND, where="result of the MCP tool"),
        ),
    )
    events = _EVENTS
    tools = _TOOLS
    paths = ("file_path", "path", "target_file", "absolute_file_path")
    words = ("new_string", "content", "contents", "description", "prompt", "pattern", "query", "url")
    turn = "generation_id"

    def context(self, event: str, text: str) -> dict[str, object]:
        """Return the hook answer that passes `text` on to the model."""
        del event
        return {"additional_context": text}

    def refusal(self, event: str, text: str) -> dict[str, object]:
        """Return the hook answer that refuses a call with the reason `text`, and a fixed line for the user."""
        del event
        return {"permission": "deny", "agent_message": text, "user_message": _REFUSED}

    def session(self, fields: Fields) -> str:
        """Return the id of the conversation, or the session id if the event gives only that."""
        alone = fields.raw("conversation_id") is None and fields.raw("session_id") is not None
        return fields.needed_identifier("session_id" if alone else "conversation_id")

    def cwd(self, fields: Fields) -> str:
        """Return the working folder of the tool call, else the first folder of the workspace."""
        roots = fields.raw("workspace_roots")
        first = cast("list[object]", roots)[0] if isinstance(roots, list) and roots else ""
        return fields.path("cwd") or (first if isinstance(first, str) else "")

    def start(self, fields: Fields, event: HookEvent, common: SignalFields) -> SessionStarted:
        """Return the signal of a session start. Its key is fixed, because a conversation starts only once."""
        del fields, event
        return SessionStarted(**common, key="start:startup", source="startup")

    def outcome(self, fields: Fields, call: ToolCall) -> tuple[str, str]:
        """Return (output, error) of a call, whose result is JSON in a text; error "" = the command's exit code is 0, or there is none."""
        del call
        raw = fields.text("tool_output", limit=MAX_OUTPUT_CHARS)
        try:
            value: object = json.loads(raw)
        except (ValueError, RecursionError):
            return raw, ""
        if not isinstance(value, Mapping):
            return flatten(value), ""
        output = cast("Mapping[str, object]", value)
        code = output.get("exitCode")
        text = flatten({name: part for name, part in output.items() if name != "exitCode"})
        failed = bool(code) and isinstance(code, int) and not isinstance(code, bool)
        return text, f"Exit code {code}\n{text}" if failed else ""


HOST = Cursor()
