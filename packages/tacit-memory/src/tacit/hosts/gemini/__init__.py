"""Gemini CLI: hook payloads to signals, blocks to hook replies (measured on 0.61.0; docs/guide/agents.md).

Only two events take text: BeforeAgent puts it behind the prompt, AfterTool behind the output of a call that did not fail. Text
for SessionStart would do harm: without a terminal the client writes it before the words of the prompt, runs no slash command
then, and drops the whole prompt when the session is resumed. So the blocks of other events wait for the next that takes text.
PreCompress means nothing to us: it precedes every model call.

Every hook of one event gets the same `timestamp`, so it names the event: it is in every idempotency key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from tacit.errors import InvalidPayload
from tacit.hosts.hooks import DeferringHookHost, HookEvent, SignalFields, field, said
from tacit.hosts.payload import (
    CALL_HAS_RUN,
    MAX_OUTPUT_CHARS,
    Fields,
    bounded,
    digest,
    flatten,
    start_source,
)
from tacit.model.pack import Surface
from tacit.model.signal import SessionStarted, ToolCall
from tacit.ports.host import Delivery, HostCapabilities, MemoryFile
from tacit.reading.prompts import SUMMARY_TAKEN, without_added_files
from tacit.safety.escape import strip_blocks


def _time_key(fields: Fields, at_ms: int) -> str:
    """Return what tells this event from a repeat, for the signal's key: Gemini CLI's `timestamp`, else the time of its arrival."""
    return fields.identifier("timestamp") or str(at_ms)


_EVENTS = {
    "SessionStart": HookEvent(means="start", notice=True),
    "BeforeAgent": HookEvent(means="prompt", by=(_time_key,), context=True, notice=True),
    "BeforeTool": HookEvent(means="tool_start", notice=True),
    "AfterTool": HookEvent(means="tool_end", context=True, notice=True),
    "AfterAgent": HookEvent(
        means="message_end",
        key="after-agent",
        by=(_time_key, said("prompt_response")),
        text="prompt_response",
    ),
    "SessionEnd": HookEvent(means="end", by=(field("reason"), _time_key)),
}
_TOOLS = {
    "read_file": "read", "read_many_files": "read", "replace": "edit", "write_file": "write",
    "run_shell_command": "bash", "grep_search": "grep", "search_file_content": "grep", "glob": "glob",
    "invoke_agent": "task", "web_fetch": "webfetch", "google_web_search": "websearch",
}  # fmt: skip
_COMPRESSED = (b'{"$set":{"messages":', SUMMARY_TAKEN.encode())


class Gemini(DeferringHookHost):
    """The `Host` for Gemini CLI; also a `TranscriptHost`. Text goes behind a prompt or a tool's output and stays in the history."""

    __slots__ = ()

    name = "gemini"
    capabilities = HostCapabilities(
        arrival=(
            (Surface.START, "before"),
            (Surface.PROMPT, "before"),
            (Surface.ACTION, "after"),
            (Surface.FAILURE, "before"),
            (Surface.COMPACTION, "before"),
            (Surface.SUBAGENT, "never"),
            (Surface.ON_DEMAND, "before"),
        ),
        cap_chars=60_000,  # Gemini CLI has no cap of its own; this one only bounds a mistake
        stored=True,
        post_compaction=True,
        loads_rule_files=("GEMINI.md",),
        refuses=True,
        memory_files=(
            MemoryFile(path="../memory/MEMORY.md"),
            MemoryFile(path="../../../GEMINI.md", universal=True),
        ),
        title="Gemini CLI",
        basis="measured on version 0.61.0",
        tool_calls="The host asks before each call of `memory_get` and `memory_add`, and without a terminal it does not offer them; `tacit install` offers a policy with which it runs them.",
        deliveries=(
            Delivery(surface=Surface.START, where="`<hook_context>` behind the first prompt, in its message"),
            Delivery(surface=Surface.PROMPT, where="`<hook_context>` behind the prompt, in its message"),
            Delivery(
                surface=Surface.ACTION,
                where="`<hook_context>` behind the output of the call",
                limit=CALL_HAS_RUN,
            ),
            Delivery(
                surface=Surface.FAILURE,
                where="`<hook_context>` behind the output of a command with an exit code",
                limit="for a tool that failed, the client takes no text: the block goes with the next output or prompt",
            ),
            Delivery(
                surface=Surface.COMPACTION,
                where="`<hook_context>` behind the next output of a tool, or the next prompt",
                limit="no hook runs after a compression: it is read from the chat file at the next event, and one step of the agent may pass before",
            ),
            Delivery(
                surface=Surface.SUBAGENT,
                limit="no hook runs when a subagent starts, and its calls look like the main agent's",
            ),
            Delivery(surface=Surface.ON_DEMAND, where="result of the MCP tool"),
        ),
    )
    events = _EVENTS
    tools = _TOOLS
    paths = ("file_path", "absolute_path", "path", "dir_path")
    words = ("new_string", "content", "prompt", "pattern", "query", "description")
    call_id = ""
    agent_type = "agent_name"

    def takes_text(self, payload: Mapping[str, object]) -> bool:
        """Whether Gemini CLI passes text of the answer on to the model; False for the result of a failed call."""
        if self.event_named(payload) == "AfterTool":
            response = payload.get("tool_response")
            return isinstance(response, Mapping) and not response.get("error")  # pyright: ignore[reportUnknownMemberType]
        return super().takes_text(payload)

    def refusal(self, event: str, text: str) -> dict[str, object]:
        """Return the hook answer that refuses a call with the reason `text`."""
        del event
        return {"decision": "deny", "reason": text}

    def start(self, fields: Fields, event: HookEvent, common: SignalFields) -> SessionStarted:
        """Return the signal of a session start."""
        del event
        name, source = start_source(fields)
        key = f"start:{name}:{_time_key(fields, common['at_ms'])}"
        return SessionStarted(**common, key=key, source=source)

    def tool_key(self, fields: Fields, event: str, call: ToolCall, at_ms: int) -> str:
        """Return the idempotency key of a tool event. Gemini's calls have no id, so it is made of the moment and the call."""
        moment = _time_key(fields, at_ms)
        return f"{event}:{digest(moment, call.tool, call.paths, call.command, call.text)}"

    def prompt(self, fields: Fields) -> str:
        """Return the user's words of a prompt, without our earlier blocks and the files that Gemini CLI added."""
        return without_added_files(strip_blocks(fields.needed_text("prompt"))).strip()

    def more_paths(self, tool: str, arguments: Fields) -> Iterable[str]:
        """Return the paths of a call that reads several files, from its argument `include`."""
        del tool
        return arguments.texts("include", most=100) if isinstance(arguments.raw("include"), list) else ()

    def outcome(self, fields: Fields, call: ToolCall) -> tuple[str, str]:
        """Return (output, error) of a call that ended; error "" = it did not fail. A command's exit code is only in its output."""
        response = fields.child("tool_response")
        output = strip_blocks(flatten(response.raw("llmContent")))
        if response.raw("error") is not None:
            return output, flatten(response.raw("error")) or output or "The call failed."
        printed, _, code = output.partition("Output: ")[2].partition("\nExit Code: ")
        code = code.split("\n", 1)[0].strip()
        if call.tool != "bash" or not code.isdecimal() or code == "0":
            return output, ""
        texts = "\n".join(part for part in printed.split("\nError: ", 1) if part)
        return output, bounded(f"Exit code {code}\n{texts}", MAX_OUTPUT_CHARS)

    def compaction_in(self, row: bytes) -> str:
        """Return the id of a compression, if this line of the chat file records one, else "". It is the id of the answer that follows the summary.

        Each compression gives them another id. A resumed session sets the same messages again, with the same ids and other times.
        """
        if not all(mark in row for mark in _COMPRESSED):
            return ""
        try:
            messages = Fields(self.name, json.loads(row)).child("$set").children("messages")
            return next(
                (m.identifier("id") for m in messages if SUMMARY_TAKEN in flatten(m.raw("content"))), ""
            )
        except (ValueError, RecursionError, InvalidPayload):
            return ""


HOST = Gemini()
