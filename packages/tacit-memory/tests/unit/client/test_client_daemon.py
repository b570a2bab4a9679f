"""The client of the daemon: its requests, the starts it makes, and what it tells without a daemon."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from loopback import daemon_server
from tacit.client.daemon_client import DaemonClient, hook_failures
from tacit.client.daemon_facts import ask_health, daemon_pid, end_daemon, is_running
from tacit.config.home import Home
from tacit.errors import (
    DaemonError,
    DaemonNewer,
    DaemonUnavailable,
    InvalidPayload,
    NotFound,
    StoreBusy,
    TacitError,
    error_of,
)
from tacit.system.processes import born


def test_the_client_says_that_nobody_is_there(home):
    client = DaemonClient(home)
    with pytest.raises(DaemonUnavailable, match="does not answer"):
        client.request("GET", "/health", timeout_s=0.5)
    assert not client.stop()
    status = client.status()
    assert status["running"] is False
    assert status["spooled"] == 0


def test_the_client_does_not_use_a_daemon_of_a_newer_minor_version(home):
    with daemon_server(home, b'{"version": "99.0.0"}'), pytest.raises(DaemonNewer, match=r"99\.0\.0"):
        DaemonClient(home).ensure_running(timeout_s=30)


def test_a_reply_that_is_no_json_is_no_answer_of_a_daemon(home):
    with daemon_server(home, b"hello"):
        client = DaemonClient(home)
        assert client.send("GET", "/", timeout_s=30) == (200, b"hello")
        with pytest.raises(DaemonUnavailable, match="JSONDecodeError"):
            client.request("GET", "/")


def test_a_problem_without_json_is_told_by_its_status(home):
    with daemon_server(home, b"Internal Server Error", status=500):
        client = DaemonClient(home)
        assert client.request_any("GET", "/") == (500, None)
        with pytest.raises(DaemonError, match="500"):
            client.request("GET", "/")


class CountingStarts(DaemonClient):
    """Counts the starts, and makes none."""

    starts = 0

    def start_in_background(self) -> None:
        self.starts += 1


@pytest.mark.parametrize("start", [False, True])
def test_only_a_request_that_may_start_a_daemon_does(home, start):
    client = CountingStarts(home)
    with pytest.raises(DaemonUnavailable, match="does not answer") as raised:
        client.request("GET", "/", timeout_s=0.1, start=start)
    assert isinstance(raised.value.__cause__, FileNotFoundError | TimeoutError)
    assert bool(client.starts) is start


def test_the_credentials_of_the_user_are_shown(home):
    heads: list[bytes] = []
    with daemon_server(home, b"{}", heads=heads):
        DaemonClient(home).request("GET", "/")
        DaemonClient(home, terminal_key=lambda: "KEY").request("GET", "/")
        DaemonClient(home, token="TOKEN", terminal_key=lambda: "KEY").request("GET", "/")
    assert [b"X-Tacit-Terminal: KEY" in head for head in heads] == [False, True, False]
    assert [b"Authorization: Bearer TOKEN" in head for head in heads] == [False, False, True]


@pytest.mark.parametrize("kind", [InvalidPayload, NotFound, StoreBusy])
def test_problems_come_back_as_the_errors_they_were(kind: type[TacitError]):
    error = error_of({"code": kind.code, "detail": "What is wrong.", "hint": "What to do."}, 400)
    assert type(error) is kind
    assert (error.message, error.hint) == ("What is wrong.", "What to do.")


@pytest.mark.parametrize("value", [None, "text", [], {"code": "unheard_of"}])
def test_an_unknown_problem_is_a_daemon_error_that_names_the_status(value):
    error = error_of(value, 418)
    assert type(error) is DaemonError
    assert "418" in error.message


def test_failures_of_hooks_are_told_by_reason(home):
    assert hook_failures(home) == {}
    home.log_file.with_name("hook.count").write_text("nsndnx")
    told = hook_failures(home)
    assert next(iter(told.items())) == ("no daemon in time", 3)
    assert sum(told.values()) == 5


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o1777])
def test_nobody_talks_to_a_socket_in_an_open_folder_below_tmp(tmp_path, mode):
    home = Home(tmp_path / ("long" * 30))
    folder = home.socket.parent
    assert folder.parent == Path("/tmp")
    folder.mkdir(mode=0o700)
    try:
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.bind(str(home.socket))
            stranger.listen()
            stranger.settimeout(0.2)
            folder.chmod(mode)
            assert ask_health(home, timeout_s=0.5) is None
            client = DaemonClient(home)
            for ask in (lambda: client.request("GET", "/health"), lambda: client.ensure_running(1.0)):
                with pytest.raises(DaemonUnavailable, match="open to others"):
                    ask()
            with pytest.raises(TimeoutError):
                stranger.accept()
    finally:
        home.socket.unlink(missing_ok=True)
        folder.rmdir()


def test_a_file_in_the_place_of_the_socket_folder_is_named(home: Home) -> None:
    home.run_dir.rmdir()
    home.run_dir.write_text("x")
    with pytest.raises(DaemonUnavailable, match="is a file"):
        DaemonClient(home).ensure_running(1.0)


def facts(pid: int, born_at: int = 0) -> str:
    return json.dumps({"pid": pid, "version": "1.0", "started_at_ms": 1, "born_at": born_at})


def test_end_daemon_ends_the_process_that_the_file_names(tmp_path: Path):
    file = tmp_path / "daemon.json"
    assert daemon_pid(file) is None
    assert end_daemon(file)
    file.write_text("{broken")
    assert daemon_pid(file) is None
    with subprocess.Popen(["sleep", "60"]) as process:
        file.write_text(facts(process.pid))
        assert daemon_pid(file) == process.pid
        assert end_daemon(file, timeout_s=30)
        assert daemon_pid(file) is None
    assert is_running(os.getpid())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not tell when a process began")
def test_a_process_that_has_the_id_of_an_ended_daemon_is_left_alone(tmp_path: Path):
    file = tmp_path / "daemon.json"
    with subprocess.Popen(["sleep", "60"]) as stranger:
        file.write_text(facts(stranger.pid, born(stranger.pid) - 1))
        assert daemon_pid(file) is None
        assert end_daemon(file)
        assert stranger.poll() is None
        file.write_text(facts(stranger.pid, born(stranger.pid)))
        assert end_daemon(file, timeout_s=30)
