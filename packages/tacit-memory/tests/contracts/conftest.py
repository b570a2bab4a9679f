"""A clock, and each store of ours after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from contracts.stores import NOW, STORES, make_store

from tacit.ports.store import Store
from tacit.providers.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now_ms=NOW)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    made = make_store(request.param, tmp_path, clock)
    yield made
    made.close()
