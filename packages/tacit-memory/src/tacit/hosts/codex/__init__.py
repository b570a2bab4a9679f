"""Codex: hook payloads to signals, blocks to hook replies (measured on 0.169.0; docs/guide/codex.md).

In: the JSON that Codex writes to a hook's standard input. Out: one signal, or none; the JSON of a hook's answer, or nothing.
Never: an answer to Stop, a permission, a key that Codex does not know (it drops the whole answer); a decision only as the refusal of
a call that a rule of the user blocks.

Codex reports a shell command that failed like one that succeeded. Its exit code stands in the rollout alone, in a line that is
written before the hook is called.

Idempotency keys are made of what the host repeats when one event reaches us twice (a hook in user and in project settings):
`tool_use_id`, `turn_id` with the words, `agent_id`. Where it names nothing, the key holds the time of arrival in steps of five seconds.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping

from tacit.errors import InvalidInput, InvalidPayload
from tacit.hosts.payload import (
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
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    Signal,
    ToolCall,
    ToolFailed,
    ToolFinished,
    ToolStarting,
    mark_of_write,
)
from tacit.ports.host import BESIDE_RESULTS, Delivery, HostCapabilities, MemoryFile
from tacit.reading.prompts import machine_made, typed_command

NAME = "codex"
CAP_CHARS = 9_500
"""Codex keeps 2,500 tokens of one context, which it counts as four bytes each. It cuts longer ones in the middle."""
CAP_BYTES = 10_000
"""2,500 times four: of letters that take several bytes, a block holds fewer."""

_OUR_SERVER = "mcp__tacit__"
_TAKES_CONTEXT = frozenset({"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart"})
_TOOLS = {"Bash": "bash", "apply_patch": "edit", "view_image": "read", "spawn_agent": "task"}
_DEFAULT_AGENT = "default"
"""The type that Codex starts where the model names none."""
_PRINTING = frozenset({"cat", "head", "tail", "nl", "sed", "bat"})
_SED_LINES = re.compile(r"[\d,$; p]+")
_FILE = re.compile(r"[^-\d\s][^\n]*")
_PATCH = "*** Begin Patch"
_PATCHED_FILE = re.compile(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+)$", re.MULTILINE)

_DELIVERIES = (
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
)


class Codex:
    """The `Host` for Codex."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """`codex`."""
        return NAME

    @property
    def capabilities(self) -> HostCapabilities:
        """Context of tool hooks stands around the result of the call; all context stays in the history."""
        return HostCapabilities(
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
            deliveries=_DELIVERIES,
        )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read a hook payload; None for events that mean nothing to us.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        fields = Fields(NAME, payload)
        match event := fields.needed_identifier("hook_event_name"):
            case "SessionStart":
                return _session_start(fields, at_ms)
            case "UserPromptSubmit":
                return _prompt(fields, at_ms)
            case "PreToolUse" | "PostToolUse":
                return _tool(fields, event, at_ms)
            case "SubagentStart" | "SubagentStop":
                return subagent_signal(fields, event, at_ms)
            case "Stop" | "Interrupt":
                return stop_signal(fields, event, at_ms, turn_id=fields.identifier("turn_id"))
            case "PreCompact":
                return compacting_signal(fields, at_ms, turn_id=fields.identifier("turn_id"))
            case "SessionEnd":
                return _session_end(fields, at_ms)
            case _:
                return None

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """A hook answer with `additionalContext` and `systemMessage`; "" when both are empty or the event takes none.

        Raises:
            InvalidInput: if the block is longer than Codex keeps.
        """
        event = payload.get("hook_event_name")
        if event not in _TAKES_CONTEXT:
            return ""
        _check_length(block.text)
        return hook_answer(event, block, notice)

    def needs_outcome(self, signal: Signal) -> bool:
        """Whether a shell command ended: its hook does not tell how."""
        if not isinstance(signal, ToolFinished):
            return False
        return signal.call.tool in ("bash", "read") and bool(signal.call.call_id)

    def with_outcome(self, signal: Signal, transcript_end: bytes) -> Signal | None:
        """A failure where the rollout gives the command of `signal` an exit code other than 0; None where it gives none."""
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
    """The exit code of the command `call_id`, in the last lines of a rollout; None where they say none."""
    name = json.dumps(call_id).encode()
    for line in reversed(rollout.splitlines()):
        if name not in line or b'"exit_code"' not in line:
            continue
        try:
            item = Fields(NAME, json.loads(line)).child("payload").child("item")
            if item.raw("id") == call_id:
                return item.whole("exit_code")
        except (ValueError, RecursionError, InvalidPayload):
            continue
    return None


def _check_length(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > CAP_BYTES:
        raise InvalidInput(
            f"A block of {size} bytes is too long for Codex, which keeps {CAP_BYTES:,}.",
            hint=f"Cut packs to `capabilities.cap_chars` ({CAP_CHARS}) before rendering.",
        )


def _session_start(fields: Fields, at_ms: int) -> SessionStarted:
    name, source = start_source(fields)
    moment = "" if name == "startup" else digest(time_step(at_ms))
    return SessionStarted(**signal_fields(fields, at_ms), key=f"start:{name}:{moment}", source=source)


def _prompt(fields: Fields, at_ms: int) -> PromptSubmitted:
    text = fields.needed_text("prompt")
    turn_id = fields.identifier("turn_id")
    common = signal_fields(fields, at_ms)
    # A subagent is prompted by the agent above it, never by the user: nothing in it is the user's word.
    by_program = bool(common["agent_id"])
    return PromptSubmitted(
        **common,
        key=f"prompt:{digest(turn_id or time_step(at_ms), text)}",
        text=text,
        message_id=turn_id,
        machine=by_program or machine_made(text),
        command="" if by_program else typed_command(text),
    )


def _tool(fields: Fields, event: str, at_ms: int) -> ToolStarting | ToolFinished:
    common = signal_fields(fields, at_ms)
    call = _call(fields)
    name = call.call_id or digest(call.tool, call.paths, call.command, call.text, time_step(at_ms))
    key = f"{event}:{name}"
    if event == "PreToolUse":
        return ToolStarting(**common, key=key, call=call)
    return ToolFinished(**common, key=key, call=call, output=flatten(fields.raw("tool_response")))


def _call(fields: Fields) -> ToolCall:
    arguments = fields.child("tool_input")
    name = fields.needed_identifier("tool_name")

    word = arguments.loose_text
    tool, command = _TOOLS.get(name, name), word("command")
    read = _files_read(command) if tool == "bash" else ()
    if read:  # Codex has no tool that reads a file
        tool, command = "read", ""
    elif (
        tool == "bash" and _PATCH in command
    ):  # Codex applies a patch given to the shell, and reports the shell
        tool = "edit"
    patch = command or word("input") if tool == "edit" else ""
    paths = (*read, *_PATCHED_FILE.findall(patch), word("path"), word("file_path"))
    words = [patch, *map(word, ("message", "content", "prompt", "query", "pattern", "url"))]
    return ToolCall(
        tool=tool,
        call_id=fields.identifier("tool_use_id"),
        paths=relative_paths(paths, cwd=fields.path("cwd")),
        command="" if patch else command,
        text=joined(words),
        agent=word("agent_type") or _DEFAULT_AGENT if tool == "task" else "",
        writes=mark_of_write(name.removeprefix(_OUR_SERVER), arguments.raw)
        if name.startswith(_OUR_SERVER)
        else "",
    )


def _files_read(command: str) -> tuple[str, ...]:
    """The files that a shell command prints and does nothing else, such as `sed -n '1,80p' app/cart.py`; () for other commands."""
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


def _session_end(fields: Fields, at_ms: int) -> SessionEnded:
    reason = fields.identifier("reason")
    return SessionEnded(
        **signal_fields(fields, at_ms), key=f"end:{digest(reason, time_step(at_ms))}", reason=reason
    )


HOST = Codex()
