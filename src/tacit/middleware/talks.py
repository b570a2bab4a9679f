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

from tacit.app.library.conversation import slots_of
from tacit.app.library.session import Session
from tacit.app.library.shapes import Said
from tacit.middleware.bodies import Body
from tacit.middleware.reuse import Outline

K = TypeVar("K")
MAX_TALKS = 500
MAX_PLACES = 20_000
MAX_SAID = 400


@dataclass(slots=True)
class Known:
    """One conversation. `head` = digest of all that was said in it; `said` = what the API keeps of it, where it does.

    `unmeasured` = requests as they were written and as they went out, with whether the system text is written anew each time;
    `sent`, `bare` = outlines of the last one that was measured.
    """

    session: Session
    head: bytes = b""
    said: tuple[Said, ...] = ()
    sent: Outline | None = None
    bare: Outline | None = None
    unmeasured: list[tuple[Body, Body, bool]] = field(default_factory=list[tuple[Body, Body, bool]])
    tokens: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    placement: str = "none"


class Talks:
    """The conversations of one client. Safe to use from several threads."""

    def __init__(self, session: Callable[[str], Session]) -> None:
        """Begin sessions with `session`: with a name of the program's own, or "" for a new one."""
        self._session = session
        self._named: OrderedDict[str, Known] = OrderedDict()
        self._places: OrderedDict[bytes, Known] = OrderedDict()
        self._kept: OrderedDict[str, Known] = OrderedDict()
        self._lock = Lock()

    def named(self, name: str) -> Known:
        """The conversation that the program calls `name`."""
        with self._lock:
            known = self._named.get(name) or Known(self._session(name))
            _put(self._named, name, known, MAX_TALKS)
            return known

    def found(self, said: Sequence[Said]) -> Known:
        """The conversation that begins as `said` does; a new one where none does."""
        chain = chain_of(said)
        with self._lock:
            known: Known | None = None
            for number in range(len(chain), 0, -1):
                known = self._places.get(chain[number - 1])
                if known is not None:
                    went_on = known.head != chain[number - 1] and number < len(chain)
                    known = self._forked(known) if went_on else known
                    break
            known = known or Known(self._session(""))
            if chain and chain[-1] not in self._places:
                known.head = chain[-1]
            for place in chain:
                if place not in self._places:
                    _put(self._places, place, known, MAX_PLACES)
            return known

    def kept(self, name: str, *, lasting: bool) -> Known | None:
        """The conversation that the API keeps as `name`; `lasting` = a name that stays the same as it goes on."""
        with self._lock:
            known = self._kept.get(name)
            if known is None and lasting:
                known = Known(self._session(f"kept-{name}"))
                _put(self._kept, name, known, MAX_TALKS)
            return known

    def keep(self, name: str, known: Known) -> None:
        """Note that the API keeps `known` as `name`."""
        with self._lock:
            _put(self._kept, name, known, MAX_PLACES)

    def new(self) -> Known:
        """A conversation of which nothing is known."""
        return Known(self._session(""))

    def _forked(self, known: Known) -> Known:
        return Known(known.session.fork(f"s-{secrets.token_hex(8)}"), said=known.said)


def chain_of(said: Sequence[Said]) -> list[bytes]:
    """A digest after every message of the user and every tool result: two lists that begin alike have the same ones."""
    found: list[bytes] = []
    before = b""
    for names in slots_of(said):
        if names:
            before = hashlib.blake2b(before + "\0".join(names).encode(), digest_size=12).digest()
            found.append(before)
    return found


def _put(table: OrderedDict[K, Known], key: K, value: Known, most: int) -> None:
    table[key] = value
    table.move_to_end(key)
    while len(table) > most:
        table.popitem(last=False)
