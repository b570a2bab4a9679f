"""The drivers and the stub model prove themselves with a hook and a plugin that know nothing of Tacit."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.drivers.prefix import compare_prefixes
from tacit.hosts.probe.stub_model import StubRequest
from tacit.system.processes import is_running

pytestmark = pytest.mark.e2e


def test_prefix_comparison_sees_every_change():
    def request(number, *texts):
        messages = [{"role": "user", "content": text} for text in texts]
        return StubRequest(
            number=number,
            at_ms=0,
            method="POST",
            path="/v1/messages",
            headers={},
            body={"messages": messages},
        )

    kept = compare_prefixes([request(1, "a"), request(2, "a", "b"), request(3, "a", "b", "c")])
    assert (kept.kept_share, kept.kept_bytes_share, kept.breaks) == (1.0, 1.0, ())
    broken = compare_prefixes(
        [request(1, "a", "b"), request(2, "a", "changed", "c"), request(3, "a", "changed", "c", "d")]
    )
    assert broken.kept_share == 0.5
    assert 0.5 < broken.kept_bytes_share < 1.0
    assert broken.breaks == ("request 2: message 1 of 2 changed",)


RUN = """
import subprocess, time
from e2e.drivers.last_of_run import end_with_run
server = subprocess.Popen(["sh", "-c", "sleep 300 & echo $! && wait"], stdout=subprocess.PIPE, text=True, start_new_session=True)
end_with_run(server.pid)
print(server.pid, server.stdout.readline(), flush=True)
time.sleep(300)
"""


def test_what_a_run_started_ends_when_the_run_is_killed():
    folder = Path(__file__).parents[1]
    with subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True, cwd=folder) as run:
        assert run.stdout is not None
        pids = [int(word) for word in run.stdout.readline().split()]
        assert all(map(is_running, pids))
        run.kill()
    end = time.monotonic() + 30
    while any(map(is_running, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_running, pids))
