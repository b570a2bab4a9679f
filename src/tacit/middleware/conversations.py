"""Which conversation a request belongs to, and what is known of it between two requests.

In: requests and their answers. Out: the conversation that each goes on with. A session that the program names is that session; else a
conversation is known by its beginning: the messages of the user and the tool results in their order, and the answers between them.
One that goes on from an earlier point in another way is a fork, with the same bytes for what both have; one that begins again with the
words of an answered one is a new one. What an API keeps itself is known by the name it gave. A journal keeps what a later process
needs to know the same conversations again.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Protocol, TypeVar

from tacit.app.library.conversation import Placement, block_slots
from tacit.app.library.message_formats import MessageFacts
from tacit.app.library.session import Session
from tacit.middleware.bodies import Body
from tacit.middleware.reuse import Outline, Reuse

K = TypeVar("K")
V = TypeVar("V")
MAX_CONVERSATIONS = 500
MAX_PLACES = 20_000
MAX_SAID = 400


@dataclass(frozen=True, slots=True)
class Measured:
    """A request as it was written, its blocks, and whether the system text is written anew each time."""

    body: Body
    system: str
    texts: tuple[str, ...]
    every_call: bool


@dataclass(frozen=True, slots=True)
class Space:
    """What conversations have in common besides their words. Those of different spaces are never taken for one another.

    Attributes:
        name: a name that the program gives to several conversations, as a coding agent does to those of one session; "" = none.
        folder: whose project they are about; "" = the client's own.
    """

    name: str = ""
    folder: str = ""


NO_SPACE = Space()
"""Of a request that says nothing of a session or a project."""


@dataclass(slots=True)
class KnownConversation:
    """One conversation. `head` = digest of all that was said in it; `said` = what the API keeps of it, where it does.

    `answered` = whether the model has answered in it; `start_with` = as in `Placement`.
    `unmeasured` = requests that the cache meter has not looked at; `sent`, `bare` = outlines of the last one that it has.
    """

    session: Session
    head: bytes = b""
    said: tuple[MessageFacts, ...] = ()
    answered: bool = False
    start_with: str = ""
    sent: Outline | None = None
    bare: Outline | None = None
    unmeasured: list[Measured] = field(default_factory=list[Measured])
    reuse: list[Reuse] = field(default_factory=list[Reuse])
    tokens: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    placement: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """What became known of a session.

    Attributes:
        session: its id.
        places: digests by which its conversation is found.
        head: digest of all that was said in it; empty = as before.
        missed, start_with: as in `Placement`.
    """

    session: str
    places: tuple[bytes, ...] = ()
    head: bytes = b""
    missed: tuple[str, ...] = ()
    start_with: str = ""


class Journal(Protocol):
    """Keeps entries for a later process. Holds digests and names, never words."""

    def read(self) -> Iterable[JournalEntry]:
        """The entries of earlier processes, oldest first."""
        ...

    def note(self, entry: JournalEntry) -> None:
        """Keep one more. Never raises."""
        ...


class Conversations:
    """The conversations of one client. Safe to use from several threads."""

    def __init__(self, session: Callable[[str, str], Session], *, journal: Journal | None = None) -> None:
        """Begin sessions with `session`: of a name ("" = a new one), in a folder ("" = the client's own).

        `journal` = where the conversations of earlier processes are found, and those of this one kept.
        """
        self._session = session
        self._journal = journal
        self._known: OrderedDict[str, KnownConversation] = OrderedDict()
        self._places: OrderedDict[bytes, str] = OrderedDict()
        self._earlier: dict[str, JournalEntry] = {}
        self._lock = Lock()
        for entry in journal.read() if journal else ():
            self._restore(entry)

    def named(self, name: str, space: Space = NO_SPACE) -> KnownConversation:
        """The conversation that the program calls `name`."""
        with self._lock:
            return self._of(name, space)

    def found(self, messages: Sequence[MessageFacts], space: Space = NO_SPACE) -> KnownConversation:
        """The conversation that begins as `messages` does; a new one where none does."""
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
        self, chain: Sequence[bytes], answers: Sequence[bytes], space: Space
    ) -> tuple[KnownConversation | None, int]:
        """The conversation that a request goes on with, and how much of `chain` it has.

        That is the one whose newest answer is the newest in the request; else the one that has most of it.
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

    def _at(self, place: bytes, answer: bytes, space: Space) -> KnownConversation | None:
        """The conversation that has a place, and where several have it the one that got this answer there."""
        name = self._places.get(_digest(place, answer)) if answer else None
        name = name or self._places.get(place)
        return None if name is None else self._of(name, space)

    def answered(
        self,
        known: KnownConversation,
        messages: Sequence[MessageFacts],
        space: Space = NO_SPACE,
    ) -> None:
        """Note that the model answered; an answer at the end of `messages` tells conversations with the same words apart."""
        chain, answers = chain_of(messages, space), answers_in(messages)
        with self._lock:
            known.answered = True
            if chain and answers[-1]:
                place = _digest(chain[-1], answers[-1])
                if self._places.get(place) != known.session.id:
                    self._put_places(known, (place,))

    def placed(self, known: KnownConversation, placement: Placement) -> None:
        """Keep for a later process what messages of a conversation went out without."""
        with self._lock:
            if not placement.missed and placement.start_with == known.start_with:
                return
            known.start_with = placement.start_with
            self._note(known, missed=placement.missed)

    def kept(self, name: str, space: Space = NO_SPACE, *, lasting: bool) -> KnownConversation | None:
        """The conversation that the API keeps as `name`; `lasting` = a name that stays the same as it goes on."""
        with self._lock:
            session = self._places.get(_digest(b"kept", _bytes(name)))
            session = session or (f"kept-{name}" if lasting else None)
            return None if session is None else self._of(session, space)

    def keep(self, name: str, known: KnownConversation) -> None:
        """Note that the API keeps a conversation as `name`."""
        with self._lock:
            self._put_places(known, (_digest(b"kept", _bytes(name)),))

    def new(self, space: Space = NO_SPACE) -> KnownConversation:
        """A conversation of which nothing is known."""
        with self._lock:
            return self._opened("", space)

    def _of(self, name: str, space: Space) -> KnownConversation:
        """The conversation of a session; one that was let go, or is of an earlier process, is opened again."""
        known = self._known.get(name) or self._opened(name, space)
        _put(self._known, name, known, MAX_CONVERSATIONS)
        return known

    def _opened(self, name: str, space: Space) -> KnownConversation:
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
        """Take an entry into what is known of its session, for when its conversation is opened again."""
        before = self._earlier.pop(entry.session, None)
        missed = (*before.missed, *entry.missed) if before else entry.missed
        self._earlier[entry.session] = replace(entry, places=(), missed=missed)
        while len(self._earlier) > MAX_PLACES:
            del self._earlier[next(iter(self._earlier))]


def chain_of(messages: Sequence[MessageFacts], space: Space = NO_SPACE) -> list[bytes]:
    """A digest of all that was said up to each message of the user and each tool result: lists that begin alike have the same ones."""
    digests: list[bytes] = []
    before = _bytes(f"{space.name}\0{space.folder}") if space.name or space.folder else b""
    answers = answers_in(messages)
    for names in filter(None, block_slots(messages)):
        answer = answers[len(digests) - 1] if digests else b""
        before = _digest(before, answer, _bytes("\0".join(names)))
        digests.append(before)
    return digests


def answers_in(messages: Sequence[MessageFacts]) -> list[bytes]:
    """For each digest of `chain_of` one of the answer that follows: its words and the ids of its calls; empty = none follows."""
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
