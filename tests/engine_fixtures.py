"""Fixtures that most tests begin with: a home, a project's folder, and an engine over both that is closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from samples import NOW_MS
from tacit.app.engine import Engine
from tacit.app.wiring import open_engine
from tacit.ports.models import Embedder
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from user_voice import client_of


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now_ms=NOW_MS)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of a project."""
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


@pytest.fixture
def make_engine(tmp_path: Path, clock: FakeClock) -> Iterator[Callable[..., Engine]]:
    """Call it with settings, and an embedder if not the fake: an engine over one home, which need not be there before."""
    with ExitStack() as opened:

        def make(embedder: Embedder | None = None, /, **overrides: object) -> Engine:
            home, embedder = tmp_path / "home", embedder or FakeEmbedder()
            engine = open_engine(home, overrides=overrides, clock=clock, embedder=embedder)
            return opened.enter_context(closing(engine))

        yield make


@pytest.fixture
def engine(make_engine: Callable[..., Engine]) -> Engine:
    return make_engine()


@pytest.fixture
def client(engine: Engine) -> Iterator[TestClient]:
    """The API of the engine, asked by the user."""
    with client_of(engine) as made:
        yield made
