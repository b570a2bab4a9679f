"""GitHub Copilot CLI: hook payloads to signals, blocks to hook answers (measured on 1.0.102; docs/guide/agents.md).

Our hooks have the names of its second format (`SessionStart`), because there the payload says which event it is; only that of a starting subagent
does not, and is known by its fields. Text before a call would come as a message of the user, so there is none.

A payload names no prompt and no call, so keys hold the time that Copilot stamps on the event: the hooks of the user and of the project,
which both run for one event, get the same one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial

from tacit.hosts.hooks import HookEvent, HookHost, SignalFields, field
from tacit.hosts.payload import CALL_HAS_RUN, MAX_OUTPUT_CHARS, Fields, digest, time_step
from tacit.model.pack import Surface
from tacit.model.signal import SubagentStarted, ToolCall
from tacit.ports.host import BESIDE_RESULTS, Delivery, HostCapabilities

CAP_CHARS = 9_500
"""Copilot cuts the text of tool hooks at 10 KB and counts characters, not bytes (measured: 9,400 whole, 9,000 of two bytes each whole, 40,000 cut); at a start and a prompt 40,000 arrive whole."""
_EXIT = re.compile(r"<shellId: [^<>\n]* completed with exit code (\d+)>\s*\Z")
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def _time_key(fields: Fields, at_ms: int) -> object:
    """Return what tells this event from a repeat, for the signal's key: Copilot's raw timestamp, else the number of the five-second step of its arrival."""
    return fields.raw("timestamp") or time_step(at_ms)


def _time_digest(fields: Fields, at_ms: int) -> object:
    return digest(_time_key(fields, at_ms))


_Event = partial(HookEvent, transcript="")
_OfSession = partial(HookEvent, agent=False, by=(_time_key,))
# Copilot hands over the words of a subagent alone; those of the main agent stand in its transcript.
_END = HookEvent(means="message_end", by=(field("agent_id"), _time_digest), text="last_assistant_message")
_EVENTS = {
    "SessionStart": _OfSession(means="start", once=("startup",), context=True, transcript=""),
    "UserPromptSubmit": _Event(means="prompt", by=(_time_digest,), context=True),
    "PreToolUse": _Event(means="tool_start", takes_no_text=True),
    "PostToolUse": _Event(means="tool_end", context=True),
    "PostToolUseFailure": _Event(means="tool_failed", text="error", context=True),
    "SubagentStart": HookEvent(means="subagent", agent=False, context=True, transcript="transcriptPath"),
    "Stop": _END,
    "SubagentStop": _END,
    "PreCompact": _OfSession(means="compacting"),
    "SessionEnd": _OfSession(means="end", transcript=""),
}
_TOOLS = {
    "Read": "read", "Edit": "edit", "Write": "write", "Bash": "bash", "Grep": "grep", "Glob": "glob", "Agent": "task",
    "WebFetch": "webfetch", "WebSearch": "websearch",
}  # fmt: skip


class Copilot(HookHost):
    """The `Host` for GitHub Copilot CLI.

    Text of prompts and results stays in the history; that of the start is asked for again when a session resumes.
    """

    __slots__ = ()

    name = "copilot"
    capabilities = HostCapabilities(
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
        deliveries=(
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
        ),
    )
    events = _EVENTS
    tools = _TOOLS
    paths = ("path",)
    words = ("new_str", "file_text", "description", "prompt", "pattern", "query", "url")
    call_id = ""
    agent_type = "agent_type"

    def event_named(self, payload: Mapping[str, object]) -> str:
        """Return the event's name. A payload without one is taken for a starting subagent if its fields look so."""
        unnamed = payload.get("hook_event_name") is None
        if unnamed and ("agentName" in payload or "sessionId" in payload):
            return "SubagentStart"
        return super().event_named(payload)

    def context(self, event: str, text: str) -> dict[str, object]:
        """Return the hook answer that passes `text` on to the model."""
        del event
        return {"additionalContext": text}

    def refusal(self, event: str, text: str) -> dict[str, object]:
        """Return the hook answer that refuses a call with the reason `text`."""
        del event
        return {"permissionDecision": "deny", "permissionDecisionReason": text}

    def session(self, fields: Fields) -> str:
        """Return the session id. Copilot gives a subagent its own session, but here it belongs to that of its parent."""
        own = fields.needed_identifier("sessionId" if fields.raw("hook_event_name") is None else "session_id")
        return fields.identifier("parent_agent_id") or own

    def tool_key(self, fields: Fields, event: str, call: ToolCall, at_ms: int) -> str:
        """Return the idempotency key of a tool event. Copilot's calls have no id, so it is made of the call and the event's time."""
        when = fields.raw("timestamp") or at_ms
        return f"{event}:{digest(call.tool, call.paths, call.command, call.text, when)}"

    def arguments(self, fields: Fields) -> Fields:
        """Return the arguments that the model gave the tool; a patch, which comes as a text, as `input`."""
        given = fields.raw("tool_input")
        return Fields(self.name, {"input": given}) if isinstance(given, str) else fields.child("tool_input")

    def more_paths(self, tool: str, arguments: Fields) -> Iterable[str]:
        """Return the files that the patch of an edit changes; of other tools nothing."""
        return _PATCHED_FILE.findall(arguments.loose_text("input")) if tool == "edit" else ()

    def more_words(self, tool: str, arguments: Fields) -> Iterable[str]:
        """Return the patch of an edit, which stands in none of the arguments that `words` names; of other tools nothing."""
        return (arguments.loose_text("input"),) if tool == "edit" else ()

    def outcome(self, fields: Fields, call: ToolCall) -> tuple[str, str]:
        """Return (output, error) of a call; error "" = it did not fail. A command's exit code is at the end of its output."""
        output = fields.child("tool_result").text("text_result_for_llm", limit=MAX_OUTPUT_CHARS)
        code = _EXIT.search(output[-200:]) if call.tool == "bash" else None
        if code is None or code[1] == "0":
            return output, ""
        return output, f"Exit code {code[1]}\n{_EXIT.sub('', output).rstrip()}"

    def subagent(self, fields: Fields, common: SignalFields) -> SubagentStarted:
        """Return the signal of a starting subagent. Copilot names its type in `agent_type` or `agentName`."""
        agent = fields.identifier("agent_type") or fields.needed_identifier("agentName")
        common["agent"], common["agent_id"] = agent, fields.needed_identifier("agent_id")
        return SubagentStarted(**common, key=f"subagent:{common['agent_id']}", agent_type=agent)


HOST = Copilot()
