"""Fixtures of the tests of the frameworks."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# They run in the environment of the group `frameworks` (`just frameworks`), and there a framework that is missing is a failure.
collect_ignore = (
    []
    if find_spec("litellm")
    else ["test_frameworks.py", "test_frameworks_guide.py", "test_langgraph_store.py"]
)


@pytest.fixture(scope="module")
def no_leftovers() -> Iterator[None]:
    """Collect the connections that frameworks leave open after each module, so that their warnings belong to its tests."""
    yield
    gc.collect()
