"""What a stage hands on: kept values, drops with reasons, notes for the trace. Shared by all stages; decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from tacit.model.trace import Drop, Loss

T = TypeVar("T")
PINNED = "pinned"
"""Reason of a candidate that is handed over because its kind is pinned, not because of what was asked."""


LAST_SESSION = "last session"
"""Reason of the digest that tells of the last session: it is handed over for that, not for what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[T]):
    """Result of one stage."""

    kept: T
    drops: tuple[Drop, ...] = ()
    notes: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
