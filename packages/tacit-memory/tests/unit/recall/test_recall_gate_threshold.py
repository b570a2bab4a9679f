"""The default level is the one that the shipped gate was fitted for."""

from __future__ import annotations

import pytest

from tacit.config.levels import shipped_levels
from tacit.model.pack import Surface
from tacit.recall.score import shipped_gate


def test_balanced_has_the_threshold_that_the_gate_was_fitted_with() -> None:
    fitted = shipped_gate().surfaces[Surface.PROMPT].threshold
    assert shipped_levels().balanced.threshold == pytest.approx(fitted, abs=0.02)
