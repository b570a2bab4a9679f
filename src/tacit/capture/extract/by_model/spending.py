"""What the extractor has cost and brought, kept in the store, so that a restart forgets nothing. In and out: one JSON text.

A day's tokens are those of the day in universal time. What an answer may cost is reserved before it is asked for; what it did
cost takes its place afterwards. An answer that never came keeps its reserve: nobody knows what it cost.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, cast

NAME = "capture/extractor"
"""Named value of the store."""
PAUSE_MS = 10 * 60_000
"""After a failure nothing is asked for so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Counts since the extractor was first used; `tokens` are those of `day`.

    Attributes:
        day: the day that `tokens` belong to, as 2026-11-21.
        tokens: tokens read and written on that day.
        asked: questions in all.
        kept: statements that passed the checks.
        dropped: statements that did not: their words are not in the session.
        failed: questions without a usable answer.
        over_budget: times that the day's tokens did not suffice.
        paused_until_ms: nothing is asked before.
        error: what went wrong last.
    """

    day: str = ""
    tokens: int = 0
    asked: int = 0
    kept: int = 0
    dropped: int = 0
    failed: int = 0
    over_budget: int = 0
    paused_until_ms: int = 0
    error: str = ""

    def on(self, now_ms: int) -> Spending:
        """The same today: a new day begins with no tokens."""
        today = datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
        return self if self.day == today else replace(self, day=today, tokens=0)


def read_spending(text: str | None) -> Spending:
    """The counts in `text`; none where there are none, or what stands there makes no sense."""
    try:
        raw: object = json.loads(text or "{}")
        given = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
        known = {one.name: given[one.name] for one in fields(Spending) if one.name in given}
        right = {
            name: value for name, value in known.items() if type(value) is type(getattr(Spending(), name))
        }
        return Spending(**right)
    except ValueError:
        return Spending()


def write_spending(spending: Spending) -> str:
    """The counts as JSON."""
    return json.dumps(asdict(spending), separators=(",", ":"), sort_keys=True)
