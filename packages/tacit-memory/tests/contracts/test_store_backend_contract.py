"""What every kind of store must do while nobody has it open."""

from __future__ import annotations

from pathlib import Path

import pytest

from samples import NOW_MS, memory
from tacit.app.wiring import store_backend
from tacit.config.home import Home
from tacit.config.plugins import STORES
from tacit.errors import NotFound, StoreError
from tacit.model.changes import Add
from tacit.ports.store import StoreBackend
from tacit.providers.clock import FakeClock


@pytest.fixture(params=STORES.built_in)
def backend(request: pytest.FixtureRequest) -> StoreBackend:
    return store_backend(request.param)


def fill(backend: StoreBackend, home: Home, name: str) -> None:
    store = backend.open(home, clock=FakeClock(NOW_MS))
    store.apply([Add(memory=memory(f"Statement {name}.", id=name))])
    store.close()


def ids(backend: StoreBackend, home: Home) -> set[str]:
    store = backend.open(home, clock=FakeClock(NOW_MS))
    try:
        return {version.memory.id for version in store.recorded(scope=store.scopes(), limit=100)}
    finally:
        store.close()


def test_a_home_without_a_store_has_nothing_to_migrate_or_repair(backend: StoreBackend, home: Home):
    assert not backend.needs_migration(home)
    assert not backend.suspects_damage(home)
    assert backend.file_id(home) == -1


def test_what_is_stored_outlives_the_store(backend: StoreBackend, home: Home):
    fill(backend, home, "mem_a")
    assert ids(backend, home) == {"mem_a"}
    assert backend.file_id(home) != -1
    assert not backend.needs_migration(home)


def test_a_backup_is_examined_and_restored(backend: StoreBackend, home: Home, tmp_path: Path):
    fill(backend, home, "mem_a")
    copy, clock = tmp_path / "copy", FakeClock(NOW_MS)
    assert backend.back_up(home, copy)
    fill(backend, home, "mem_b")
    before = backend.file_id(home)
    assert backend.examine(copy) is None
    former = backend.restore(copy, home, clock=clock)
    assert former is not None
    assert former.exists()
    assert backend.file_id(home) != before
    assert ids(backend, home) == {"mem_a"}
    assert backend.salvage(home, clock=clock, file_id=before) is None
    assert ids(backend, home) == {"mem_a"}


def test_what_is_no_backup_is_refused_and_changes_nothing(backend: StoreBackend, home: Home, tmp_path: Path):
    fill(backend, home, "mem_a")
    known = ids(backend, home)
    (tmp_path / "words").write_text("no store")
    for source in (tmp_path / "absent", tmp_path / "words"):
        with pytest.raises((NotFound, StoreError)):
            backend.examine(source)
        with pytest.raises((NotFound, StoreError)):
            backend.restore(source, home, clock=FakeClock(NOW_MS))
    assert ids(backend, home) == known
