"""Digests of sessions: results and open tasks. In: a session's name, or a project. Out: digests, or the reason why there is none.

A digest is a memory as any other: what was forgotten is not shown. Files, commits and open tasks come from the note that capture
keeps of the session, and are whole where the digest names the first ones. Only reads; never writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tacit.app.visibility import Visibility
from tacit.capture.digest import open_tasks
from tacit.errors import NotFound
from tacit.model.kinds import DIGEST
from tacit.model.memory import Memory
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionKey, SessionState
from tacit.ports.store import MemoryFilter, ProjectRecord, Store
from tacit.reading.digest_lines import lines_of
from tacit.state.captured import SessionWork
from tacit.state.registry import CHECKPOINT

LOOKED_AT = 1000
_KIND = MemoryFilter(kinds=(DIGEST,))


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestLine:
    """One line: `code` is impl, dec, block, next, done or fix."""

    code: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDigest:
    """The digest of one session.

    Attributes:
        session: `host/id`.
        memory_id: of the memory that holds it; empty = it has none.
        scope: of that memory.
        lines: in their order; empty = it has none.
        files: edited or written, first touched first.
        open_tasks: of the agent's task list, in order.
        commits: short hash and subject of each.
        at_ms: when the session was heard of last, as far as is known.
        running: the session has not ended, as far as is known.
        reason: why it has none; empty = it has one.
    """

    session: str
    memory_id: str = ""
    scope: str = ""
    lines: tuple[DigestLine, ...] = ()
    files: tuple[str, ...] = ()
    open_tasks: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    at_ms: int = 0
    running: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digests:
    """Digests, newest first. `reason` = why there is none at all, or why the newest session has none yet."""

    digests: tuple[SessionDigest, ...]
    reason: str = ""


class DigestReader:
    """Looks digests up. `settle` waits until what was said so far is stored; `captures` = whether sessions are learned from."""

    def __init__(self, store: Store, *, settle: Callable[[], None], captures: Callable[[], bool]) -> None:
        self._store = store
        self._settle = settle
        self._captures = captures

    def of_session(self, name: str, *, visibility: Visibility) -> SessionDigest:
        """The digest of a session by `host/id`, by its id, or by the beginning of its id where that is unique.

        Raises:
            NotFound: if there is no such session, or several.
        """
        self._settle()
        key = self.named(name)
        state = self._store.load_session(key)
        memory = self._memory_of(key)
        shown = memory if memory is not None and visibility.shows(memory) else None
        return self._told(key, state, shown, visibility)

    def newest(self, project: ProjectRecord | None, *, limit: int, visibility: Visibility) -> Digests:
        """The newest digests of `project`, of every project when None; and why a newer session has none."""
        self._settle()
        scope = self._store.scopes()
        if project is not None:
            scope = ScopeFilter.of(
                *(stored_scope for stored_scope in scope.scopes if stored_scope.project_id == project.id)
            )
        where = replace(_KIND, sensitivities=visibility.levels)
        memories = self._store.list_memories(where, scope=scope, limit=LOOKED_AT)
        states = {state.key: state for state in self._states(project)}
        ranked = sorted(
            memories, key=lambda memory: (-_heard(memory, states.get(_key_of(memory))), memory.id)
        )
        digests: dict[SessionKey, SessionDigest] = {}
        for memory in ranked:
            key = _key_of(memory)
            if key not in digests and len(digests) < limit:
                state = states.get(key) or self._store.load_session(key)
                digests[key] = self._told(key, state, memory, visibility)
        return Digests(digests=tuple(digests.values()), reason=self._why_none(states, ranked, visibility))

    def _why_none(
        self, states: dict[SessionKey, SessionState], ranked: list[Memory], visibility: Visibility
    ) -> str:
        """Explain why the newest known session has no digest; "" = it has one."""
        digested = {_key_of(memory) for memory in ranked}
        if not states:
            return "" if ranked else "no session has been recorded here yet"
        newest = next(iter(states.values()))
        if newest.key in digested or (ranked and _heard(ranked[0], None) > newest.last_signal_at_ms):
            return ""
        return f"{newest.key} has none: {self._reason(newest.key, newest, visibility)}"

    def _states(self, project: ProjectRecord | None) -> list[SessionState]:
        """Sessions of a person, newest signal first: those of subagents have no digest of their own."""
        states = self._store.list_sessions(limit=LOOKED_AT)
        return [
            state
            for state in states
            if state.parent is None
            and (
                project is None
                or (
                    state.project_id == project.id if state.project_id else state.project_root == project.root
                )
            )
        ]

    def newest_session(self, project: ProjectRecord | None) -> SessionKey | None:
        """The session of `project`, of any project when None, that was heard of last; None = there was none."""
        scope = self._store.scopes()
        if project is not None:
            scope = ScopeFilter.of(
                *(visible_scope for visible_scope in scope.scopes if visible_scope.project_id == project.id)
            )
        heard = {
            _key_of(memory): _heard(memory, None)
            for memory in self._store.list_memories(_KIND, scope=scope, limit=LOOKED_AT)
        }
        heard |= {state.key: state.last_signal_at_ms for state in self._states(project)}
        return max(heard, key=lambda key: (heard[key], str(key)), default=None)

    def named(self, name: str) -> SessionKey:
        """The session called `name`: `host/id`, its id, or the beginning of it where that is unique.

        Raises:
            NotFound: if there is no such session, or several.
        """
        states = [state.key for state in self._store.list_sessions(limit=LOOKED_AT)]
        digest_filter = MemoryFilter(
            kinds=(DIGEST,), statuses=None
        )  # a session whose digest was forgotten has a name, too
        digests = self._store.list_memories(digest_filter, scope=self._store.scopes(), limit=LOOKED_AT)
        keys = dict.fromkeys((*states, *(_key_of(memory) for memory in digests)))
        host, slash, number = name.partition("/")
        full_key = SessionKey(host=host, session_id=number)
        if slash and full_key not in keys and CHECKPOINT.is_stored(self._store, full_key):
            return full_key
        exact = [key for key in keys if name in (str(key), key.session_id)]
        by_prefix = [key for key in keys if str(key).startswith(name) or key.session_id.startswith(name)]
        matches = exact or by_prefix
        if len(matches) == 1:
            return matches[0]
        hint = "Name it as host/id: `tacit digest --project` and `tacit why` show sessions."
        if matches:
            raise NotFound(f"{len(matches)} sessions begin with {name!r}.", hint=hint)
        raise NotFound(f"No session is called {name!r}.", hint=hint)

    def _memory_of(self, key: SessionKey) -> Memory | None:
        scope = self._store.scopes()
        digest_id = CHECKPOINT.read(self._store, key).digest_id
        active = [
            memory
            for memory in self._store.get([digest_id], scope=scope)
            if digest_id and memory.status == "active"
        ]
        if active:
            return active[0]
        memories = self._store.list_memories(_KIND, scope=scope, limit=LOOKED_AT)
        return next((memory for memory in memories if _key_of(memory) == key), None)

    def _told(
        self, key: SessionKey, state: SessionState | None, memory: Memory | None, visibility: Visibility
    ) -> SessionDigest:
        running = state is not None and not state.ended
        if memory is None:
            at_ms = state.last_signal_at_ms if state else 0
            return SessionDigest(
                session=str(key),
                at_ms=at_ms,
                running=running,
                reason=self._reason(key, state, visibility),
            )
        work = self._work(key)
        return SessionDigest(
            session=str(key),
            memory_id=memory.id,
            scope=str(memory.scope),
            lines=tuple(DigestLine(code=code, text=text) for code, text in lines_of(memory.content)),
            files=work.files,
            open_tasks=open_tasks(work.tasks),
            commits=work.commits,
            at_ms=_heard(memory, state),
            running=running,
        )

    def _work(self, key: SessionKey) -> SessionWork:
        return CHECKPOINT.read(self._store, key).work

    def _reason(self, key: SessionKey, state: SessionState | None, visibility: Visibility) -> str:
        """Explain in a sentence without full stop why a session has no digest."""
        waiting = [
            handover for handover in self._store.pending_handovers(limit=LOOKED_AT) if handover.session == key
        ]
        if state is not None and state.incognito:
            return "it was incognito, so nothing of it is stored"
        if not self._captures():
            return "sessions are not learned from (capture.enabled is off)"
        if any(handover.error for handover in waiting):
            return f"its transcript could not be read: {waiting[-1].error}"
        if waiting:
            return "its transcript waits to be read; that happens in the background"
        if CHECKPOINT.read(self._store, key).digest_id:
            # A program must not learn which of the two it is.
            return (
                "it was forgotten" if visibility.by_user else "it was forgotten or is not shown to programs"
            )
        if CHECKPOINT.is_stored(self._store, key):
            return "it changed no file, made no decision and left no open task"
        if state is not None and not state.ended:
            return "it is still running; a digest is written when a turn or the session ends"
        return "nothing was learned from it: its host passed on no transcript"


def _key_of(memory: Memory) -> SessionKey:
    return SessionKey(host=memory.provenance.host, session_id=memory.provenance.session_id)


def _heard(memory: Memory, state: SessionState | None) -> int:
    """When its session was heard of last: a digest of an old transcript is written long after what it tells of."""
    return max(memory.validity.valid_from_ms, state.last_signal_at_ms if state else 0)
