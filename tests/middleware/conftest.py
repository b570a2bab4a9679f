"""Fixtures of the tests of the frameworks."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def no_leftovers() -> Iterator[None]:
    """Collect the connections that frameworks leave open after each module, so that their warnings belong to its tests."""
    yield
    gc.collect()
