"""What the tests of the frameworks share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def no_leftovers() -> Iterator[None]:
    """Frameworks leave connections open: they are collected while the tests that opened them still answer for the warnings."""
    yield
    gc.collect()
