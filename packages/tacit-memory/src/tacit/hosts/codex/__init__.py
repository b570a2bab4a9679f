"""Codex: hook payloads to signals, blocks to hook replies (measured on 0.169.0; docs/guide/agents.md).

Codex drops an answer that has a key which it does not know. It reports a shell command that failed like one that succeeded: the exit code stands in
the rollout alone, in a line that is written before the hook is called.
"""

from __future__ import annotations

import json
import re
import shlex

from tacit.errors import InvalidInput, InvalidPayload
from tacit.hosts.hooks import HookEvent, HookHost, field, field_or_step, needed, said, step
from tacit.hosts.payload import Fields, joined, relative_paths
from tacit.model.pack import Surface
from tacit.model.signal import Signal, ToolCall, ToolFailed, ToolFinished
from tacit.ports.host import BESIDE_RESULTS, Delivery, HostCapabilities, MemoryFile

CAP_CHARS = 9_500
"""The most characters of a block. Codex keeps 2,500 tokens of one context and counts four bytes as a token; it cuts the middle out of longer ones."""
CAP_BYTES = 10_000
"""The most bytes of a block: 2,500 tokens of four bytes. Where letters take several bytes, this bound is reached before `CAP_CHARS`."""

_TURN = field_or_step("turn_id")
_SAID = "last_assistant_message"
_EVENTS = {
    "SessionStart": HookEvent(means="start", by=(step,), once=("startup",), context=True, notice=True),
    "UserPromptSubmit": HookEvent(means="prompt", by=(_TURN,), context=True, notice=True),
    "PreToolUse": HookEvent(means="tool_start", context=True, notice=True),
    "PostToolUse": HookEvent(means="tool_end", context=True, notice=True),
    "SubagentStart": HookEvent(means="subagent", context=True, notice=True),
    "SubagentStop": HookEvent(
        means="message_end",
        key="subagent-stop",
        by=(needed("agent_id"), said(_SAID)),
        text=_SAID,
        transcript="agent_transcript_path",
    ),
    "Stop": HookEvent(means="message_end", by=(_TURN, said(_SAID)), text=_SAID),
    "Interrupt": HookEvent(means="message_end", by=(_TURN, said(_SAID)), text=_SAID),
    "PreCompact": HookEvent(means="compacting", by=(field("turn_id"), step)),
    "SessionEnd": HookEvent(means="end", by=(field("reason"), step)),
}
_TOOLS = {"Bash": "bash", "apply_patch": "edit", "view_image": "read", "spawn_agent": "task"}
_PRINTING = frozenset({"cat", "head", "tail", "nl", "sed", "bat"})
_SED_LINES = re.compile(r"[\d,$; p]+")
_FILE = re.compile(r"[^-\d\s][^\n]*")
_PATCH = "*** Begin Patch"
_PATCHED_FILE = re.compile(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+)$", re.MULTILINE)


class Codex(HookHost):
    """The `Host` for Codex; also an `OutcomeHost`. Context of tool hooks stands around the result of the call; all context stays in the history."""

    __slots__ = ()

    name = "codex"
    capabilities = HostCapabilities(
        arrival=BESIDE_RESULTS,
        cap_chars=CAP_CHARS,
        cap_bytes=CAP_BYTES,
        stored=True,
        post_compaction=True,
        loads_rule_files=("AGENTS.override.md",),
        rule_file_fallbacks=("AGENTS.md",),
        refuses=True,
        memory_files=(MemoryFile(path="../../../../memories/MEMORY.md", form="codex"),),
        title="Codex",
        basis="measured on version 0.169.0",
        tool_calls="The host does not ask before `memory_get` and `memory_add`.",
        deliveries=(
            Delivery(surface=Surface.START, where="`developer` message in front of the first prompt"),
            Delivery(surface=Surface.PROMPT, where="`developer` message behind the prompt"),
            Delivery(
                surface=Surface.ACTION,
                where="`developer` message between the call and its result",
                limit="the call that it is for is written by then; the next one can follow the rule. A blocking rule refuses the call",
            ),
            Delivery(
                surface=Surface.FAILURE,
                where="`developer` message between the call and its result",
                limit="for shell commands alone: Codex calls no hook when another tool fails",
            ),
            Delivery(surface=Surface.COMPACTION, where="`developer` message behind the summary"),
            Delivery(surface=Surface.SUBAGENT, where="`developer` message in front of the subagent's task"),
            Delivery(surface=Surface.ON_DEMAND, where="result of the MCP tool"),
        ),
    )
    events = _EVENTS
    tools = _TOOLS
    turn = "turn_id"
    agent_type = "agent_type"
    default_agent = "default"
    our_servers = ("mcp__tacit",)

    def check_length(self, text: str) -> None:
        """Raise an error if the text is longer than Codex keeps, because Codex would cut it.

        Raises:
            InvalidInput: saying how long it may be.
        """
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > CAP_BYTES:
            raise InvalidInput(
                f"A block of {size} bytes is too long for Codex, which keeps {CAP_BYTES:,}.",
                hint=f"Cut packs to `capabilities.cap_chars` ({CAP_CHARS}) before rendering.",
            )

    def call(self, fields: Fields) -> ToolCall:
        """Read a tool call. A shell command that only prints files becomes `read`, and a patch given to the shell becomes `edit`, since Codex reports both as the shell."""
        arguments = fields.child("tool_input")
        name = fields.needed_identifier("tool_name")
        word = arguments.loose_text
        tool, command = self.tools.get(name, name), word("command")
        read = _files_read(command) if tool == "bash" else ()
        if read:
            tool, command = "read", ""
        elif tool == "bash" and _PATCH in command:
            tool = "edit"
        patch = command or word("input") if tool == "edit" else ""
        paths = (*read, *_PATCHED_FILE.findall(patch), word("path"), word("file_path"))
        words = [patch, *map(word, ("message", "content", "prompt", "query", "pattern", "url"))]
        return ToolCall(
            tool=tool,
            call_id=fields.identifier(self.call_id),
            paths=relative_paths(paths, cwd=fields.path("cwd")),
            command="" if patch else command,
            text=joined(words),
            agent=self.agent_started(tool, arguments),
            writes=self.writes(name, arguments),
        )

    def needs_outcome(self, signal: Signal) -> bool:
        """Whether the signal is the end of a shell command, whose exit code must be read from the rollout because the hook does not give it."""
        if not isinstance(signal, ToolFinished):
            return False
        return signal.call.tool in ("bash", "read") and bool(signal.call.call_id)

    def with_outcome(self, signal: Signal, transcript_end: bytes) -> Signal | None:
        """Return `signal` with the outcome found in the end of the rollout: a `ToolFailed` for an exit code other than 0, else the same signal; None = no exit code is there yet."""
        if not isinstance(signal, ToolFinished):
            return signal
        code = _exit_code(transcript_end, signal.call.call_id)
        if not code:
            return None if code is None else signal
        return ToolFailed(
            session=signal.session,
            key=signal.key,
            at_ms=signal.at_ms,
            cwd=signal.cwd,
            agent=signal.agent,
            agent_id=signal.agent_id,
            transcript_path=signal.transcript_path,
            parent=signal.parent,
            call=signal.call,
            error=f"Exit code {code}\n{signal.output}",
        )


def _exit_code(rollout: bytes, call_id: str) -> int | None:
    """Return the exit code of the command `call_id` from the last lines of a rollout; None = they do not give it."""
    name = json.dumps(call_id).encode()
    for line in reversed(rollout.splitlines()):
        if name not in line or b'"exit_code"' not in line:
            continue
        try:
            item = Fields("codex", json.loads(line)).child("payload").child("item")
            if item.raw("id") == call_id:
                return item.whole("exit_code")
        except (ValueError, RecursionError, InvalidPayload):
            continue
    return None


def _files_read(command: str) -> tuple[str, ...]:
    """Return the files that a shell command prints, if it does nothing else, such as `sed -n '1,80p' app/cart.py`; () for other commands."""
    if "\n" in command.strip():
        return ()
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return ()
    programs: list[list[str]] = [[]]
    for text in words:
        if text == "|":
            programs.append([])
        elif set(text) & set("();<>|&`$"):
            return ()
        else:
            programs[-1].append(text)
    if not all(_prints(program) for program in programs):
        return ()
    return tuple(text for text in programs[0][1:] if _FILE.fullmatch(text) and not _SED_LINES.fullmatch(text))


def _prints(program: list[str]) -> bool:
    if not program or program[0] not in _PRINTING:
        return False
    return program[0] != "sed" or (program[1:2] == ["-n"] and any(map(_SED_LINES.fullmatch, program[2:3])))


HOST = Codex()
