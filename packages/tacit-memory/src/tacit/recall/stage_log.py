"""What every stage of one recall kept and dropped, and how long it took. In: facts from stages. Out: records for the trace.

The clock starts when the log is made, which is when the signal arrives: each stage's time ends where the next one's begins,
so that the times add up to the whole. Never decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from tacit.model.note import Note, NoteCause
from tacit.model.trace import Drop, Loss, StageRecord


def process_ms() -> float:
    """Milliseconds of the clock that measures stages."""
    return perf_counter() * 1000


@dataclass(slots=True, kw_only=True)
class StageLog:
    """Collects the stages of one recall.

    Attributes:
        timer: monotonic milliseconds.
        records: the stages so far.
    """

    timer: Callable[[], float] = process_ms
    records: list[StageRecord] = field(default_factory=list[StageRecord])
    _began_ms: float = field(init=False)
    _since_ms: float = field(init=False)

    def __post_init__(self) -> None:
        self._began_ms = self._since_ms = self.timer()

    def note(
        self,
        stage: str,
        *,
        kept: Sequence[str] = (),
        drops: Sequence[Drop] = (),
        facts: Sequence[Note] = (),
        losses: Sequence[Loss] = (),
    ) -> None:
        """End `stage`, or a further step of it: its time began where the one before ended."""
        now_ms = self.timer()
        record = StageRecord(
            stage=stage,
            took_ms=round(now_ms - self._since_ms, 3),
            kept=tuple(kept),
            drops=tuple(drops),
            facts=tuple(facts),
            losses=tuple(losses),
        )
        if self.records and self.records[-1].stage == stage:
            record = _joined(self.records.pop(), record)
        self.records.append(record)
        self._since_ms = now_ms

    def begin(self, surface: str, *, facts: Sequence[Note]) -> None:
        """End the stages before the search, `signal` and `query`, where the caller has not done so."""
        surface_note = Note(cause=NoteCause.SURFACE, detail=surface)
        for stage, facts_of_stage in (("signal", (surface_note,)), ("query", facts)):
            if not self.has(stage):
                self.note(stage, facts=facts_of_stage)

    def again(self) -> StageLog:
        """A log for a further recall of the same signal: the same first stages, and the time from here on."""
        log = StageLog(timer=self.timer, records=list(self.records))
        log._began_ms -= sum(record.took_ms for record in self.records)
        return log

    def has(self, stage: str) -> bool:
        """Whether `stage` has ended."""
        return any(record.stage == stage for record in self.records)

    def took_ms(self) -> float:
        """Milliseconds from the arrival of the signal to the end of the last recorded stage."""
        return round(self._since_ms - self._began_ms, 3)


def _joined(first: StageRecord, second: StageRecord) -> StageRecord:
    """Two steps of one stage as one record; what is kept is what the last step kept."""
    return StageRecord(
        stage=first.stage,
        took_ms=round(first.took_ms + second.took_ms, 3),
        kept=second.kept,
        drops=(*first.drops, *second.drops),
        facts=(*first.facts, *second.facts),
        losses=(*first.losses, *second.losses),
    )
