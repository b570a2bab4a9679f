"""Stages 1 and 2: does this signal ask for anything at all, and what? In: signal, session, settings, preset. Out: silence, or a surface and a query. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import assert_never

from tacit.config.settings import AgentPolicy, Budgets, RecallSettings
from tacit.frozen import frozen
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Entity
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import TASK_MARK, Scope, ScopeFilter, ScopeKind
from tacit.model.session import SessionState
from tacit.model.signal import (
    Compacting,
    MessageEnded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    Signal,
    SubagentStarted,
    ToolCall,
    ToolFailed,
    ToolFinished,
    ToolStarting,
)
from tacit.model.trace import NotAsked, SilenceCause, SilenceReason
from tacit.model.trigger import ACTION_PARENTS, Situation
from tacit.reading.errors import error_signature
from tacit.reading.moment import acts_of_tool
from tacit.reading.moment_calls import acts_asked, acts_proposed, keys_of_acts, keys_of_call, read_call_facts
from tacit.reading.prompts import machine_made
from tacit.reading.situation import read_call, read_finished, utterance_of
from tacit.reading.terms import find_entities
from tacit.recall.stage import Outcome, Preset
from tacit.session.transitions import held_out
from tacit.text.tokens import count_words

OPT_OUT = "#notacit"
"""A prompt that contains it gets nothing."""
LEAN_ITEMS = 2
"""Memories that a subagent gets with the policy `lean`."""


def surface_for(
    signal: Signal, state: SessionState, settings: RecallSettings, preset: Preset
) -> Surface | SilenceReason:
    """Return the surface that `signal` asks memories for, or the reason why it gets none."""
    if not settings.enabled:
        return SilenceReason(cause=SilenceCause.OFF)
    if state.muted:
        return SilenceReason(cause=SilenceCause.MUTED)
    if settings.holdout and held_out(state, settings.holdout):
        return SilenceReason(cause=SilenceCause.COMPARISON)
    if isinstance(signal, SubagentStarted) and policy_of(settings, signal.agent_type) == "none":
        return SilenceReason(cause=SilenceCause.OFF)
    surface = _surface(signal, state, settings, preset)
    if not isinstance(surface, SilenceReason) and is_off(surface, settings, preset):
        return SilenceReason(cause=SilenceCause.OFF_IN_PRESET, detail=surface.value)
    return surface


def policy_of(settings: RecallSettings, agent_type: str) -> AgentPolicy:
    """Return the policy for subagents of a type (`full`, `lean` or `none`), which says what they get at their start.

    `*` in the settings is for types that are not named there; without it they have `full`.
    """
    return settings.subagents.get(agent_type, settings.subagents.get("*", "full"))


def settings_for(
    signal: Signal, settings: RecallSettings, kinds: KindRegistry, *, without_tools: Collection[str] = ()
) -> RecallSettings:
    """Return the settings that apply to `signal`: a subagent with the policy `lean` gets at most `LEAN_ITEMS` rules and no index.

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

    With a preset that rebuilds its block for every call, prompt and compaction have at least the budget of the start.
    """
    budget_tokens = budget_for(settings.budgets, surface)
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
    if OPT_OUT in signal.text:
        return SilenceReason(cause=SilenceCause.OPTED_OUT, detail=OPT_OUT)
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


MAX_TEXT_CHARS = 4000
SHORT_PROMPT_WORDS = 6
PROPOSAL_CHARS = 400


_TASKS = {
    "feature": "coding", "refactor": "coding", "test": "coding", "fix": "debugging", "docs": "documentation", "plan_or_spec": "architecture",
}  # fmt: skip
"""The task of an action, by its own name or that of its parent."""


@frozen
class QueryParts:
    """What was read from a signal, before it becomes a query; `goal` = what the prompt of this turn asks for."""

    text: str
    situation: Situation
    files: tuple[str, ...] = ()
    signature: str = ""
    goal: Situation | None = None
    facts: tuple[Note, ...] = ()


def clip(text: str, limit: int = MAX_TEXT_CHARS) -> str:
    """Return `text`; of one longer than `limit`, the first three quarters of `limit` characters, a line break, and the rest of `limit` from its end, where a question usually stands."""
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    return f"{text[:head]}\n{text[-(limit - head) :]}"


def build_query(
    signal: Signal,
    *,
    surface: Surface,
    state: SessionState,
    scope: ScopeFilter,
    budgets: Budgets,
    at_ms: int,
    files: tuple[str, ...] = (),
    follow_ups: bool = True,
) -> Outcome[Query]:
    """Turn `signal` into a query for `surface`.

    Args:
        signal: what the host told.
        surface: what the signal stage decided.
        state: the session's record, already advanced by this signal.
        scope: the scopes whose memories may be seen.
        budgets: tokens per surface.
        at_ms: the time of the query; memories must be valid then.
        files: the signal's files, relative to the project root.
        follow_ups: whether a prompt of few words is read together with the one before it.
    """
    query_parts = _query_parts_of(signal, state, files, follow_ups=follow_ups)
    call = signal.call if isinstance(signal, ToolStarting | ToolFinished | ToolFailed) else None
    text = clip(query_parts.text)
    top = query_parts.situation.actions[0][0] if query_parts.situation.actions else ""
    moments = _moment_keys(signal, offer=state.last_message_end if query_parts.situation.accepted else "")
    # A prompt that orders an act by its name is no small talk, whatever the reading made of it.
    situation = replace(
        query_parts.situation, nothing_coming=query_parts.situation.nothing_coming and not moments
    )
    query = Query(
        surface=surface,
        text=text,
        raw_text=clip(_words_of(signal)),
        situation=situation,
        scope=with_situation(scope, situation),
        at_ms=at_ms,
        budget_tokens=budget_for(budgets, surface),
        own_budget=True,
        entities=find_entities(text),
        files=query_parts.files,
        error_signature=query_parts.signature,
        session=str(state.key),
        task=ACTION_PARENTS.get(top, ""),
        tool=call.tool if call else "",
        call=call,
        turn=state.turn,
        finished=isinstance(signal, ToolFinished),
        goal=query_parts.goal,
        moments=moments,
    )
    return Outcome(kept=query, facts=(*query_parts.facts, *query_parts.situation.notes))


def with_situation(scope: ScopeFilter, situation: Situation, *, task: str = "") -> ScopeFilter:
    """Return `scope` with the scopes of the situation's languages and, if `task` is named, of that task in its projects.

    A scope without both a project and the universal scope stays as it is.
    """
    projects = [
        visible_scope
        for visible_scope in scope.scopes
        if visible_scope.kind is ScopeKind.PROJECT and not visible_scope.task
    ]
    shared = any(visible_scope.kind is ScopeKind.UNIVERSAL for visible_scope in scope.scopes)
    more: list[Scope] = []
    if projects and shared:
        more += [Scope(kind=ScopeKind.LANGUAGE, key=name) for name in situation.languages]
        more += [
            Scope(kind=ScopeKind.PROJECT, key=f"{project.key}{TASK_MARK}{task}")
            for project in projects
            if task
        ]
    return ScopeFilter.of(*scope.scopes, *more, lent=scope.lent) if more else scope


def task_of(query: Query) -> str:
    """Return the task, such as "debugging": the one that the scope names, else that of the likely actions; "" = unknown.

    Every task edits code, so any other action at least half as likely as the likeliest decides first.
    """
    scope_task = next((scope.task for scope in query.scope.scopes if scope.task), "")
    actions = query.situation.actions
    if scope_task or not actions:
        return scope_task
    likely = [action for action, chance in actions if chance >= actions[0][1] / 2]
    tasks = [(action, _task_of_action(action)) for action in likely]
    return next((task for action, task in tasks if task and action != "edit_code"), "") or next(
        (task for _, task in tasks if task), ""
    )


def _task_of_action(action: str) -> str:
    return _TASKS.get(action) or _TASKS.get(ACTION_PARENTS.get(action, ""), "")


def _moment_keys(signal: Signal, *, offer: str) -> tuple[Entity, ...]:
    """Return the keys under which rules are stored that name the moment of this signal; `offer` = the agent's message that a prompt accepts, or ""."""
    match signal:
        case ToolStarting() | ToolFinished():
            return keys_of_call(read_call_facts(signal.call))
        case PromptSubmitted():
            return keys_of_acts(acts_asked(signal.text) | acts_proposed(offer))
        case SubagentStarted():
            return keys_of_acts(acts_asked(signal.task))
        case _:
            return ()


def budget_for(budgets: Budgets, surface: Surface) -> int:
    """Return the token budget of `surface`; 0 for one without a budget, such as `host`."""
    return int(getattr(budgets, surface.value, 0))


def _words_of(signal: Signal) -> str:
    match signal:
        case PromptSubmitted():
            return signal.text
        case ToolStarting() | ToolFinished():
            return _call_words(signal.call)
        case ToolFailed():
            return f"{_call_words(signal.call)}\n{signal.error}"
        case SubagentStarted():
            return signal.task
        case SessionStarted():
            return signal.source
        case MessageEnded():
            return signal.text
        case Compacting() | SessionEnded():
            return ""
        case _:
            assert_never(signal)


def _call_words(call: ToolCall) -> str:
    return call.command or " ".join((call.tool, *call.paths))


def _query_parts_of(
    signal: Signal, state: SessionState, files: tuple[str, ...], *, follow_ups: bool
) -> QueryParts:
    match signal:
        case PromptSubmitted():
            return _prompt_parts(signal, state, follow_ups=follow_ups)
        case ToolStarting() | ToolFinished() | ToolFailed():
            call, text, signature = signal.call, _call_words(signal.call), ""
            if isinstance(signal, ToolFailed):
                text = f"{text}\n{signal.error[-1500:]}"
                signature = error_signature(signal.error, command=call.command or call.tool)
            return QueryParts(
                text=text,
                situation=read_finished(call) if isinstance(signal, ToolFinished) else read_call(call),
                files=files,
                signature=signature,
                goal=_situation_of_last_prompt(state),
            )
        case SubagentStarted():
            return QueryParts(text=signal.task, situation=utterance_of(signal.task).situation(), files=files)
        case SessionStarted() | Compacting() | MessageEnded() | SessionEnded():
            return QueryParts(text="", situation=Situation(), files=state.recent_files)
        case _:
            assert_never(signal)


def _situation_of_last_prompt(state: SessionState) -> Situation | None:
    """Return the situation that the user's last prompt asks for, read together with the agent's message before it; None = no prompt yet."""
    if not state.recent_prompts:
        return None
    return utterance_of(state.recent_prompts[-1], state.last_message_end).situation()


def _prompt_parts(signal: PromptSubmitted, state: SessionState, *, follow_ups: bool) -> QueryParts:
    said = utterance_of(signal.text, state.last_message_end)
    situation = said.situation(recent_tools=state.recent_tools, recent_files=state.recent_files)
    text = signal.text
    facts: list[Note] = []
    if situation.accepted and state.last_message_end:
        text = f"{signal.text}\n{state.last_message_end[-PROPOSAL_CHARS:]}"
        facts.append(Note(cause=NoteCause.PROPOSAL_READ))
    elif (
        follow_ups
        and count_words(signal.text) <= SHORT_PROMPT_WORDS
        and len(state.recent_prompts) > 1
        and not situation.nothing_coming
        and not said.is_whole_question
    ):
        text = f"{signal.text}\n{state.recent_prompts[-2]}"
        facts.append(Note(cause=NoteCause.SHORT_PROMPT_ENRICHED))
    return QueryParts(text=text, situation=situation, files=state.recent_files, facts=tuple(facts))
