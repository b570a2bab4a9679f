"""A machine for the scenarios of one file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.drivers.machine import Machine
from live.scoped.driving import scoped_machine


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with scoped_machine() as opened:
        yield opened
