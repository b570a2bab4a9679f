"""A model at the prompt: it names what the prompt needs, while the prompt waits. In: a query. Out: its answer, or why there is none.

The prompt waits no longer than `recall.judge.deadline_ms`, and leaves the local search its time. Everything that may wait (the
store, the model) is done on a thread of its own, one request at a time: a late answer is still read there, so that its cost is known. A late answer
counts as a failure: after it the model is not asked for a minute, then twice as long after each further one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from threading import Lock

from tacit.app.asking.access import NamingAccess, PreparedNaming, may_ask
from tacit.app.parts import Parts
from tacit.config.settings import RecallSettings, Settings
from tacit.errors import ProviderError
from tacit.model.note import Note, NoteCause
from tacit.model.query import Query
from tacit.model.session import SessionState
from tacit.ports.store import ProjectRecord
from tacit.ports.writer import Writer
from tacit.recall.ask_model import read_named
from tacit.recall.stage import Judge, JudgeAnswer
from tacit.state.counted import Spending
from tacit.state.paid_requests import PaidModel
from tacit.state.registry import JUDGE_SPENDING

LOCAL_MS = 300.0
"""So much of a recall's time is left for the local search, if its own deadline is not shorter."""
LEAST_MS = 100.0
"""With less time the model is not asked."""
PAUSE_MS = 60_000
LATE = "The model answered after the deadline of the prompt."


def prompt_ms(settings: RecallSettings) -> int:
    """Milliseconds that a prompt may take: those of the recall, and of the model where there is one."""
    return settings.deadline_ms + (settings.judge.deadline_ms if settings.judge.provider != "off" else 0)


class PromptJudge:
    """Asks the model of `recall.judge` for one engine. Safe to use from several threads; one request runs at a time."""

    def __init__(self, *, parts: Parts, access: NamingAccess) -> None:
        self._parts = parts
        self._access = access
        self._writer: Writer | None = parts.judging
        self._paid: PaidModel | None = None
        if parts.judging is not None:
            self._paid = PaidModel(
                writer=parts.judging,
                account=JUDGE_SPENDING,
                tokens_per_day=parts.settings.current().recall.judge.tokens_per_day,
                store=parts.store,
                clock=parts.clock,
                pause_ms=PAUSE_MS,
            )
        self._jobs = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-judge")
        self._busy = Lock()

    def of(self, state: SessionState, project: ProjectRecord | None, settings: Settings) -> Judge | None:
        """Asks for a prompt of this session; None where no model may be asked."""
        paid = self._paid
        if paid is None or settings.recall.judge.provider == "off" or not may_ask(state, settings):
            return None

        def judge(query: Query, recall: RecallSettings, remaining_ms: Callable[[], float]) -> JudgeAnswer:
            most_ms = min(float(recall.judge.deadline_ms), remaining_ms() - min(LOCAL_MS, recall.deadline_ms))
            if most_ms < LEAST_MS:
                return _gate(NoteCause.JUDGE_NO_TIME)
            if not self._busy.acquire(blocking=False):
                return _gate(NoteCause.JUDGE_BUSY)
            try:
                ask = partial(self._ask, paid, query, state, project, settings, most_ms)
                future = self._jobs.submit(self._run, paid, ask)
            except RuntimeError:  # the store is being closed
                self._busy.release()
                return _gate(NoteCause.JUDGE_FAILED)
            began_ms = self._parts.clock.monotonic_ms()
            done, _ = wait((future,), timeout=most_ms / 1000)
            took_ms = self._parts.clock.monotonic_ms() - began_ms
            if not done:
                late = Note(cause=NoteCause.JUDGE_LATE, detail=paid.writer.name, took_ms=round(took_ms, 1))
                return JudgeAnswer(named=None, note=late)
            if future.exception() is not None:
                return _gate(NoteCause.JUDGE_FAILED)
            answer = future.result()
            return replace(answer, note=replace(answer.note, took_ms=round(took_ms, 1)))

        return judge

    def _run(self, paid: PaidModel, ask: Callable[[], JudgeAnswer]) -> JudgeAnswer:
        try:
            with paid.counting_surprises():
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
        prepared = self._access.prepare(
            state,
            project,
            settings,
            prompt=query.raw_text,
        )
        if prepared is None:
            return _gate(NoteCause.JUDGE_NO_LIST)
        spent = paid.begin(at_once=False)
        if spent is None:
            return _gate(NoteCause.JUDGE_PAUSED)
        reserved = paid.reserve(prepared.tokens, spent)
        if reserved is None:
            return _gate(NoteCause.JUDGE_OVER_BUDGET)
        return self._answer(paid, prepared, reserved, until_ms=began_ms + most_ms)

    def _answer(
        self, paid: PaidModel, prepared: PreparedNaming, reserved: Spending, *, until_ms: float
    ) -> JudgeAnswer:
        memories = prepared.listed.memories
        try:
            answer, named = paid.ask(prepared.request, reserved, read=lambda text: read_named(text, memories))
        except ProviderError as error:
            return _gate(NoteCause.JUDGE_FAILED, error.reason)
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

    def close(self) -> None:
        """Ask for nothing more."""
        if self._paid is not None:
            self._paid.stop()
            self._paid.writer.cancel()
        self._jobs.shutdown(wait=True, cancel_futures=True)
        if self._paid is not None:
            self._paid.writer.close()


def _gate(cause: NoteCause, detail: str = "") -> JudgeAnswer:
    """The gate decides."""
    return JudgeAnswer(named=None, note=Note(cause=cause, detail=detail))
