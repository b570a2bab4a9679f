"""Which conversation a request belongs to, and what is known of it between two requests.

In: requests. Out: the `Talk` that each goes on with. A session that the program names is that session; else a conversation is known
by its beginning: the messages of the user and the tool results in their order. One that goes on from an earlier point in another
way is a fork, with the same bytes for what both have. What an API keeps itself is known by the name it gave.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

from tacit.app.library.conversation import block_slots
from tacit.app.library.message_formats import MessageFacts
from tacit.app.library.session import Session
from tacit.middleware.bodies import Body
from tacit.middleware.reuse import Outline

K = TypeVar("K")
MAX_CONVERSATIONS = 500
MAX_PLACES = 20_000
MAX_SAID = 400


@dataclass(slots=True)
class KnownConversation:
    """One conversation. `head` = digest of all that was said in it; `said` = what the API keeps of it, where it does.

    `unmeasured` = requests as they were written and as they went out, with whether the system text is written anew each time;
    `sent`, `bare` = outlines of the last one that was measured.
    """

    session: Session
    head: bytes = b""
    said: tuple[MessageFacts, ...] = ()
    sent: Outline | None = None
    bare: Outline | None = None
    unmeasured: list[tuple[Body, Body, bool]] = field(default_factory=list[tuple[Body, Body, bool]])
    tokens: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    placement: str = "none"


class Conversations:
    """The conversations of one client. Safe to use from several threads."""

    def __init__(self, session: Callable[[str], Session]) -> None:
        """Begin sessions with `session`: with a name of the program's own, or "" for a new one."""
        self._session = session
        self._named: OrderedDict[str, KnownConversation] = OrderedDict()
        self._places: OrderedDict[bytes, KnownConversation] = OrderedDict()
        self._kept: OrderedDict[str, KnownConversation] = OrderedDict()
        self._lock = Lock()

    def named(self, name: str) -> KnownConversation:
        """The conversation that the program calls `name`."""
        with self._lock:
            conversation = self._named.get(name) or KnownConversation(self._session(name))
            _put(self._named, name, conversation, MAX_CONVERSATIONS)
            return conversation

    def found(self, messages: Sequence[MessageFacts]) -> KnownConversation:
        """The conversation that begins as `messages` does; a new one where none does."""
        chain = chain_of(messages)
        with self._lock:
            conversation: KnownConversation | None = None
            for number in range(len(chain), 0, -1):
                conversation = self._places.get(chain[number - 1])
                if conversation is not None:
                    went_on = conversation.head != chain[number - 1] and number < len(chain)
                    conversation = self._forked(conversation) if went_on else conversation
                    break
            conversation = conversation or KnownConversation(self._session(""))
            if chain and chain[-1] not in self._places:
                conversation.head = chain[-1]
            for place in chain:
                if place not in self._places:
                    _put(self._places, place, conversation, MAX_PLACES)
            return conversation

    def kept(self, name: str, *, lasting: bool) -> KnownConversation | None:
        """The conversation that the API keeps as `name`; `lasting` = a name that stays the same as it goes on."""
        with self._lock:
            conversation = self._kept.get(name)
            if conversation is None and lasting:
                conversation = KnownConversation(self._session(f"kept-{name}"))
                _put(self._kept, name, conversation, MAX_CONVERSATIONS)
            return conversation

    def keep(self, name: str, conversation: KnownConversation) -> None:
        """Note that the API keeps `conversation` as `name`."""
        with self._lock:
            _put(self._kept, name, conversation, MAX_PLACES)

    def new(self) -> KnownConversation:
        """A conversation of which nothing is known."""
        return KnownConversation(self._session(""))

    def _forked(self, conversation: KnownConversation) -> KnownConversation:
        return KnownConversation(
            conversation.session.fork(f"s-{secrets.token_hex(8)}"), said=conversation.said
        )


def chain_of(messages: Sequence[MessageFacts]) -> list[bytes]:
    """A digest after every message of the user and every tool result: two lists that begin alike have the same ones."""
    digests: list[bytes] = []
    before = b""
    for names in block_slots(messages):
        if names:
            before = hashlib.blake2b(before + "\0".join(names).encode(), digest_size=12).digest()
            digests.append(before)
    return digests


def _put(table: OrderedDict[K, KnownConversation], key: K, value: KnownConversation, most: int) -> None:
    table[key] = value
    table.move_to_end(key)
    while len(table) > most:
        table.popitem(last=False)
