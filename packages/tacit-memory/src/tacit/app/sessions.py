"""Live session records: one owner, signals of one session in order, written behind the answer; and the feed of the traces that are stored."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Lock, RLock
from time import monotonic

from tacit.app.redaction import clean_session, clean_trace, raw_texts_of
from tacit.errors import NotFound, StoreBusy
from tacit.model.session import SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.ports.store import SessionStore, TraceStore
from tacit.safety.escape import Clean
from tacit.session.answer_priority import run_after_answer

# New traces to whoever looks on. In: traces as they are stored, cleaned already. Out: calls of those who asked for them.
#
# Knows no event loop: a listener is called on the thread that stored the trace and must not block. Keeps nothing.

Listener = Callable[[Trace], None]


class TraceFeed:
    """Hands every stored trace to its listeners. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: tuple[Listener, ...] = ()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every trace stored from now on; return a function that ends that."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def leave() -> None:
            with self._lock:
                self._listeners = tuple(other for other in self._listeners if other is not listener)

        return leave

    def publish(self, traces: Iterable[Trace]) -> None:
        """Call every listener with each of `traces`, in order, on this thread."""
        listeners = self._listeners
        for trace in traces if listeners else ():
            for listener in listeners:
                listener(trace)


# Live session records: one owner, signals of one session in order, written behind the answer.
#
# The newest record of a session is kept in memory; the store is written by one background thread in the order of the
# signals, so that the answer need not wait for the disk. `flush` waits for it; a crash loses at most the last moments.
# It writes when nobody is waiting for an answer: on a busy machine it would otherwise take the processor from the next one.
# Of a session that has moved on meanwhile only the newest record is written, with the traces of all its signals.
# While another holds the store for longer than a writer waits (a purge, a check), what is to be written is kept and tried again.

NOBODY = SessionKey(host="", session_id="")
"""The session key of a question that no session asks."""
MAX_LIVE = 500
WRITE_DELAY_S = 0.1
"""Seconds after the last signal before the writer begins."""
MAX_WRITE_DELAY_S = 1.0
"""Most seconds from a signal to the writing of its record, however busy the session is."""
RETRY_PAUSE_S = 1.0
"""Seconds to wait after a write that the store was too busy for; the write itself waits for the store, too."""
RETRY_LIMIT_S = 600.0
"""Seconds for which a write is tried again; if the store is busy for longer, the write is given up."""
_MOST_AT_END = 2
"""Most writes that still try a busy store while this closes; the others are given up."""

MOST_TYPED = 400_000
"""Most characters of one session's prompts that are kept."""
ANNOUNCED_MS = 60_000
"""Milliseconds after its hook in which a call belongs to the session of the hook."""
MOST_ANNOUNCED = 64


class LiveSessions:
    """The newest records of the sessions at work, in memory.

    It writes them to the store in the background, in order, and lets one signal of a session in at a time
    (`turn`). Safe to use from several threads.
    """

    def __init__(
        self,
        *,
        store: SessionStore,
        clean: Callable[[SessionState], Clean],
        on_error: Callable[[BaseException], None],
        again_s: float = RETRY_PAUSE_S,
        tries_s: float = RETRY_LIMIT_S,
    ) -> None:
        """Keep records over `store`; `clean` gives what takes secrets out of a session's texts before they are stored.

        A write that the store is too busy for is tried again every `again_s` seconds for `tries_s`, and once more at `close`.
        """
        self._store = store
        self._clean = clean
        self._on_error = on_error
        self._guard = Lock()
        self._locks: OrderedDict[SessionKey, RLock] = OrderedDict()
        self._states: dict[SessionKey, SessionState] = {}
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tacit-sessions")
        self._last: Future[None] | None = None
        self._waiting: Counter[SessionKey] = Counter()
        self._traces: dict[SessionKey, list[Trace]] = {}
        self._queued: set[SessionKey] = set()
        self._signal_s = 0.0
        self._deleted: OrderedDict[SessionKey, None] = OrderedDict()
        self._hurry = Event()
        self._closing = Event()
        self._again_s = again_s
        self._tries_s = tries_s
        self._in_vain = 0
        self._typed: OrderedDict[SessionKey, tuple[str, ...]] = OrderedDict()
        self._announced: list[tuple[str, SessionKey, int]] = []
        self.feed = TraceFeed()

    def keep_typed(self, key: SessionKey, prompt: str) -> None:
        """Keep a whole prompt that the user typed, in memory only: it vouches for what the agent of its session notes."""
        with self._guard:
            typed = (*self._typed.pop(key, ()), prompt[:MOST_TYPED])
            while len(typed) > 1 and sum(map(len, typed)) > MOST_TYPED:
                typed = typed[1:]
            self._typed[key] = typed
            while len(self._typed) > MAX_LIVE:
                self._typed.popitem(last=False)

    def typed(self, key: SessionKey) -> tuple[str, ...]:
        """Return what the user typed in a session, oldest first; after a restart of this process what its record holds."""
        with self._guard:
            typed = self._typed.get(key, ())
        state = None if typed else self.load(key)
        return typed or (state.recent_prompts if state else ())

    def note_turn(self, key: SessionKey, **turns: int) -> None:
        """Set `noted_turn` or `unkept_turn` in the newest record of a session; do nothing if the session is unknown or busy."""
        with self.turn(key, timeout_s=5.0) as acquired:
            state = self.load(key) if acquired else None
            if state is not None:
                self.save(replace(state, **turns))

    def announce(self, key: SessionKey, mark: str, *, at_ms: int) -> None:
        """Remember that a session is about to call one of Tacit's tools; `mark` identifies the call."""
        with self._guard:
            self._announced = [*self._announced, (mark, key, at_ms)][-MOST_ANNOUNCED:]

    def take_announced(self, mark: str, *, now_ms: int) -> tuple[SessionKey, ...]:
        """Return the sessions that announced this call within the last minute, each once; one announcement stands for one call.

        Where several sessions announced the same call, nobody knows which of them it is from.
        """
        with self._guard:
            self._announced = [entry for entry in self._announced if now_ms - entry[2] <= ANNOUNCED_MS]
            keys = tuple(dict.fromkeys(key for announced, key, _ in self._announced if announced == mark))
            if len(keys) == 1:  # a host with two installations of the hook announces a call twice
                self._announced = [entry for entry in self._announced if entry[0] != mark]
        return keys

    @contextmanager
    def turn(self, key: SessionKey, *, timeout_s: float) -> Generator[bool]:
        """Hold the session `key` for one signal; yield whether it was free within `timeout_s` seconds. Blocks meanwhile."""
        with self._guard:
            lock = self._locks.setdefault(key, RLock())
            self._locks.move_to_end(key)
            if len(self._locks) > MAX_LIVE:
                self._shrink()
        taken = lock.acquire(timeout=max(0.0, timeout_s))
        try:
            yield taken
        finally:
            if taken:
                lock.release()

    def _shrink(self) -> None:
        while len(self._locks) > MAX_LIVE:
            key, lock = next(iter(self._locks.items()))
            if self._waiting[key] or not lock.acquire(blocking=False):
                break  # what is not written yet must not be read from the store
            lock.release()
            del self._locks[key]
            self._states.pop(key, None)

    @property
    def states(self) -> tuple[SessionState, ...]:
        """The records in memory, of sessions at work."""
        return tuple(self._states.copy().values())

    def newest(self, *, limit: int) -> tuple[SessionState, ...]:
        """Return the newest records of all sessions but incognito ones, including those not written yet; newest signal first."""
        states = {state.key: state for state in self._store.list_sessions(limit=limit)}
        states |= {state.key: state for state in self.states if not state.incognito}
        not_deleted = (state for state in states.values() if state.key not in self._deleted)
        return tuple(
            sorted(not_deleted, key=lambda state: (-state.last_signal_at_ms, str(state.key)))[:limit]
        )

    def load(self, key: SessionKey) -> SessionState | None:
        """Return the newest record of a session, from memory or the store; None = unknown or deleted."""
        state = self._states.get(key)
        if state is not None or key in self._deleted:
            return state
        return self._store.load_session(key)

    def save(self, state: SessionState, *, trace: Trace | None = None) -> None:
        """Make `state` the newest record and have it written in the background; nothing of an incognito session is written.

        A late signal of a deleted session brings nothing back.
        """
        if state.key in self._deleted:
            return
        self._states[state.key] = state
        self._signal_s = monotonic()
        if state.incognito:
            return
        with self._guard:
            queued = state.key in self._queued
            self._queued.add(state.key)
            if trace is not None:
                self._traces.setdefault(state.key, []).append(trace)
        if not queued:
            self._submit(state.key, lambda: self._write(state.key))

    def write_later(self, key: SessionKey, write: Callable[[], None]) -> None:
        """Have `write` called on the writer thread, in order with the other writes of this session; returns at once."""
        self._submit(key, write)

    def keep_trace(self, trace: Trace, store: TraceStore, *, clean: Clean, project_id: str) -> None:
        """Have the trace of a question cleaned and stored in the background; `project_id` is the project it was asked in."""

        def write() -> None:
            stored = clean_trace(trace, clean, project_id=project_id)
            store.save_trace(stored)
            self.feed.publish([stored])

        self._submit(NOBODY, write)

    def _write(self, key: SessionKey) -> None:
        """Store the newest record of a session and its waiting traces; what cannot be stored now waits for the next write.

        Raises:
            StoreBusy: if another writes for too long.
        """
        with self._guard:
            self._queued.discard(key)
            traces = self._traces.pop(key, [])
            state = self._states.get(key)
        if state is None or state.incognito:
            return  # deleted, or gone dark, meanwhile
        clean = self._clean(state)
        raw_texts = raw_texts_of(state) if traces else ()
        cleaned = [
            clean_trace(trace, clean, raw_texts=raw_texts, project_id=state.project_id) for trace in traces
        ]
        try:
            self._store.save_session(clean_session(state, clean), traces=cleaned)
        except StoreBusy:
            with self._guard:
                self._traces[key] = [*traces, *self._traces.get(key, ())]
            raise
        self.feed.publish(cleaned)

    def mute(self, session: SessionKey, *, muted: bool) -> SessionState:
        """Switch injection off or on for one session, and return its new record.

        Raises:
            NotFound: if the session is unknown.
        """
        with self.turn(session, timeout_s=5.0):
            state = self.load(session)
            if state is None:
                raise NotFound(
                    f"No session is called {session}.", hint="`tacit status` lists the newest ones."
                )
            state = replace(state, muted=muted)
            self.save(state)
        return state

    def drop(self, key: SessionKey) -> None:
        """Drop the record of a deleted session in memory now, and in the store in the background."""
        self._states.pop(key, None)
        self._deleted[key] = None
        while len(self._deleted) > MAX_LIVE:
            self._deleted.popitem(last=False)
        self._submit(key, lambda: self._store.delete_session(key))

    def drop_written(self) -> None:
        """Drop from memory the records that are written, because the store was rewritten: they are read from it again. Incognito records stay."""
        with self._guard:
            for key, state in list(self._states.items()):
                if not (self._waiting[key] or state.incognito):
                    del self._states[key]

    def _submit(self, key: SessionKey, write: Callable[[], None]) -> None:
        self._waiting[key] += 1
        latest = monotonic() + MAX_WRITE_DELAY_S

        def run() -> None:
            while (remaining_s := min(latest, self._signal_s + WRITE_DELAY_S) - monotonic()) > 0:
                if self._hurry.wait(remaining_s):
                    break
            try:
                self._write_until_stored(write)
            except Exception as error:  # noqa: BLE001 - a background job's boundary: the answer is out already
                self._on_error(error)
            finally:
                self._waiting[key] -= 1
                if not self._waiting[key]:
                    del self._waiting[key]

        def submit() -> None:
            self._last = self._writer.submit(run)

        run_after_answer(submit)

    def _write_until_stored(self, write: Callable[[], None]) -> None:
        """Call `write`, again and again while the store is busy, within bounds. Blocks.

        Raises:
            StoreBusy: if it was held for too long, or this is to end.
        """
        until = monotonic() + self._tries_s
        while True:
            ending = self._closing.is_set()
            if self._in_vain >= _MOST_AT_END:
                raise StoreBusy("Another program held the store for too long.")
            try:
                write()
            except StoreBusy:
                self._in_vain += ending
                if ending or monotonic() >= until:
                    raise
            else:
                return
            self._closing.wait(self._again_s)

    def flush(self, *, timeout_s: float = 10.0) -> None:
        """Wait until everything handed to the writer is in the store.

        Raises:
            StoreBusy: if that takes longer than `timeout_s`.
        """
        last = self._last
        if last is not None and not last.done():
            self._hurry.set()
            try:
                last.result(timeout=timeout_s)
            except TimeoutError:
                raise StoreBusy(
                    "The last messages are not stored yet: another program writes to the store.",
                    hint="Try again in a moment.",
                ) from None
            finally:
                self._hurry.clear()

    @property
    def cached_count(self) -> int:
        """How many records are in memory."""
        return len(self._states)

    def close(self) -> None:
        """Write what is left, trying each once more at most, and stop the writer."""
        self._closing.set()
        self._hurry.set()
        self._writer.shutdown(wait=True)
