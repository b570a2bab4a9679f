"""Claude Code: hook payloads to signals, blocks to hook replies (measured on 2.1.328; docs/guide/agents.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from tacit.errors import InvalidInput
from tacit.hosts.hooks import HookEvent, HookHost, field, field_or_step, needed, said, step
from tacit.hosts.payload import CALL_HAS_RUN, Fields
from tacit.model.pack import Surface
from tacit.model.signal import Signal
from tacit.ports.host import BESIDE_RESULTS, Delivery, HostCapabilities, MemoryFile

CAP_CHARS = 9_500
"""The most characters of a block. Claude Code keeps 10,000 of one context and moves longer ones into a file (measured: 9,996 kept)."""
_HARD_CAP = 9_990

_TURN = field_or_step("prompt_id")
_MOMENT = (field("prompt_id"), step)
_SAID = "last_assistant_message"
# A session id starts up or is forked off once; it resumes, clears and compacts again and again.
# Claude Code's own agents, such as the one that writes the summary of a compaction, have no type: they get no memory.
_EVENTS = {
    "SessionStart": HookEvent(means="start", by=_MOMENT, once=("startup", "fork"), context=True, notice=True),
    "UserPromptSubmit": HookEvent(means="prompt", by=(_TURN,), context=True, notice=True),
    "PreToolUse": HookEvent(means="tool_start", context=True, notice=True),
    "PostToolUse": HookEvent(means="tool_end", context=True, notice=True),
    "PostToolUseFailure": HookEvent(means="tool_failed", text="error", context=True, notice=True),
    "SubagentStart": HookEvent(means="subagent", needs="agent_type", context=True, notice=True),
    "SubagentStop": HookEvent(
        means="message_end",
        key="subagent-stop",
        by=(needed("agent_id"), said(_SAID)),
        text=_SAID,
        needs="agent_type",
        transcript="agent_transcript_path",
    ),
    "Stop": HookEvent(means="message_end", by=(_TURN, said(_SAID)), text=_SAID),
    "StopFailure": HookEvent(means="message_end", by=(_TURN, said(_SAID)), text=_SAID),
    "PreCompact": HookEvent(means="compacting", by=_MOMENT),
    "SessionEnd": HookEvent(means="end", by=(field("reason"), *_MOMENT)),
}
_TOOLS = {
    "Read": "read", "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit", "Write": "write", "Bash": "bash",
    "Grep": "grep", "Glob": "glob", "Task": "task", "Agent": "task", "WebFetch": "webfetch", "WebSearch": "websearch",
}  # fmt: skip


class ClaudeCode(HookHost):
    """The `Host` for Claude Code. Context of tool hooks reaches the model with the result of the call; all context stays in the history."""

    __slots__ = ()

    name = "claude-code"
    capabilities = HostCapabilities(
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
        deliveries=(
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
        ),
    )
    events = _EVENTS
    tools = _TOOLS
    paths = ("file_path", "notebook_path", "path")
    words = ("new_string", "new_source", "content", "description", "prompt", "pattern", "query", "url")
    turn = "prompt_id"
    origins = ("origin", "source", "promptSource")
    default_agent = "general-purpose"
    our_servers = ("mcp__tacit", "mcp__plugin_tacit_tacit")

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read a hook payload into its signal; None for events that mean nothing to us.

        Cursor and Copilot CLI run these hooks, too, and mark what they send so; they have adapters of their own.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        if Fields(self.name, payload).has("cursor_version", "timestamp"):
            return None
        return super().parse(payload, at_ms=at_ms)

    def check_length(self, text: str) -> None:
        """Raise an error if Claude Code would move the text into a file because it is too long.

        Raises:
            InvalidInput: saying how long it may be.
        """
        units = len(text.encode("utf-16-le", "surrogatepass")) // 2  # the client counts UTF-16 units
        if units > _HARD_CAP:
            raise InvalidInput(
                f"A block of {units} characters is too long for Claude Code, which keeps 10,000.",
                hint=f"Cut packs to `capabilities.cap_chars` ({CAP_CHARS}) before rendering.",
            )

    def arguments(self, fields: Fields) -> Fields:
        """Return the input of a tool call; `mcp_tool` hooks send it as JSON text."""
        raw = fields.raw("tool_input")
        if isinstance(raw, str):
            try:
                return Fields(self.name, json.loads(raw or "{}"), prefix="tool_input.")
            except (ValueError, RecursionError):
                raise fields.wrong("tool_input", "it is a text that is no JSON", "an object") from None
        return fields.child("tool_input")

    def more_words(self, tool: str, arguments: Fields) -> Iterable[str]:
        """Return the new texts of a call that makes several edits, for the words of the call; of other calls nothing."""
        del tool
        if not isinstance(arguments.raw("edits"), list):
            return ()
        return (edit.loose_text("new_string") for edit in arguments.children("edits"))


HOST = ClaudeCode()
