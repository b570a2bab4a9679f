"""Has sessions written up by a language model. In: turns as they are captured. Out: drafts and fates, stored in one transaction.

What is said waits in the store until the session is over or quiet; then one request is made for it, within the tokens of the
session and of the day. Requests run one at a time, on a thread that waits for nothing else, and never inside a transaction. The
statements of an answer and the removal of what waited are one transaction, so that a crash loses nothing and doubles nothing.
After a failure everything goes on waiting; the next request is made later, after more failures in a row much later.

Stored memories that a stretch may concern. In: the stretch, the store. Out: memories by short id, nearest first.

Only what the session's project may see and what is neither limited to a session nor restricted: the texts leave this machine.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from tacit.capture.store import Item, Reconciler
from tacit.capture.usage import EchoDetector
from tacit.capture.write_up.messages import (
    Numbered,
    fit_messages,
    messages_of,
    with_messages,
    without_written,
)
from tacit.capture.write_up.request import (
    AnswerStatement,
    FateJudge,
    MemoryDecision,
    change_for_known_already,
    make_request,
    read_answer,
)
from tacit.capture.write_up.trust import AnswerContext, QuoteCheck, make_draft
from tacit.config.settings import WriterSettings
from tacit.errors import EmbedderMismatch, ProviderError
from tacit.frozen import frozen
from tacit.hosts.transcripts import Turn
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Change, Draft, Skip
from tacit.model.ids import content_hash
from tacit.model.memory import Memory, TrustTier
from tacit.model.scope import Scope, ScopeFilter
from tacit.model.session import SessionKey
from tacit.ports.models import Embedder, TokenCounter
from tacit.ports.store import SearchableStore, ValueChanges
from tacit.ports.writer import Writer, WriterAnswer, WriterRequest
from tacit.safety.trust import may_leave
from tacit.state.captured import PendingSession
from tacit.state.counted import RequestRecord, SessionSpending, Spending
from tacit.state.registry import SESSION_SPENDING, WAITING, PaidModel

MOST_NEAR = 24
_PER_TEXT = 6
_MOST_TEXTS = 40
_TEXT_CHARS = 1200
_OFFSET = 60
"""The constant k of reciprocal rank fusion (Cormack et al., 2009)."""


def find_near_memories(
    store: SearchableStore,
    embedder: Embedder,
    messages: Sequence[Numbered],
    *,
    scope: Scope,
    branch: str = "",
) -> Mapping[str, Memory]:
    """Return stored memories near the messages by words or meaning, under short ids: m1, m2, ...

    Memories that are bound to another unmerged branch than `branch` are left out.
    """
    texts = [message.text[:_TEXT_CHARS] for message in _telling(messages)]
    if not texts:
        return {}
    try:
        vectors = embedder.embed(texts)
    except ProviderError:
        vectors = None  # words alone must do
    visible = ScopeFilter.compared_with(scope)
    scores: dict[str, float] = defaultdict(float)
    with store.at_once():
        for place, text in enumerate(texts):
            rankings = [store.search.lexical(text, scope=visible, limit=_PER_TEXT)]
            if vectors is not None:
                try:
                    rankings.append(
                        store.search.semantic(
                            vectors[place], identity=embedder.identity, scope=visible, limit=_PER_TEXT
                        )
                    )
                except EmbedderMismatch:
                    vectors = None
            for ranking in rankings:
                for rank, hit in enumerate(ranking.hits):
                    scores[hit.memory_id] += 1 / (_OFFSET + rank)
        memories = store.get(sorted(scores, key=lambda name: (-scores[name], name)), scope=visible)
    sent = [
        memory
        for memory in memories
        if memory.status == "active" and may_leave(memory) and memory.branch_name in ("", branch)
    ][:MOST_NEAR]
    return {f"m{number}": memory for number, memory in enumerate(sent, start=1)}


def _telling(messages: Sequence[Numbered]) -> list[Numbered]:
    """Return the messages to search with: the newest of the user's, then of the agent's."""
    chosen = [message for message in messages if message.message.role == "user"]
    agent_messages = [message for message in messages if message.message.role == "assistant"]
    return [
        *chosen[-_MOST_TEXTS:],
        *agent_messages[-max(0, _MOST_TEXTS - len(chosen)) or len(agent_messages) :],
    ][:_MOST_TEXTS]


MOST_WAITING = 3
"""Most statements of the agent's, per request, that enter the review queue."""
LEAST_TOKENS = 2_500
"""With fewer tokens left for a session today, it is not sent."""

QUIET_MS = 30 * 60_000
"""After so long without a word an open session is written up, and what waits to be compared is compared."""
TELLING_PROMPTS = 3
"""From this number of prompts on, a session is written up however short it is."""


@frozen
class WriterAccess:
    """What a request to a model needs: the model, redaction, token counts and limits.

    Attributes:
        writer: the model to ask.
        prepare: takes secrets out of every text before a request is made of it.
        tokens: estimates the tokens of a request, rather too many.
        settings: the limits.
        vouches: see `QuoteCheck`.
        may_send: whether texts of the project at this root may be sent now; False while the user is incognito.
    """

    writer: Writer
    prepare: Callable[[str], str]
    tokens: TokenCounter
    settings: WriterSettings
    vouches: QuoteCheck
    may_send: Callable[[str], bool] = lambda _root: True


@frozen
class PreparedRequest:
    """A request that is ready to be sent.

    Attributes:
        waiting: the session it writes up.
        sent: the messages that are sent.
        near: memories that are sent along, by short id.
        request: as it goes out.
        tokens: estimated tokens of the request.
    """

    waiting: PendingSession
    sent: tuple[Numbered, ...]
    near: Mapping[str, Memory]
    request: WriterRequest
    tokens: int

    @property
    def subject(self) -> str:
        """Return a description of what is sent, for people."""
        return str(self.waiting.key)

    @property
    def root(self) -> str:
        """Return the root of the session's project; "" = none."""
        return self.waiting.root


@frozen
class WriterResult:
    """The result of one request to the writer: the changes, which are stored already, or the error.

    `subject` = the session, or what else was sent.
    """

    subject: str
    changes: tuple[Change, ...] = ()
    error: str = ""


class SessionWriter:
    """Writes up sessions of one store. Safe to use from several threads; one request runs at a time."""

    def __init__(
        self,
        *,
        model: WriterAccess,
        paid: PaidModel,
        reconciler: Reconciler,
        prepared: Callable[[Sequence[Draft]], list[Item]],
        injected_texts: Callable[[SessionKey, Scope], Sequence[str]],
        captured_hashes: Callable[[SessionKey], Collection[str]],
    ) -> None:
        """Keep the parts; nothing is asked yet.

        Args:
            model: what it takes to ask a model.
            paid: asks it and keeps the account.
            reconciler: reconciles and stores; its store holds what waits, and its kinds are those to choose from.
            prepared: makes memories of drafts.
            injected_texts: returns the texts that were put into a session's context.
            captured_hashes: returns the content hashes of what was captured of a session in real time.
        """
        self._model = model
        self._paid = paid
        self._store = reconciler.store
        self._clock = reconciler.clock
        self._reconciler = reconciler
        self._prepared = prepared
        self._given = injected_texts
        self._captured_at_once = captured_hashes
        self._kinds = tuple(kind.name for kind in reconciler.kinds if kind.offered)
        self._standing = frozenset(kind.name for kind in reconciler.kinds if kind.standing)

    # --- what waits

    def collect(
        self,
        turns: Sequence[Turn],
        session: PendingSession,
        *,
        redact: Callable[[str], str],
    ) -> Callable[[Sequence[Change]], ValueChanges]:
        """Return a function that makes the named values by which `turns` wait for the writer.

        It is called while nobody else writes.

        Args:
            turns: what is new in the session.
            session: whose, without messages; says whether it ended.
            redact: takes secrets out before anything waits.
        """
        added = messages_of(turns, redact=redact) if self._model.may_send(session.root) else ()

        def values(_: Sequence[Change]) -> ValueChanges:
            before = WAITING.find(self._store, session.key)
            if before is None and not added:
                return {}
            updated = replace(
                before or session,
                scope=session.scope,
                root=session.root,
                ended=session.ended,
                branch=session.branch,
                past=session.past if before is None else before.past and session.past,
            )
            if added:
                updated = replace(with_messages(updated, added), updated_ms=self._clock.now_ms())
            return WAITING.change(updated, session.key) if updated != before else {}

        return values

    def knows(self, key: SessionKey) -> bool:
        """Whether a part of the session was written up, or waits for it."""
        return WAITING.is_stored(self._store, key) or SESSION_SPENDING.is_stored(self._store, key)

    def waiting(self, *, past: bool) -> tuple[PendingSession, ...]:
        """Return the sessions that can be written up now, the imported ones if `past`, else the others: fewest failures first, then newest."""
        now_ms = self._clock.now_ms()
        due = [
            session
            for session in WAITING.every(self._store)
            if session.past == past and self._is_due(session, now_ms)
        ]
        return tuple(sorted(due, key=lambda session: (session.tries, -_newest_ms(session), str(session.key))))

    def _is_due(self, waiting: PendingSession, now_ms: int) -> bool:
        over = waiting.ended or now_ms - waiting.updated_ms >= QUIET_MS
        telling = waiting.prompts >= TELLING_PROMPTS or waiting.chars >= self._model.settings.least_chars
        tokens_left = self._left_for(waiting.key, now_ms)
        return (
            over
            and waiting.spoken
            and telling
            and tokens_left >= LEAST_TOKENS
            and self._model.may_send(waiting.root)
        )

    # --- the request

    def prepare(self, waiting: PendingSession) -> PreparedRequest:
        """Return the request for a session, without sending it; the estimate counts all text that is sent."""
        most = min(self._left_for(waiting.key, self._clock.now_ms()), self._model.settings.tokens_per_session)
        near = find_near_memories(
            self._store,
            self._reconciler.embedder,
            fit_messages(waiting.messages, most_tokens=most, count=self._count),
            scope=waiting.scope,
            branch=waiting.branch.name if waiting.branch is not None else "",
        )
        frame = self._request((), near)
        limit, excess = most, self._cost(frame)
        while True:
            limit -= excess  # at first the frame, then by how much the last cut was still too long
            sent = fit_messages(waiting.messages, most_tokens=limit, count=self._count)
            request = self._request(sent, near)
            tokens = self._cost(request)
            excess = tokens - most
            if excess <= 0 or limit <= 0:
                return PreparedRequest(waiting=waiting, sent=sent, near=near, request=request, tokens=tokens)

    def _request(self, sent: Sequence[Numbered], near: Mapping[str, Memory]) -> WriterRequest:
        return make_request(
            sent,
            kinds=self._kinds,
            near=near,
            prepare=self._model.prepare,
        )

    def _count(self, text: str) -> int:
        """Return the number of tokens of a text as JSON."""
        return self._model.tokens.count(json.dumps(text, ensure_ascii=False))

    def _cost(self, request: WriterRequest) -> int:
        texts = (request.system, request.user, json.dumps(request.schema))
        return sum(self._model.tokens.count(text) for text in texts)

    def _left_for(self, key: SessionKey, now_ms: int) -> int:
        spent = self._spent_on(key).as_of(now_ms)
        return self._model.settings.tokens_per_session - spent.tokens

    def _spent_on(self, key: SessionKey) -> SessionSpending:
        return SESSION_SPENDING.read(self._store, key)

    # --- writing up

    def write_up_next(self, *, past: bool = False, at_once: bool = False) -> WriterResult | None:
        """Send the next waiting session to the model and store what it says. Blocks until it answers.

        None = no session is due, or no request is allowed now.

        `past` = of those that were imported; `at_once` = also in the pause after a failure.
        """
        with self._paid.asking:
            spent = self._paid.begin(at_once=at_once)
            if spent is None:
                return None
            waiting = next(iter(self.waiting(past=past)), None)
            if waiting is None:
                return None
            prepared = self.prepare(waiting)
            self._reconciler.step("request made")
            reserved = self._paid.reserve(prepared.tokens, spent)
            return self._write_up(prepared, reserved) if reserved is not None else None

    def _write_up(self, prepared: PreparedRequest, reserved: Spending) -> WriterResult:
        request = RequestRecord(
            at_ms=self._clock.now_ms(), model=self._model.writer.name, tokens_in=prepared.tokens
        )
        names = tuple(prepared.near)
        try:
            answer, statements = self._paid.ask(
                prepared.request,
                reserved,
                read=lambda text: read_answer(text, kinds=self._kinds, near=names),
            )
        except ProviderError as error:
            if not self._paid.stopped:
                self._failed(prepared.waiting, replace(request, error=str(error)))
            return WriterResult(subject=prepared.subject, error=str(error))
        changes = self._keep(prepared, statements, answer, reserved, request)
        return WriterResult(subject=prepared.subject, changes=changes)

    def _failed(self, waiting: PendingSession, request: RequestRecord) -> None:
        now_ms = self._clock.now_ms()
        key = waiting.key

        def finish(_: Sequence[Change]) -> ValueChanges:
            stored = WAITING.find(self._store, key)
            if stored is None:
                return {}
            tried = self._spent_on(key).as_of(now_ms).after(replace(request, took_ms=now_ms - request.at_ms))
            failed = replace(stored, tries=stored.tries + 1)
            return {**WAITING.change(failed, key), **SESSION_SPENDING.change(tried, key)}

        self._reconciler.keep((), finish=finish)

    def _keep(
        self,
        prepared: PreparedRequest,
        statements: Sequence[AnswerStatement],
        answer: WriterAnswer,
        reserved: Spending,
        request: RequestRecord,
    ) -> tuple[Change, ...]:
        """Store the statements of an answer and remove what waited, in one transaction; returns the changes."""
        waiting = prepared.waiting
        reading = AnswerContext(
            waiting=waiting,
            sent=prepared.sent,
            echoes=EchoDetector(self._given(waiting.key, waiting.scope)),
            project=PurePath(waiting.root).name,
            vouches=self._model.vouches,
            extractor=self._model.writer.name,
        )
        captured = self._captured_at_once(waiting.key)
        read = [(make_draft(statement, reading), statement) for statement in statements]
        pairs = [
            (replace(draft, branch=waiting.branch), statement)
            for draft, statement in read
            if isinstance(draft, Draft)
        ]
        dropped = tuple(draft for draft, _ in read if isinstance(draft, ChangeCause))
        new = [
            (draft, statement) for draft, statement in pairs if content_hash(draft.content) not in captured
        ]
        items, judges, beside = self._items(new, prepared.near)
        cost = answer.tokens_in or prepared.tokens
        account = self._paid.settling_changes(
            answer, prepared.tokens, reserved=reserved, accepted=len(pairs), dropped=len(dropped)
        )
        now_ms = self._clock.now_ms()
        request = replace(
            request,
            took_ms=now_ms - request.at_ms,
            model=answer.model or request.model,
            tokens_in=cost,
            tokens_out=answer.tokens_out,
            kept=len(pairs),
            causes=dropped,
        )
        on_session = self._spent_on(waiting.key).as_of(now_ms).after(request)

        def finish(_: Sequence[Change]) -> ValueChanges:
            stored = WAITING.find(self._store, waiting.key)
            remaining = without_written(stored, waiting) if stored is not None else None
            return {
                **WAITING.change(remaining if remaining and remaining.messages else None, waiting.key),
                **SESSION_SPENDING.change(on_session, waiting.key),
                **account,
            }

        return self._reconciler.keep(
            items,
            finish=finish,
            judges=judges,
            beside=beside,
            session=waiting.key,
        )

    def _items(
        self, drafts: Sequence[tuple[Draft, AnswerStatement]], near: Mapping[str, Memory]
    ) -> tuple[list[Item], dict[str, FateJudge], dict[str, tuple[str, ...]]]:
        """Return (items to store, {memory id: its judge}, {memory id: ids of stored memories to compare it with}) for the drafts of an answer."""
        items: list[Item] = []
        judges: dict[str, FateJudge] = {}
        beside: dict[str, tuple[str, ...]] = {}
        only = [draft for draft, _ in drafts]
        prepared = _limit_waiting(self._prepared(only), only)
        near = self._unchanged(near)
        for item, (_, statement) in zip(prepared, drafts, strict=True):
            if not isinstance(item, Memory):
                items.append(item)
                continue
            ruled = [
                MemoryDecision(memory=near[fate.memory], fate=fate)
                for fate in statement.fates
                if fate.memory in near
            ]
            repeated = change_for_known_already(item, ruled, standing=self._standing)
            items.append(repeated or item)
            if repeated is None and ruled:
                judges[item.id] = FateJudge(item.content, ruled)
                beside[item.id] = tuple(decision.memory.id for decision in ruled)
        return items, judges, beside

    def _unchanged(self, near: Mapping[str, Memory]) -> Mapping[str, Memory]:
        """Return the near memories that are still as the model saw them; its answer may have taken minutes."""
        names = [memory.id for memory in near.values()]
        current = {memory.id: memory for memory in self._store.get(names, scope=self._store.scopes())}
        return {
            name: current[memory.id]
            for name, memory in near.items()
            if memory.id in current
            and (current[memory.id].status, current[memory.id].content) == (memory.status, memory.content)
        }


def _limit_waiting(items: Sequence[Item], drafts: Sequence[Draft]) -> list[Item]:
    """Return the items, one for one, with only the surest `MOST_WAITING` of the agent's statements left to wait for the user.

    Of the others, each becomes an active memory for answers on demand, or a `Skip` if its draft is doubtful. What the
    user said waits in any case.
    """
    waiting = [item for item in items if isinstance(item, Memory) and _may_be_too_many(item)]
    shown = {memory.id for memory in sorted(waiting, key=lambda memory: -memory.confidence)[:MOST_WAITING]}
    items_left: list[Item] = []
    for item, draft in zip(items, drafts, strict=True):
        if not isinstance(item, Memory) or not _may_be_too_many(item) or item.id in shown:
            items_left.append(item)
        elif draft.doubtful:
            items_left.append(
                Skip(content=item.content, reason=ChangeReason(cause=ChangeCause.ENOUGH_WAITING))
            )
        else:
            on_demand = replace(item.provenance, tier=TrustTier.IMPORT)
            items_left.append(replace(item, status="active", provenance=on_demand))
    return items_left


def _may_be_too_many(memory: Memory) -> bool:
    return memory.status == "quarantined" and memory.provenance.tier is not TrustTier.USER


def _newest_ms(waiting: PendingSession) -> int:
    return max((message.at_ms for message in waiting.messages), default=0) or waiting.updated_ms
