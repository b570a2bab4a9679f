"""A clock, and our store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.stores import NOW, make_store
from tacit.ports.store import Store
from tacit.providers.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now_ms=NOW)


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    made = make_store(tmp_path, clock)
    yield made
    made.close()
