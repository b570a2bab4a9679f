"""A kind of store: how the store of a home is opened, repaired and replaced. The setting `store.provider` names one."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tacit.config.home import Home
from tacit.ports.clock import Clock
from tacit.ports.store import Salvage, Store


class StoreBackend(Protocol):
    """Opens the store of a home, and repairs or replaces its files while nobody has it open.

    Another package registers a class without arguments as an entry point of `tacit.stores`.
    """

    def open(self, home: Home, *, clock: Clock) -> Store:
        """Open the store of `home`, creating or migrating it where needed.

        Raises:
            StoreCorrupt: its files are damaged; `salvage` makes new ones of them.
            StoreError: see the other subclasses; it cannot be opened now.
        """
        ...

    def needs_migration(self, home: Home) -> bool:
        """Whether `open` would migrate the store; False where that cannot be told."""
        ...

    def back_up(self, home: Home, target: Path) -> bool:
        """Copy the store, which nobody has opened or migrated yet, to `target`; False where that was interrupted.

        Raises:
            StoreError: if it cannot be read or written.
        """
        ...

    def file_id(self, home: Home) -> int:
        """A number that changes when the store's files are replaced by new ones; -1 where there are none."""
        ...

    def salvage(self, home: Home, *, clock: Clock, file_id: int) -> Salvage | None:
        """Put the damaged files into quarantine, and new ones in their place that hold everything that can be read.

        `file_id` was read before damage was met; returns None where another process has replaced those files meanwhile.

        Raises:
            StoreError: if the new files cannot be written; then the old ones stay.
        """
        ...

    def suspects_damage(self, home: Home) -> bool:
        """Whether damage was met since the store was opened. Cheap: asked for every `status`."""
        ...

    def examine(self, source: Path) -> int | None:
        """Say whether the backup `source` can become the store; touches nothing.

        Returns None for a sound backup, else how many memories can be read of the damaged file.

        Raises:
            NotFound: if there is no such file.
            StoreError: if it cannot serve.
        """
        ...

    def restore(self, source: Path, home: Home, *, clock: Clock) -> Path | None:
        """Make `source` the store of `home`; return where the former one was put, if there was one.

        `source` stays as it is. Memories that were purged since do not come back.

        Raises:
            NotFound: if there is no such file.
            StoreError: if it cannot serve; the present store is left alone.
        """
        ...
