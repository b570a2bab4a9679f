"""kill -9 at every step of capture: what was acknowledged is there after a restart, and nothing is there twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("capture_faults.py")
KILLED = -9
EVERY_STEP = {
    "transcript read", "session learned", "vectors made", "changes decided", "transaction begun", "memories written", "handover closed",
    "transaction written", "transaction committed", "changes stored", "request made", "tokens reserved", "answer read",
}  # fmt: skip


@pytest.mark.slow
def test_a_kill_at_any_step_loses_nothing_acknowledged_and_doubles_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(DRIVER), str(tmp_path)], capture_output=True, text=True, timeout=240, check=True
    )
    found = json.loads(done.stdout)
    assert set(found["steps"]) == EVERY_STEP
    calm = found["state"]
    assert len(calm["memories"]) >= 7
    assert calm["waiting"] == []
    assert sum("restarts every night" in content for _, content, *_ in calm["memories"]) >= 1
    assert calm["problems"] == []
    assert len(found["killed"]) == len(found["steps"]) >= 30
    for number, case in enumerate(found["killed"], start=1):
        where = f"killed at step {number}, {case['step']}"
        assert case["died"] == KILLED, where
        assert case["went on"] == 0, where
        assert case["state"] == calm, where
