"""Answers on demand that a session may have a few of: `memory_context(query, scope, category)`.

In: words, a scope, a kind, a folder. Out: a block, or why there is none. A scope only narrows what may be seen from the
folder. Answers count for the session that asks: where the caller cannot name it, the project's newest one.
Source: the on-demand mode of the scoped seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from tacit.app.delivery_texts import Nudges
from tacit.app.values import Caller, OpenStore
from tacit.config.settings import RecallSettings, Settings
from tacit.errors import InvalidScope
from tacit.frozen import frozen
from tacit.model.evidence import Candidate
from tacit.model.ids import new_id
from tacit.model.memory import Memory
from tacit.model.note import Note, NoteCause
from tacit.model.pack import Block, Pack, PackItem, Surface
from tacit.model.query import BranchView, Query
from tacit.model.scope import TASK_MARK, Scope, ScopeFilter, ScopeKind
from tacit.model.session import SessionKey, SessionState
from tacit.model.trace import DropCause, DropReason, Trace
from tacit.model.trigger import Situation
from tacit.ports.store import ProjectRecord
from tacit.presets import preset_of
from tacit.reading.languages import check_language
from tacit.reading.terms import find_entities
from tacit.recall.pipeline import RecallPipeline
from tacit.recall.query import task_of, with_situation
from tacit.recall.render import ID_TOKENS, renderer, traced
from tacit.recall.stage import Context, Preset, StageLog
from tacit.safety.escape import Clean
from tacit.session import ledger
from tacit.session.answer_priority import wait_for_pending_answers

MAX_CHARS = 4000
SESSIONS_READ = 8
ACTIVE_SESSION_MS = 6 * 3_600_000
"""A session without a signal for so many milliseconds does not count as at work."""
PARALLEL_SESSIONS_MS = 10 * 60_000
"""Sessions whose last signals are fewer milliseconds apart count as at work side by side."""
MIN_ANSWER_TOKENS = 100
"""A session with fewer tokens left gets no answer: the frame of the answer alone takes most of them."""
HOOK_WAIT_S = 0.05
"""Most seconds that one step of an answer waits for hooks."""
CLIENTS = "mcp"
"""Host name of the records that only count what a client without a session was told."""
CATEGORIES = {"rule": "guideline"}
"""Further names of kinds, as the design uses them."""
MOST_FETCHED = 400
"""Most fetched memories that the record of a session names."""


@frozen
class ContextAnswer:
    """An answer for an agent.

    Attributes:
        block: the block; empty = nothing fits, or the answer is refused.
        refused: why nothing is answered, for the agent; "" = it is.
        too_long: ids of memories that fit the question but not the budget.
        memories: those of the block, in its order; the content of each is what the block says of it.
    """

    block: Block
    refused: str = ""
    too_long: tuple[str, ...] = ()
    memories: tuple[Memory, ...] = ()

    @property
    def more(self) -> int:
        """Return how many memories fitted the question but not the budget."""
        return len(self.too_long)


@frozen
class KindSelection:
    """A filter by kind: `only` = names of the kinds wanted (empty = all), `never` = names of those left out."""

    only: frozenset[str]
    never: frozenset[str]

    def __call__(self, memory: Memory) -> DropReason | None:
        """Return why `memory` is left out by this filter; None = it is wanted."""
        if self.only and memory.kind not in self.only:
            return DropReason(cause=DropCause.KIND_NOT_ASKED, detail=", ".join(sorted(self.only)))
        return (
            DropReason(cause=DropCause.KIND_NOT_ASKED, detail="others") if memory.kind in self.never else None
        )


class SessionAnswers:
    """Answers agents' questions, counts the answers in the session's record, and tells which sessions are at work.

    Safe to use from several threads.
    """

    def __init__(
        self,
        opened: OpenStore,
        *,
        pipeline: RecallPipeline,
        nudges: Nudges,
        settings_at: Callable[[str], Settings],
    ) -> None:
        """`settings_at` returns the settings that hold in a folder."""
        self._parts = opened.parts
        self._projects, self._sessions = opened.projects, opened.sessions
        self._pipeline = pipeline
        self._nudges = nudges
        self._settings_at = settings_at

    def answer(
        self,
        caller: Caller,
        query: str = "",
        *,
        scope: str = "",
        kinds: Sequence[str] = (),
        without: Sequence[str] = (),
        budget_tokens: int | None = None,
        for_task: bool = False,
    ) -> ContextAnswer:
        """Recall what is known of `query` and return it as a block. The session of the caller, else the newest one at work in its folder, counts the answer.

        Args:
            caller: who asks. Where no session is known, the answers of its process are counted.
            query: the words; "" = the best there is of that scope and kind.
            scope: `universal`, `language:X`, `project:X` or `project:X:task:Y`; "" = all that may be seen.
            kinds: names of kinds that alone are wanted; () = all.
            without: names of kinds that are not wanted.
            budget_tokens: most tokens, where the preset does not allow fewer; None = as the settings say.
            for_task: `query` describes a task; only the kinds that it needs, where the preset tells tasks apart.

        Raises:
            UnknownKind, InvalidScope: naming what is wrong.
        """
        cwd = caller.cwd
        settings = self._settings_at(cwd)
        preset = preset_of(settings.preset)
        if for_task and preset.task_kinds is not None:
            kinds = preset.task_kinds(query, settings.recall, self._parts.kinds) or kinds
        selection = self.selection(kinds, without, preset)
        project = self._projects.of(cwd)
        answer_of = partial(
            self._answer, query, self.visible(cwd, scope), selection, settings,
            project=project.id if project else "",
            branches=self._projects.branches.view(project, bound=settings.capture.branches),
        )  # fmt: skip
        limited = any(preset.answer_limits(settings.recall))
        at_work = self._at_work(cwd) if caller.session is None else ()
        key = caller.session or next((state.key for state in at_work), None)
        if key is None and limited and caller.client:
            key = SessionKey(host=CLIENTS, session_id=caller.client)
        sure = len(_side_by_side(at_work)) < 2
        most_tokens = budget_tokens or settings.recall.budgets.on_demand
        if key is None or not (sure or limited):
            return answer_of(most_tokens)[0]
        if not limited:
            # Only counting it is done in turn: a hook of this session must not wait for the answer.
            state = self._record(key, cwd)
            answer, packed = answer_of(most_tokens, state=state)
            with self._sessions.turn(key, timeout_s=5.0):
                self._sessions.save(self._counted(self._record(key, cwd), answer, packed))
            return answer
        with self._sessions.turn(key, timeout_s=5.0):
            state = self._record(key, cwd)
            budget, refused = allowed_tokens(state, settings.recall, preset)
            if refused:
                return ContextAnswer(block=Block(surface=Surface.ON_DEMAND), refused=refused)
            answer, packed = answer_of(min(budget, most_tokens), state=state, waits=False)
            after = self._counted(state, answer, packed)
            # What one of several was told does not count as known to the other.
            self._sessions.save(after if sure else replace(after, ledger=state.ledger))
        return answer

    def _record(self, key: SessionKey, cwd: str) -> SessionState:
        state = self._sessions.load(key)
        return state or SessionState(key=key, cwd=cwd, started_at_ms=self._parts.clock.now_ms())

    def _counted(self, state: SessionState, answer: ContextAnswer, packed: Pack) -> SessionState:
        """Return the session's record with `answer` counted; an answer without memories is not counted."""
        if answer.block.empty:
            return state
        now = self._parts.clock.now_ms()
        state = ledger.record(state, items=packed.items, block=answer.block, message_id="", at_ms=now)
        return replace(state, answers=(*state.answers, answer.block.tokens))

    def count_fetched(self, key: SessionKey, cwd: str, memories: Sequence[Memory], *, asked: str) -> None:
        """Count `memories` as given to and used by a session that fetched them, and store a trace; waits up to 5 s for a busy session.

        `asked` = the call in words, as the trace shows it.
        """
        now = self._parts.clock.now_ms()
        candidates = [Candidate(memory=memory, relevance=1.0) for memory in memories]
        items = [PackItem(candidate=c, text=c.memory.content, tokens=c.memory.tokens) for c in candidates]
        block = Block(surface=Surface.ON_DEMAND, text="fetched", memory_ids=tuple(m.id for m in memories))
        tokens = sum(item.tokens for item in items)
        with self._sessions.turn(key, timeout_s=5.0):
            state = ledger.record(self._record(key, cwd), items=items, block=block, message_id="", at_ms=now)
            fetched = dict.fromkeys((*state.fetched, *block.memory_ids))
            state = replace(state, fetched=tuple(fetched)[-MOST_FETCHED:], answers=(*state.answers, tokens))
            trace = Trace(
                id=new_id("trc", now_ms=now, entropy=self._parts.clock.entropy(5)), session=str(key), turn=state.turn,
                epoch=state.epoch, surface=Surface.ON_DEMAND, at_ms=now, preset=self._settings_at(cwd).preset, text=asked,
                situation=Situation(), stages=(), candidates=traced(candidates, block), injected=block.memory_ids, tokens=tokens,
            )  # fmt: skip
            self._sessions.save(state, trace=trace)

    def newest(self, cwd: str) -> SessionKey | None:
        """Return the newest session at work in the project around `cwd`, or None."""
        sessions = self._at_work(cwd)
        return sessions[0].key if sessions else None

    def only_session(self, cwd: str) -> SessionKey | None:
        """Return the session at work in the project around `cwd` if it is the only one, else None."""
        beside = self.possible_callers(cwd)
        return beside[0].key if len(beside) == 1 else None

    def possible_callers(self, cwd: str, session: SessionKey | None = None) -> tuple[SessionState, ...]:
        """Return the records of the sessions that a call may come from: `session`, or if it is None or unknown all at work around `cwd`."""
        state = self._sessions.load(session) if session else None
        return (state,) if state is not None else _side_by_side(self._at_work(cwd))

    def session_of_call(self, cwd: str, mark: str) -> SessionKey | None:
        """Return the session that makes a tool call: the one whose hook announced `mark`, else the only one at work; None = unknown.

        An announcement is used up.
        """
        project = self._projects.of(cwd)
        announced = self._sessions.take_announced(mark, now_ms=self._parts.clock.now_ms()) if mark else ()
        state = self._sessions.load(announced[0]) if len(announced) == 1 else None
        if state is not None and project is not None and state.project_id == project.id:
            return state.key
        return self.only_session(cwd)

    def _at_work(self, cwd: str) -> tuple[SessionState, ...]:
        """Return the sessions at work in the project around `cwd`, newest signal first; from memory, else as stored."""
        project = self._projects.of(cwd)
        if project is None:
            return ()
        since = self._parts.clock.now_ms() - ACTIVE_SESSION_MS

        def here(states: Iterable[SessionState]) -> tuple[SessionState, ...]:
            at_work = (
                s
                for s in states
                if s.project_id == project.id and not s.ended and s.last_signal_at_ms >= since
                if s.key.host != CLIENTS
            )
            return tuple(sorted(at_work, key=lambda s: (-s.last_signal_at_ms, str(s.key))))

        return here(self._sessions.states) or here(self._parts.store.list_sessions(limit=SESSIONS_READ))

    def selection(self, kinds: Sequence[str], without: Sequence[str], preset: Preset) -> KindSelection:
        """Return the filter for these kinds; a name stands for all kinds that the preset takes for cases of it.

        Raises:
            UnknownKind: naming what is wrong.
        """
        registry = self._parts.kinds
        only = [registry.get(CATEGORIES.get(kind, kind)).name for kind in kinds]
        only = [kind.name for kind in registry if preset.enabled(kind.name, only)] if only else []
        return KindSelection(
            only=frozenset(only),
            never=frozenset(registry.get(kind).name for kind in without),
        )

    def visible(self, cwd: str, scope: str = "") -> ScopeFilter:
        """Return the scopes that an agent may see from a folder, or the part of them that `scope`, written as text, names.

        Raises:
            InvalidScope: if `scope` cannot be read or seen from there.
        """
        project, settings = self._projects.of(cwd), self._settings_at(cwd)
        visible = self._projects.visible(
            project,
            share_preferences=settings.project.share_preferences,
            links=settings.project.link,
            lent=settings.project.lent,
        )
        return narrowed(visible, scope, project) if scope else visible

    def _answer(  # noqa: PLR0917 - what a question is made of
        self,
        words: str,
        scope: ScopeFilter,
        selection: KindSelection,
        settings: Settings,
        budget: int,
        state: SessionState | None = None,
        *,
        project: str,
        branches: BranchView | None,
        waits: bool = True,
    ) -> tuple[ContextAnswer, Pack]:
        """Recall for the question `words`, store the trace, and return the answer with its pack. Empty words ask for the best memories, as at a start.

        `waits` = each costly step may pause for hooks, because no lock is held.
        """
        text = words.strip()[:MAX_CHARS]
        surface = Surface.ON_DEMAND if text else Surface.START
        clean, now = self._parts.redactor.cleaner(settings), self._parts.clock.now_ms()
        session = str(state.key) if state else ""
        log = StageLog()
        log.note("signal", facts=(Note(cause=NoteCause.SURFACE, detail=surface.value),))
        recall, preset = settings.recall, preset_of(settings.preset)
        situation = self._pipeline.read_question(text, recall, preset)
        query = Query(
            surface=surface,
            text=text,
            raw_text=text,
            situation=situation,
            scope=scope,
            at_ms=now,
            budget_tokens=budget,
            entities=find_entities(text),
            session=session,
            suffix_tokens=ID_TOKENS,
            kinds=tuple(sorted(selection.only - selection.never)) if selection.only else None,
            branches=branches,
        )
        query = replace(query, scope=with_situation(scope, situation, task=task_of(query)))
        if not text:  # the best there is: chosen as for a start pack, held to what an answer is held to
            thresholds = recall.thresholds.model_copy(update={"start": recall.thresholds.on_demand})
            recall = recall.model_copy(
                update={"thresholds": thresholds, "scoped": recall.scoped.of_an_answer()}
            )
        context = Context(
            render=renderer(self._parts.kinds, clean, preset.layout.at(surface), with_ids=True),
            facts=situation.notes,
            log=log,
            in_context=selection,
            remaining_ms=_after_hooks if waits else _at_once,
            settles=self._nudges.settling_test(recall, None),
        )
        trace_id = new_id("trc", now_ms=now, entropy=self._parts.clock.entropy(5))
        delivered, trace = self._pipeline.run(
            query, preset=preset, settings=recall, context=context, trace_id=trace_id
        )
        if state is not None:
            trace = replace(trace, session=session, turn=state.turn, epoch=state.epoch)
        over_budget = (
            drop.memory_id for stage in trace.stages if stage.stage == "budget" for drop in stage.drops
        )
        answer = ContextAnswer(
            block=replace(delivered.block, surface=Surface.ON_DEMAND),
            too_long=tuple(dict.fromkeys(over_budget)),
            memories=memories_of(delivered.pack, clean),
        )
        if text and not settings.privacy.incognito:
            self._sessions.keep_trace(trace, self._parts.store, clean=clean, project_id=project)
        return answer, delivered.pack


def memories_of(pack: Pack, clean: Clean) -> tuple[Memory, ...]:
    """Return the memories of a pack in its order; the content of each is its redacted words in the block."""
    return tuple(replace(item.candidate.memory, content=clean(item.text) or "-") for item in pack.items)


def _at_once() -> float:
    """Return the milliseconds left for an answer: no limit."""
    return 1e9


def _after_hooks() -> float:
    """Wait at most `HOOK_WAIT_S` for hooks, then return the milliseconds left: no limit. Called before every costly step."""
    wait_for_pending_answers(HOOK_WAIT_S)
    return 1e9


def _side_by_side(states: Sequence[SessionState]) -> tuple[SessionState, ...]:
    """Return the first of `states` (newest signal first) and those with a signal less than `PARALLEL_SESSIONS_MS` before its last one."""
    if not states:
        return ()
    since = states[0].last_signal_at_ms - PARALLEL_SESSIONS_MS
    return tuple(state for state in states if state.last_signal_at_ms > since)


def allowed_tokens(state: SessionState, settings: RecallSettings, preset: Preset) -> tuple[int, str]:
    """Return the tokens that the next answer in this session may have, and ""; or 0, and why there is none.

    Counted is what the context holds: a compaction takes start pack and answers out of it.
    """
    most_answers, most_tokens = preset.answer_limits(settings)
    if most_answers and len(state.answers) >= most_answers:
        noun = "answer" if most_answers == 1 else "answers"
        return 0, f"This session has had its {most_answers} {noun}; what matters is in context already."
    budget = settings.budgets.on_demand
    if most_tokens:
        injected_tokens = (
            e.tokens
            for e in state.ledger
            if e.epoch == state.epoch and e.surface not in (Surface.HOST, Surface.ON_DEMAND)
        )
        budget = min(budget, most_tokens - sum(injected_tokens) - sum(state.answers))
    if budget < MIN_ANSWER_TOKENS and most_tokens:
        return 0, f"This session has had its {most_tokens} tokens; what matters is in context already."
    return budget, ""


def narrowed(visible: ScopeFilter, text: str, project: ProjectRecord | None) -> ScopeFilter:
    """Return the part of `visible` that a scope written as text names; a project may be named by its id or its name.

    Raises:
        InvalidScope: if it cannot be read, or names another project or an unknown language.
    """
    scope = Scope.parse(text)
    if scope.kind is ScopeKind.LANGUAGE:
        check_language(scope.key)
    if scope.kind is ScopeKind.LANGUAGE and any(s.kind is ScopeKind.UNIVERSAL for s in visible.scopes):
        return ScopeFilter.of(scope)  # a language is shared as the universal scope is
    if (
        scope.kind is ScopeKind.PROJECT
        and project is not None
        and scope.project_id in (project.id, project.name)
    ):
        whole_project = Scope(kind=ScopeKind.PROJECT, key=project.id)
        if not scope.task:
            return ScopeFilter.of(whole_project)
        return ScopeFilter.of(
            whole_project, Scope(kind=ScopeKind.PROJECT, key=f"{project.id}{TASK_MARK}{scope.task}")
        )
    if not visible.allows(scope):
        raise InvalidScope(
            f"{text} cannot be seen from here.", hint="Ask for `universal`, `language:X` or this project."
        )
    return ScopeFilter.of(scope)
