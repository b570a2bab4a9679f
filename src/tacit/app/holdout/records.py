"""Counts for one session of a holdout. In: signals. Out: records. Pure.

A failure is *repeated* when the same error (its signature) came up before in this project: in another session, or at an earlier turn of
this one. Tokens are what passes by: prompts, the agent's last words, tool inputs and outputs as the host tells them, and what was
handed over; estimated, not counted by the model's API.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from tacit.state.counted import Record

_SHARDS = 32
SHARDS = tuple(f"{number:02d}" for number in range(_SHARDS))
"""Keys of the values that hold records: a session ends with writing one of them anew, and not all."""
Records = Mapping[str, Record]
Seen = Mapping[str, tuple[str, int]]
"""Digest of an error -> where it came up first: session, turn."""


def shard_of(session: str) -> str:
    """Key of the value that holds a session's record."""
    return SHARDS[int.from_bytes(_digest(session), "big") % _SHARDS]


def failed_before(signature: str, *, session: str, turn: int, seen: Seen) -> tuple[bool, Seen]:
    """Whether an error came up before this turn, and what has come up now."""
    name = _digest(signature).hex()
    before = seen.get(name)
    if before is None:
        return False, {**seen, name: (_digest(session).hex(), turn)}
    return before != (_digest(session).hex(), turn), seen


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()


def merged(kept: Records, new: Records) -> Records:
    """What is kept with what is newer, the newest last."""
    return dict(sorted({**kept, **new}.items(), key=lambda pair: (pair[1].at_ms, pair[0])))


def within(records: Sequence[Record], *, since_ms: int, until_ms: int) -> list[Record]:
    """Records of that time in which anything happened."""
    return [one for one in records if since_ms <= one.at_ms < until_ms and one.turns]
