"""Why a memory is not given. In: a memory, what is asked or was asked. Out: the stage that leaves it out, numbers, remedies.

The recall is run through the stages that hooks run through, and nothing of it is kept. A remedy is only named when the same recall,
run again with it, gives the memory: settings are changed for that run, the memory in a copy of the store (`store_copies`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypedDict

from tacit.app.delivery_context import use_counts
from tacit.app.maintenance.lazy_writing import LazyWriting
from tacit.app.parts import Parts
from tacit.app.projects import Projects
from tacit.app.queries.recall_inputs import NOBODY, SURFACES, signal_and_state
from tacit.app.queries.remedies import Lost, steps_against, with_setting
from tacit.app.queries.store_copies import MOST_COPIED, TrialStore
from tacit.app.sessions import LiveSessions
from tacit.app.values import RecallAsked
from tacit.config.levels import Levels, levels_in_use, uses_levels
from tacit.config.settings import Settings
from tacit.errors import TacitError
from tacit.model.memory import Memory, Sensitivity
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.scope import Scope, ScopeFilter, ScopeKind, project_scope
from tacit.model.session import SessionKey, SessionState
from tacit.model.signal import SessionStarted, Signal
from tacit.model.trace import AskedWith, DropCause, DropReason, SilenceReason, Trace
from tacit.model.why_not import Absence, RecallNumbers, Remedy, RemedyKind, RemedyStep, WhyNot
from tacit.presets import preset_of
from tacit.recall.finished import find_absence, numbers_of
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.query import surface_for
from tacit.recall.stage import Context, Outcome, RecallState
from tacit.session import ledger

MOST_TRIED = 8
"""Most runs for one remedy; each makes one further change, or makes one larger."""
MOST_STEPS = 3
"""Most different changes of one remedy: nobody makes more of them for one memory."""
MOST_REMEDIES = 4
RANKED = 10_000
"""How many memories each space ranks when the place of one is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
        """The session's name."""
        return self.session.key if self.session is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """One run: the inquiry with changes. `memory` is the version that is tried."""

    inquiry: Inquiry
    memory: Memory
    edited: bool = False
    new_session: bool = False
    unmuted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What came of a trial, and the read path that it took; `state` None = the signal asked for nothing."""

    absence: Absence | None
    state: RecallState | None = None
    pipeline: RecallPipeline | None = None


class AskAgain(Protocol):
    """Makes the query that a signal in a situation asks (`Engine._asked_again`)."""

    def __call__(
        self,
        text: str,
        inputs: AskedWith,
        *,
        surface: Surface,
        session: SessionKey | None,
        cwd: str,
        at_ms: int,
        settings: Settings,
    ) -> Outcome[Query]:
        """The query, and notes on how it was read."""
        ...


class AskQuestion(Protocol):
    """Makes the query of a question, or of a start (`Engine._question`)."""

    def __call__(
        self,
        text: str,
        *,
        surface: Surface,
        cwd: str,
        at_ms: int,
        settings: Settings,
        budget_tokens: int | None,
    ) -> Query:
        """The query."""
        ...


class WhyNotExplorer:
    """Answers for one open store. Changes nothing."""

    def __init__(
        self,
        parts: Parts,
        *,
        projects: Projects,
        sessions: LiveSessions,
        pipeline: RecallPipeline,
        writing: LazyWriting,
        settings_at: Callable[[str, str], Settings],
        situation_of: Callable[[SessionKey | None], AskedWith | None],
        ask_again: AskAgain,
        question: AskQuestion,
    ) -> None:
        """The last four make settings, situations and queries as a recall by hand does."""
        self._parts = parts
        self._projects = projects
        self._sessions = sessions
        self._pipeline = pipeline
        self._writing = writing
        self._settings_at = settings_at
        self._situation_of = situation_of
        self._ask_again = ask_again
        self._question = question

    def explain(self, memory: Memory, asked: RecallAsked, *, by_user: bool) -> WhyNot:
        """Where the recall of `asked` leaves `memory` out, what was measured, and what would let it through.

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
        remedies = self._remedies(run, trial, answer.numbers, copies)
        return replace(answer, remedies=remedies, untried=copies.too_many)

    def _inquiry(self, asked: RecallAsked) -> Inquiry:
        trace = self._parts.store.get_trace(asked.trace_id) if asked.trace_id else None
        if trace is None:
            state = self._sessions.load(asked.session) if asked.session else None
            surface, text, cwd = asked.surface, asked.text, asked.cwd
            given = asked.given or self._situation_of(asked.session) or AskedWith()
        else:
            host, _, session_id = trace.session.partition("/")
            state = self._sessions.load(SessionKey(host=host, session_id=session_id)) if host else None
            state = _as_of(state, trace) if state is not None else None
            surface, text, given = trace.surface, trace.text, trace.asked or AskedWith()
            cwd = state.folder if state is not None else self._root_of(trace.project_id)
        settings = self._settings_at(cwd, state.agent if state is not None else "")
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
            query = self._question(
                inquiry.inputs.text,
                surface=inquiry.surface,
                cwd=inquiry.cwd,
                at_ms=inquiry.at_ms,
                settings=inquiry.settings,
                budget_tokens=inquiry.budget_tokens,
            )
            return replace(query, by_user=inquiry.by_user)
        query = self._ask_again(
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
            query = replace(query, scope=ScopeFilter.of(*query.scope.scopes, own))
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
        """Why the signal gets nothing whatever is stored; a question is always answered."""
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
        """What was measured of the memory; where no space proposed it, its places in rankings of the whole scope."""
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
        """The same recall in which every space ranks all that it knows; it is judged as before."""
        settings = state.settings.model_copy(update={"candidates_per_space": RANKED})
        wide, _ = pipeline.follow(
            state.query, preset=state.preset, settings=settings, context=self._context(trial)
        )
        return wide.changed(settings=state.settings, scored=state.scored)

    # --- remedies

    def _remedies(
        self, run: _Run, trial: _Trial, numbers: RecallNumbers, copies: _Copies
    ) -> tuple[Remedy, ...]:
        found: list[Remedy] = []
        for step in steps_against(self._lost(run, trial, numbers)):
            remedy = self._tried(step, trial, copies)
            if remedy is not None and not any(_does_more(remedy, other) for other in found):
                found = [*(other for other in found if not _does_more(other, remedy)), remedy]
            if len(found) >= MOST_REMEDIES:
                break
        return tuple(sorted(found, key=lambda remedy: len(remedy.steps)))

    def _tried(self, step: RemedyStep, trial: _Trial, copies: _Copies) -> Remedy | None:
        """The remedy that begins with `step`, with the further steps that it takes; None = it does not let the memory through."""
        steps: dict[tuple[RemedyKind, str], RemedyStep] = {}
        for _ in range(MOST_TRIED):
            changed = self._changed(trial, step)
            if changed is None:
                return None
            steps[step.kind, step.target] = step
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
            lost = self._lost(run, trial, self._numbers(run, trial))
            following = next(
                (one for one in steps_against(lost) if steps.get((one.kind, one.target)) != one), None
            )
            if following is None:
                return None
            step = following
        return None

    def _lost(self, run: _Run, trial: _Trial, numbers: RecallNumbers) -> Lost:
        state, inquiry = run.state, trial.inquiry
        assert run.absence is not None
        project = self._projects.of(inquiry.cwd) if inquiry.cwd else None
        fresh = [c.memory.id for c in (state.fresh or ())] if state is not None else []
        ranks = [one.rank for one in numbers.spaces if one.rank is not None]
        return Lost(
            absence=run.absence,
            numbers=numbers,
            memory=trial.memory,
            query=state.query if state is not None else None,
            settings=inquiry.settings.recall,
            preset=inquiry.settings.preset,
            rank=min(ranks, default=None),
            among=fresh.index(trial.memory.id) + 1 if trial.memory.id in fresh else None,
            files=self._projects.relative(inquiry.inputs.paths, project, inquiry.cwd),
            project=project_scope(project.id) if project is not None else None,
            levels=self._levels(inquiry.settings),
        )

    def _levels(self, settings: Settings) -> Levels | None:
        if not uses_levels(settings.preset):
            return None
        return levels_in_use(settings.embedder, self._parts.home).levels

    def _changed(self, trial: _Trial, step: RemedyStep) -> _Trial | None:
        """`trial` with one change; None = it cannot be made."""
        inquiry = trial.inquiry
        match step.kind:
            case RemedyKind.SETTING:
                recall = with_setting(
                    inquiry.settings.recall, step.target, step.value, self._levels(inquiry.settings)
                )
                settings = inquiry.settings.model_copy(update={"recall": recall})
                return replace(trial, inquiry=replace(inquiry, settings=settings))
            case RemedyKind.NEW_SESSION:
                return replace(trial, new_session=True)
            case RemedyKind.UNMUTE:
                return replace(trial, unmuted=True)
            case RemedyKind.OPT_IN:
                text = " ".join(inquiry.inputs.text.replace(str(step.value), " ").split())
                return replace(trial, inquiry=replace(inquiry, inputs=replace(inquiry.inputs, text=text)))
            case _:
                memory = self._edited(trial.memory, step)
                return replace(trial, memory=memory, edited=True) if memory is not None else None

    def _edited(self, memory: Memory, step: RemedyStep) -> Memory | None:
        """The version of `memory` that an edit of the user's would store; None = the edit would be refused."""
        kind, value = step.kind, str(step.value)
        try:
            return self._writing().memories.edited(
                memory,
                content=None,
                kind=None,
                when=value if kind is RemedyKind.WHEN else None,
                scope=Scope.parse(value) if kind is RemedyKind.SCOPE else None,
                importance=None,
                pinned=True if kind is RemedyKind.PIN else None,
                sensitivity=Sensitivity.parse(value) if kind is RemedyKind.SENSITIVITY else None,
                all_branches=kind is RemedyKind.ALL_BRANCHES,
            )
        except TacitError:
            return None


def _does_more(remedy: Remedy, other: Remedy) -> bool:
    """Whether `remedy` changes all that `other` changes, which is enough."""
    return {(step.kind, step.target) for step in other.steps} <= {
        (step.kind, step.target) for step in remedy.steps
    }


class _Copies:
    """The copy of the store for one inquiry, made when it is first needed."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._made: tuple[ScopeFilter, TrialStore] | None = None
        self.too_many = False

    def pipeline(self, query: Query, memory: Memory) -> RecallPipeline | None:
        """The read path over what `query` may see, in which the memory of this id reads `memory`; None = that is too much to copy."""
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
    """The signal that asks for the surface, and a record of a session that it opens."""
    if inquiry.surface in SURFACES:
        return signal_and_state(
            inquiry.surface, inquiry.inputs, session=inquiry.key, cwd=inquiry.cwd, at_ms=inquiry.at_ms
        )
    key = inquiry.key or NOBODY
    source = "compact" if inquiry.surface is Surface.COMPACTION else "startup"
    signal = SessionStarted(session=key, key="why-not", at_ms=inquiry.at_ms, cwd=inquiry.cwd, source=source)
    return signal, SessionState(key=key, cwd=inquiry.cwd)


def _as_of(state: SessionState, trace: Trace) -> SessionState:
    """The record of a session as it stood when `trace` was made, as far as it tells what the context held."""
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
    """What the record of a recall says of the memory."""
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
