"""The choice of sessions that go without memory, so that a user can see its worth. In: a session's record. Out: yes or no. Pure.

The choice is made by a hash of the session's id, so that it is the same in every process and for as long as the session lives (Kohavi,
Longbotham, Sommerfield, Henne: Controlled experiments on the web, 2009, section 4.1). A subagent and a fork go with the session they
come from.
"""

from __future__ import annotations

import hashlib

from tacit.model.session import SessionKey, SessionState


def held_out(state: SessionState, share: float) -> bool:
    """Whether the session of `state` is one of the `share` (0-1) that goes without."""
    return share > 0.0 and position(root_of(state)) < share


def root_of(state: SessionState) -> SessionKey:
    """The session that `state` belongs to: itself, or the one it came from."""
    key = state.parent or state.key
    return SessionKey(host=key.host, session_id=key.session_id.partition("#")[0])


def position(key: SessionKey) -> float:
    """A number from 0 up to 1 that belongs to a session: 64 bits of a hash of its name, divided by 2^64."""
    digest = hashlib.blake2b(f"holdout:{key}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
