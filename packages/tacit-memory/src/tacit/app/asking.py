"""Language models of the user's own that name memories: in the pause after the agent's message, and at the prompt."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from threading import Lock

from tacit.app.projects import ProjectRegistry
from tacit.app.redaction import clean_session, outgoing
from tacit.app.sessions import LiveSessions
from tacit.app.values import Parts, SignalResult
from tacit.config.settings import RecallSettings, Settings
from tacit.errors import ProviderError
from tacit.frozen import frozen
from tacit.model.note import Note, NoteCause
from tacit.model.query import Query
from tacit.model.scope import ScopeFilter, ScopeKind
from tacit.model.session import Armed, SessionKey, SessionState
from tacit.model.signal import MessageEnded, Signal
from tacit.ports.store import ProjectRecord
from tacit.ports.writer import Writer, WriterRequest
from tacit.presets import preset_of
from tacit.providers.tokens import EstimateCounter
from tacit.recall.ask_model import NamedMemories, PoolList, PoolLists, make_request, read_named
from tacit.recall.stage import Judge, JudgeAnswer, Preset
from tacit.session.answer_priority import run_after_answer
from tacit.session.transitions import held_out, still_armed
from tacit.state.counted import PAUSE_MS, Spending
from tacit.state.registry import ANTICIPATION_SPENDING, JUDGE_SPENDING, NamedValue, PaidModel

# What both ways to ask a model for memories share: who may be asked, what it sees, what it costs. In: settings, a session. Out: requests.
#
# The limits are those of the write-up: nothing where the user is incognito; memories of the project and of universal scope, neither
# restricted nor of one session; every text redacted, whatever `privacy.redact` says.

REQUEST_MARGIN = 1.0
"""Factor on the token estimate of a whole request, as for the write-up: the usual factor is a quarter too high."""


@frozen
class PreparedNaming:
    """A request that asks a language model which memories of `listed` are needed, ready to be sent; `tokens` = estimate of its input."""

    request: WriterRequest
    listed: PoolList
    tokens: int


class NamingAccess:
    """Builds the requests that ask a model to name memories of one open store. Safe to use from several threads."""

    def __init__(self, parts: Parts, projects: ProjectRegistry) -> None:
        self._parts = parts
        self._projects = projects
        self._lists = PoolLists(store=parts.store, kinds=parts.kinds)
        self._tokens = EstimateCounter(margin=REQUEST_MARGIN)

    def settings_of(self, state: SessionState) -> Settings:
        """Return the settings that hold for a session now."""
        return self._parts.settings.current(state.project_root or None, agent=state.agent)

    def prepare_naming(
        self,
        state: SessionState,
        project: ProjectRecord | None,
        settings: Settings,
        *,
        prompt: str | None,
    ) -> PreparedNaming | None:
        """Return a request that asks a model which memories a session needs, ready to be sent; None = there is no memory to choose from.

        Args:
            state: of the session.
            project: of the session.
            settings: that hold for it.
            prompt: what was just sent; None = it is not known yet.
        """
        clean = outgoing(settings, self._parts.redactor)
        listed = self._lists.of(
            self._scope(state, project, settings),
            kinds=settings.recall.kinds,
            prepare=clean,
            at_ms=self._parts.clock.now_ms(),
        )
        if not listed.memories:
            return None
        request = make_request(
            listed,
            clean_session(state, clean),
            prompt=prompt,
            prepare=clean,
        )
        texts = (request.system, request.user, json.dumps(request.schema))
        tokens = sum(self._tokens.count(text) for text in texts)
        return PreparedNaming(request=request, listed=listed, tokens=tokens)

    def _scope(self, state: SessionState, project: ProjectRecord | None, settings: Settings) -> ScopeFilter:
        """Return the scopes that the session's project may see, without those of linked projects."""
        visible = self._projects.visible(
            project, agent=state.agent, share_preferences=settings.project.share_preferences
        )
        own_id = project.id if project else ""
        return ScopeFilter.of(
            *(scope for scope in visible.scopes if scope.kind is not ScopeKind.PROJECT or scope.key == own_id)
        )


class _NamingModel:
    """One model of the user's own that names memories: its account, and the one thread that asks it. `_paid` is None if the settings name no model."""

    def __init__(
        self,
        parts: Parts,
        access: NamingAccess,
        *,
        writer: Writer | None,
        account: NamedValue[Spending],
        tokens_per_day: int,
        pause_ms: int = PAUSE_MS,
        thread: str,
    ) -> None:
        self._parts = parts
        self._access = access
        self._paid: PaidModel | None = None
        if writer is not None:
            self._paid = PaidModel(
                writer=writer,
                account=account,
                tokens_per_day=tokens_per_day,
                store=parts.store,
                clock=parts.clock,
                pause_ms=pause_ms,
            )
        self._jobs = ThreadPoolExecutor(max_workers=1, thread_name_prefix=thread)

    def close(self) -> None:
        """Cancel the request that runs, wait for its thread and close the model; nothing more is asked."""
        if self._paid is not None:
            self._paid.stop()
            self._paid.writer.cancel()
        self._jobs.shutdown(wait=True, cancel_futures=True)
        if self._paid is not None:
            self._paid.writer.close()


def may_ask(state: SessionState, settings: Settings) -> bool:
    """Whether a model may be asked for this session: its answer would be used, and its texts may leave."""
    return not (settings.privacy.incognito or state.incognito) and _uses_answer(
        state, settings.recall, preset_of(settings.preset)
    )


def _uses_answer(state: SessionState, settings: RecallSettings, preset: Preset) -> bool:
    recall_active = settings.enabled and not state.muted and not held_out(state, settings.holdout)
    return recall_active and preset.gated


# A model at the prompt: it names what the prompt needs, while the prompt waits. In: a query. Out: its answer, or why there is none.
#
# The prompt waits no longer than `recall.judge.deadline_ms`, and leaves the local search its time. Everything that may wait (the
# store, the model) is done on a thread of its own, one request at a time: a late answer is still read there, so that its cost is known. A late answer
# counts as a failure: after it the model is not asked for a minute, then twice as long after each further one.

LOCAL_MS = 300.0
"""Milliseconds of a recall that are kept for the local search; less if `recall.deadline_ms` is shorter."""
LEAST_MS = 100.0
"""Least milliseconds for the model; if fewer are left, it is not asked."""
JUDGE_PAUSE_MS = 60_000
"""Milliseconds in which the judge is not asked after a failure; twice as many after each further one."""
LATE = "The model answered after the deadline of the prompt."


def prompt_ms(settings: RecallSettings) -> int:
    """Return the milliseconds that a prompt may take: those of the recall, plus those of the model if one is set."""
    return settings.deadline_ms + (settings.judge.deadline_ms if settings.judge.provider != "off" else 0)


class PromptJudge(_NamingModel):
    """Asks the model of `recall.judge` for one engine. Safe to use from several threads; one request runs at a time."""

    def __init__(self, parts: Parts, *, access: NamingAccess) -> None:
        super().__init__(
            parts,
            access,
            writer=parts.judging,
            account=JUDGE_SPENDING,
            tokens_per_day=parts.settings.current().recall.judge.tokens_per_day,
            pause_ms=JUDGE_PAUSE_MS,
            thread="tacit-judge",
        )
        self._busy = Lock()

    def of(self, state: SessionState, project: ProjectRecord | None, settings: Settings) -> Judge | None:
        """Return a function that asks the model for a prompt of this session and waits for the answer; None = no model may be asked."""
        paid = self._paid
        if paid is None or settings.recall.judge.provider == "off" or not may_ask(state, settings):
            return None

        def judge(query: Query, recall: RecallSettings, remaining_ms: Callable[[], float]) -> JudgeAnswer:
            most_ms = min(float(recall.judge.deadline_ms), remaining_ms() - min(LOCAL_MS, recall.deadline_ms))
            if most_ms < LEAST_MS:
                return _let_gate_decide(NoteCause.JUDGE_NO_TIME)
            if not self._busy.acquire(blocking=False):
                return _let_gate_decide(NoteCause.JUDGE_BUSY)
            try:
                ask = partial(self._ask, paid, query, state, project, settings, most_ms)
                future = self._jobs.submit(self._run, paid, ask)
            except RuntimeError:  # the store is being closed
                self._busy.release()
                return _let_gate_decide(NoteCause.JUDGE_FAILED)
            began_ms = self._parts.clock.monotonic_ms()
            done, _ = wait((future,), timeout=most_ms / 1000)
            took_ms = self._parts.clock.monotonic_ms() - began_ms
            if not done:
                late = Note(cause=NoteCause.JUDGE_LATE, detail=paid.writer.name, took_ms=round(took_ms, 1))
                return JudgeAnswer(named=None, note=late)
            if future.exception() is not None:
                return _let_gate_decide(NoteCause.JUDGE_FAILED)
            answer = future.result()
            return replace(answer, note=replace(answer.note, took_ms=round(took_ms, 1)))

        return judge

    def _run(self, paid: PaidModel, ask: Callable[[], JudgeAnswer]) -> JudgeAnswer:
        try:
            with paid.counting_errors():
                return ask()
        finally:
            self._busy.release()

    def _ask(  # noqa: PLR0917 - what a request is made of
        self,
        paid: PaidModel,
        query: Query,
        state: SessionState,
        project: ProjectRecord | None,
        settings: Settings,
        most_ms: float,
    ) -> JudgeAnswer:
        began_ms = self._parts.clock.monotonic_ms()
        prepared = self._access.prepare_naming(
            state,
            project,
            settings,
            prompt=query.raw_text,
        )
        if prepared is None:
            return _let_gate_decide(NoteCause.JUDGE_NO_LIST)
        spent = paid.begin(at_once=False)
        if spent is None:
            return _let_gate_decide(NoteCause.JUDGE_PAUSED)
        reserved = paid.reserve(prepared.tokens, spent)
        if reserved is None:
            return _let_gate_decide(NoteCause.JUDGE_OVER_BUDGET)
        return self._answer(paid, prepared, reserved, until_ms=began_ms + most_ms)

    def _answer(
        self, paid: PaidModel, prepared: PreparedNaming, reserved: Spending, *, until_ms: float
    ) -> JudgeAnswer:
        memories = prepared.listed.memories
        try:
            answer, named = paid.ask(prepared.request, reserved, read=lambda text: read_named(text, memories))
        except ProviderError as error:
            return _let_gate_decide(NoteCause.JUDGE_FAILED, error.reason)
        late = self._parts.clock.monotonic_ms() > until_ms
        paid.settle(
            answer, prepared.tokens, reserved=reserved, accepted=len(named.memories), dropped=named.ignored,
            failure=LATE if late else "",
        )  # fmt: skip
        note = Note(
            cause=NoteCause.JUDGED,
            detail=paid.writer.name,
            count=len(named.memories),
            of=len(memories),
        )
        return JudgeAnswer(
            named={memory.memory_id: memory.probability for memory in named.memories}, note=note
        )


def _let_gate_decide(cause: NoteCause, detail: str = "") -> JudgeAnswer:
    """Return an answer that names no memory, so that the gate decides, with the cause as its note."""
    return JudgeAnswer(named=None, note=Note(cause=cause, detail=detail))


# A model in the pause: after a message of the agent it names what the next steps will need. In: signals. Out: armed memories.
#
# One background thread, one request at a time; no surface waits for it. Of a session only the newest pause counts: a request for
# one that is over is not sent, and an answer that comes after the next prompt still serves the tool calls of that turn. What fails leaves
# the record as it is and stands on the account (`state.registry.ANTICIPATION_SPENDING`).

TURN_S = 5.0
"""Seconds that an answer waits for access to its session's record; after that it is dropped."""


@frozen
class _Pause:
    """The point of a session at which a message of the agent ended, and its project."""

    turn: int
    epoch: int
    project: ProjectRecord | None


class Anticipation(_NamingModel):
    """Asks the model of `recall.anticipate` on a background thread and stores what it names as armed in the session."""

    def __init__(self, parts: Parts, *, access: NamingAccess, sessions: LiveSessions) -> None:
        super().__init__(
            parts,
            access,
            writer=parts.anticipating,
            account=ANTICIPATION_SPENDING,
            tokens_per_day=parts.settings.current().recall.anticipate.tokens_per_day,
            thread="tacit-anticipate",
        )
        self._sessions = sessions
        self._lock = Lock()
        self._due: dict[SessionKey, _Pause] = {}
        self._running: set[Future[None]] = set()

    def after(self, signal: Signal, handled: SignalResult) -> None:
        """If `signal` ends a message of the main agent, have the model asked in the background once the answer is out."""
        if self._paid is None or not isinstance(signal, MessageEnded) or signal.agent_id:
            return
        state = handled.state
        if not self._may_ask(state):
            return
        pause = _Pause(turn=state.turn, epoch=state.epoch, project=handled.project)
        run_after_answer(lambda: self._submit(state.key, pause))

    def _may_ask(self, state: SessionState) -> bool:
        settings = self._access.settings_of(state)
        return settings.recall.anticipate.provider != "off" and may_ask(state, settings)

    def _submit(self, key: SessionKey, pause: _Pause) -> None:
        with self._lock:
            waits = key in self._due
            self._due[key] = pause
            if waits:
                return
            try:
                future = self._jobs.submit(self._run, key)
            except RuntimeError:  # the store is being closed
                return
            self._running.add(future)
        future.add_done_callback(self._ended)

    def _ended(self, future: Future[None]) -> None:
        with self._lock:
            self._running.discard(future)

    def _run(self, key: SessionKey) -> None:
        with self._lock:
            pause = self._due.pop(key)
        if self._paid is not None:
            with self._paid.counting_errors():
                self._anticipate(self._paid, key, pause)

    def _anticipate(self, paid: PaidModel, key: SessionKey, pause: _Pause) -> None:
        state = self._sessions.load(key)
        if state is None or (state.turn, state.epoch) != (pause.turn, pause.epoch):
            return
        if not self._may_ask(state):
            return
        settings = self._access.settings_of(state)
        prepared = self._access.prepare_naming(
            state,
            pause.project,
            settings,
            prompt=None,
        )
        named = self._ask(paid, prepared) if prepared is not None else None
        if prepared is not None and named is not None:
            self._arm(key, pause, prepared, named, model=paid.writer.name)

    def _ask(self, paid: PaidModel, prepared: PreparedNaming) -> NamedMemories | None:
        """Ask the model, record the cost, and return what it names; None = it was not asked (pause or budget), or failed."""
        memories = prepared.listed.memories
        with paid.asking:
            spent = paid.begin(at_once=False)
            reserved = paid.reserve(prepared.tokens, spent) if spent is not None else None
            if reserved is None:
                return None
            try:
                answer, named = paid.ask(
                    prepared.request, reserved, read=lambda text: read_named(text, memories)
                )
            except ProviderError:
                return None  # it stands on the account
            paid.settle(
                answer,
                prepared.tokens,
                reserved=reserved,
                accepted=len(named.memories),
                dropped=named.ignored,
            )
        return named

    def _arm(
        self, key: SessionKey, pause: _Pause, prepared: PreparedNaming, named: NamedMemories, *, model: str
    ) -> None:
        listed = prepared.listed
        armed = Armed(
            epoch=pause.epoch,
            turn=pause.turn,
            at_ms=listed.at_ms,
            model=model,
            memories=named.memories,
            listed=tuple(memory.id for memory in listed.memories),
        )
        with self._sessions.turn(key, timeout_s=TURN_S) as acquired:
            newest = self._sessions.load(key) if acquired else None
            if newest is not None and still_armed(newest, armed) is not None:
                self._sessions.save(replace(newest, armed=armed))

    def flush(self) -> None:
        """Wait until the requests that were begun have ended, at most 60 seconds."""
        with self._lock:
            running = tuple(self._running)
        wait(running, timeout=60)
