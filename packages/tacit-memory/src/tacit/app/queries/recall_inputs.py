"""Asking again what a signal asked: what it takes is kept with the trace, and given by whoever tries a recall by hand.

In: a signal with its session record, or the same as given. Out: `AskedWith`; a signal and a record made of one. The query is
built by the same code as at the hook, so that the same words in the same situation give the same pack. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from tacit.model.pack import Surface
from tacit.model.session import SessionKey, SessionState
from tacit.model.signal import (
    PromptSubmitted,
    Signal,
    SubagentStarted,
    ToolCall,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)
from tacit.model.trace import AskedWith

TEXT_CHARS = 4000
WRITTEN_CHARS = 2000
ERROR_CHARS = 2000
NOBODY = SessionKey(host="", session_id="")
SURFACES = (Surface.PROMPT, Surface.ACTION, Surface.FAILURE, Surface.SUBAGENT)
"""Surfaces that a signal asks for with words, files or a call."""


class _Common(TypedDict):
    session: SessionKey
    key: str
    at_ms: int
    cwd: str


def recall_inputs_of(signal: Signal, state: SessionState) -> AskedWith | None:
    """What `signal` asked with; None where it has no words and no call of its own. `state` is advanced by it."""
    session_inputs = AskedWith(
        previous=state.last_message_end,
        prompts=state.recent_prompts,
        tools=state.recent_tools,
        files=state.recent_files,
        turn=state.turn,
    )
    match signal:
        case PromptSubmitted():
            return replace(session_inputs, text=signal.text[:TEXT_CHARS], prompts=state.recent_prompts[:-1])
        case SubagentStarted():
            return replace(session_inputs, text=signal.task[:TEXT_CHARS])
        case ToolStarting() | ToolFinished() | ToolFailed():
            call = signal.call
            return replace(
                session_inputs,
                tool=call.tool,
                command=call.command,
                paths=call.paths,
                written=call.text[:WRITTEN_CHARS],
                finished=isinstance(signal, ToolFinished),
                error=signal.error[-ERROR_CHARS:] if isinstance(signal, ToolFailed) else "",
            )
        case _:
            return None


def signal_and_state(
    surface: Surface, inputs: AskedWith, *, session: SessionKey | None, cwd: str, at_ms: int
) -> tuple[Signal, SessionState]:
    """The signal that asks for `surface` with `inputs`, and the session record as it stands then."""
    key = session or NOBODY
    prompts = inputs.prompts
    common: _Common = {"session": key, "key": "again", "at_ms": at_ms, "cwd": cwd}
    bare = surface is Surface.ACTION and not (inputs.command or inputs.paths)
    command = inputs.text if bare else inputs.command
    call = ToolCall(
        tool=inputs.tool or ("bash" if command else "read"),
        command=command,
        paths=inputs.paths,
        text=inputs.written,
    )
    signal: Signal
    match surface:
        case Surface.ACTION:
            signal = (
                ToolFinished(**common, call=call) if inputs.finished else ToolStarting(**common, call=call)
            )
        case Surface.FAILURE:
            signal = ToolFailed(**common, call=call, error=inputs.error or inputs.text)
        case Surface.SUBAGENT:
            signal = SubagentStarted(**common, task=inputs.text)
        case _:
            signal = PromptSubmitted(**common, text=inputs.text, previous_message_end=inputs.previous)
            prompts = (*prompts, inputs.text)
    state = SessionState(
        key=key,
        cwd=cwd,
        turn=inputs.turn,
        last_message_end=inputs.previous,
        recent_prompts=prompts,
        recent_tools=inputs.tools,
        recent_files=inputs.files,
    )
    return signal, state
