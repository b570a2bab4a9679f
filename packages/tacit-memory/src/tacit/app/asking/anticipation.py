"""A model in the pause: after a message of the agent it names what the next steps will need. In: signals. Out: armed memories.

One background thread, one request at a time; no surface waits for it. Of a session only the newest pause counts: a request for
one that is over is not sent, and an answer that comes after the next prompt still serves the tool calls of that turn. What fails leaves
the record as it is and stands on the account (`state.registry.ANTICIPATION_SPENDING`).
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from threading import Lock

from tacit.app.asking.access import NamingAccess, PreparedNaming, may_ask
from tacit.app.parts import Parts
from tacit.app.sessions import LiveSessions
from tacit.app.signals import SignalResult
from tacit.errors import ProviderError
from tacit.model.session import Armed, SessionKey, SessionState
from tacit.model.signal import MessageEnded, Signal
from tacit.ports.store import ProjectRecord
from tacit.recall.ask_model import Named, read_named
from tacit.session.answer_priority import run_after_answer
from tacit.session.arming import still_armed
from tacit.state.paid_requests import PaidModel
from tacit.state.registry import ANTICIPATION_SPENDING

TURN_S = 5.0
"""So long an answer waits for its session's record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pause:
    """The end of a message of the agent."""

    turn: int
    epoch: int
    project: ProjectRecord | None


class Anticipation:
    """Asks the model of `recall.anticipate` behind the answers of one engine."""

    def __init__(self, *, parts: Parts, access: NamingAccess, sessions: LiveSessions) -> None:
        self._parts = parts
        self._access = access
        self._sessions = sessions
        self._paid: PaidModel | None = None
        if parts.anticipating is not None:
            self._paid = PaidModel(
                writer=parts.anticipating,
                account=ANTICIPATION_SPENDING,
                tokens_per_day=parts.settings.current().recall.anticipate.tokens_per_day,
                store=parts.store,
                clock=parts.clock,
            )
        self._jobs = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-anticipate")
        self._lock = Lock()
        self._due: dict[SessionKey, _Pause] = {}
        self._running: set[Future[None]] = set()

    def after(self, signal: Signal, handled: SignalResult) -> None:
        """Have the model asked once the answer is out, where a message of the main agent ended."""
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
            with self._paid.counting_surprises():
                self._anticipate(self._paid, key, pause)

    def _anticipate(self, paid: PaidModel, key: SessionKey, pause: _Pause) -> None:
        state = self._sessions.load(key)
        if state is None or (state.turn, state.epoch) != (pause.turn, pause.epoch):
            return
        if not self._may_ask(state):
            return
        settings = self._access.settings_of(state)
        prepared = self._access.prepare(
            state,
            pause.project,
            settings,
            prompt=None,
        )
        named = self._ask(paid, prepared) if prepared is not None else None
        if prepared is not None and named is not None:
            self._arm(key, pause, prepared, named, model=paid.writer.name)

    def _ask(self, paid: PaidModel, prepared: PreparedNaming) -> Named | None:
        """What the model names; None = it was not asked, or failed."""
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
        self, key: SessionKey, pause: _Pause, prepared: PreparedNaming, named: Named, *, model: str
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
        """Wait for the requests that were begun."""
        with self._lock:
            running = tuple(self._running)
        wait(running, timeout=60)

    def close(self) -> None:
        """End the request that runs, and ask for nothing more."""
        if self._paid is not None:
            self._paid.stop()
            self._paid.writer.cancel()
        self._jobs.shutdown(wait=True, cancel_futures=True)
        if self._paid is not None:
            self._paid.writer.close()
