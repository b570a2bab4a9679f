"""A workplace per test, closed at its end."""

from __future__ import annotations

import pytest

from presets.driving import Workplace


@pytest.fixture
def open_workplace(tmp_path):
    """Call it with a preset and overrides."""
    opened = []

    def make(preset, **given):
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        opened.append(Workplace(folder, preset=preset, **given))
        return opened[-1]

    yield make
    for lab in opened:
        lab.engine.close()
