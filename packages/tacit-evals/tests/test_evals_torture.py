"""The torture run finds losses, and a short one finds none."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tacit_evals.torture.home import expected_once, torture


def test_lost_and_doubled_statements_are_named():
    assert expected_once(["a", "b"], ["a", "b", "never told"]) == ([], [])
    assert expected_once(["a", "b"], ["a"]) == (["b"], [])
    assert expected_once(["a"], ["a", "a", "c", "c"]) == ([], ["a", "c"])


@pytest.mark.slow
@pytest.mark.long
def test_a_short_run_with_a_killed_daemon_loses_nothing():
    # Below /tmp and not in `tmp_path`: the socket's path has to be short.
    with tempfile.TemporaryDirectory(prefix="tt-", dir="/tmp") as folder:
        outcome = torture(Path(folder), seconds=6.0, writers=4, readers=4, kill_every_s=3.0)
        assert outcome.sound, outcome
        assert outcome.kills >= 1
