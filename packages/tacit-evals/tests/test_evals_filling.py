"""The daemon's memory while many statements are stored: how much it grows for each of them."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from tacit.daemon.allocator import limit_arenas, release_free_memory
from tacit_evals.daemon_under_test import DaemonUnderTest
from tacit_evals.filling import Sizes, fill

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def test_growth_leaves_the_first_tenth_out():
    found = Sizes(statements=1000, warm_mb=100, tenth_mb=120, filled_mb=129, peak_mb=130, statement_ms=1)
    assert found.growth_kb == pytest.approx(9 * 1024 / 900)


def test_the_allocator_takes_its_limits_or_leaves_them():
    assert limit_arenas() in (True, False)
    assert release_free_memory() in (True, False)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("statements", "growth_kb"), [(300, 60), pytest.param(1500, 22, marks=pytest.mark.long)]
)
def test_a_daemon_that_is_filled_grows_little_with_every_statement(statements, growth_kb):
    settings = {**os.environ, "TACIT_EMBEDDER__PROVIDER": "fake"}
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as folder:  # a socket's path must be short
        project = Path(folder) / "project"
        project.mkdir()
        with DaemonUnderTest(Path(sys.executable), Path(folder) / "home", environment=settings) as daemon:
            found = fill(daemon, project, statements=statements)
    assert found.growth_kb <= growth_kb
