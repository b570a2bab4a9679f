"""Search in PostgreSQL at 50 tenants and 50,000 memories: what it finds beside exact search. How fast it is, the measurement by hand says."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

import pytest

from tacit_evals.postgres_search.embedded import (
    end_process,
    reason_not_to_start,
    start_process,
    wait_until_ready,
)

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(reason_not_to_start()), reason=reason_not_to_start() or "-"),
]


def test_small_tenants_are_searched_exactly_and_large_ones_nearly():
    from tacit_evals.postgres_search.measuring import run

    arguments = argparse.Namespace(tenants=50, rows=50_000, queries=30, clients=2, seconds=1.0, first=0)
    folder = Path(tempfile.mkdtemp(prefix="tacit-bench-"))
    process = start_process(folder, shared_buffers="512MB", maintenance_work_mem="256MB")
    try:
        wait_until_ready(process, folder)
        report = run(arguments, folder)
    finally:
        end_process(process)
        shutil.rmtree(folder, ignore_errors=True)
    found = {(row["rows"], row["arm"]): row["recall"] for row in report["searches"]}
    assert len(found) == 12, "three arms of four tenants"
    for (rows, arm), recall in found.items():
        assert recall >= (0.98 if rows <= 5_000 else 0.95), (rows, arm, recall)
    assert report["load"]["queries per second"] > 0
