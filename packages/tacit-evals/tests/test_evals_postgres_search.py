"""The measurement of the server's search runs, and the search finds what people half remember."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tacit_server.postgres_process import (
    end_process,
    reason_not_to_start,
    start_process,
    wait_until_ready,
)

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(bool(reason_not_to_start()), reason=reason_not_to_start() or "-"),
]


def measured(**sizes: int) -> Any:
    from tacit_evals.team_search import run

    arguments = argparse.Namespace(queries=5, clients=1, seconds=0.5, **sizes)
    folder = Path(tempfile.mkdtemp(prefix="tacit-bench-"))
    process = start_process(folder)
    try:
        wait_until_ready(process, folder)
        return run(arguments, folder)
    finally:
        end_process(process)
        shutil.rmtree(folder, ignore_errors=True)


def test_a_small_measurement_runs_and_words_find_what_is_half_remembered():
    report = measured(tenants=4, rows=1_000, large=0)
    assert [row["rows"] for row in report["searches"]] == [120, 240, 480]
    assert report["load"]["queries per second"] > 0
    assert report["words"]["found by words among the first 1"] >= 0.65
    assert report["words"]["found by words among the first 10"] >= 0.76


def test_small_teams_and_a_large_one_find_what_is_nearest():
    report = measured(tenants=2, rows=60, large=300)
    assert [row["rows"] for row in report["searches"]] == [60, 300]
    assert [row["recall"] >= 0.95 for row in report["searches"]] == [True, True]
