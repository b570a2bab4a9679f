"""The statements learned from a session. In: a session's name, or a project. Out: its statements with evidence and fate, requests to a model, what waits.

Statements and their present state come from the store; what became of each, and the requests to a language model, from what
capture keeps of the session. A program without the user's token gets no counts that include memories hidden from it. Only reads;
never writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from tacit.app.admin.digests import DigestReader
from tacit.app.reasons import ShownRequest, outcome_text, request_in_words
from tacit.app.visibility import Visibility
from tacit.model.ids import content_hash
from tacit.model.memory import Memory, TrustTier
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter, ProjectRecord, Store
from tacit.state.captured import Fate, Outcome
from tacit.state.registry import OUTCOMES, SESSION_SPENDING, WAITING

MAX_STATEMENTS = 500
"""Statements of one session that are told."""
_LIVE = ("active", "quarantined")


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedStatement:
    """One statement.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedCount:
    """How many statements were not stored for one reason."""

    reason: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StillWaiting:
    """Pending work: statements for the user, messages for the language model, transcripts to be read."""

    statements: int = 0
    messages: int = 0
    transcripts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """Looks up what sessions taught. `settle` waits until what was said so far is stored."""

    def __init__(self, store: Store, *, digests: DigestReader, settle: Callable[[], None]) -> None:
        self._store = store
        self._digests = digests
        self._settle = settle

    def of_session(self, name: str, *, visibility: Visibility) -> Learned:
        """Return the statements learned from a session; `name` as for a digest.

        Raises:
            NotFound: if there is no such session, or several.
        """
        self._settle()
        return self._of(self._digests.named(name), visibility)

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

    def _with_counts(self, learned: Learned, key: SessionKey, outcomes: Iterable[Outcome]) -> Learned:
        """Add the counts that only the user may see."""
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
        self, key: SessionKey, outcomes: Iterable[Outcome], visibility: Visibility
    ) -> tuple[LearnedStatement, ...]:
        scope = self._store.scopes()
        where = MemoryFilter(statuses=None, session=key)
        stated = {
            memory.id: memory
            for memory in self._store.list_memories(where, scope=scope, limit=MAX_STATEMENTS)
        }
        by_memory: dict[str, list[Outcome]] = {name: [] for name in stated}
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
        """Memories that contradict those of these ids, where both still stand."""
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
            for memory_id, other_id in (
                (relation.source_id, relation.target_id),
                (relation.target_id, relation.source_id),
            ):
                if other_id in memories:
                    questions.setdefault(memory_id, {})[other_id] = memories[other_id]
        return {name: tuple(by_id.values()) for name, by_id in questions.items()}


def _statement(
    memory: Memory, outcomes: Iterable[Outcome], shown: Mapping[str, Memory], questions: Iterable[Memory]
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
        evidence=tuple(_evidence(memory, outcome) for outcome in statement_outcomes) or (_origin(memory),),
        replaced=tuple(shown[name] for name in replaced),
        questions=tuple(questions),
    )


def _evidence(memory: Memory, outcome: Outcome) -> Evidence:
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
    """Say in words whose statement a memory is."""
    provenance = memory.provenance
    if provenance.tier is TrustTier.USER:
        word = "your words, quoted by the agent" if provenance.vouched else "your word"
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
