"""Counts that Tacit keeps: use, cost, verdicts, sessions with and without memory. In: nothing. Out: frozen values. Pure.

`registry` says under which names they are stored. A field that is added needs a default: what an earlier version stored does not
have it. A day is one in universal time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

import msgspec

from tacit.model.change_reason import ChangeCause

PAUSE_MS = 10 * 60_000
"""After a failure nothing is asked for so long; after each further one twice as long, at most `MOST_PAUSE_MS`."""
MOST_PAUSE_MS = 6 * 3_600_000
MOST_MARKS = 200
MOST_REQUESTS = 50
"""Requests that are kept of one session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUsage:
    """The usage of a session so far: words seen (digests), memories judged used, memories counted."""

    seen: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that charts are annotated with.

    Attributes:
        at_ms: when.
        what: settings were changed, or memories imported.
        about: names of the settings, or the tools imported from.
        count: how many memories were imported.
    """

    at_ms: int
    what: Literal["settings", "import"]
    about: tuple[str, ...] = ()
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The last `MOST_MARKS` marks, and a fingerprint of each setting that is not the shipped one; None = nobody looked yet."""

    marks: tuple[Mark, ...] = ()
    settings: Mapping[str, str] | None = None

    def noted(self, mark: Mark) -> Marks:
        """Return these marks with one more."""
        marks = sorted((*self.marks, mark), key=lambda one: one.at_ms)
        return replace(self, marks=tuple(marks)[-MOST_MARKS:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Counts over all sessions. A memory counts once a session.

    Attributes:
        shown, used: memories handed over, and those of them that were used.
        before: of those not used, how many had their cues in the conversation already.
        control_shown, control_used: the same question of memories that were not handed over.
        tokens, tokens_used: tokens handed over, and of what was used.
        sessions: sessions with an injection.
        by_cue, by_surface: used ones by cue; used ones by surface.
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
        """Share of what was handed over that was used; None = nothing was."""
        return self.used / self.shown if self.shown else None

    @property
    def baseline(self) -> float | None:
        """Share of what was not handed over that looks used all the same; None = nothing to compare with."""
        return self.control_used / self.control_shown if self.control_shown else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Counts since the model was first used for this; `tokens` and `tokens_out` are those of `day`.

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

    def after_failure(self, error: str, *, now_ms: int, pause_ms: int = PAUSE_MS) -> Spending:
        """The counts after a request without a usable answer: the next one waits longer with each failure."""
        pause = min(pause_ms * 2 ** min(self.in_a_row, 10), MOST_PAUSE_MS)
        return replace(
            self,
            failed=self.failed + 1,
            in_a_row=self.in_a_row + 1,
            paused_until_ms=now_ms + pause,
            error=error[:300],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
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
        causes: why each of the others did not.
    """

    at_ms: int = 0
    took_ms: int = 0
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    kept: int = 0
    error: str = ""
    causes: tuple[ChangeCause, ...] = ()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The owner's word on a memory of a recall.

    Attributes:
        trace_id, memory_id: which.
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


class Record(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Counts of one session. `without` = it was held out. Stored as a list of its fields: there are thousands."""

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
        return msgspec.structs.replace(
            self,
            turns=self.turns + turns,
            calls=self.calls + calls,
            failures=self.failures + failures,
            repeated=self.repeated + repeated,
            tokens=self.tokens + tokens,
        )
