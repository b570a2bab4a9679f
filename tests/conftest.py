"""Once for a run: tables that Hypothesis makes at the first text it draws, two seconds that would count for some test."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st


def pytest_collection_finish() -> None:
    @settings(max_examples=1, database=None)
    @given(st.text())
    def draw(_text: str) -> None: ...

    draw()
