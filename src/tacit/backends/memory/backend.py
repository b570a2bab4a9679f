"""The store in memory as a `StoreBackend`. In: a home without a database. Out: an empty store. Has no files to repair or replace."""

from __future__ import annotations

from pathlib import Path

from tacit.backends.memory.store import InMemoryStore
from tacit.config.home import Home
from tacit.errors import StoreError
from tacit.ports.clock import Clock
from tacit.ports.store import Salvage


class InMemoryBackend:
    """See the port. A simple store of another package can inherit from it what it needs no code of its own for."""

    keeps_files = False

    def open(self, home: Home, *, clock: Clock) -> InMemoryStore:
        """See the port.

        Raises:
            StoreError: if the home has a database: what is learned would be lost, and a purge would not reach its backups.
        """
        if home.database.exists():
            raise StoreError(
                f"{home.root} has a database; the store `memory` does not read it and would forget what it learns.",
                hint="Set TACIT_HOME to an empty folder for a trial, or `store.provider` to `sqlite` and stop the daemon.",
            )
        return InMemoryStore(clock=clock)

    def needs_migration(self, home: Home) -> bool:  # noqa: ARG002
        """See the port."""
        return False

    def back_up(self, home: Home, target: Path) -> bool:  # noqa: ARG002
        """See the port. Nothing is stored before it is opened."""
        return False

    def file_id(self, home: Home) -> int:  # noqa: ARG002
        """See the port."""
        return -1

    def salvage(self, home: Home, *, clock: Clock, file_id: int) -> Salvage | None:  # noqa: ARG002
        """See the port. There are no files to be damaged."""
        return None

    def suspects_damage(self, home: Home) -> bool:  # noqa: ARG002
        """See the port."""
        return False

    def examine(self, source: Path) -> int | None:
        """See the port.

        Raises:
            StoreError: always.
        """
        raise StoreError(
            f"{source} cannot become the store: the setting `store.provider` names one that has no files.",
            hint="`tacit config set store.provider sqlite` names one that has.",
        )

    def restore(self, source: Path, home: Home, *, clock: Clock) -> Path | None:  # noqa: ARG002
        """See the port.

        Raises:
            StoreError: always.
        """
        self.examine(source)
        return None
