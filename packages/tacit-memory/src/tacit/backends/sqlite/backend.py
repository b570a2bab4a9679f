"""The SQLite store as a `StoreBackend`: one file in the home. In: a home. Out: its store, opened, repaired or replaced."""

from __future__ import annotations

from pathlib import Path

from tacit.backends.sqlite import health, rescue
from tacit.backends.sqlite.connection import DAMAGED_HINT, damage_marker, device_error, file_lock
from tacit.backends.sqlite.salvage.pages import log_is_damaged
from tacit.backends.sqlite.store import SqliteStore
from tacit.config.home import Home
from tacit.errors import StoreCorrupt, StoreError
from tacit.ports.clock import Clock
from tacit.ports.store import Salvage, Step, no_step


class SqliteBackend:
    """See the port; what it does to files is in `rescue`."""

    def open(self, home: Home, *, clock: Clock) -> SqliteStore:
        """See the port."""
        return open_sqlite_store(home, clock=clock)

    def needs_migration(self, home: Home) -> bool:
        """See the port."""
        return rescue.needs_migration(home)

    def back_up(self, home: Home, target: Path) -> bool:
        """See the port."""
        return rescue.back_up_file(home, target)

    def file_id(self, home: Home) -> int:
        """See the port. The inode of the database file."""
        return rescue.inode_of(home.database)

    def salvage(self, home: Home, *, clock: Clock, file_id: int) -> Salvage | None:
        """See the port."""
        return rescue.salvage(home, clock, inode=file_id)

    def suspects_damage(self, home: Home) -> bool:
        """See the port."""
        return damage_marker(home.database).exists()

    def examine(self, source: Path) -> int | None:
        """See the port."""
        return rescue.examine(source)

    def restore(self, source: Path, home: Home, *, clock: Clock) -> Path | None:
        """See the port."""
        return rescue.restore(source, home, clock)


def open_sqlite_store(home: Home, *, clock: Clock, step: Step = no_step) -> SqliteStore:
    """Open the store of `home`, creating or migrating it where needed; `step` is told of every point of a transaction.

    Raises:
        StoreCorrupt: the file is damaged; `salvage` makes a new one of it.
        StoreNewer: a newer Tacit wrote it; nothing was read.
        StoreReadOnly, StoreFull, StoreBusy: it cannot be written now.
    """
    home.ensure()
    rescue.finish_exchange(home)
    _refuse_emptied(home)
    _refuse_damaged_log(home)
    store = SqliteStore(home, clock=clock, step=step)
    mark = damage_marker(home.database)
    if mark.exists():
        try:
            if any(isinstance(problem, health.Damage) for problem in store.check()):
                raise StoreCorrupt(f"The database {home.database} is damaged.", hint=DAMAGED_HINT)
        except StoreError:
            store.close()
            raise
        mark.unlink(missing_ok=True)
    return store


def _refuse_emptied(home: Home) -> None:
    """A file of no bytes in a home that was in use is a loss, which SQLite would take for a new store.

    Raises:
        StoreCorrupt: if it is one.
    """
    try:
        emptied = home.database.stat().st_size == 0 and any(home.start_dir.iterdir())
    except OSError:
        return
    if emptied:
        raise StoreCorrupt(f"The database {home.database} is empty.", hint=DAMAGED_HINT)


def _refuse_damaged_log(home: Home) -> None:
    """SQLite drops what stands behind damage in its log without a word.

    Raises:
        StoreCorrupt: if the log holds a finished transaction behind damage.
    """
    if not Path(f"{home.database}-wal").exists():
        return
    with file_lock(home.lock_file, home.database):
        try:
            damaged = log_is_damaged(home.database)
        except OSError as error:
            raise device_error(error, home.database) from error
    if damaged:
        raise StoreCorrupt(f"The log of the database {home.database} is damaged.", hint=DAMAGED_HINT)
