"""Where the evaluation data is: TACIT_SHARED_DATA, else a folder `shared/data` beside the clone. Not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_data(*parts: str) -> Path:
    """A file or folder of the evaluation data; skips the test, visibly, where it is not there."""
    named = os.environ.get("TACIT_SHARED_DATA")
    root = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    path = root.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no evaluation data at {path}; set TACIT_SHARED_DATA")
    return path
