"""Scenarios of the presets as their users live them: hook client, daemon and the shipped embedding model.

Each folder holds the scenarios of one preset. A prompt does not repeat the distinctive words of the memory that it
needs, unless the preset's own design document does. Scenarios about a host run through the real client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from e2e.drivers.machine import Machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every scenario starts a daemon with a model: none belongs to the fast suite."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(240))


@contextmanager
def _opened() -> Iterator[Callable[..., Machine]]:
    with ExitStack() as machines:

        def open_machine(settings: str) -> Machine:
            machine = machines.enter_context(Machine(TACIT_EMBEDDER__PROVIDER="minilm"))
            machine.home.root.mkdir(mode=0o700, exist_ok=True)
            (machine.home.root / "config.yaml").write_text(settings + "\n", encoding="utf-8")
            return machine

        yield open_machine


@pytest.fixture
def live() -> Iterator[Callable[..., Machine]]:
    """Open a machine whose settings are `settings` (YAML), with the shipped model: `live("preset: typed")`."""
    with _opened() as open_machine:
        yield open_machine


@pytest.fixture(scope="module")
def live_for_all() -> Iterator[Callable[..., Machine]]:
    """As `live`, for a machine that the tests of a module share."""
    with _opened() as open_machine:
        yield open_machine
