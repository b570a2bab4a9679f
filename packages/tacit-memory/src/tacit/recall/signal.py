"""Stage 1: does this signal ask for anything at all? In: signal, session, settings, preset. Out: a surface, or silence. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import assert_never

from tacit.config.settings import AgentPolicy, RecallSettings
from tacit.model.kinds import KindRegistry
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
from tacit.model.trace import NotAsked, SilenceCause, SilenceReason
from tacit.reading.moments.acts import acts_of_tool
from tacit.reading.prompts import machine_made
from tacit.recall.stage import Preset
from tacit.session.holdout import held_out

LEAN_ITEMS = 2
"""Memories that a subagent gets with the policy `lean`."""


def surface_for(
    signal: Signal, state: SessionState, settings: RecallSettings, preset: Preset
) -> Surface | SilenceReason:
    """Name the surface that `signal` asks for, or say why it gets silence."""
    if not settings.enabled:
        return SilenceReason(cause=SilenceCause.OFF)
    if state.muted:
        return SilenceReason(cause=SilenceCause.MUTED)
    if held_out(state, settings.holdout):
        return SilenceReason(cause=SilenceCause.COMPARISON)
    if isinstance(signal, SubagentStarted) and policy_of(settings, signal.agent_type) == "none":
        return SilenceReason(cause=SilenceCause.OFF)
    surface = _surface(signal, state, settings, preset)
    if not isinstance(surface, SilenceReason) and is_off(surface, settings, preset):
        return SilenceReason(cause=SilenceCause.OFF_IN_PRESET, detail=surface.value)
    return surface


def policy_of(settings: RecallSettings, agent_type: str) -> AgentPolicy:
    """What the settings give a subagent of this type when it starts."""
    return settings.subagents.get(agent_type, settings.subagents.get("*", "full"))


def settings_for(
    signal: Signal, settings: RecallSettings, kinds: KindRegistry, *, without_tools: Collection[str] = ()
) -> RecallSettings:
    """The settings as they hold for `signal`: with the policy `lean` a subagent gets few rules and nothing else.

    Subagents of the types `without_tools` cannot fetch, so they get no index.
    """
    if not isinstance(signal, SubagentStarted):
        return settings
    lean = policy_of(settings, signal.agent_type) == "lean"
    if lean or signal.agent_type in without_tools:
        no_index = settings.budgets.model_copy(update={"index": 0})
        settings = settings.model_copy(update={"budgets": no_index})
    if not lean:
        return settings
    rules = tuple(kind.name for kind in kinds if kind.standing)
    return settings.model_copy(
        update={
            "kinds": tuple(name for name in rules if not settings.kinds or name in settings.kinds),
            "max_items": min(settings.max_items, LEAN_ITEMS),
        }
    )


def is_off(surface: Surface, settings: RecallSettings, preset: Preset) -> bool:
    """Whether the settings give `surface` no tokens.

    A block that is rebuilt for every call holds the start's sections at each of these surfaces.
    """
    budget_tokens = int(getattr(settings.budgets, surface.value, 0))
    if preset.every_call and surface in (Surface.PROMPT, Surface.COMPACTION):
        budget_tokens = max(budget_tokens, settings.budgets.start)
    return budget_tokens <= 0


def _surface(
    signal: Signal, state: SessionState, settings: RecallSettings, preset: Preset
) -> Surface | SilenceReason:
    match signal:
        case SessionStarted():
            return Surface.COMPACTION if signal.source == "compact" else Surface.START
        case PromptSubmitted():
            return _prompt(signal, state, settings, preset)
        case ToolStarting() | ToolFinished():
            return _tool(signal)
        case ToolFailed():
            return Surface.FAILURE
        case SubagentStarted():
            return Surface.SUBAGENT
        case Compacting():
            return _not_asked(NotAsked.BEFORE_COMPACTION)
        case MessageEnded():
            return _not_asked(NotAsked.MESSAGE_END)
        case SessionEnded():
            return _not_asked(NotAsked.SESSION_END)
        case _:
            assert_never(signal)


def _prompt(
    signal: PromptSubmitted, state: SessionState, settings: RecallSettings, preset: Preset
) -> Surface | SilenceReason:
    if signal.machine or machine_made(signal.text):
        return _not_asked(NotAsked.MACHINE_PROMPT)
    if not signal.text.strip():
        return _not_asked(NotAsked.EMPTY_PROMPT)
    if settings.opt_out_token in signal.text:
        return SilenceReason(cause=SilenceCause.OPTED_OUT, detail=settings.opt_out_token)
    silence = preset.why_silent(signal, state, settings) if preset.why_silent is not None else None
    return silence or Surface.PROMPT


def _tool(signal: ToolStarting | ToolFinished) -> Surface | SilenceReason:
    call = signal.call
    if not call.paths and not call.command and call.tool != "webfetch" and not acts_of_tool(call.tool):
        return _not_asked(NotAsked.NO_TARGET, detail=call.tool)
    if call.tool in ("grep", "glob"):
        return _not_asked(NotAsked.SEARCHING)
    return Surface.ACTION


def _not_asked(not_asked: NotAsked, *, detail: str = "") -> SilenceReason:
    return SilenceReason(cause=SilenceCause.NOT_ASKED, not_asked=not_asked, detail=detail)
