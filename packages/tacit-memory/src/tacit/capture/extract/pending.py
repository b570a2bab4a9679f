"""Failures that wait for their fix, over all sessions of a place. In: the stored list, a session. Out: what to go on with. Pure.

What one session leaves failing, a later one may fix. The list belongs to a scope and moves in the transaction that stores what was
learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tacit.state.captured import Failure, Pending


def open_before(pending: Sequence[Pending], own: Sequence[Failure], session: str) -> tuple[Failure, ...]:
    """Return the failures that a reading of `session` begins with: those of earlier sessions first, marked so, then its own."""
    earlier = [replace(item.failure, elsewhere=True) for item in pending if item.session != session]
    return (*earlier, *(replace(failure, elsewhere=False) for failure in own))


def open_after(
    pending: Sequence[Pending], open_failures: Sequence[Failure], session: str
) -> tuple[tuple[Pending, ...], tuple[Failure, ...]]:
    """Return the list after a reading that left `open_failures`, and which of these are the session's own."""
    own = tuple(failure for failure in open_failures if not failure.elsewhere)
    # What was done here about a failure of elsewhere, without success, counts for nothing in the next session.
    still = {(failure.command, failure.signature) for failure in open_failures if failure.elsewhere}
    remaining = [
        item
        for item in pending
        if item.session != session and (item.failure.command, item.failure.signature) in still
    ]
    items = (*remaining, *(Pending(session=session, failure=failure) for failure in own))
    oldest_first = sorted(items, key=lambda item: (item.failure.at_ms, item.session, item.failure.command))
    return tuple(oldest_first), own


def without_old(pending: Sequence[Pending], *, before_ms: int) -> tuple[Pending, ...]:
    """Without failures last seen before `before_ms`; one without a time stays."""
    return tuple(item for item in pending if not item.failure.at_ms or item.failure.at_ms >= before_ms)
