from __future__ import annotations

import time
from pathlib import Path

from tacit.client.daemon_facts import is_running
from tacit.hosts.probe import clean_environment, run_client


def test_clients_inherit_nothing_from_the_caller(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "theirs")
    environment = clean_environment(tmp_path, tmp_path / "tacit")
    finished = run_client(["env"], environment=environment, cwd=tmp_path, timeout_s=50)
    names = {line.split("=")[0] for line in finished.out.splitlines()}
    assert "ANTHROPIC_AUTH_TOKEN" not in names
    assert {"HOME", "TACIT_HOME"} <= names


def test_a_client_that_hangs_ends_with_its_children(tmp_path: Path):
    command = ["sh", "-c", "sleep 60 & echo $!; wait"]  # says whose end is meant long before its time is up
    environment = clean_environment(tmp_path, tmp_path)
    finished = run_client(command, environment=environment, cwd=tmp_path, timeout_s=1.5)
    assert finished.code is None
    child = int(finished.out)
    end = time.monotonic() + 30
    while is_running(child) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_running(child)
