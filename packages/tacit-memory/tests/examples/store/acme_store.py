"""Example of a store: everything in memory, and one JSON file that is read at the start and written at the end.

A process that is killed loses what it learned, and sessions and traces are not kept: an example, not for use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tacit.backends.codec import decode, encode
from tacit.backends.sqlite import SqliteStore
from tacit.config.home import Home
from tacit.errors import StoreError
from tacit.model.memory import Relation
from tacit.ports.clock import Clock
from tacit.ports.store import ProjectRecord, Recorded, Salvage, ValueName

EVERYTHING = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Saved:
    """What the file holds."""

    versions: tuple[Recorded, ...] = ()
    uses: Mapping[str, int]
    relations: tuple[Relation, ...] = ()
    projects: tuple[ProjectRecord, ...] = ()
    values: Mapping[str, str]


class AcmeStore(SqliteStore):
    """See the port `Store`."""

    def __init__(self, file: Path, *, clock: Clock) -> None:
        super().__init__(None, clock=clock)
        self._file, self._open = file, True
        if not file.exists():
            return
        saved = decode(Saved, file.read_text(encoding="utf-8"))
        self.restore(saved.versions, uses=saved.uses)
        self.relate(saved.relations)
        for project in saved.projects:
            self.put_project(project)
        for name, value in saved.values.items():
            self.put_value(ValueName(name), value)

    def close(self) -> None:
        """See the port."""
        if self._open:
            self._save()
        self._open = False
        super().close()

    def _save(self) -> None:
        scope = self.scopes()
        versions = self.recorded(scope=scope, limit=EVERYTHING)[::-1]
        names = [ValueName(name) for name in self.value_names("")]
        ids = {version.memory.id for version in versions}
        saved = Saved(
            versions=versions,
            uses={memory.id: memory.use_count for memory in self.get(sorted(ids), scope=scope)},
            relations=self.relations(sorted(ids), scope=scope),
            projects=self.projects(),
            values={name: value for name in names if (value := self.get_value(name)) is not None},
        )
        partial = self._file.with_suffix(".part")
        partial.write_text(encode(saved), encoding="utf-8")
        partial.chmod(0o600)
        partial.replace(self._file)


class AcmeBackend:
    """See the port `StoreBackend`. There is one file, and nothing is done to it while nobody has it open."""

    def open(self, home: Home, *, clock: Clock) -> AcmeStore:
        """See the port."""
        home.ensure()
        return AcmeStore(home.root / "acme.json", clock=clock)

    def needs_migration(self, home: Home) -> bool:
        """See the port."""
        return False

    def back_up(self, home: Home, target: Path) -> bool:
        """See the port."""
        return False

    def file_id(self, home: Home) -> int:
        """See the port."""
        return -1

    def salvage(self, home: Home, *, clock: Clock, file_id: int) -> Salvage | None:
        """See the port."""
        return None

    def suspects_damage(self, home: Home) -> bool:
        """See the port."""
        return False

    def examine(self, source: Path) -> int | None:
        """See the port."""
        raise StoreError(f"{source} cannot become the store.", hint="`tacit import` reads an export.")

    def restore(self, source: Path, home: Home, *, clock: Clock) -> Path | None:
        """See the port."""
        self.examine(source)
        return None
