"""Background maintenance of the store: rescans for secrets, upkeep. In: the parts. Out: reports.

Never decides what is injected; never touches a memory that the user stated but to take a secret out of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tacit.app.maintenance.jobs import Jobs
from tacit.app.values import Parts
from tacit.capture.fixes import without_old
from tacit.capture.importing.safe_files import is_database
from tacit.errors import InvalidInput, StoreFull, StoreReadOnly
from tacit.model.memory import Sensitivity
from tacit.model.scope import Scope
from tacit.state.counted import Totals
from tacit.state.registry import COPIES, PENDING, TOTALS
from tacit.upkeep.backups import Outcome, make_backup
from tacit.upkeep.reindex import reindex
from tacit.upkeep.rescan import Rescan, note_copy, replaced_databases, rescan
from tacit.upkeep.rounds import (
    DAY_MS,
    DecayCounts,
    RetentionCounts,
    Statistics,
    apply_retention,
    run_upkeep_round,
    statistics,
)

_LOG = logging.getLogger(__name__)
PENDING_FIX_DAYS = 45
"""So long an unresolved failure waits for its fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepReport:
    """The result of one round of upkeep: deleted records, checked memories, expired pending failures."""

    records: RetentionCounts
    tended: DecayCounts
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUse:
    """What is stored, and how much of it was used.

    `rate` = share of what was handed over that was used, `baseline` = the same share of what was not handed over; None =
    nothing to tell by.
    """

    store: Statistics
    impact: Totals
    rate: float | None
    baseline: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCopy:
    """A file that `tacit restore` takes.

    Attributes:
        path: where it is.
        origin: who made it; `replaced` = it was the store and was moved aside, damaged or for a restore.
        bytes: its size.
        at_ms: when it was written.
    """

    path: str
    origin: Literal["automatic", "requested", "replaced"]
    bytes: int
    at_ms: int


class Maintenance:
    """Looks after one open store. `settle` waits until everything said so far is written."""

    def __init__(self, parts: Parts, *, settle: Callable[[], None]) -> None:
        self._parts = parts
        self._settle = settle
        self.jobs = Jobs(parts)

    def rescan(self, *, dry_run: bool) -> Rescan:
        """Take out of everything stored what the rules of today find; with `dry_run` only count it.

        Raises:
            StoreError: if the store cannot be written; nothing of it is changed then.
        """
        self._settle()
        redactors = self._parts.redactor
        cleaners: dict[str, Callable[[str], str]] = {}

        def clean(text: str, scope: str) -> str:
            if scope not in cleaners:
                redactor = redactors.at(Scope.parse(scope)) if scope else redactors
                cleaners[scope] = lambda words: redactor.redact(words).text
            return cleaners[scope](text)

        with self.jobs.listed("rescan") as tell:
            report = rescan(self._parts.store, self._parts.home, clean, dry_run=dry_run, progress=tell)
        if report.rows and not dry_run:
            reindex(self._parts.store, self._parts.embedder)
        return report

    def reindex(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Renew the vectors of another embedder; returns how many were renewed."""
        return reindex(self._parts.store, self._parts.embedder, progress=progress)

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the store to `target`, and remember where.

        Raises:
            InvalidInput: `target` exists.
            StoreError: it cannot be written.
        """
        if target.exists():
            raise InvalidInput(
                f"{target} exists already; a backup never replaces a file.", hint="Choose another name."
            )
        self._settle()
        with self.jobs.listed("backup") as tell:
            self._parts.store.backup(target, progress=tell)
        note_copy(self._parts.store, target.absolute())

    def copies(self) -> tuple[StoreCopy, ...]:
        """Return the copies of the store that this home knows of, newest first."""
        home, store = self._parts.home, self._parts.store
        origins: dict[Path, Literal["automatic", "requested", "replaced"]] = {
            **dict.fromkeys(map(Path, COPIES.read(store)), "requested"),
            **dict.fromkeys(home.automatic_backups(), "automatic"),
            **dict.fromkeys(replaced_databases(home), "replaced"),
        }
        found = [
            StoreCopy(
                path=str(path),
                origin=origin,
                bytes=path.stat().st_size,
                at_ms=path.stat().st_mtime_ns // 1_000_000,
            )
            for path, origin in origins.items()
            if is_database(path)
        ]
        return tuple(sorted(found, key=lambda copy: copy.at_ms, reverse=True))

    def back_up_if_due(self, *, interrupted: Callable[[], bool]) -> Outcome:
        """Write the automatic backup of the day, as the settings say.

        Raises:
            StoreError: as the store; older backups stay.
        """
        parts = self._parts
        return make_backup(
            lambda target: parts.store.backup(target, interrupted=interrupted),
            parts.home,
            keep=parts.settings.current().backup.keep,
            clock=parts.clock,
        )

    def upkeep(self, *, interrupted: Callable[[], bool] = lambda: False) -> UpkeepReport:
        """Write the backup of the day, then let go what has had its time; what the user stated stays.

        Running it again at once changes nothing more. `interrupted` says when the process has to leave.

        Raises:
            StoreError: as the store; what was done before it stays done.
        """
        parts = self._parts
        try:
            outcome = self.back_up_if_due(interrupted=interrupted)
            _LOG.log(
                logging.WARNING if outcome == "no space" else logging.DEBUG, "automatic backup: %s", outcome
            )
        except (StoreFull, StoreReadOnly) as error:
            _LOG.warning("automatic backup: %s", error)
        settings = parts.settings.current().retention
        records = apply_retention(parts.store, settings, clock=parts.clock)
        tended = run_upkeep_round(parts.store, parts.kinds, clock=parts.clock)
        parts.store.tidy()
        return UpkeepReport(records=records, tended=tended, pending=self._age_pending())

    def _age_pending(self) -> int:
        """Forget failures that nobody fixed for so long; returns how many."""
        store, forgotten = self._parts.store, 0
        before_ms = int(self._parts.clock.now_ms() - PENDING_FIX_DAYS * DAY_MS)
        for name in PENDING.names(store):
            pending = PENDING.parse(store.get_value(name)) or ()
            recent = without_old(pending, before_ms=before_ms)
            if recent != pending:
                forgotten += len(pending) - len(recent)
                store.put_value(name, PENDING.text(recent))
        return forgotten

    def statistics(self, *, levels: tuple[Sensitivity, ...] | None = None) -> StoreUse:
        """Counts of what is stored of these sensitivities (None = any), and of what injections were good for."""
        self._settle()
        store = self._parts.store
        totals = TOTALS.read(store)
        return StoreUse(
            store=statistics(store, self._parts.kinds, levels=levels),
            impact=totals,
            rate=totals.rate,
            baseline=totals.baseline,
        )
