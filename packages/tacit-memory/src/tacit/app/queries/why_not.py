"""Why a memory is not given: the stage that leaves it out, what might let it through, and the answer in sentences."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from tacit.app.delivery_texts import use_counts
from tacit.app.evidence import EvidencePart, common_text, evidence_of, reached_text, sum_of
from tacit.app.queries.store_copies import MOST_COPIED, TrialStore
from tacit.app.reasons import reason_text, silence_reason_text
from tacit.app.values import OpenStore, Parts, RecallAsked
from tacit.config.settings import Settings
from tacit.errors import TacitError
from tacit.frozen import frozen
from tacit.model.memory import Memory, Sensitivity
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter, ScopeKind, project_scope
from tacit.model.session import SessionKey, SessionState
from tacit.model.signal import SessionStarted, Signal
from tacit.model.trace import AskedWith, DropCause, DropReason, SilenceCause, SilenceReason, Trace
from tacit.model.why_not import Absence, RecallNumbers, Remedy, RemedyKind, RemedyStep, SpaceRank, WhyNot
from tacit.ports.store import TraceFilter
from tacit.presets import preset_of
from tacit.reading.when import format_when
from tacit.recall.finished import find_absence, numbers_of
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.query import surface_for
from tacit.recall.spaces import SPACES
from tacit.recall.stage import START_SURFACES, Context, RecallState
from tacit.session import ledger
from tacit.session.transitions import NOBODY, SURFACES, signal_and_state

if TYPE_CHECKING:
    from tacit.app.engine import Engine

# What might let a memory through that a recall left out. In: where it was lost, the recall, the settings. Out: changes to try.
#
# Never says that a change helps: `why_not` runs the recall again with it. No change of a setting is offered: it would let other memories
# through as well.
MOST_PHRASE_WORDS = 12
"""A prompt with more words is not offered as a phrase for `when`."""
LEAST_CHANCE = 0.2
"""Least probability of an action that is offered for `when`."""
COMMAND_WORDS = 2
_CONDITIONS = (
    DropCause.NOT_FOUND,
    DropCause.SHORT_LIST,
    DropCause.BELOW_THRESHOLD,
    DropCause.BELOW_SIMILARITY,
    DropCause.NO_HIT,
)
"""Causes that a better `when` of the memory may remove."""


@frozen
class Lost:
    """Facts about a memory that a recall lost, from which the changes to try are made.

    Attributes:
        absence: where the memory was lost.
        memory: as it was tried.
        query: what was asked; None = the signal asked for nothing.
        files: of the call, relative to the project.
        project: scope of the project that was asked in; None = no project.
    """

    absence: Absence
    memory: Memory
    query: Query | None
    files: tuple[str, ...] = ()
    project: Scope | None = None


def steps_against(lost: Lost) -> Iterator[RemedyStep]:
    """Yield single changes that may let the memory through, the smallest first. None is tested here."""
    why, silence = lost.absence.why, lost.absence.silence
    if silence is not None:
        yield from _against_silence(silence)
    if why is None:
        return
    make = _MAKERS.get(why.cause)
    if make is not None:
        yield from make(why, lost)
    if why.cause in _CONDITIONS:
        yield from _conditions(lost)


def _against_silence(silence: SilenceReason) -> Iterator[RemedyStep]:
    match silence.cause:
        case SilenceCause.MUTED:
            yield RemedyStep(kind=RemedyKind.UNMUTE)
        case SilenceCause.OPTED_OUT:
            yield RemedyStep(kind=RemedyKind.OPT_IN, value=silence.detail)
        case _:
            return


def _room(_why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    """Yield the change to pin it, for a start."""
    surface = lost.query.surface if lost.query else Surface.PROMPT
    if surface in START_SURFACES and not lost.memory.pinned:
        yield RemedyStep(kind=RemedyKind.PIN)


def _scope(why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    del why
    yield RemedyStep(kind=RemedyKind.SCOPE, value=str(lost.project or UNIVERSAL))


def _sensitivity(why: DropReason, lost: Lost) -> Iterator[RemedyStep]:
    del why
    wide = lost.memory.scope.project_id is None and lost.memory.scope.kind is not ScopeKind.SESSION
    level = Sensitivity.PUBLIC if wide else Sensitivity.PROJECT
    yield RemedyStep(kind=RemedyKind.SENSITIVITY, value=level.name.lower())


def _only(*steps: RemedyStep) -> Callable[[DropReason, Lost], Iterator[RemedyStep]]:
    return lambda _why, _lost: iter(steps)


def _conditions(lost: Lost) -> Iterator[RemedyStep]:
    """Yield values for `when` that fit this moment: the command, the file, the likeliest actions, the prompt itself."""
    if lost.query is None or lost.query.surface in START_SURFACES:
        return
    own = format_when(lost.memory.trigger) if lost.memory.trigger.maker == "user" else ""
    for words in _moments(lost.query, lost.files):
        yield RemedyStep(kind=RemedyKind.WHEN, value=f"{own}, {words}" if own else words)


def _moments(query: Query, files: Sequence[str]) -> Iterator[str]:
    if query.call is not None and query.call.command:
        yield f"cmd:{' '.join(_plain(query.call.command).split()[:COMMAND_WORDS])}"
    if query.call is not None and files:
        yield f"path:{files[0]}"
    for action, chance in query.situation.actions[:2]:
        if chance >= LEAST_CHANCE:
            yield action
    words = _plain(query.raw_text).split()
    if query.call is None and 0 < len(words) <= MOST_PHRASE_WORDS:
        yield f"phrase:{' '.join(words)}"


def _plain(text: str) -> str:
    """Return `text` without commas and line breaks, which separate the terms of `--when`."""
    return re.sub(r"[,\n]+", " ", text)


_MAKERS: dict[DropCause, Callable[[DropReason, Lost], Iterator[RemedyStep]]] = {
    DropCause.OUT_OF_SCOPE: _scope,
    DropCause.NOT_IN_POOL: _only(RemedyStep(kind=RemedyKind.PIN)),
    DropCause.QUARANTINED: _only(RemedyStep(kind=RemedyKind.ACCEPT)),
    DropCause.UNTRUSTED: _only(RemedyStep(kind=RemedyKind.CONFIRM)),
    DropCause.SENSITIVE: _sensitivity,
    DropCause.OTHER_BRANCH: _only(RemedyStep(kind=RemedyKind.ALL_BRANCHES)),
    DropCause.IN_CONTEXT: _only(RemedyStep(kind=RemedyKind.NEW_SESSION)),
    DropCause.NO_ROOM: _room,
    DropCause.INDEXED: _room,
}


# Why a memory is not given. In: a memory, what is asked or was asked. Out: the stage that leaves it out, numbers, remedies.
#
# The recall is run through the stages that hooks run through, and nothing of it is kept. A remedy is only named when the same recall,
# run again with it, gives the memory, which is changed in a copy of the store.

MOST_TRIED = 8
"""Most runs for one remedy; each adds a change or makes one larger."""
MOST_STEPS = 3
"""Most different changes in one remedy; nobody makes more of them for one memory."""
MOST_REMEDIES = 4
MOST_MEASURED, MOST_LISTED = 100, 500
"""Most recalls that are run again with a remedy, and most that are read to find them."""
RANKED = 10_000
"""How many memories each space ranks when the rank of one memory is looked for."""


@frozen
class Inquiry:
    """The recall that is asked about.

    Attributes:
        surface, inputs, cwd: of the signal.
        at_ms: the moment.
        settings: that hold there.
        session: the session's record as it stood then; None = no session is known.
        held: ids of memories that the context holds besides.
        budget_tokens: most tokens of the block; None = as the settings say.
        trace: the recorded recall, where one is asked about.
        by_user: whether the user asks; a question of theirs is answered with what is restricted, too.
    """

    surface: Surface
    inputs: AskedWith
    cwd: str
    at_ms: int
    settings: Settings
    session: SessionState | None = None
    held: frozenset[str] = frozenset()
    budget_tokens: int | None = None
    trace: Trace | None = None
    by_user: bool = True

    @property
    def key(self) -> SessionKey | None:
        """The session's key; None = no session is known."""
        return self.session.key if self.session is not None else None


@frozen
class _Trial:
    """One recall to run: the inquiry with changes, and the version of the memory that is tried."""

    inquiry: Inquiry
    memory: Memory
    edited: bool = False
    new_session: bool = False
    unmuted: bool = False


@frozen
class _Run:
    """The result of a trial: where the memory was lost (`absence` None = it was given), the last state of the recall, and its pipeline.

    `state` None = the signal asked for nothing.
    """

    absence: Absence | None
    state: RecallState | None = None
    pipeline: RecallPipeline | None = None


class WhyNotExplorer:
    """Explains why recalls of one open store do not give a memory. Changes nothing."""

    def __init__(self, engine: Engine, opened: OpenStore, *, pipeline: RecallPipeline) -> None:
        """`engine` makes settings, situations and queries as for a recall by hand."""
        self._engine = engine
        self._parts, self._projects, self._sessions = opened.parts, opened.projects, opened.sessions
        self._pipeline = pipeline

    def explain(self, memory: Memory, asked: RecallAsked, *, by_user: bool) -> WhyNot:
        """Return where the recall of `asked` leaves `memory` out, what was measured, and what would let it through.

        Raises:
            NotFound: if the recorded recall is not known.
        """
        inquiry = replace(self._inquiry(asked), by_user=by_user)
        copies = _Copies(self._parts)
        trial = _Trial(inquiry=inquiry, memory=memory)
        run = self._run(trial, copies)
        assert run is not None
        answer = WhyNot(
            memory=memory,
            surface=inquiry.surface,
            preset=inquiry.settings.preset,
            given=run.absence is None,
            absence=run.absence,
            numbers=self._numbers(run, trial),
            **_recorded(inquiry.trace, memory),
        )
        if run.absence is None:
            return answer
        found = [self._measured(remedy, trial, copies) for remedy in self._remedies(run, trial, copies)]
        found.sort(key=lambda remedy: (remedy.others, len(remedy.steps)))
        return replace(
            answer,
            remedies=tuple(remedy for remedy in found if remedy.safe),
            unsafe=next((remedy for remedy in found if not remedy.safe), None),
            untried=copies.too_many,
        )

    def _inquiry(self, asked: RecallAsked) -> Inquiry:
        trace = self._parts.store.get_trace(asked.trace_id) if asked.trace_id else None
        if trace is None:
            state = self._sessions.load(asked.session) if asked.session else None
            surface, text, cwd = asked.surface, asked.text, asked.cwd
            given = asked.given or self._engine.situation_of(asked.session) or AskedWith()
        else:
            host, _, session_id = trace.session.partition("/")
            state = self._sessions.load(SessionKey(host=host, session_id=session_id)) if host else None
            state = _as_of(state, trace) if state is not None else None
            surface, text, given = trace.surface, trace.text, trace.asked or AskedWith()
            cwd = state.folder if state is not None else self._root_of(trace.project_id)
        settings = self._engine.settings_at(cwd, state.agent if state is not None else "")
        return Inquiry(
            surface=surface,
            inputs=replace(given, text=text or given.text),
            cwd=cwd,
            at_ms=self._parts.clock.now_ms(),
            settings=asked.adjust(settings) if asked.adjust else settings,
            session=state,
            held=frozenset(asked.held),
            budget_tokens=asked.budget_tokens,
            trace=trace,
        )

    def _root_of(self, project_id: str) -> str:
        return next((one.root for one in self._parts.store.projects() if one.id == project_id), "")

    def _query_of(self, inquiry: Inquiry) -> Query:
        if inquiry.surface not in SURFACES:
            query = self._engine.question_query(
                inquiry.inputs.text,
                surface=inquiry.surface,
                cwd=inquiry.cwd,
                at_ms=inquiry.at_ms,
                settings=inquiry.settings,
                budget_tokens=inquiry.budget_tokens,
            )
            return replace(query, by_user=inquiry.by_user)
        query = self._engine.signal_query(
            inquiry.inputs.text,
            inquiry.inputs,
            surface=inquiry.surface,
            session=inquiry.key,
            cwd=inquiry.cwd,
            at_ms=inquiry.at_ms,
            settings=inquiry.settings,
        ).kept
        if inquiry.session is not None and inquiry.session.agent:
            own = Scope(kind=ScopeKind.AGENT, key=inquiry.session.agent)
            query = replace(query, scope=ScopeFilter.of(*query.scope.scopes, own, lent=query.scope.lent))
        if inquiry.budget_tokens is not None:
            query = replace(query, budget_tokens=inquiry.budget_tokens, own_budget=False)
        return query

    # --- running

    def _run(self, trial: _Trial, copies: _Copies) -> _Run | None:
        """Run the recall of `trial` through all stages; None = the store is too large to be copied for it.

        Raises:
            TacitError: as the store and the embedder.
        """
        inquiry = trial.inquiry
        if (silence := self._silence(trial)) is not None:
            return _Run(absence=Absence(stage="signal", silence=silence))
        query = self._query_of(inquiry)
        pipeline = copies.pipeline(query, trial.memory) if trial.edited else self._pipeline
        if pipeline is None:
            return None
        state, log = pipeline.follow(
            query,
            preset=preset_of(inquiry.settings.preset),
            settings=inquiry.settings.recall,
            context=self._context(trial),
        )
        return _Run(absence=find_absence(state, log.records, trial.memory), state=state, pipeline=pipeline)

    def _silence(self, trial: _Trial) -> SilenceReason | None:
        """Return why the signal gets nothing whatever is stored; None = it asks, as a question always does."""
        inquiry = trial.inquiry
        if inquiry.surface is Surface.ON_DEMAND:
            return None
        signal, fresh = _signal_of(inquiry)
        state = inquiry.session or fresh
        if trial.new_session:
            state = replace(state, ledger=())
        if trial.unmuted:
            state = replace(state, muted=False)
        found = surface_for(signal, state, inquiry.settings.recall, preset_of(inquiry.settings.preset))
        return found if isinstance(found, SilenceReason) else None

    def _context(self, trial: _Trial) -> Context:
        inquiry, session = trial.inquiry, trial.inquiry.session
        project = self._projects.of(inquiry.cwd) if inquiry.cwd else None
        recall = inquiry.settings.recall
        again = 0 if preset_of(inquiry.settings.preset).every_call else recall.reinject_after

        def in_context(memory: Memory) -> DropReason | None:
            if trial.new_session and memory.id == trial.memory.id:
                return None
            if memory.id in inquiry.held:
                return DropReason(cause=DropCause.IN_CONTEXT)
            if session is None:
                return None
            return ledger.why_in_context(session, memory, surface=inquiry.surface, reinject_after=again)

        window = ledger.held(session, reinject_after=again) if session is not None else ()
        return Context(
            in_context=in_context,
            pinned_in_context=in_context,
            root=project.root if project else "",
            window=tuple(name for name in window if not (trial.new_session and name == trial.memory.id)),
            usage=use_counts(self._parts.store),
            turn=inquiry.inputs.turn,
            epoch=session.epoch if session is not None else 0,
        )

    # --- numbers

    def _numbers(self, run: _Run, trial: _Trial) -> RecallNumbers:
        """Return what was measured of the memory; if no space proposed it, its places in rankings of the whole scope."""
        state, absence = run.state, run.absence
        if state is None or run.pipeline is None:
            return RecallNumbers()
        proposed = dict.fromkeys((*state.spaces, "error", "moment"), state.settings.candidates_per_space)
        why = absence.why if absence is not None else None
        if why is not None and why.cause is DropCause.NOT_FOUND and state.searched:
            state = self._ranked_wide(run.pipeline, state, trial)
        numbers = numbers_of(state, trial.memory, proposed=proposed)
        if why is not None and why.cause is DropCause.NO_ROOM:
            return replace(numbers, tokens_left=int(why.bound or 0))
        return numbers

    def _ranked_wide(self, pipeline: RecallPipeline, state: RecallState, trial: _Trial) -> RecallState:
        """Run the same recall with every space ranking all that it knows; return its state with the scores as before."""
        settings = state.settings.model_copy(update={"candidates_per_space": RANKED})
        wide, _ = pipeline.follow(
            state.query, preset=state.preset, settings=settings, context=self._context(trial)
        )
        return wide.changed(settings=state.settings, scored=state.scored)

    # --- remedies

    def _remedies(self, run: _Run, trial: _Trial, copies: _Copies) -> tuple[Remedy, ...]:
        found: list[Remedy] = []
        for step in steps_against(self._lost(run, trial)):
            remedy = self._tried(step, trial, copies)
            if remedy is not None and not any(_does_more(remedy, other) for other in found):
                found = [*(other for other in found if not _does_more(other, remedy)), remedy]
            if len(found) >= MOST_REMEDIES:
                break
        return tuple(found)

    def _measured(self, remedy: Remedy, trial: _Trial, copies: _Copies) -> Remedy:
        """Run the last recalls of the surface in this project again with the changes of `remedy`, and count those that would give the memory besides."""
        changed: _Trial | None = trial
        for step in remedy.steps:
            changed = self._changed(changed, step) if changed is not None else None
        if changed is None or not changed.edited:
            return remedy
        traces = self._last(trial.inquiry)
        others = sum(self._comes(trace, changed, copies) for trace in traces)
        return replace(remedy, others=others, of=len(traces))

    def _last(self, inquiry: Inquiry) -> tuple[Trace, ...]:
        """Return the last recalls on the surface of `inquiry` in its project, each question once, without the one that is asked about."""
        project = self._projects.of(inquiry.cwd) if inquiry.cwd else None
        where = TraceFilter(surface=inquiry.surface)
        seen = {_question_in(inquiry.inputs)}
        found: list[Trace] = []
        for trace in self._parts.store.find_traces(where, limit=MOST_LISTED):
            question = _question_in(trace.asked or AskedWith(text=trace.text))
            if trace.project_id != (project.id if project else "") or question in seen:
                continue
            seen.add(question)
            found.append(trace)
        return tuple(found[:MOST_MEASURED])

    def _comes(self, trace: Trace, changed: _Trial, copies: _Copies) -> bool:
        """Whether the recall of `trace` gives the changed memory, which it did not give then. In a fresh session: what a context held is no matter here."""
        if changed.memory.id in trace.injected:
            return False
        inputs = trace.asked or AskedWith(text=trace.text)
        inquiry = replace(changed.inquiry, inputs=inputs, session=None, held=frozenset(), trace=None)
        try:
            run = self._run(replace(changed, inquiry=inquiry), copies)
        except TacitError:
            return False
        return run is not None and run.absence is None

    def _tried(self, step: RemedyStep, trial: _Trial, copies: _Copies) -> Remedy | None:
        """Run the recall with `step` and the further steps that it takes; return them as a remedy, or None if they do not let the memory through."""
        steps: dict[RemedyKind, RemedyStep] = {}
        for _ in range(MOST_TRIED):
            changed = self._changed(trial, step)
            if changed is None:
                return None
            steps[step.kind] = step
            if len(steps) > MOST_STEPS:
                return None
            trial = changed
            try:
                run = self._run(trial, copies)
            except TacitError:
                return None
            if run is None:
                return None
            if run.absence is None:
                return Remedy(steps=tuple(steps.values()))
            lost = self._lost(run, trial)
            following = next((one for one in steps_against(lost) if steps.get(one.kind) != one), None)
            if following is None:
                return None
            step = following
        return None

    def _lost(self, run: _Run, trial: _Trial) -> Lost:
        state, inquiry = run.state, trial.inquiry
        assert run.absence is not None
        project = self._projects.of(inquiry.cwd) if inquiry.cwd else None
        return Lost(
            absence=run.absence,
            memory=trial.memory,
            query=state.query if state is not None else None,
            files=self._projects.relative(inquiry.inputs.paths, project, inquiry.cwd),
            project=project_scope(project.id) if project is not None else None,
        )

    def _changed(self, trial: _Trial, step: RemedyStep) -> _Trial | None:
        """Return `trial` with one change; None = it cannot be made."""
        inquiry = trial.inquiry
        match step.kind:
            case RemedyKind.NEW_SESSION:
                return replace(trial, new_session=True)
            case RemedyKind.UNMUTE:
                return replace(trial, unmuted=True)
            case RemedyKind.OPT_IN:
                text = " ".join(inquiry.inputs.text.replace(step.value, " ").split())
                return replace(trial, inquiry=replace(inquiry, inputs=replace(inquiry.inputs, text=text)))
            case _:
                memory = self._edited(trial.memory, step)
                return replace(trial, memory=memory, edited=True) if memory is not None else None

    def _edited(self, memory: Memory, step: RemedyStep) -> Memory | None:
        """Return the version of `memory` that an edit of the user's would store; None = the edit would be refused."""
        kind, value = step.kind, step.value
        try:
            return self._engine.memories.edited(
                memory,
                when=value if kind is RemedyKind.WHEN else None,
                scope=Scope.parse(value) if kind is RemedyKind.SCOPE else None,
                pinned=True if kind is RemedyKind.PIN else None,
                sensitivity=Sensitivity.parse(value) if kind is RemedyKind.SENSITIVITY else None,
                all_branches=kind is RemedyKind.ALL_BRANCHES,
            )
        except TacitError:
            return None


def _question_in(inputs: AskedWith) -> tuple[object, ...]:
    return inputs.text, inputs.tool, inputs.command, inputs.paths, inputs.error


def _does_more(remedy: Remedy, other: Remedy) -> bool:
    """Return whether `remedy` makes all the changes of `other`, which are enough."""
    return {step.kind for step in other.steps} <= {step.kind for step in remedy.steps}


class _Copies:
    """Makes the copy of the store for one inquiry when it is first needed. `too_many` = the store was too large for one."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._made: tuple[ScopeFilter, TrialStore] | None = None
        self.too_many = False

    def pipeline(self, query: Query, memory: Memory) -> RecallPipeline | None:
        """Return the recall pipeline over a copy of what `query` may see, with this version of `memory`; None = that is too much to copy."""
        if self._made is None or self._made[0] != query.scope:
            if self._parts.store.count_active(scope=query.scope) > MOST_COPIED:
                self.too_many = True
                return None
            stored = self._parts.store.get([memory.id], scope=self._parts.store.scopes())
            self._made = (
                query.scope,
                TrialStore(self._parts, scope=query.scope, memory=stored[0], at_ms=query.at_ms),
            )
        return self._made[1].pipeline(memory)


def _signal_of(inquiry: Inquiry) -> tuple[Signal, SessionState]:
    """Return the signal that asks for the surface, and the record of a session that it opens."""
    if inquiry.surface in SURFACES:
        return signal_and_state(
            inquiry.surface, inquiry.inputs, session=inquiry.key, cwd=inquiry.cwd, at_ms=inquiry.at_ms
        )
    key = inquiry.key or NOBODY
    source = "compact" if inquiry.surface is Surface.COMPACTION else "startup"
    signal = SessionStarted(session=key, key="why-not", at_ms=inquiry.at_ms, cwd=inquiry.cwd, source=source)
    return signal, SessionState(key=key, cwd=inquiry.cwd)


def _as_of(state: SessionState, trace: Trace) -> SessionState:
    """Return the session's record as it stood when `trace` was made, as far as it tells what the context held."""
    before = tuple(
        entry
        for entry in state.ledger
        if entry.at_ms < trace.at_ms or (entry.surface is Surface.HOST and entry.at_ms == trace.at_ms)
    )
    return replace(state, ledger=before, turn=trace.turn, epoch=trace.epoch)


class _Recorded(TypedDict):
    recorded: Absence | None
    recorded_given: bool | None


def _recorded(trace: Trace | None, memory: Memory) -> _Recorded:
    """Return what the recorded recall says of the memory: whether it was given, and where it was lost."""
    if trace is None:
        return _Recorded(recorded=None, recorded_given=None)
    if memory.id in trace.injected:
        return _Recorded(recorded=None, recorded_given=True)
    drops = (
        Absence(stage=stage.stage, why=drop.why)
        for stage in reversed(trace.stages)
        for drop in stage.drops
        if drop.memory_id == memory.id
    )
    absence = next(drops, None)
    if absence is None and trace.why is not None and not trace.candidates and trace.stages:
        absence = Absence(stage=trace.stages[-1].stage, silence=trace.why)
    return _Recorded(recorded=absence, recorded_given=False)


# The answer to why a memory is not given, in sentences, and the commands that do what a remedy says. In: a `WhyNot`. Out: text.

_ASKED = {
    Surface.START: "at the start of a session",
    Surface.PROMPT: "before this prompt",
    Surface.ACTION: "around this tool call",
    Surface.FAILURE: "after this failure",
    Surface.COMPACTION: "after a compaction",
    Surface.SUBAGENT: "to this subagent",
    Surface.ON_DEMAND: "in answer to this question",
}
_TIMES = {
    Surface.PROMPT: "prompts",
    Surface.ACTION: "tool calls",
    Surface.FAILURE: "failures",
    Surface.START: "starts",
}
_SEEN_BY: dict[ScopeKind, str] = {
    ScopeKind.UNIVERSAL: "Here the settings show memories of the project alone (project.share_preferences).",
    ScopeKind.LANGUAGE: "It is visible where that language is at hand.",
    ScopeKind.PROJECT: "It is visible to work in that project.",
    ScopeKind.PATH: "It is visible to work on files below that folder.",
    ScopeKind.AGENT: "It is visible to that agent.",
    ScopeKind.SESSION: "It is visible to that session.",
}
_STAGES = {
    "signal": "before anything is looked up",
    "query": "when the question is read",
    "retrieve": "when memories are looked for",
    "fuse": "when the nearest are picked",
    "score": "when relevance is judged",
    "guard": "when what was found is checked",
    "dedupe": "for what the session holds already",
    "budget": "for want of room",
    "render": "when the block is written",
    "deliver": "when the block is handed over",
}
_CHECKS: dict[DropCause, str] = {
    DropCause.NOT_VALID: "what still holds",
    DropCause.ENDED: "what still holds",
    DropCause.QUARANTINED: "trust",
    DropCause.UNTRUSTED: "trust",
    DropCause.SENSITIVE: "sensitivity",
    DropCause.OTHER_BRANCH: "branches",
    DropCause.REPLACED_ON_BRANCH: "branches",
    DropCause.TOO_OLD: "age",
    DropCause.CODE_GONE: "the code that it speaks of",
    DropCause.BELOW_THRESHOLD: "relevance",
    DropCause.BELOW_IMPORTANCE: "importance",
    DropCause.BELOW_SIMILARITY: "similarity",
    DropCause.FAR_BELOW_BEST: "relevance",
}
"""By cause of the guard: which of its checks left the memory out."""
_NEEDS_NOTHING = (
    DropCause.COPY,
    DropCause.UNCHANGED,
    DropCause.REPEATED,
    DropCause.OWN_DIGEST,
    DropCause.OLDER_DIGEST,
    DropCause.NOTHING_COMING,
)
"""Causes where the session has what the memory says, or asks for nothing."""
_EXPLAINED: dict[DropCause, str] = {
    DropCause.NOTHING_COMING: "The agent will do nothing after this prompt, so nothing is looked for.",
    DropCause.NOT_VALID: "It does not hold now: its time is over or has not come.",
    DropCause.QUARANTINED: "It waits for you in the review queue. Until you accept it, it is given on demand only.",
    DropCause.OWN_DIGEST: "It tells of this very session, whose context holds all of that.",
    DropCause.TOO_OLD: "It tells of something that happened too long ago. It is given on demand only.",
    DropCause.CODE_GONE: "The files that it speaks of are gone. It is given on demand only.",
    DropCause.REPLACED_ON_BRANCH: "Another memory replaces it on this branch.",
    DropCause.OLDER_DIGEST: "A start pack holds the newest digest alone, and there is a newer one.",
    DropCause.NOT_IN_POOL: "So many memories of its scope are more important or broader that it is not considered at a start.",
    DropCause.UNCHANGED: "The session goes on and has it already.",
    DropCause.REPEATED: "It stands in the list already.",
}


def sentences(answer: WhyNot) -> tuple[str, ...]:
    """Tell in short sentences what happens to the memory, with the numbers that decide; the first one tells it all."""
    when = _ASKED[answer.surface]
    absence = answer.absence
    if absence is None:
        told = [f"It is given {when}{_standing(answer)}."]
    else:
        told = [f"It is not given {when}: {_cause(absence, answer)}.", *_explained(absence, answer)]
        if not answer.remedies:
            told.append(_without_remedy(absence, answer))
    if answer.recorded_given is not None:
        told.append(_recorded_sentence(answer))
    return tuple(sentence for sentence in told if sentence)


def evidence(answer: WhyNot) -> tuple[EvidencePart, ...]:
    """Return what adds up to the relevance of the memory, in points; () = it was not judged, or rules decided."""
    numbers = answer.numbers
    return evidence_of(numbers.parts, numbers.relevance or 0.0, numbers.threshold)


def details(answer: WhyNot) -> tuple[str, ...]:
    """Tell what only some want to know: the stage, and the place of the memory by each measure."""
    stage = (f"It is left out {_stage_text(answer.absence)}.",) if answer.absence is not None else ()
    judged = answer.numbers.relevance is not None
    ranks = () if judged else map(_rank_sentence, answer.numbers.spaces)
    return (*stage, *filter(None, ranks))


def _stage_text(absence: Absence) -> str:
    check = _CHECKS.get(absence.why.cause) if absence.stage == "guard" and absence.why is not None else None
    return f"by the check of {check}" if check else _STAGES[absence.stage]


def _recorded_sentence(answer: WhyNot) -> str:
    if answer.recorded_given:
        return "The recorded recall gave it; this is the same recall now."
    if answer.recorded is None:
        return "In the recorded recall it was not looked at; this is the same recall now."
    then = _cause(answer.recorded, answer)
    if answer.absence is not None and then == _cause(answer.absence, answer):
        return ""
    return f"In the recorded recall: {then}."


def _cause(absence: Absence, answer: WhyNot) -> str:
    why = absence.why
    if why is not None and why.cause is DropCause.BELOW_THRESHOLD and why.value is not None:
        parts = evidence(answer) if why.value == answer.numbers.relevance else ()
        common = common_text(parts)
        return f"it {reached_text(why.value, why.bound or 0.0, parts)}{f'; {common}' if common else ''}"
    if why is not None:
        return reason_text(why)
    return silence_reason_text(absence.silence) if absence.silence is not None else "it was left out"


def _standing(answer: WhyNot) -> str:
    numbers = answer.numbers
    if numbers.relevance is None or answer.surface is Surface.START:
        return ""
    return f": it {reached_text(numbers.relevance, numbers.threshold, evidence(answer))}"


def _explained(absence: Absence, answer: WhyNot) -> list[str]:
    """Return sentences on why the memory was lost where it was."""
    numbers, why = answer.numbers, absence.why
    if why is None:
        asks_nothing = absence.silence is not None and absence.silence.cause is SilenceCause.NOTHING_COMING
        return (
            ["If the prompt accepts what the agent proposed, give the end of the agent's message, too."]
            if asks_nothing
            else []
        )
    told = [_EXPLAINED[why.cause]] if why.cause in _EXPLAINED else []
    match why.cause:
        case DropCause.BELOW_THRESHOLD:
            parts = evidence(answer)
            if parts and sum_of(parts) <= 0:
                told.append("If the prompt has nothing to do with it, this silence is right.")
        case DropCause.OUT_OF_SCOPE:
            told.append(_SEEN_BY[answer.memory.scope.kind])
        case DropCause.NO_ROOM:
            left = numbers.tokens_left if numbers.tokens_left is not None else 0
            if numbers.tokens is not None:
                told.append(
                    f"The block may have {numbers.budget_tokens} tokens: its line needs {numbers.tokens}, {left} were left."
                )
        case DropCause.COPY:
            told.append(f"{why.detail} says the same, and one of the two is enough.")
        case DropCause.ENDED:
            successor = answer.memory.validity.superseded_by
            told.append(f"{successor} took its place." if successor else "It has ended.")
        case _:
            pass
    return told


def _rank_sentence(rank: SpaceRank) -> str:
    space = SPACES.get(rank.space)
    measure = f"By {space.summary}" if space is not None else f"By the {rank.space}"
    if rank.rank is None:
        return f"{measure} it is not found." if rank.proposes else ""
    looked = f", and only the first {rank.proposes} are looked at" if 0 < rank.proposes < rank.rank else ""
    return f"{measure} it is number {rank.rank} of {rank.of}{looked}."


def _without_remedy(absence: Absence, answer: WhyNot) -> str:
    if answer.untried:
        return "Its scope holds too many memories to try changes of it."
    if answer.unsafe is not None:
        other = answer.unsafe
        change = remedy_text(other)[:1].lower() + remedy_text(other)[1:-1]
        return f"No safe change lets it through: to {change} would have brought it {other.others} other times in the last {other.of}."
    cause = absence.why.cause if absence.why is not None else None
    name = answer.memory.id
    if cause is None or cause in _NEEDS_NOTHING:
        return ""
    if cause in (DropCause.ENDED, DropCause.NOT_VALID):
        return "If it holds again, say it anew: `tacit remember`."
    pin = (
        "" if answer.memory.pinned else f"pin it, so that sessions start with it (`tacit edit {name} --pin`)"
    )
    if cause in _CONDITIONS:
        words = f'write into it the words that you use when you need it (`tacit edit {name} --content "..."`)'
        return f"If it should have come: {words}{f', or {pin}' if pin else ''}. The agent also finds it when it searches."
    return f"{f'If it should have come: {pin}. ' if pin else ''}The agent also finds it when it searches."


_STEPS: Mapping[RemedyKind, tuple[str, str]] = {
    RemedyKind.ACCEPT: ("accept it in review", "tacit review accept {id}"),
    RemedyKind.CONFIRM: ("confirm it, so that it counts as yours", "tacit review accept {id}"),
    RemedyKind.SCOPE: ("give it the scope {value}", "tacit edit {id} --scope {value}"),
    RemedyKind.SENSITIVITY: ("give it the sensitivity {value}", "tacit edit {id} --sensitivity {value}"),
    RemedyKind.ALL_BRANCHES: ("let it hold on all branches", "tacit edit {id} --all-branches"),
    RemedyKind.WHEN: ("say when it applies: {value}", "tacit edit {id} --when {quoted}"),
    RemedyKind.PIN: ("pin it", "tacit edit {id} --pin"),
    RemedyKind.NEW_SESSION: ("ask in a new session, or after a compaction", ""),
    RemedyKind.UNMUTE: ("unmute the session", "tacit sessions --unmute"),
    RemedyKind.OPT_IN: ("leave {value} out of the prompt", ""),
}
"""What a step changes, and the command that does it; "" = there is none."""


def step_text(step: RemedyStep) -> str:
    """Return what a step changes, in the imperative and without a period."""
    return _STEPS[step.kind][0].format(value=step.value)


def step_command(step: RemedyStep, memory_id: str) -> str:
    """Return the command that does what a step says; "" = there is none."""
    return _STEPS[step.kind][1].format(id=memory_id, value=step.value, quoted=shlex.quote(step.value))


def remedy_text(remedy: Remedy) -> str:
    """Return the steps of a remedy as one sentence."""
    text = ", and ".join(step_text(step) for step in remedy.steps)
    return f"{text[:1].upper()}{text[1:]}."


def measured_text(remedy: Remedy, surface: Surface) -> str:
    """Return with how many of the last recalls the memory would have come, too; "" = none was run again."""
    if not remedy.of:
        return ""
    asked = _TIMES.get(surface, "times")
    if remedy.of == 1:
        return f"It would {'also' if remedy.others else 'not'} have come the one other time that memories were looked for."
    return f"It would have come with {remedy.others or 'none'} of the last {remedy.of} {asked} besides."
