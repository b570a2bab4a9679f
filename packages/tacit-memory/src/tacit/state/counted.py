"""Counts that Tacit keeps: use, cost, verdicts, sessions with and without memory. In: nothing. Out: frozen values. Pure.

`registry` says under which names they are stored. A field that is added needs a default: what an earlier version stored does not
have it. A day is one in universal time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Literal

import msgspec

from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause

PAUSE_MS = 10 * 60_000
"""Pause after a failed request; doubled with each further failure, at most `MOST_PAUSE_MS`."""
MOST_PAUSE_MS = 6 * 3_600_000
MOST_MARKS = 200
MOST_DAYS = 30
"""Most past days whose tokens an account keeps."""
MOST_REQUESTS = 50
"""Most requests that are kept for one session, the newest."""


@frozen
class SessionUsage:
    """What is known so far of the use of memories in one session.

    Attributes:
        seen: hashes of the words that came up in its conversation.
        used: ids of the memories that it used.
        counted: ids of the memories that the totals and the memories' own counts have already.
    """

    seen: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()


@frozen
class Mark:
    """An event that charts are annotated with: settings were changed, or memories imported.

    Attributes:
        at_ms: when.
        what: which of the two happened.
        about: names of the changed settings, or of the tools that memories were imported from.
        count: how many memories were imported; 0 for changed settings.
    """

    at_ms: int
    what: Literal["settings", "import"]
    about: tuple[str, ...] = ()
    count: int = 0


@frozen
class Marks:
    """The newest marks of the charts, at most `MOST_MARKS`, and the settings that were last seen, to notice changes.

    `settings` = by name a fingerprint of each setting that differs from its default; None = nobody looked yet.
    """

    marks: tuple[Mark, ...] = ()
    settings: Mapping[str, str] | None = None

    def noted(self, mark: Mark) -> Marks:
        """Return a copy with one more mark, in order of time; of more than `MOST_MARKS` the oldest are left out."""
        marks = sorted((*self.marks, mark), key=lambda one: one.at_ms)
        return replace(self, marks=tuple(marks)[-MOST_MARKS:])


@frozen
class Totals:
    """Counts over all sessions. A memory counts once a session.

    Attributes:
        shown, used: memories handed over, and those of them that were used.
        before: of those not used, how many had the words that show a use in the conversation already, so that nothing can be told.
        control_shown, control_used: counts of the same two kinds for memories that were not handed over, as a comparison.
        tokens, tokens_used: tokens of the memories handed over, and of those of them that were used.
        sessions: sessions in which at least one memory was handed over.
        by_cue: how many were used, by what showed the use (a command, a file, words ...).
        by_surface: how many were used, by the surface that handed them over.
    """

    shown: int = 0
    used: int = 0
    before: int = 0
    control_shown: int = 0
    control_used: int = 0
    tokens: int = 0
    tokens_used: int = 0
    sessions: int = 0
    by_cue: Mapping[str, int] = field(default_factory=dict[str, int])
    by_surface: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def rate(self) -> float | None:
        """Share of the memories handed over that were used; None = none was handed over."""
        return self.used / self.shown if self.shown else None

    @property
    def baseline(self) -> float | None:
        """Share of the memories not handed over that look used by chance; None = nothing to compare with."""
        return self.control_used / self.control_shown if self.control_shown else None


@frozen
class DayTokens:
    """The tokens that a model took on one day."""

    day: str
    tokens: int
    tokens_out: int


@frozen
class Spending:
    """The account of a model for one purpose: counts since its first use, but `tokens` and `tokens_out` of `day` alone.

    What a request may cost is reserved before it is sent; what it did cost takes its place afterwards. A request without an
    answer keeps its reserve: nobody knows what it cost.

    Attributes:
        day: the day that `tokens` belong to, as 2026-11-21.
        tokens: input tokens of that day.
        tokens_out: output tokens of that day.
        asked: requests in all.
        kept: statements that passed the checks; of a model that names memories, those that it named.
        dropped: statements that did not: the session does not say them; memories that were not on the list.
        failed: requests without a usable answer.
        over_budget: times that the day's tokens did not suffice.
        in_a_row: failures since the last answer.
        paused_until_ms: no request is sent before; 0 = no pause.
        error: what went wrong last.
        past: the days before `day` on which the model was asked, the newest first, at most `MOST_DAYS`.
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
    past: tuple[DayTokens, ...] = ()

    @property
    def days(self) -> tuple[DayTokens, ...]:
        """Return the tokens of each day on which the model was asked, the newest first."""
        spent = bool(self.tokens or self.tokens_out)
        newest = (DayTokens(day=self.day, tokens=self.tokens, tokens_out=self.tokens_out),) if spent else ()
        return (*newest, *self.past)

    def as_of(self, now_ms: int) -> Spending:
        """Return this account as of `now_ms`: on another day than `day` with 0 tokens of today; all other counts stay."""
        today = day_of(now_ms)
        if self.day == today:
            return self
        return replace(self, day=today, tokens=0, tokens_out=0, past=self.days[:MOST_DAYS])

    def after_failure(self, error: str, *, now_ms: int, pause_ms: int = PAUSE_MS) -> Spending:
        """Return a copy with one more failed request and a pause from `now_ms` on: `pause_ms`, doubled for each failure in a row before. `error` is cut to 300 characters."""
        pause = min(pause_ms * 2 ** min(self.in_a_row, 10), MOST_PAUSE_MS)
        return replace(
            self,
            failed=self.failed + 1,
            in_a_row=self.in_a_row + 1,
            paused_until_ms=now_ms + pause,
            error=error[:300],
        )


@frozen
class RequestRecord:
    """A request to a model for a session.

    Attributes:
        at_ms: when it was sent.
        took_ms: how long the answer took.
        model: what was asked.
        tokens_in: input tokens; estimated where no answer says it.
        tokens_out: output tokens.
        kept: statements that passed the checks.
        error: why there is no usable answer; "" = there is one.
        causes: why each of the other statements did not pass.
    """

    at_ms: int = 0
    took_ms: int = 0
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    kept: int = 0
    error: str = ""
    causes: tuple[ChangeCause, ...] = ()


@frozen
class SessionSpending:
    """What a model cost on one session: input tokens of `day`, and the newest requests of any day."""

    day: str = ""
    tokens: int = 0
    requests: tuple[RequestRecord, ...] = ()

    def as_of(self, now_ms: int) -> SessionSpending:
        """Return this spending as of `now_ms`: on another day than `day` with 0 tokens; its requests stay."""
        today = day_of(now_ms)
        return self if self.day == today else replace(self, day=today, tokens=0)

    def after(self, request: RequestRecord) -> SessionSpending:
        """Return a copy with one more request, keeping the newest `MOST_REQUESTS`; a failed one adds no tokens."""
        cost = 0 if request.error else request.tokens_in
        requests = (*self.requests, replace(request, error=request.error[:300]))[-MOST_REQUESTS:]
        return replace(self, tokens=self.tokens + cost, requests=requests)


def day_of(now_ms: int) -> str:
    """Return the UTC date of a time, such as 2026-11-21."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()


@frozen
class Verdict:
    """The owner's verdict on one memory of one recall.

    Attributes:
        trace_id, memory_id: the recall and the memory.
        useful: it belongs there; False = it should not have come.
        injected: whether it was handed over; useful and not injected = it was missed.
        surface, relevance, threshold: of the recall.
        trace_at_ms, at_ms: when it was handed over, and when this was said.
    """

    trace_id: str
    memory_id: str
    useful: bool
    injected: bool
    surface: str
    relevance: float
    threshold: float
    trace_at_ms: int
    at_ms: int


class SessionCounts(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Turns, calls, failures, repeated failures and tokens of one session.

    They compare sessions with memory and without; `without` = it was in the holdout. Stored as a list of its
    fields to save space.
    """

    without: bool
    at_ms: int
    turns: int = 0
    calls: int = 0
    failures: int = 0
    repeated: int = 0
    tokens: int = 0

    def plus(
        self, *, turns: int = 0, calls: int = 0, failures: int = 0, repeated: int = 0, tokens: int = 0
    ) -> SessionCounts:
        """Return a copy with these numbers added to its counts."""
        return msgspec.structs.replace(
            self,
            turns=self.turns + turns,
            calls=self.calls + calls,
            failures=self.failures + failures,
            repeated=self.repeated + repeated,
            tokens=self.tokens + tokens,
        )
