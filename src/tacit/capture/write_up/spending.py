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
MOST_REQUESTS = 50
"""Requests that are kept of one session."""
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
class RequestRecord:
    """One request to a model for a session.

    Attributes:
        at_ms: when it was sent.
        took_ms: how long the answer took.
        model: what was asked.
        tokens_in: input tokens; estimated where no answer says it.
        tokens_out: output tokens.
        kept: statements that passed the checks.
        dropped: why each of the others did not.
        error: why there is no usable answer; "" = there is one.
    """

    at_ms: int = 0
    took_ms: int = 0
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    kept: int = 0
    dropped: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpending:
    """Input tokens spent on one session on one day, and the requests for it on any day, the newest of them."""

    day: str = ""
    tokens: int = 0
    requests: tuple[RequestRecord, ...] = ()

    def on(self, now_ms: int) -> SessionSpending:
        """The same today."""
        today = day_of(now_ms)
        return self if self.day == today else replace(self, day=today, tokens=0)

    def after(self, request: RequestRecord) -> SessionSpending:
        """With one request more; without an answer it costs the session nothing of its day."""
        cost = 0 if request.error else request.tokens_in
        requests = (*self.requests, replace(request, error=request.error[:300]))[-MOST_REQUESTS:]
        return replace(self, tokens=self.tokens + cost, requests=requests)


def day_of(now_ms: int) -> str:
    """The day of a moment in universal time."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()


def session_spending_name(host: str, session_id: str) -> str:
    """Name of the value that holds what was spent on a session."""
    return f"{_SESSION_PREFIX}{host}/{session_id}"


def read_session_spending(text: str | None) -> SessionSpending:
    """What was spent on a session; nothing where the text makes no sense."""
    rows = _read(text).get("requests")
    requests = cast("list[object]", rows) if isinstance(rows, list) else []
    known = (_record(cast("dict[str, Any]", one)) for one in requests if isinstance(one, dict))
    return replace(SessionSpending(**_known(_read(text), SessionSpending())), requests=tuple(known))


def read_spending(text: str | None) -> Spending:
    """The counts in `text`; none where there are none, or what stands there makes no sense."""
    return Spending(**_known(_read(text), Spending()))


def write_spending(spending: Spending | SessionSpending) -> str:
    """The counts as JSON."""
    return json.dumps(asdict(spending), separators=(",", ":"), sort_keys=True)


def _record(row: dict[str, Any]) -> RequestRecord:
    dropped = row.get("dropped")
    why = cast("list[object]", dropped) if isinstance(dropped, list) else []
    return RequestRecord(**_known({**row, "dropped": tuple(map(str, why))}, RequestRecord()))


def _read(text: str | None) -> dict[str, Any]:
    try:
        raw: object = json.loads(text or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}


def _known(given: dict[str, Any], example: Spending | SessionSpending | RequestRecord) -> dict[str, Any]:
    known = {one.name: given[one.name] for one in fields(example) if one.name in given}
    return {name: value for name, value in known.items() if type(value) is type(getattr(example, name))}
