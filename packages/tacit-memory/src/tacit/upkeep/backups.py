"""Automatic backups of the store. In: a store, its home, how many to keep, the time. Out: a new backup, and older ones gone.

A new backup is examined before an older one goes. Where there is no room for it, none is written and the older ones stay.
Names count up, so that a clock that was set back does not make an old backup the newest.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tacit.config.home import Home
from tacit.frozen import frozen
from tacit.ports.clock import Clock

HOUR_MS = 3_600_000
EVERY_HOURS = 24
SPARE_BYTES = 64 << 20
"""Bytes that must stay free on the disk after a backup; else none is written."""
_NAME = re.compile(r"tacit-(?P<number>\d{6})-(?P<time>\d{8}T\d{6})\.db$")
Outcome = Literal["written", "not due", "off", "no space", "interrupted"]


@frozen
class AutomaticBackup:
    """One automatic backup: where it is and when it was made."""

    path: Path
    at_ms: int


def newest_backup(home: Home) -> AutomaticBackup | None:
    """Return the automatic backup in the home with the highest number; None = there is none."""
    for path in home.automatic_backups():
        match = _NAME.match(path.name)
        if match:
            at = datetime.strptime(match["time"], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
            return AutomaticBackup(path=path, at_ms=int(at.timestamp() * 1000))
    return None


def is_due(home: Home, *, now_ms: int) -> bool:
    """Whether an automatic backup should be made now: the newest one is a day old, missing, or dated in the future."""
    newest = newest_backup(home)
    return newest is None or not 0 <= now_ms - newest.at_ms < EVERY_HOURS * HOUR_MS


def make_backup(
    write: Callable[[Path], bool], home: Home, *, keep: int, clock: Clock, only_if_due: bool = True
) -> Outcome:
    """Write an automatic backup if one is due, and delete all but the newest `keep`.

    Returns "written", or why none was: "not due", "off" (`keep` is 0), "no space", "interrupted".

    Args:
        write: writes a checked copy of the store to a new file; returns False if it was interrupted.
        home: whose store it is.
        keep: how many backups stay; 0 = none is written.
        clock: gives the time.
        only_if_due: write none while the newest is less than a day old.

    Raises:
        StoreError: as `write`; older backups stay then.
    """
    if keep < 1:
        return "off"
    if only_if_due and not is_due(home, now_ms=clock.now_ms()):
        return "not due"
    if not _has_room(home):
        return "no space"
    for partial in home.backups_dir.glob(".tacit-*"):  # of a process that was killed
        partial.unlink(missing_ok=True)
    if not write(_next_path(home, clock)):
        return "interrupted"
    for old in home.automatic_backups()[keep:]:
        old.unlink(missing_ok=True)
    return "written"


def _has_room(home: Home) -> bool:
    size = sum(path.stat().st_size for path in (home.database, Path(f"{home.database}-wal")) if path.exists())
    return shutil.disk_usage(home.root).free > size + SPARE_BYTES


def _next_path(home: Home, clock: Clock) -> Path:
    backups = home.automatic_backups()
    match = _NAME.match(backups[0].name) if backups else None
    number = int(match["number"]) + 1 if match else 1
    moment = datetime.fromtimestamp(clock.now_ms() / 1000, UTC).strftime("%Y%m%dT%H%M%S")
    return home.backups_dir / f"tacit-{number:06d}-{moment}.db"
