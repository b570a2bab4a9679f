"""What is counted of one session of a trial, and how it is kept. In: signals. Out: records, JSON. Pure.

A failure is *repeated* when the same error (its signature) came up before in this project: in another session, or at an earlier turn of
this one. Tokens are what passes by: prompts, the agent's last words, tool inputs and outputs as the host tells them, and what was
handed over; estimated, not counted by the model's API.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

SHARDS = 32
MAX_PER_SHARD = 200
MAX_SEEN = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Counts of one session. `without` = it was held out."""

    without: bool
    at_ms: int
    turns: int = 0
    calls: int = 0
    failures: int = 0
    repeated: int = 0
    tokens: int = 0

    def plus(
        self, *, turns: int = 0, calls: int = 0, failures: int = 0, repeated: int = 0, tokens: int = 0
    ) -> Record:
        """The record with more of each."""
        return replace(
            self,
            turns=self.turns + turns,
            calls=self.calls + calls,
            failures=self.failures + failures,
            repeated=self.repeated + repeated,
            tokens=self.tokens + tokens,
        )


Records = Mapping[str, Record]
Seen = Mapping[str, tuple[str, int]]
"""Digest of an error -> where it came up first: session, turn."""


def shard_of(session: str) -> str:
    """Name of the value that holds a session's record."""
    return f"trial/sessions/{int.from_bytes(_digest(session), 'big') % SHARDS:02d}"


def every_shard() -> tuple[str, ...]:
    """Names of all values that hold records."""
    return tuple(f"trial/sessions/{number:02d}" for number in range(SHARDS))


def seen_name(project: str) -> str:
    """Name of the value that holds the errors of a project."""
    return f"trial/errors/{project}"


def read_records(text: str | None) -> dict[str, Record]:
    """The records of a value; what cannot be read is left out."""
    found: dict[str, Record] = {}
    for name, row in _object(text).items():
        numbers = (
            [one for one in cast("list[object]", row) if isinstance(one, int)]
            if isinstance(row, list)
            else []
        )
        if len(numbers) == 7:
            without, at_ms, turns, calls, failures, repeated, tokens = numbers
            found[name] = Record(
                without=bool(without), at_ms=at_ms, turns=turns, calls=calls, failures=failures, repeated=repeated, tokens=tokens
            )  # fmt: skip
    return found


def write_records(records: Records) -> str:
    """The newest records as JSON."""
    newest = sorted(records.items(), key=lambda pair: (-pair[1].at_ms, pair[0]))[:MAX_PER_SHARD]
    rows = {
        name: [int(r.without), r.at_ms, r.turns, r.calls, r.failures, r.repeated, r.tokens]
        for name, r in sorted(newest)
    }
    return json.dumps(rows, separators=(",", ":"))


def read_seen(text: str | None) -> dict[str, tuple[str, int]]:
    """Errors that came up; what cannot be read is left out."""
    found: dict[str, tuple[str, int]] = {}
    for name, row in _object(text).items():
        match row:
            case [str(session), int(turn)]:
                found[name] = (session, turn)
            case _:
                pass
    return found


def write_seen(seen: Seen) -> str:
    """The errors that came up last, as JSON."""
    return json.dumps(
        {name: list(where) for name, where in list(seen.items())[-MAX_SEEN:]}, separators=(",", ":")
    )


def failed_before(signature: str, *, session: str, turn: int, seen: Seen) -> tuple[bool, Seen]:
    """Whether an error came up before this turn, and what has come up now."""
    name = _digest(signature).hex()
    before = seen.get(name)
    if before is None:
        return False, {**seen, name: (_digest(session).hex(), turn)}
    return before != (_digest(session).hex(), turn), seen


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()


def _object(text: str | None) -> Mapping[str, object]:
    try:
        value: object = json.loads(text) if text else {}
    except ValueError:
        return {}
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def merged(kept: Records, new: Records) -> Records:
    """What is kept with what is newer."""
    return {**kept, **new}


def within(records: Sequence[Record], *, since_ms: int, until_ms: int) -> list[Record]:
    """Records of that time in which anything happened."""
    return [one for one in records if since_ms <= one.at_ms < until_ms and one.turns]
