"""The spaces' thresholds as they were derived. In: the shipped file. Out: (low, high) by space, each on its space's own scale.

At or above `high` a score speaks for a memory, below `low` against it. Source: quantiles of the scores of pairs that nobody
needed, on real prompts; `python -m tacit_evals.fit.marks` writes the file byte for byte again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast


def _read() -> dict[str, tuple[float, float]]:
    file = cast(dict[str, Any], json.loads(Path(__file__).with_name("marks.json").read_text("utf-8")))
    return {name: (float(one["low"]), float(one["high"])) for name, one in file["marks"].items()}


SPACE_THRESHOLDS = _read()
