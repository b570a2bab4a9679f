from __future__ import annotations

from tacit.config.settings import RecallSettings
from tacit.model.pack import Surface
from tacit.recall.score.gate import shipped_gate


def test_the_default_threshold_is_no_lower_than_the_one_the_gate_was_fitted_with() -> None:
    fitted = shipped_gate().surfaces[Surface.PROMPT].threshold
    assert fitted <= RecallSettings().thresholds.prompt < fitted + 0.02
