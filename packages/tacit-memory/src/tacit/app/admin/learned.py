"""What was learned from a session: its digest, and its statements with evidence and fate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tacit.app.reasons import ShownRequest, outcome_text, request_in_words
from tacit.app.values import OpenStore
from tacit.app.visibility import Visibility
from tacit.capture.digest import open_tasks
from tacit.errors import Ambiguous, NotFound
from tacit.frozen import frozen
from tacit.model.ids import content_hash
from tacit.model.kinds import DIGEST
from tacit.model.memory import Memory, MemoryStatus, TrustTier
from tacit.model.pack import Surface
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.ports.store import MemoryFilter, ProjectRecord
from tacit.reading.digest_lines import lines_of
from tacit.state.captured import Fate, SessionWork, StatementOutcome
from tacit.state.registry import CHECKPOINT, OUTCOMES, SESSION_SPENDING, WAITING

# Digests of sessions: results and open tasks. In: a session's name, or a project. Out: digests, or the reason why there is none.
#
# A digest is a memory as any other: what was forgotten is not shown. Files, commits and open tasks come from the note that capture
# keeps of the session, and are whole where the digest names the first ones. Only reads; never writes.

LOOKED_AT = 1000
_KIND = MemoryFilter(kinds=(DIGEST,))


@frozen
class DigestLine:
    """One line of a digest: `code` is impl, dec, block, next, done or fix."""

    code: str
    text: str


@frozen
class SessionDigest:
    """The digest of one session, or why it has none.

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


@frozen
class Digests:
    """Digests, newest first. `reason` = why there is none at all, or why the newest session has none yet."""

    digests: tuple[SessionDigest, ...]
    reason: str = ""


class DigestReader:
    """Reads the digests of sessions from one open store. Each read first waits for pending writes."""

    def __init__(self, opened: OpenStore) -> None:
        self._parts, self._store, self._settle = opened.parts, opened.parts.store, opened.settle

    def of_session(self, name: str, *, visibility: Visibility) -> SessionDigest:
        """Return the digest of a session, or why it has none; `name` as for `named`.

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
        """Return the newest digests of `project` (None = of every project), and why a newer session has none."""
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
            memories, key=lambda memory: (-_last_heard_ms(memory, states.get(_key_of(memory))), memory.id)
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
        """Return one sentence about why the newest session has no digest; "" = it has one, or a newer digest exists."""
        digested = {_key_of(memory) for memory in ranked}
        if not states:
            return "" if ranked else "no session has been recorded here yet"
        newest = next(iter(states.values()))
        if newest.key in digested or (ranked and _last_heard_ms(ranked[0], None) > newest.last_signal_at_ms):
            return ""
        return f"{newest.key} has none: {self._reason(newest.key, newest, visibility)}"

    def _states(self, project: ProjectRecord | None) -> list[SessionState]:
        """List sessions of `project` (None = of all), newest signal first, without those of subagents."""
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
        """Return the session of `project` (None = of any project) that was heard of last; None = there is none."""
        scope = self._store.scopes()
        if project is not None:
            scope = ScopeFilter.of(
                *(visible_scope for visible_scope in scope.scopes if visible_scope.project_id == project.id)
            )
        heard = {
            _key_of(memory): _last_heard_ms(memory, None)
            for memory in self._store.list_memories(_KIND, scope=scope, limit=LOOKED_AT)
        }
        heard |= {state.key: state.last_signal_at_ms for state in self._states(project)}
        return max(heard, key=lambda key: (heard[key], str(key)), default=None)

    def named(self, name: str) -> SessionKey:
        """Return the key of the session called `name`: `host/id`, its id, or a beginning that no other session shares.

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
        if slash and full_key not in keys and self._is_told_of(full_key):
            return full_key
        exact = [key for key in keys if name in (str(key), key.session_id)]
        by_prefix = [key for key in keys if str(key).startswith(name) or key.session_id.startswith(name)]
        matches = exact or by_prefix
        if len(matches) == 1:
            return matches[0]
        hint = "Name it as host/id: `tacit sessions --project` and `tacit why` show sessions."
        if matches:
            raise Ambiguous(f"{len(matches)} sessions begin with {name!r}.", hint=hint)
        raise NotFound(f"No session is called {name!r}.", hint=hint)

    def _is_told_of(self, key: SessionKey) -> bool:
        """Whether its transcript was read, or a memory names it as the session that it was said in."""
        stated = MemoryFilter(statuses=None, session=key)
        scope = self._store.scopes()
        return CHECKPOINT.is_stored(self._store, key) or self._store.count_memories(stated, scope=scope) > 0

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
            at_ms=_last_heard_ms(memory, state),
            running=running,
        )

    def _work(self, key: SessionKey) -> SessionWork:
        return CHECKPOINT.read(self._store, key).work

    def _reason(self, key: SessionKey, state: SessionState | None, visibility: Visibility) -> str:
        """Return why a session has no digest, as a sentence without a full stop."""
        waiting = [
            handover for handover in self._store.pending_handovers(limit=LOOKED_AT) if handover.session == key
        ]
        if state is not None and state.incognito:
            return "it was incognito, so nothing of it is stored"
        if not self._parts.settings.current().capture.enabled:
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


def _last_heard_ms(memory: Memory, state: SessionState | None) -> int:
    """Return when the session of a digest was last heard of, in milliseconds: its last signal, or `valid_from_ms` of the digest if that is later or `state` is None."""
    return max(memory.validity.valid_from_ms, state.last_signal_at_ms if state else 0)


# The statements learned from a session. In: a session's name, or a project. Out: its statements with evidence and fate, requests to a model, what waits.
#
# Statements and their present state come from the store; what became of each, and the requests to a language model, from what
# capture keeps of the session. A program without the user's token gets no counts that include memories hidden from it. Only reads;
# never writes.

MAX_STATEMENTS = 500
"""Most statements of one session that are read."""
_LIVE = ("active", "quarantined")


@frozen
class Evidence:
    """The source of a statement in the session.

    Attributes:
        speaker: who said it, see `Provenance.speaker`.
        extractor: the language model that wrote it down, or "".
        turn: the user's prompt it belongs to; 0 = unknown.
        span: the quoted words; "" = unknown.
    """

    speaker: str
    extractor: str = ""
    turn: int = 0
    span: str = ""


@frozen
class LearnedStatement:
    """One statement learned from a session, with its evidence and its fate.

    Attributes:
        memory: the memory that holds it, as it is now.
        fate: what became of the statement when it was stored.
        believed: whose word it is, in words.
        evidence: what it was made from in this session.
        replaced: memories that it replaced.
        questions: memories that it may contradict, about which the user has not decided.
    """

    memory: Memory
    fate: Fate
    believed: str
    evidence: tuple[Evidence, ...] = ()
    replaced: tuple[Memory, ...] = ()
    questions: tuple[Memory, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether the user has to decide on it."""
        return self.memory.status == "quarantined" or bool(self.questions)


@frozen
class TaughtMemory:
    """A memory that was learned from a prompt: `trace_id` = the recall for that prompt, the rest is the memory as it is now."""

    trace_id: str
    memory_id: str
    kind: str
    content: str
    status: MemoryStatus


@frozen
class DroppedCount:
    """How many statements were not stored for one reason."""

    reason: str
    count: int


@frozen
class StillWaiting:
    """Pending work: statements for the user, messages for the language model, transcripts to be read."""

    statements: int = 0
    messages: int = 0
    transcripts: int = 0


@frozen
class Learned:
    """The statements learned from one session, and the work that is pending.

    Attributes:
        session: `host/id`.
        at_ms: when it was heard of last; 0 = unknown.
        running: it has not ended, as far as is known.
        statements: by the turn they were said in.
        dropped: what was not stored, most frequent reason first.
        reminded: turns in which the agent was reminded to note things; for the user alone.
        requests: to a language model, oldest first.
        waiting: what is to come.
    """

    session: str
    at_ms: int = 0
    running: bool = False
    statements: tuple[LearnedStatement, ...] = ()
    dropped: tuple[DroppedCount, ...] = ()
    reminded: tuple[int, ...] = ()
    requests: tuple[ShownRequest, ...] = ()
    waiting: StillWaiting = StillWaiting()


class LearnedReader:
    """Reads what was learned from sessions: statements, their evidence and fate, and pending work. Writes nothing."""

    def __init__(self, opened: OpenStore, *, digests: DigestReader) -> None:
        self._store, self._settle = opened.parts.store, opened.settle
        self._digests = digests

    def of_session(self, name: str, *, visibility: Visibility) -> Learned:
        """Return the statements learned from a session; `name` as for `DigestReader.named`.

        Raises:
            NotFound: if there is no such session, or several.
        """
        self._settle()
        return self._of(self._digests.named(name), visibility)

    def count(self, key: SessionKey, *, visibility: Visibility) -> int:
        """Return how many statements of a session are on record, as `of_session` lists them."""
        return sum(1 for _ in self._stated(key, visibility))

    def of_turns(self, traces: Iterable[Trace], *, visibility: Visibility) -> tuple[TaughtMemory, ...]:
        """Return the statements learned from the prompts of `traces`, in the order of these; of other recalls nothing is learned."""
        asked = [trace for trace in traces if trace.surface is Surface.PROMPT and trace.turn]
        by_turn: dict[tuple[str, int], list[Memory]] = {}
        for name in dict.fromkeys(trace.session for trace in asked):
            host, _, session_id = name.partition("/")
            for memory, outcomes in self._stated(SessionKey(host=host, session_id=session_id), visibility):
                for turn in dict.fromkeys(evidence.turn for evidence in _all_evidence(memory, outcomes)):
                    by_turn.setdefault((name, turn), []).append(memory)
        return tuple(
            TaughtMemory(
                trace_id=trace.id,
                memory_id=memory.id,
                kind=memory.kind,
                content=memory.content,
                status=memory.status,
            )
            for trace in asked
            for memory in by_turn.get((trace.session, trace.turn), ())
        )

    def _stated(
        self, key: SessionKey, visibility: Visibility
    ) -> Iterator[tuple[Memory, Sequence[StatementOutcome]]]:
        """Yield the memories that hold what was stated in a session, as far as they may be seen, each with what became of its statements."""
        outcomes: dict[str, list[StatementOutcome]] = {}
        for outcome in OUTCOMES.read(self._store, key):
            if outcome.memory_id:
                outcomes.setdefault(outcome.memory_id, []).append(outcome)
        scope = self._store.scopes()
        where = MemoryFilter(statuses=None, session=key)
        stated = self._store.list_memories(where, scope=scope, limit=MAX_STATEMENTS)
        merged = outcomes.keys() - {memory.id for memory in stated}
        for memory in (*stated, *self._store.get(sorted(merged), scope=scope)):
            if visibility.shows(memory) and not memory.is_session_note:
                yield memory, outcomes.get(memory.id, ())

    def newest(self, project: ProjectRecord | None, *, visibility: Visibility) -> Learned | None:
        """Return the statements of the last session of `project` (None = of any project), or None without a session."""
        self._settle()
        key = self._digests.newest_session(project)
        return self._of(key, visibility) if key is not None else None

    def _of(self, key: SessionKey, visibility: Visibility) -> Learned:
        state = self._store.load_session(key)
        outcomes = OUTCOMES.read(self._store, key)
        statements = self._statements(key, outcomes, visibility)
        learned = Learned(
            session=str(key),
            at_ms=state.last_signal_at_ms if state else 0,
            running=state is not None and not state.ended,
            statements=statements,
            waiting=StillWaiting(statements=sum(statement.waits for statement in statements)),
        )
        reminded = state.reminded if state else ()
        return (
            self._with_counts(replace(learned, reminded=reminded), key, outcomes)
            if visibility.by_user
            else learned
        )

    def _with_counts(
        self, learned: Learned, key: SessionKey, outcomes: Iterable[StatementOutcome]
    ) -> Learned:
        """Add the dropped statements, the requests to a model and the waiting work, which only the user may see."""
        spent = SESSION_SPENDING.read(self._store, key)
        requests = tuple(map(request_in_words, spent.requests))
        reasons = Counter(outcome_text(outcome) for outcome in outcomes if outcome.fate == "dropped")
        reasons.update(reason for request in requests for reason in request.dropped)
        unread = WAITING.find(self._store, key)
        waiting = StillWaiting(
            statements=learned.waiting.statements,
            messages=len(unread.messages) if unread else 0,
            transcripts=sum(
                handover.session == key for handover in self._store.pending_handovers(limit=1000)
            ),
        )
        return replace(
            learned,
            dropped=tuple(DroppedCount(reason=reason, count=n) for reason, n in reasons.most_common()),
            requests=requests,
            waiting=waiting,
        )

    def _statements(
        self, key: SessionKey, outcomes: Iterable[StatementOutcome], visibility: Visibility
    ) -> tuple[LearnedStatement, ...]:
        scope = self._store.scopes()
        where = MemoryFilter(statuses=None, session=key)
        stated = {
            memory.id: memory
            for memory in self._store.list_memories(where, scope=scope, limit=MAX_STATEMENTS)
        }
        by_memory: dict[str, list[StatementOutcome]] = {name: [] for name in stated}
        for outcome in outcomes:
            if outcome.memory_id:
                by_memory.setdefault(outcome.memory_id, []).append(outcome)
        other_ids = {name for outcome in outcomes for name in outcome.others}
        memories = {memory.id: memory for memory in self._store.get([*by_memory, *other_ids], scope=scope)}
        questions = self._questions(tuple(by_memory), memories)
        shown = {name: memory for name, memory in memories.items() if visibility.shows(memory)}
        statements = [
            _statement(
                shown[name],
                memory_outcomes,
                shown,
                [memory for memory in questions.get(name, ()) if visibility.shows(memory)],
            )
            for name, memory_outcomes in by_memory.items()
            if name in shown and not shown[name].is_session_note
        ]
        return tuple(
            sorted(
                statements,
                key=lambda statement: (_turn(statement), statement.memory.created_at_ms, statement.memory.id),
            )
        )

    def _questions(
        self, names: tuple[str, ...], candidates: dict[str, Memory]
    ) -> Mapping[str, tuple[Memory, ...]]:
        """Return `{id: memories}`: for each of `names`, the live memories that may contradict it and that the user has not decided about."""
        scope = self._store.scopes()
        live = [name for name in names if name in candidates and candidates[name].status in _LIVE]
        edges = [relation for relation in self._store.relations(live, scope=scope) if relation.asks]
        ends = {end for relation in edges for end in (relation.source_id, relation.target_id)}
        memories = {
            memory.id: memory
            for memory in self._store.get(sorted(ends), scope=scope)
            if memory.status in _LIVE
        }
        questions: dict[str, dict[str, Memory]] = {}
        for relation in edges:
            for memory_id, other_id in relation.both_ways:
                if other_id in memories:
                    questions.setdefault(memory_id, {})[other_id] = memories[other_id]
        return {name: tuple(by_id.values()) for name, by_id in questions.items()}


def _statement(
    memory: Memory,
    outcomes: Iterable[StatementOutcome],
    shown: Mapping[str, Memory],
    questions: Iterable[Memory],
) -> LearnedStatement:
    statement_outcomes = tuple(outcomes)
    first = statement_outcomes[0] if statement_outcomes else None
    replaced = dict.fromkeys(
        name for outcome in statement_outcomes for name in outcome.others if name in shown
    )
    return LearnedStatement(
        memory=memory,
        fate=first.fate if first else "new",
        believed=believed_in_words(memory),
        evidence=_all_evidence(memory, statement_outcomes),
        replaced=tuple(shown[name] for name in replaced),
        questions=tuple(questions),
    )


def _all_evidence(memory: Memory, outcomes: Iterable[StatementOutcome]) -> tuple[Evidence, ...]:
    return tuple(_evidence(memory, outcome) for outcome in outcomes) or (_origin(memory),)


def _evidence(memory: Memory, outcome: StatementOutcome) -> Evidence:
    spans = (memory.provenance.span, *memory.evidence)
    span = next((text for text in spans if text and content_hash(text) == outcome.span), "")
    return Evidence(speaker=outcome.speaker, extractor=outcome.extractor, turn=outcome.turn, span=span)


def _origin(memory: Memory) -> Evidence:
    provenance = memory.provenance
    return Evidence(
        speaker=provenance.speaker, extractor=provenance.extractor, turn=provenance.turn, span=provenance.span
    )


def _turn(statement: LearnedStatement) -> int:
    return min((evidence.turn for evidence in statement.evidence if evidence.turn), default=1_000_000)


def believed_in_words(memory: Memory) -> str:
    """Return a phrase that says whose word a memory is, such as "your word"."""
    provenance = memory.provenance
    if provenance.tier is TrustTier.USER:
        word = "your word, noted by the agent" if provenance.vouched else "your word"
    elif provenance.tier is TrustTier.TEAMMATE:
        word = f"the word of {provenance.author or 'a teammate'}"
    elif memory.proven:
        word = "a proven fix"
    elif provenance.tier is TrustTier.ASSISTANT:
        word = "the agent's word"
    elif provenance.tier is TrustTier.TOOL:
        word = "seen in tool output"
    else:
        word = "the agent's word without yours" if provenance.speaker == "agent" else "imported"
    return f"{word}, written down by {provenance.extractor}" if provenance.extractor else word
