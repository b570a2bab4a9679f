"""For every run: time limits, and tables that Hypothesis makes at the first text it draws.

A time limit only ends what hangs, so it is many times what a test takes: machines are slow, and busy with other things.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SLOW_S = 600

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("tacit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tacit")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        slow = item.get_closest_marker("slow") or item.get_closest_marker("e2e")
        if slow and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_S))


def pytest_collection_finish() -> None:
    """Two seconds that would count for some test."""

    @settings(max_examples=1, database=None)
    @given(st.text())
    def draw(_text: str) -> None: ...

    draw()
