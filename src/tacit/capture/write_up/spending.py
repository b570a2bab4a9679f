"""What the writer has cost and brought, kept in the store, so that a restart forgets nothing. In and out: one JSON text.

A day's tokens are those of the day in universal time. What a request may cost is reserved before it is sent; what it did
cost takes its place afterwards. A request without an answer keeps its reserve: nobody knows what it cost.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, cast

NAME = "capture/extractor"
"""Named value of the store."""
PAUSE_MS = 10 * 60_000
"""After a failure nothing is asked for so long; after each further one twice as long, at most `MOST_PAUSE_MS`."""
MOST_PAUSE_MS = 6 * 3_600_000
_SESSION_PREFIX = "capture/written/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Counts since the writer was first used; `tokens` and `tokens_out` are those of `day`.

    Attributes:
        day: the day that `tokens` belong to, as 2026-11-21.
        tokens: input tokens of that day.
        tokens_out: output tokens of that day.
        asked: requests in all.
        kept: statements that passed the checks.
        dropped: statements that did not: the session does not say them.
        failed: requests without a usable answer.
        over_budget: times that the day's tokens did not suffice.
        in_a_row: failures since the last answer.
        paused_until_ms: nothing is asked before.
        error: what went wrong last.
    """

    day: str = ""
    tokens: int = 0
    tokens_out: int = 0
    asked: int = 0
    kept: int = 0
    dropped: int = 0
    failed: int = 0
    over_budget: int = 0
    in_a_row: int = 0
    paused_until_ms: int = 0
    error: str = ""

    def on(self, now_ms: int) -> Spending:
        """The same today: a new day begins with no tokens."""
        today = day_of(now_ms)
        return self if self.day == today else replace(self, day=today, tokens=0, tokens_out=0)

    def after_failure(self, error: str, *, now_ms: int) -> Spending:
        """The counts after a request without a usable answer: the next one waits longer with each failure."""
        pause = min(PAUSE_MS * 2 ** min(self.in_a_row, 10), MOST_PAUSE_MS)
        return replace(
            self, failed=self.failed + 1, in_a_row=self.in_a_row + 1, paused_until_ms=now_ms + pause, error=error[:300]
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpending:
    """Input tokens spent on one session on one day."""

    day: str = ""
    tokens: int = 0

    def on(self, now_ms: int) -> SessionSpending:
        """The same today."""
        today = day_of(now_ms)
        return self if self.day == today else SessionSpending(day=today)


def day_of(now_ms: int) -> str:
    """The day of a moment in universal time."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()


def session_spending_name(host: str, session_id: str) -> str:
    """Name of the value that holds what was spent on a session."""
    return f"{_SESSION_PREFIX}{host}/{session_id}"


def read_session_spending(text: str | None) -> SessionSpending:
    """What was spent on a session; nothing where the text makes no sense."""
    return SessionSpending(**_known(text, SessionSpending()))


def read_spending(text: str | None) -> Spending:
    """The counts in `text`; none where there are none, or what stands there makes no sense."""
    return Spending(**_known(text, Spending()))


def write_spending(spending: Spending | SessionSpending) -> str:
    """The counts as JSON."""
    return json.dumps(asdict(spending), separators=(",", ":"), sort_keys=True)


def _known(text: str | None, example: Spending | SessionSpending) -> dict[str, Any]:
    try:
        raw: object = json.loads(text or "{}")
    except ValueError:
        return {}
    given = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    known = {one.name: given[one.name] for one in fields(example) if one.name in given}
    return {name: value for name, value in known.items() if type(value) is type(getattr(example, name))}
