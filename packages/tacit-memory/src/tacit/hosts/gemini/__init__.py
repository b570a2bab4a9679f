"""Gemini CLI: hook payloads to signals, blocks to hook replies (measured on 0.61.0; docs/guide/gemini.md).

In: the JSON that Gemini CLI writes to a hook's standard input. Out: one signal, or none; the JSON of a hook's answer, or
nothing. Never: text for SessionStart (see below), an answer to AfterAgent (it makes the agent take another turn); a decision
only as the refusal of a call that a rule of the user blocks.

Only two events take text: BeforeAgent puts it behind the prompt, AfterTool behind the output of a call that did not fail. Text
for SessionStart would do harm: without a terminal the client writes it before the words of the prompt, runs no slash command
then, and drops the whole prompt when the session is resumed. So the blocks of other events wait for the next that takes text.

Every hook of one event gets the same `timestamp`, so it names the event: it is in every idempotency key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tacit.errors import InvalidPayload
from tacit.hosts.payload import (
    CALL_HAS_RUN,
    MAX_OUTPUT_CHARS,
    Fields,
    bounded,
    digest,
    flatten,
    joined,
    relative_paths,
    signal_fields,
    start_source,
)
from tacit.model.pack import Block, Surface
from tacit.model.signal import (
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
from tacit.ports.host import Arrival, Delivery, HostCapabilities, MemoryFile
from tacit.reading.prompts import SUMMARY_TAKEN, machine_made, typed_command, without_added_files
from tacit.safety.escape import strip_blocks

NAME = "gemini"
CAP_CHARS = 60_000
"""Gemini CLI has no cap of its own; this one only bounds a mistake."""
_ARRIVAL: tuple[tuple[Surface, Arrival], ...] = (
    (Surface.START, "before"),
    (Surface.PROMPT, "before"),
    (Surface.ACTION, "after"),
    (Surface.FAILURE, "before"),
    (Surface.COMPACTION, "before"),
    (Surface.SUBAGENT, "never"),
    (Surface.ON_DEMAND, "before"),
)
_DELIVERIES = (
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
)
_TOOLS = {
    "read_file": "read", "read_many_files": "read", "replace": "edit", "write_file": "write",
    "run_shell_command": "bash", "grep_search": "grep", "search_file_content": "grep", "glob": "glob",
    "invoke_agent": "task", "web_fetch": "webfetch", "google_web_search": "websearch",
}  # fmt: skip
_PATHS = ("file_path", "absolute_path", "path", "dir_path")
_WORDS = ("new_string", "content", "prompt", "pattern", "query", "description")
_SHELL = re.compile(
    r"(?:<untrusted_context>\n)?Output: (?P<output>.*?)(?:\nError: (?P<error>.*?))?\nExit Code: (?P<code>\d+)",
    re.DOTALL,
)
_COMPRESSED = (b'{"$set":{"messages":', SUMMARY_TAKEN.encode())


class Gemini:
    """The `Host` for Gemini CLI; also a `TranscriptHost`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """`gemini`."""
        return NAME

    @property
    def capabilities(self) -> HostCapabilities:
        """Text goes behind a prompt or a tool's output and stays in the history."""
        return HostCapabilities(
            arrival=_ARRIVAL,
            cap_chars=CAP_CHARS,
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
            deliveries=_DELIVERIES,
        )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read a hook payload; None for events that mean nothing to us, PreCompress among them: it precedes every model call.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        fields = Fields(NAME, payload)
        event = fields.needed_identifier("hook_event_name")
        match event:
            case "SessionStart":
                return _session_start(fields, at_ms)
            case "BeforeAgent":
                return _prompt(fields, at_ms)
            case "BeforeTool" | "AfterTool":
                return _tool(fields, event, at_ms)
            case "AfterAgent":
                return _message_end(fields, at_ms)
            case "SessionEnd":
                return _session_end(fields, at_ms)
            case _:
                return None

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """A hook answer with `additionalContext`, or the refusal of a call, and `systemMessage`; "" when there is nothing to say."""
        event = payload.get("hook_event_name")
        answer: dict[str, object] = {}
        if block.refuses and event == "BeforeTool":
            answer = {"decision": "deny", "reason": block.text}
        elif not block.empty and self.carries(payload):
            answer["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": block.text}
        if notice and event in ("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool"):
            answer["systemMessage"] = notice
        return json.dumps(answer) if answer else ""

    def carries(self, payload: Mapping[str, object]) -> bool:
        """Whether the client hands `additionalContext` of this event to the model; of a failed call it takes none."""
        event = payload.get("hook_event_name")
        if event == "AfterTool":
            response = payload.get("tool_response")
            return isinstance(response, Mapping) and not response.get("error")  # pyright: ignore[reportUnknownMemberType]
        return event == "BeforeAgent"

    def compaction_in(self, row: bytes) -> str:
        """The id of the words that follow the summary of a compressed conversation, in a line of the chat file that sets its messages.

        Each compression gives them another id. A resumed session sets the same messages again, with the same ids and other times.
        """
        if not all(mark in row for mark in _COMPRESSED):
            return ""
        try:
            messages = Fields(NAME, json.loads(row)).child("$set").children("messages")
            return next(
                (m.identifier("id") for m in messages if SUMMARY_TAKEN in flatten(m.raw("content"))), ""
            )
        except (ValueError, RecursionError, InvalidPayload):
            return ""


def _moment(fields: Fields, at_ms: int) -> str:
    """What names the event among those of its session."""
    return fields.identifier("timestamp") or str(at_ms)


def _session_start(fields: Fields, at_ms: int) -> SessionStarted:
    name, source = start_source(fields)
    return SessionStarted(
        **signal_fields(fields, at_ms), key=f"start:{name}:{_moment(fields, at_ms)}", source=source
    )


def _prompt(fields: Fields, at_ms: int) -> PromptSubmitted:
    text = without_added_files(strip_blocks(fields.needed_text("prompt"))).strip()
    return PromptSubmitted(
        **signal_fields(fields, at_ms),
        key=f"prompt:{digest(_moment(fields, at_ms), text)}",
        text=text,
        machine=machine_made(text),
        command=typed_command(text),
    )


def _tool(fields: Fields, event: str, at_ms: int) -> ToolStarting | ToolFinished | ToolFailed:
    common, call = signal_fields(fields, at_ms), _call(fields)
    key = f"{event}:{digest(_moment(fields, at_ms), call.tool, call.paths, call.command, call.text)}"
    if event == "BeforeTool":
        return ToolStarting(**common, key=key, call=call)
    output, error = _result(fields.child("tool_response"), shell=call.tool == "bash")
    if error:
        return ToolFailed(**common, key=key, call=call, error=error)
    return ToolFinished(**common, key=key, call=call, output=output)


def _result(response: Fields, *, shell: bool) -> tuple[str, str]:
    """The output of a call, and its error; a command's exit code stands in its output alone."""
    output = strip_blocks(flatten(response.raw("llmContent")))
    if response.raw("error") is not None:
        return output, flatten(response.raw("error")) or output or "The call failed."
    command = _SHELL.search(output) if shell else None
    if command is None or command["code"] == "0":
        return output, ""
    said = "\n".join(part for part in (command["output"], command["error"]) if part)
    return output, bounded(f"Exit code {command['code']}\n{said}", MAX_OUTPUT_CHARS)


def _call(fields: Fields) -> ToolCall:
    arguments = fields.child("tool_input")
    name = fields.needed_identifier("tool_name")

    word = arguments.loose_text
    tool = _TOOLS.get(name, name)
    many = arguments.texts("include", most=100) if isinstance(arguments.raw("include"), list) else ()
    return ToolCall(
        tool=tool,
        paths=relative_paths([*(word(key) for key in _PATHS), *many], cwd=fields.path("cwd")),
        command=word("command"),
        text=joined(map(word, _WORDS)),
        agent=word("agent_name") if tool == "task" else "",
    )


def _message_end(fields: Fields, at_ms: int) -> MessageEnded:
    text = fields.text("prompt_response")
    return MessageEnded(
        **signal_fields(fields, at_ms),
        key=f"after-agent:{digest(_moment(fields, at_ms), text)}",
        text=text,
        final=True,
    )


def _session_end(fields: Fields, at_ms: int) -> SessionEnded:
    reason = fields.identifier("reason")
    return SessionEnded(
        **signal_fields(fields, at_ms),
        key=f"end:{digest(reason, _moment(fields, at_ms))}",
        reason=reason,
    )


HOST = Gemini()
