"""A daemon on loopback TCP: it works as on a Unix socket, and its key stands nowhere but in its file."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.drivers.machine import wait_for
from tacit.client.daemon_facts import end_daemon, is_running
from tacit.daemon.launcher import write_launcher
from tacit.errors import DaemonUnavailable
from tacit.system.transport import read_key_file
from unit.daemon.place import Place

START = json.dumps(
    {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/", "source": "startup"}
).encode()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "h")
    made.environ["TACIT_TRANSPORT"] = "tcp"
    write_launcher(made.home)
    made.fire(START)
    yield made
    assert end_daemon(made.home.daemon_file, timeout_s=30)


def pid_of(place: Place) -> int:
    return int(json.loads(place.home.daemon_file.read_bytes())["pid"])


def hooks_of(place: Place) -> int:
    return place.client.request("GET", "/health")[1]["counters"]["hooks"]


def test_the_key_is_in_its_file_alone(place: Place, tmp_path: Path) -> None:
    _, key = read_key_file(place.home.key_file)
    assert place.run("status", "--json", cwd=tmp_path).returncode == 0
    place.client.request("GET", "/v1/status")
    with socket.create_connection(
        ("127.0.0.1", read_key_file(place.home.key_file)[0]), timeout=10
    ) as stranger:
        stranger.sendall(b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert stranger.recv(12) == b"HTTP/1.1 403"
    process = Path(f"/proc/{pid_of(place)}")
    seen = {
        "arguments": (process / "cmdline").read_bytes(),
        "environment": (process / "environ").read_bytes(),
    }
    for path in place.home.root.rglob("*"):
        if path.is_file() and path != place.home.key_file:
            seen[str(path)] = path.read_bytes()
    assert len(seen) > 5
    assert [name for name, data in seen.items() if key in data] == []


def test_commands_and_hooks_reach_it_without_the_variable(place: Place, tmp_path: Path) -> None:
    del place.environ["TACIT_TRANSPORT"]
    before, hooks = pid_of(place), hooks_of(place)
    place.fire(START.replace(b'"s"', b'"s2"'))
    assert hooks_of(place) == hooks + 1
    assert "running, pid" in place.run("status", cwd=tmp_path).stdout
    assert pid_of(place) == before
    assert not place.home.socket.exists()


def test_a_killed_one_is_replaced_and_may_choose_the_other_transport(place: Place) -> None:
    before = pid_of(place)
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: not is_running(before))
    with pytest.raises(DaemonUnavailable, match="does not answer"):
        place.client.request("GET", "/health", timeout_s=1)
    place.environ["TACIT_TRANSPORT"] = "unix"
    place.fire(START.replace(b'"s"', b'"s2"'))
    assert hooks_of(place) == 1
    assert place.home.socket.exists()
    assert not place.home.key_file.exists()
    assert place.client.stop()
