"""Failures that wait for their fix, over all sessions of a place. In: the stored list, a session. Out: what to go on with. Pure.

What one session leaves failing, a later one may fix. The list belongs to a scope and moves in the transaction that stores what was
learned.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import cast

from tacit.capture.extract.fixes import Failure, read_failure
from tacit.capture.transcripts.rows import fields_of, list_of

MAX_PENDING = 40
_PREFIX = "capture/failures/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A failure and the session that it happened in last, as `host/id`."""

    session: str
    failure: Failure


def pending_name(scope: str) -> str:
    """Name of the value that holds what waits in a scope."""
    return f"{_PREFIX}{scope}"


def read_pending(text: str | None) -> tuple[Pending, ...]:
    """The stored list; what cannot be read is left out."""
    try:
        listed = cast("object", json.loads(text or "[]"))
    except ValueError:
        return ()
    found = [_read(one) for one in list_of(listed)]
    return tuple(one for one in found if one is not None)


def write_pending(pending: Iterable[Pending]) -> str | None:
    """The list as JSON, the newest `MAX_PENDING`; None when nothing waits."""
    kept = sorted(pending, key=lambda one: (one.failure.at_ms, one.session, one.failure.command))[
        -MAX_PENDING:
    ]
    return json.dumps([asdict(one) for one in kept], separators=(",", ":"), sort_keys=True) if kept else None


def open_before(pending: Sequence[Pending], own: Sequence[Failure], session: str) -> tuple[Failure, ...]:
    """What a reading of `session` begins with: failures of earlier sessions first, marked so, then its own."""
    others = [replace(one.failure, elsewhere=True) for one in pending if one.session != session]
    return (*others, *(replace(failure, elsewhere=False) for failure in own))


def open_after(
    pending: Sequence[Pending], left: Sequence[Failure], session: str
) -> tuple[tuple[Pending, ...], tuple[Failure, ...]]:
    """The list after a reading that left `left` open, and which of these are the session's own."""
    own = tuple(failure for failure in left if not failure.elsewhere)
    # What was done here about a failure of elsewhere, without success, counts for nothing in the next session.
    still = {(failure.command, failure.signature) for failure in left if failure.elsewhere}
    others = [
        one
        for one in pending
        if one.session != session and (one.failure.command, one.failure.signature) in still
    ]
    return (*others, *(Pending(session=session, failure=failure) for failure in own)), own


def without_old(pending: Sequence[Pending], *, before_ms: int) -> tuple[Pending, ...]:
    """Without failures last seen before `before_ms`; one without a time stays."""
    return tuple(one for one in pending if not one.failure.at_ms or one.failure.at_ms >= before_ms)


def _read(one: object) -> Pending | None:
    fields = fields_of(one)
    failure = read_failure(fields_of(fields.get("failure")))
    return (
        Pending(session=str(fields["session"]), failure=failure) if failure and "session" in fields else None
    )
