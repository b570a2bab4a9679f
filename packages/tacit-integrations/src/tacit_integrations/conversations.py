"""The conversations of a client: which conversation a request belongs to, and its state between requests.

In: requests and their answers. Out: the conversation of each request. The program may name the session of a request. Otherwise a
conversation is identified by its beginning: the user's messages, the tool results and the answers between them, in order. A request that
continues an earlier point in another way is a fork: common messages keep the same bytes. A request without answers
that has the beginning of an answered conversation starts a new one. A conversation that the API stores is identified by its id. A journal keeps
what a later process needs to identify the same conversations.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Protocol, TypeVar

from tacit.library.conversation import Placement, block_slots
from tacit.library.message_formats import MessageFacts
from tacit.library.session import Session
from tacit_integrations.bodies import Body
from tacit_integrations.reuse import Outline, Reuse

K = TypeVar("K")
V = TypeVar("V")
MAX_CONVERSATIONS = 500
MAX_PLACES = 20_000
MAX_SAID = 400


@dataclass(frozen=True, slots=True)
class WaitingRequest:
    """A request that waits for the cache meter: its body without blocks, its blocks, and whether the system text changes with every prompt."""

    body: Body
    system: str
    texts: tuple[str, ...]
    every_call: bool


@dataclass(frozen=True, slots=True)
class ConversationSpace:
    """The agent's session and the folder of a request. Conversations are only looked for in the request's own space.

    Attributes:
        name: a name that several conversations share, such as the session id of a coding agent; "" = none.
        folder: the folder of the project; "" = that of the client.
    """

    name: str = ""
    folder: str = ""


NO_SPACE = ConversationSpace()
"""The space of a request that names neither a session nor a project."""


@dataclass(slots=True)
class KnownConversation:
    """A session, and what is known about its conversation between two requests.

    Attributes:
        session: the session; it places the blocks.
        head: digest of the whole conversation.
        said: the messages of a conversation that the API stores; else empty.
        answered: whether the model has answered.
        start_with: as in `Placement`.
        sent, bare: outlines of the last measured request, with and without blocks.
        unmeasured: requests that the cache meter has not measured yet.
        reuse: measurements since the last turn.
        tokens: pairs of input tokens and cached tokens since the last turn.
        placement: where the last request had its blocks.
    """

    session: Session
    head: bytes = b""
    said: tuple[MessageFacts, ...] = ()
    answered: bool = False
    start_with: str = ""
    sent: Outline | None = None
    bare: Outline | None = None
    unmeasured: list[WaitingRequest] = field(default_factory=list[WaitingRequest])
    reuse: list[Reuse] = field(default_factory=list[Reuse])
    tokens: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    placement: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """An entry of the journal about one session.

    Attributes:
        session: the id of the session.
        places: digests that identify its conversation.
        head: digest of the whole conversation; empty = unchanged.
        missed, start_with: as in `Placement`.
    """

    session: str
    places: tuple[bytes, ...] = ()
    head: bytes = b""
    missed: tuple[str, ...] = ()
    start_with: str = ""


class Journal(Protocol):
    """Keeps entries for a later process. Holds digests and ids, never text."""

    def read(self) -> Iterable[JournalEntry]:
        """Return the entries of earlier processes, oldest first."""
        ...

    def note(self, entry: JournalEntry) -> None:
        """Add an entry. Never raises."""
        ...


class Conversations:
    """Finds the conversation that a request belongs to, among those of one client. Safe to use from several threads."""

    def __init__(self, session: Callable[[str, str], Session], *, journal: Journal | None = None) -> None:
        """Create sessions with `session`, which takes a name ("" = a new session) and a folder ("" = that of the client).

        `journal` has the conversations of earlier processes, and gets those of this one.
        """
        self._session = session
        self._journal = journal
        self._known: OrderedDict[str, KnownConversation] = OrderedDict()
        self._places: OrderedDict[bytes, str] = OrderedDict()
        self._earlier: dict[str, JournalEntry] = {}
        self._lock = Lock()
        for entry in journal.read() if journal else ():
            self._restore(entry)

    def named(self, name: str, space: ConversationSpace = NO_SPACE) -> KnownConversation:
        """Return the conversation that the program calls `name`, opened if it is not known."""
        with self._lock:
            return self._of(name, space)

    def found(
        self, messages: Sequence[MessageFacts], space: ConversationSpace = NO_SPACE
    ) -> KnownConversation:
        """Return the conversation that has the same beginning as `messages`; a new one if there is none."""
        chain, answers = chain_of(messages, space), answers_in(messages)
        with self._lock:
            known, number = self._farthest(chain, answers, space)
            again = known is not None and known.answered and number == len(chain) and not any(answers)
            if known is None or again:
                known = self._opened("", space)
            elif number < len(chain) and known.head != chain[number - 1]:
                known = self._forked(known)
            new = tuple(place for place in chain if again or place not in self._places)
            if new and chain[-1] in new:
                known.head = chain[-1]
            self._put_places(known, new)
            return known

    def _farthest(
        self, chain: Sequence[bytes], answers: Sequence[bytes], space: ConversationSpace
    ) -> tuple[KnownConversation | None, int]:
        """Return the conversation that a request continues, and how many digests of `chain` it has.

        This is the conversation whose newest answer is the newest one in the request; else the conversation with most digests.
        """
        newest = max((number for number, answer in enumerate(answers, start=1) if answer), default=0)
        if newest:
            known = self._at(chain[newest - 1], answers[newest - 1], space)
            if known is not None and known.head == chain[newest - 1]:
                return known, newest
        for number in range(len(chain), 0, -1):
            known = self._at(chain[number - 1], answers[number - 1], space)
            if known is not None:
                return known, number
        return None, 0

    def _at(self, place: bytes, answer: bytes, space: ConversationSpace) -> KnownConversation | None:
        """Return the conversation with this digest. If several have it, return the one with this answer after it."""
        name = self._places.get(_digest(place, answer)) if answer else None
        name = name or self._places.get(place)
        return None if name is None else self._of(name, space)

    def answered(
        self,
        known: KnownConversation,
        messages: Sequence[MessageFacts],
        space: ConversationSpace = NO_SPACE,
    ) -> None:
        """Record that the model answered. The answer at the end of `messages` distinguishes conversations with the same beginning."""
        chain, answers = chain_of(messages, space), answers_in(messages)
        with self._lock:
            known.answered = True
            if chain and answers[-1]:
                place = _digest(chain[-1], answers[-1])
                if self._places.get(place) != known.session.id:
                    self._put_places(known, (place,))

    def placed(self, known: KnownConversation, placement: Placement) -> None:
        """Record in the journal which messages of a conversation were sent without a block."""
        with self._lock:
            if not placement.missed and placement.start_with == known.start_with:
                return
            known.start_with = placement.start_with
            self._note(known, missed=placement.missed)

    def kept(
        self, name: str, space: ConversationSpace = NO_SPACE, *, lasting: bool
    ) -> KnownConversation | None:
        """Return the conversation that the API stores under the id `name`; `lasting` = the id stays the same during the conversation."""
        with self._lock:
            session = self._places.get(_digest(b"kept", _bytes(name)))
            session = session or (f"kept-{name}" if lasting else None)
            return None if session is None else self._of(session, space)

    def keep(self, name: str, known: KnownConversation) -> None:
        """Record that the API stores a conversation under the id `name`."""
        with self._lock:
            self._put_places(known, (_digest(b"kept", _bytes(name)),))

    def new(self, space: ConversationSpace = NO_SPACE) -> KnownConversation:
        """Open a new conversation in `space` and return it."""
        with self._lock:
            return self._opened("", space)

    def _of(self, name: str, space: ConversationSpace) -> KnownConversation:
        """Return the conversation of a session. If it was dropped, or is of an earlier process, open it again."""
        known = self._known.get(name) or self._opened(name, space)
        _put(self._known, name, known, MAX_CONVERSATIONS)
        return known

    def _opened(self, name: str, space: ConversationSpace) -> KnownConversation:
        known = KnownConversation(self._session(name, space.folder))
        earlier = self._earlier.get(name)
        if earlier is not None:
            known.head, known.start_with, known.answered = earlier.head, earlier.start_with, True
            known.session.went_out_without(earlier.missed, start_with=earlier.start_with)
        _put(self._known, known.session.id, known, MAX_CONVERSATIONS)
        return known

    def _forked(self, other: KnownConversation) -> KnownConversation:
        forked = KnownConversation(
            other.session.fork(f"s-{secrets.token_hex(8)}"),
            said=other.said,
            answered=other.answered,
            start_with=other.start_with,
        )
        _put(self._known, forked.session.id, forked, MAX_CONVERSATIONS)
        missed = forked.session.missed
        if missed or forked.start_with:
            self._note(forked, missed=missed)
        return forked

    def _put_places(self, known: KnownConversation, places: tuple[bytes, ...]) -> None:
        for place in places:
            _put(self._places, place, known.session.id, MAX_PLACES)
        if places:
            self._note(known, places=places)

    def _note(
        self, known: KnownConversation, *, places: tuple[bytes, ...] = (), missed: tuple[str, ...] = ()
    ) -> None:
        entry = JournalEntry(
            session=known.session.id,
            places=places,
            head=known.head,
            missed=missed,
            start_with=known.start_with,
        )
        if self._journal is not None:
            self._journal.note(entry)
        self._remember(entry)

    def _restore(self, entry: JournalEntry) -> None:
        for place in entry.places:
            _put(self._places, place, entry.session, MAX_PLACES)
        self._remember(entry)

    def _remember(self, entry: JournalEntry) -> None:
        """Merge an entry with the earlier ones of its session. `_opened` reads them when the conversation is opened again."""
        before = self._earlier.pop(entry.session, None)
        missed = (*before.missed, *entry.missed) if before else entry.missed
        self._earlier[entry.session] = replace(entry, places=(), missed=missed)
        while len(self._earlier) > MAX_PLACES:
            del self._earlier[next(iter(self._earlier))]


def chain_of(messages: Sequence[MessageFacts], space: ConversationSpace = NO_SPACE) -> list[bytes]:
    """Return a digest of the conversation up to each user message and tool result. Lists with the same beginning have the same first digests."""
    digests: list[bytes] = []
    before = _bytes(f"{space.name}\0{space.folder}") if space.name or space.folder else b""
    answers = answers_in(messages)
    for names in filter(None, block_slots(messages)):
        answer = answers[len(digests) - 1] if digests else b""
        before = _digest(before, answer, _bytes("\0".join(names)))
        digests.append(before)
    return digests


def answers_in(messages: Sequence[MessageFacts]) -> list[bytes]:
    """Return a digest of the answer after each digest of `chain_of`, from its words and the ids of its calls; empty = no answer follows."""
    parts: list[list[str]] = []
    for message, names in zip(messages, block_slots(messages), strict=True):
        if names:
            parts.append([])
        elif parts and message.role == "assistant":
            parts[-1] += [*message.text.split(), *(call.call_id for call in message.calls)]
    return [_digest(_bytes(" ".join(said))) if said else b"" for said in parts]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _digest(*parts: bytes) -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=12).digest()


def _put(table: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    table[key] = value
    table.move_to_end(key)
    while len(table) > most:
        table.popitem(last=False)
