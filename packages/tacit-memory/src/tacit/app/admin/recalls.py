"""Recalls in one line each, and sessions turn by turn. In: a store. Out: rows for lists and pages. Decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from tacit.app.reasons import silence_text
from tacit.app.visibility import Visibility, first_rows
from tacit.errors import NotFound
from tacit.frozen import frozen
from tacit.model.pack import Surface
from tacit.model.session import Exposure, PendingFailure, SessionKey, SessionState
from tacit.model.trace import SilenceCause, Trace
from tacit.ports.store import MemoryFilter, Store, TraceFilter
from tacit.recall.finished import in_shadow
from tacit.recall.render import TRACED_CHARS
from tacit.state.registry import CHECKPOINT, USAGE

TRACES_OF_A_SESSION = 500
EXPOSURES_OF_A_SESSION = 2000
MOST_SESSIONS = 10_000


@frozen
class RecallRow:
    """One recall. `injected` = ids of injected memories; `best_relevance` = relevance of the best candidate, null without one."""

    id: str
    session: str
    turn: int
    epoch: int
    surface: Surface
    at_ms: int
    preset: str
    text: str
    injected: tuple[str, ...]
    candidates: int
    silence: str
    cause: SilenceCause | None
    shadow: bool
    tokens: int
    budget_tokens: int
    took_ms: float
    threshold: float
    best_relevance: float | None


def row_of(trace: Trace) -> RecallRow:
    """Return `trace` as one row of a list."""
    return RecallRow(
        id=trace.id,
        session=trace.session,
        turn=trace.turn,
        epoch=trace.epoch,
        surface=trace.surface,
        at_ms=trace.at_ms,
        preset=trace.preset,
        text=trace.text,
        injected=trace.injected,
        candidates=len(trace.candidates),
        silence=silence_text(trace),
        cause=trace.cause,
        shadow=in_shadow(trace),
        tokens=trace.tokens,
        budget_tokens=trace.budget_tokens,
        took_ms=trace.took_ms,
        threshold=trace.threshold,
        best_relevance=max((candidate.relevance for candidate in trace.candidates), default=None),
    )


def with_memory_contents(store: Store, traces: Sequence[Trace]) -> tuple[Trace, ...]:
    """Return `traces` with the missing texts of candidates filled in from the memories as they are now."""
    missing_ids = {
        candidate.memory_id for trace in traces for candidate in trace.candidates if not candidate.content
    }
    if not missing_ids:
        return tuple(traces)
    words = {memory.id: memory.content for memory in store.get(sorted(missing_ids), scope=store.scopes())}
    return tuple(
        replace(
            trace,
            candidates=tuple(
                candidate
                if candidate.content
                else replace(candidate, content=words.get(candidate.memory_id, "")[:TRACED_CHARS])
                for candidate in trace.candidates
            ),
        )
        for trace in traces
    )


@frozen
class SessionRow:
    """One session as a row. `title` = its first prompt; `exposures` = number of injected memories, `tokens` = their tokens.

    `imported` = it is known from its transcript alone: no event of it was recorded. `taught` = number of statements learned from it.
    """

    key: str
    title: str
    host: str
    session_id: str
    parent: str
    project_id: str
    project_root: str
    cwd: str
    agent: str
    turn: int
    epoch: int
    started_at_ms: int
    last_signal_at_ms: int
    muted: bool
    incognito: bool
    ended: bool
    exposures: int
    tokens: int
    imported: bool = False
    taught: int = 0


@frozen
class InjectedMemory:
    """One injected memory. `used` = null until the session's transcript was assessed."""

    session: str
    memory_id: str
    surface: Surface
    turn: int
    epoch: int
    tokens: int
    at_ms: int
    used: bool | None


@frozen
class TurnView:
    """One turn: its recalls, oldest first, and the injected memories."""

    turn: int
    epoch: int
    at_ms: int
    recalls: tuple[RecallRow, ...]
    exposures: tuple[InjectedMemory, ...]


@frozen
class SessionView:
    """One session, turn by turn. `prompts`, `files` and `tools` are the last ones of its live record."""

    session: SessionRow
    turns: tuple[TurnView, ...]
    prompts: tuple[str, ...]
    files: tuple[str, ...]
    tools: tuple[str, ...]
    failures: tuple[PendingFailure, ...]
    answers: tuple[int, ...]
    rule_files: tuple[str, ...]


def session_row(state: SessionState) -> SessionRow:
    """Return a session as one row of a list. Its counts leave out what the host itself loaded."""
    ours = [entry for entry in state.ledger if entry.surface is not Surface.HOST]
    return SessionRow(
        key=str(state.key),
        title=state.first_prompt or next(iter(state.recent_prompts), ""),
        host=state.key.host,
        session_id=state.key.session_id,
        parent=str(state.parent) if state.parent else "",
        project_id=state.project_id,
        project_root=state.project_root,
        cwd=state.cwd,
        agent=state.agent,
        turn=state.turn,
        epoch=state.epoch,
        started_at_ms=state.started_at_ms,
        last_signal_at_ms=state.last_signal_at_ms,
        muted=state.muted,
        incognito=state.incognito,
        ended=state.ended,
        exposures=len(ours),
        tokens=sum(entry.tokens for entry in ours),
    )


class Recalls:
    """Reads recalls, injected memories and sessions for the owner's pages. `settle` is called before each read, to wait for pending writes."""

    def __init__(self, store: Store, *, settle: Callable[[], None]) -> None:
        self._store = store
        self._settle = settle

    def traces(
        self,
        where: TraceFilter,
        *,
        root: str = "",
        limit: int,
        visibility: Visibility,
        with_contents: bool = False,
    ) -> tuple[Trace, ...]:
        """List recalls, newest first; `root` = only of sessions of the project in that folder, "" = of all.

        With `with_contents` the texts of their candidates are filled in.
        """
        self._settle()
        if root:
            states = self._store.list_sessions(limit=MOST_SESSIONS)
            where = replace(
                where, sessions=tuple(str(state.key) for state in states if state.project_root == root)
            )
        # What a filter finds by words or outcome must not tell more than the row that is shown.
        looked_at = where if visibility.by_user else replace(where, injected=None, text=None, memory_id=None)

        def shown(traces: Sequence[Trace]) -> list[Trace]:
            whole = with_memory_contents(self._store, traces) if with_contents else traces
            return [trace for trace in visibility.traces(whole) if _fits(trace, where)]

        return tuple(first_rows(lambda most: self._store.find_traces(looked_at, limit=most), shown, limit))

    def trace(self, trace_id: str) -> Trace:
        """Return one recall, with the texts of its memories.

        Raises:
            NotFound: if it is unknown.
        """
        self._settle()
        (trace,) = with_memory_contents(self._store, [self._store.get_trace(trace_id)])
        return trace

    def injected_memories(
        self,
        *,
        visibility: Visibility,
        session: SessionKey | None = None,
        memory_id: str | None = None,
        limit: int,
        offset: int = 0,
    ) -> tuple[InjectedMemory, ...]:
        """List injected memories, newest first, and whether they were used."""
        self._settle()
        page = first_rows(
            lambda most: self._store.exposures(session=session, memory_id=memory_id, limit=most),
            visibility.exposures,
            offset + limit,
        )[offset:]
        usage = {key: self._used_in(key) for key in dict.fromkeys(exposed.session for exposed in page)}
        return tuple(_handed(exposed.session, exposed.exposure, usage[exposed.session]) for exposed in page)

    def sessions(
        self, *, visibility: Visibility, root: str = "", text: str = "", limit: int, offset: int = 0
    ) -> tuple[SessionRow, ...]:
        """List sessions, newest first: those whose events were recorded, and those that were read from their transcripts.

        `root` = only of the project in that folder; `text` = only those that have all its words in their
        title, agent, project or name.
        """
        self._settle()
        words = text.casefold().split()
        recorded = self._store.list_sessions(limit=MOST_SESSIONS)
        read = self._read_sessions({state.key for state in recorded})
        rows = (
            *(session_row(visibility.session(state)) for state in recorded),
            *(replace(session_row(state), imported=True) for state in read),
        )
        fitting = [row for row in rows if root in ("", row.project_root) and _has_words(row, words)]
        fitting.sort(key=lambda row: (-row.last_signal_at_ms, row.key))
        return tuple(fitting[offset : offset + limit])

    def heard(self) -> dict[str, int]:
        """Return `{host: milliseconds}`: when the last event of each agent came."""
        self._settle()
        heard: dict[str, int] = {}
        for state in self._store.list_sessions(limit=MOST_SESSIONS):
            heard[state.key.host] = max(heard.get(state.key.host, 0), state.last_signal_at_ms)
        return heard

    def _read_sessions(self, recorded: AbstractSet[SessionKey]) -> Iterator[SessionState]:
        """Yield what is known of the sessions that were read from their transcripts, without those in `recorded`."""
        for name in CHECKPOINT.names(self._store):
            host, _, session_id = name.removeprefix(CHECKPOINT.prefix).partition("/")
            key = SessionKey(host=host, session_id=session_id)
            if key not in recorded and (state := self._read_session(key)) is not None:
                yield state

    def _read_session(self, key: SessionKey) -> SessionState | None:
        """Return what the transcript told of a session, or None if it was not read."""
        checkpoint = CHECKPOINT.find(self._store, key)
        if checkpoint is None:
            return None
        return SessionState(
            key=key,
            project_root=checkpoint.folder,
            turn=checkpoint.position.prompts,
            started_at_ms=checkpoint.began_ms,
            last_signal_at_ms=checkpoint.heard_ms,
            first_prompt=checkpoint.title,
            ended=True,
        )

    def _session_from_memories(self, key: SessionKey) -> SessionState | None:
        """Return a bare record of a session of which only memories are left; None = none comes from it.

        It has the first and the last time from which its memories hold.
        """
        scope = self._store.scopes()
        memories = self._store.list_memories(
            MemoryFilter(statuses=None, session=key), scope=scope, limit=MOST_SESSIONS
        )
        if not memories:
            return None
        times = [memory.validity.valid_from_ms for memory in memories]
        return SessionState(key=key, started_at_ms=min(times), last_signal_at_ms=max(times), ended=True)

    def session(self, key: SessionKey, *, visibility: Visibility) -> SessionView:
        """Return one session, turn by turn.

        Raises:
            NotFound: if it is unknown.
        """
        self._settle()
        recorded = self._store.load_session(key)
        state = recorded or self._read_session(key) or self._session_from_memories(key)
        if state is None:
            raise NotFound(f"No session is called {key}.", hint="GET /v1/sessions lists them.")
        traces = visibility.traces(self._store.list_traces(session=str(key), limit=TRACES_OF_A_SESSION))
        handed = self.injected_memories(session=key, limit=EXPOSURES_OF_A_SESSION, visibility=visibility)
        return SessionView(
            session=replace(session_row(visibility.session(state)), imported=recorded is None),
            turns=_turns(traces, handed),
            prompts=state.recent_prompts,
            files=state.recent_files,
            tools=state.recent_tools,
            failures=state.pending_failures,
            answers=state.answers,
            rule_files=state.host_rule_files,
        )

    def _used_in(self, key: SessionKey) -> tuple[frozenset[str], frozenset[str]]:
        """Return two sets of ids: the memories that a session used, and all whose use was assessed there."""
        usage = USAGE.read(self._store, key)
        return frozenset(usage.used), frozenset(usage.counted)


def _has_words(row: SessionRow, words: Sequence[str]) -> bool:
    """Whether each of `words` (in folded case) occurs in the title, agent, folder name or key of the row."""
    shown = " ".join((row.title, row.agent, row.project_root.rpartition("/")[2], row.key)).casefold()
    return all(word in shown for word in words)


def _fits(trace: Trace, where: TraceFilter) -> bool:
    """Whether `trace`, as it may be shown, fits the outcome, words and memory of `where`."""
    return (where.injected is None or bool(trace.injected) == where.injected) and (
        (where.text is None or where.text.casefold() in trace.text.casefold())
        and (where.memory_id is None or where.memory_id in trace.candidate_ids)
    )


def _handed(
    key: SessionKey, exposure: Exposure, usage: tuple[frozenset[str], frozenset[str]]
) -> InjectedMemory:
    used, counted = usage
    name = exposure.memory_id
    return InjectedMemory(
        session=str(key),
        memory_id=name,
        surface=exposure.surface,
        turn=exposure.turn,
        epoch=exposure.epoch,
        tokens=exposure.tokens,
        at_ms=exposure.at_ms,
        used=True if name in used else False if name in counted else None,
    )


def _turns(traces: Sequence[Trace], handed: Sequence[InjectedMemory]) -> tuple[TurnView, ...]:
    counts = Counter((event.epoch, event.turn) for event in (*traces, *handed))
    turns: list[TurnView] = []
    for epoch, turn in sorted(counts):
        recalls = [row_of(trace) for trace in reversed(traces) if (trace.epoch, trace.turn) == (epoch, turn)]
        exposures = [
            exposure for exposure in reversed(handed) if (exposure.epoch, exposure.turn) == (epoch, turn)
        ]
        times = [event.at_ms for event in (*recalls, *exposures)]
        turns.append(
            TurnView(
                turn=turn, epoch=epoch, at_ms=min(times), recalls=tuple(recalls), exposures=tuple(exposures)
            )
        )
    return tuple(turns)
