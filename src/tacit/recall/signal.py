"""Stage 1: does this signal ask for anything at all? In: signal, session, settings. Out: a surface, or silence. Pure."""

from __future__ import annotations

from typing import assert_never

from tacit.config.settings import RecallSettings
from tacit.model.pack import Surface
from tacit.model.session import SessionState
from tacit.model.signal import (
    Compacting,
    MessageEnded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    Signal,
    SubagentStarted,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)
from tacit.model.trace import SilenceCause
from tacit.reading.prompts.machine_made import machine_made
from tacit.recall.outcome import Silence
from tacit.session.holdout import HELD_OUT, held_out


def surface_for(signal: Signal, state: SessionState, settings: RecallSettings) -> Surface | Silence:
    """Name the surface that `signal` asks for, or say why it gets silence."""
    if not settings.enabled:
        return Silence(cause=SilenceCause.OFF, reason="recall is off in the settings")
    if state.muted:
        return Silence(cause=SilenceCause.MUTED, reason="the session is muted")
    if held_out(state, settings.holdout):
        return Silence(cause=SilenceCause.COMPARISON, reason=HELD_OUT)
    surface = _surface(signal, state, settings)
    if not isinstance(surface, Silence) and is_off(surface, settings):
        reason = f"off in this preset (recall.budgets.{surface.value} is 0)"
        return Silence(cause=SilenceCause.OFF_IN_PRESET, reason=reason)
    return surface


def is_off(surface: Surface, settings: RecallSettings) -> bool:
    """Whether the settings give `surface` no tokens.

    A block that is rebuilt for every call holds the start's sections at each of these surfaces.
    """
    tokens = int(getattr(settings.budgets, surface.value, 0))
    if settings.placement == "system_every_call" and surface in (Surface.PROMPT, Surface.COMPACTION):
        tokens = max(tokens, settings.budgets.start)
    return tokens <= 0


def _surface(signal: Signal, state: SessionState, settings: RecallSettings) -> Surface | Silence:
    match signal:
        case SessionStarted():
            return Surface.COMPACTION if signal.source == "compact" else Surface.START
        case PromptSubmitted():
            return _prompt(signal, state, settings)
        case ToolStarting() | ToolFinished():
            return _tool(signal)
        case ToolFailed():
            return Surface.FAILURE
        case SubagentStarted():
            return Surface.SUBAGENT
        case Compacting():
            return Silence(
                cause=SilenceCause.NOT_ASKED,
                reason="nothing is injected before a compaction; the pack follows it",
            )
        case MessageEnded():
            return Silence(cause=SilenceCause.NOT_ASKED, reason="nothing is injected when a message ends")
        case SessionEnded():
            return Silence(cause=SilenceCause.NOT_ASKED, reason="nothing is injected when a session ends")
        case _:
            assert_never(signal)


def _prompt(signal: PromptSubmitted, state: SessionState, settings: RecallSettings) -> Surface | Silence:
    if signal.machine or machine_made(signal.text):
        return Silence(cause=SilenceCause.NOT_ASKED, reason="machine-made prompt")
    if not signal.text.strip():
        return Silence(cause=SilenceCause.NOT_ASKED, reason="empty prompt")
    if settings.opt_out_token in signal.text:
        return Silence(
            cause=SilenceCause.OPTED_OUT,
            reason=f"the prompt carries the opt-out token {settings.opt_out_token}",
        )
    if len(signal.text.strip()) < settings.min_prompt_chars:
        return Silence(
            cause=SilenceCause.NOT_ASKED,
            reason=f"the prompt is shorter than {settings.min_prompt_chars} characters",
        )
    if settings.max_session_memories and memories_held(state) > settings.max_session_memories:
        return Silence(
            cause=SilenceCause.CONTEXT_FULL,
            reason=f"the context holds more than {settings.max_session_memories} memories already",
        )
    return Surface.PROMPT


def memories_held(state: SessionState) -> int:
    """How many different memories were handed over in this epoch."""
    return len(
        {e.memory_id for e in state.ledger if e.epoch == state.epoch and e.surface is not Surface.HOST}
    )


def _tool(signal: ToolStarting | ToolFinished) -> Surface | Silence:
    call = signal.call
    if not call.paths and not call.command:
        return Silence(
            cause=SilenceCause.NOT_ASKED, reason=f"tool call {call.tool!r} names no file or command"
        )
    if call.tool in ("grep", "glob"):
        return Silence(cause=SilenceCause.NOT_ASKED, reason="searching is no action that a rule governs")
    return Surface.ACTION
