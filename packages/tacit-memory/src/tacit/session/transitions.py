"""How the record of a session changes, which sessions go together, and which go without memory. Pure: (record, signal) -> record.

Here is also what it takes to ask again what a signal asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypedDict

from tacit.model.pack import Surface
from tacit.model.session import AgentTask, Armed, PendingFailure, SessionKey, SessionState
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
from tacit.model.trace import AskedWith
from tacit.model.trigger import Situation
from tacit.reading.prompts import names_a_session
from tacit.session import ledger
from tacit.session.projects import is_user_folder

# Whether what a model in the pause named still holds for a session. In: a record. Out: what is armed, or None. Pure.

TURNS = 1
"""For how many turns after its own an answer of the model holds."""


def still_armed(state: SessionState, armed: Armed | None = None) -> Armed | None:
    """Return the memories that a model named in the pause before (`armed`, or else `state.armed`), if they still hold; None = it named none, or another epoch or a later turn has begun since."""
    armed = armed or state.armed
    if armed is None or armed.epoch != state.epoch:
        return None
    return armed if 0 <= state.turn - armed.turn <= TURNS else None


# Sessions that belong to others. In: sessions, each with its parent. Out: those that go with some of them. Pure.

AGENT_MARK = "#"
"""Separates a session's id from the name of a subagent that its host counts to the same session."""


def with_descendants(
    keys: Iterable[SessionKey], parents: Mapping[SessionKey, SessionKey | None]
) -> tuple[SessionKey, ...]:
    """Return `keys`, then all their direct and indirect descendants among the sessions of `parents`, sorted.

    A session's parent is the one that `parents` gives; a subagent has also the session that its own id names, even where `parents` gives None.
    """
    first = tuple(dict.fromkeys(keys))
    family = set(first)
    waiting = {key for key in parents if key not in family}
    while children := {key for key in waiting if _parents(key, parents[key]) & family}:
        family |= children
        waiting -= children
    return (*first, *sorted(family.difference(first), key=str))


def _parents(key: SessionKey, reported_parent: SessionKey | None) -> set[SessionKey]:
    own, mark, _ = key.session_id.rpartition(AGENT_MARK)
    parents = {SessionKey(host=key.host, session_id=own)} if mark and own else set[SessionKey]()
    return parents | {reported_parent} if reported_parent else parents


# The choice of sessions that go without memory, so that a user can see its worth. In: a session's record. Out: yes or no. Pure.
#
# The choice is made by a hash of the session's id, so that it is the same in every process and for as long as the session lives (Kohavi,
# Longbotham, Sommerfield, Henne: Controlled experiments on the web, 2009, section 4.1). A subagent and a fork go with the session they
# come from.


def held_out(state: SessionState, share: float) -> bool:
    """Whether the session of `state` belongs to the `share` (0-1) of sessions without memory; always the same answer for a session."""
    return share > 0.0 and holdout_position(root_of(state)) < share


def root_of(state: SessionState) -> SessionKey:
    """Return the key of the session that decides for `state`: its parent, else itself; a subagent's mark and name are cut off the id."""
    key = state.parent or state.key
    return SessionKey(host=key.host, session_id=key.session_id.partition("#")[0])


def holdout_position(key: SessionKey) -> float:
    """Return a fixed pseudorandom number in [0, 1) for a session: 64 bits of a hash of its key, divided by 2^64."""
    digest = hashlib.blake2b(f"holdout:{key}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


# State transitions of a session's record. Pure: (record, signal) -> record. Never decides what to inject.

MAX_KEYS = 256
MAX_RECENT = 12
MAX_PROMPTS = 4
MAX_FAILURES = 20
MESSAGE_END_CHARS = 2000
PROMPT_CHARS = 500
MAX_TASKS = 8
TASK_CHARS = 2000
EDITING_TOOLS = frozenset({"edit", "write"})


def open_session(signal: Signal, *, parent: SessionState | None = None) -> SessionState:
    """Return a new record for a session that `signal` is the first of. A fork (`parent` given) starts with the turn, ledger, blocks and recent work of its parent."""
    fresh = SessionState(key=signal.session, agent=signal.agent, started_at_ms=signal.at_ms)
    if parent is None:
        return replace(fresh, parent=signal.parent)
    if isinstance(signal, SessionStarted) and signal.copied:
        parent = ledger.up_to_fork(parent, copied=dict(signal.copied), turns_back=signal.turns_back)
    return replace(
        fresh,
        parent=parent.key,
        turn=parent.turn,
        epoch=parent.epoch,
        ledger=parent.ledger,
        start_pack=parent.start_pack,
        blocks=parent.blocks,
        last_message_end=parent.last_message_end,
        last_message_situation=parent.last_message_situation,
        recent_tools=parent.recent_tools,
        recent_files=parent.recent_files,
        recent_prompts=parent.recent_prompts,
        reminded=parent.reminded,
        noted_turn=parent.noted_turn,
        offered=parent.offered,
    )


def was_handled(state: SessionState, signal: Signal) -> bool:
    """Whether a signal with this key was handled before; False for one without a key."""
    return bool(signal.key) and signal.key in state.seen_signal_keys


def folder_of(signal: Signal, state: SessionState | None) -> str:
    """Return the folder whose project the session belongs to after `signal`: the one in which it was started.

    A folder that the agent changes to later does not change the project. For a user of a program, each signal names its own.
    """
    known = state.folder if state else ""
    if signal.cwd and (is_user_folder(signal.cwd) or is_user_folder(known)):
        return signal.cwd
    source = signal.source if isinstance(signal, SessionStarted) else ""
    starts = source not in ("", "clear", "compact")
    told = signal.cwd or signal.project_dir if starts else signal.project_dir or signal.cwd
    begins = source == "startup" and told and not (state and state.turn)
    return told if begins else known or told


def record_signal(state: SessionState, signal: Signal) -> SessionState:
    """Return the record with the changes that every signal makes: key, time, folder, agent."""
    keys = (*state.seen_signal_keys, signal.key)[-MAX_KEYS:] if signal.key else state.seen_signal_keys
    return replace(
        state,
        seen_signal_keys=keys,
        last_signal_at_ms=max(state.last_signal_at_ms, signal.at_ms),
        started_in=folder_of(signal, state),
        cwd=signal.cwd or state.cwd,
        agent=signal.agent or state.agent,
    )


def apply_signal(
    state: SessionState,
    signal: Signal,
    *,
    paths: tuple[str, ...] = (),
    situation: Situation | None = None,
    signature: str = "",
) -> SessionState:
    """Return the record after what `signal` means for its type, such as a turn, a failure or a new epoch.

    Args:
        state: the record after `record_signal`.
        signal: the signal.
        paths: its file paths, relative to the project root.
        situation: the reading of a message's end, made when it ended.
        signature: the normalized signature of a failure.
    """
    match signal:
        case SessionStarted():
            return _started(state, signal)
        case PromptSubmitted():
            return _prompted(state, signal)
        case ToolStarting():
            return _delegated(_touched(state, signal.call, paths), signal.call)
        case ToolFinished():
            return _succeeded(_touched(state, signal.call, paths), signal.call, paths)
        case ToolFailed():
            return _failed(_touched(state, signal.call, paths), signal, signature)
        case MessageEnded():
            return replace(
                state,
                last_message_end=signal.text[-MESSAGE_END_CHARS:],
                last_message_situation=situation,
                words_at="" if signal.text or signal.agent_id else signal.transcript_path,
            )
        case SessionEnded():
            return replace(state, ended=True)
        case Compacting():
            return replace(state, compacted=True)
        case SubagentStarted():
            return state


def _delegated(state: SessionState, call: ToolCall) -> SessionState:
    """Return the record with the task that `call` gives to a subagent; unchanged for any other call."""
    if not call.agent or not call.text:
        return state
    task = AgentTask(agent=call.agent, text=call.text[:TASK_CHARS])
    return replace(state, agent_tasks=(*state.agent_tasks, task)[-MAX_TASKS:])


def take_task(state: SessionState, agent: str) -> tuple[str, SessionState]:
    """Return (the oldest task that waits for a subagent of this type, or "", the record without it)."""
    for task in state.agent_tasks:
        if task.agent == agent:
            return task.text, replace(state, agent_tasks=tuple(t for t in state.agent_tasks if t is not task))
    return "", state


def _started(state: SessionState, signal: SessionStarted) -> SessionState:
    if signal.source in ("compact", "clear"):
        # What was in context is gone: a new epoch. The record of what was shown stays in the ledger.
        state = replace(state, epoch=state.epoch + 1, answers=(), waiting=())
    if signal.source == "clear":
        state = replace(state, last_message_end="", last_message_situation=None, recent_prompts=())
    return replace(
        state, ended=False, compacted=False, host_rule_files=signal.rule_files or state.host_rule_files
    )


def _prompted(state: SessionState, signal: PromptSubmitted) -> SessionState:
    if signal.machine:
        return state
    end = signal.previous_message_end[-MESSAGE_END_CHARS:] or state.last_message_end
    return replace(
        state,
        turn=state.turn + 1,
        recent_prompts=(*state.recent_prompts, signal.text[:PROMPT_CHARS])[-MAX_PROMPTS:],
        first_prompt=state.first_prompt
        or (signal.text[:PROMPT_CHARS] if names_a_session(signal.text) else ""),
        agent_tasks=(),
        last_message_end=end,
        ended=False,
    )


def _touched(state: SessionState, call: ToolCall, paths: tuple[str, ...]) -> SessionState:
    step = f"{call.tool} {call.command}".strip()[:120]
    tools = state.recent_tools if state.recent_tools[-1:] == (step,) else (*state.recent_tools, step)
    files = tuple(f for f in state.recent_files if f not in paths) + paths
    return replace(state, recent_tools=tools[-MAX_RECENT:], recent_files=files[-MAX_RECENT:])


def _succeeded(state: SessionState, call: ToolCall, paths: tuple[str, ...]) -> SessionState:
    failures = state.pending_failures
    if call.tool in EDITING_TOOLS and paths:
        failures = tuple(
            replace(f, edited_files=tuple(dict.fromkeys((*f.edited_files, *paths)))) for f in failures
        )
    if call.command:
        failures = tuple(f for f in failures if f.command != call.command)
    return replace(state, pending_failures=failures)


def _failed(state: SessionState, signal: ToolFailed, signature: str) -> SessionState:
    failure = PendingFailure(
        tool=signal.call.tool,
        command=signal.call.command,
        signature=signature,
        error=signal.error[-MESSAGE_END_CHARS:],
        turn=state.turn,
    )
    other_failures = tuple(
        f
        for f in state.pending_failures
        if (f.tool, f.command, f.signature) != (failure.tool, failure.command, signature)
    )
    return replace(state, pending_failures=(*other_failures, failure)[-MAX_FAILURES:])


# Asking again what a signal asked: what it takes is kept with the trace, and given by whoever tries a recall by hand.
#
# In: a signal with its session record, or the same as given. Out: `AskedWith`; a signal and a record made of one. The query is
# built by the same code as at the hook, so that the same words in the same situation give the same pack. Pure.

TEXT_CHARS = 4000
WRITTEN_CHARS = 2000
ERROR_CHARS = 2000
NOBODY = SessionKey(host="", session_id="")
SURFACES = (Surface.PROMPT, Surface.ACTION, Surface.FAILURE, Surface.SUBAGENT)
"""Surfaces that a signal asks for with words, files or a call."""


class _QueryFields(TypedDict):
    session: SessionKey
    key: str
    at_ms: int
    cwd: str


def recall_inputs_of(signal: Signal, state: SessionState) -> AskedWith | None:
    """Return what a recall for `signal` needs to be asked again; None for a signal without words or call.

    `state` must be the record after `signal`.
    """
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
    """Return (a made-up signal that asks for `surface` with `inputs`, a session record that holds what a recall for it reads). `session` None = no session."""
    key = session or NOBODY
    prompts = inputs.prompts
    common: _QueryFields = {"session": key, "key": "again", "at_ms": at_ms, "cwd": cwd}
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
