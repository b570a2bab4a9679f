"""A program's log is told once, in plain words, that no daemon runs; every other failure as it comes."""

from __future__ import annotations

import logging

from tacit.config.home import Home
from tacit.errors import DaemonUnavailable
from tacit.library.tacit import DaemonFailureLog, Tacit


def test_without_a_daemon_the_log_says_so_once_and_what_to_do(tmp_path, caplog):
    with caplog.at_level(logging.WARNING), Tacit.connect(tmp_path / "home", cwd="", start=False) as memory:
        for turn in range(3):
            memory.session(f"s{turn}").prepare([{"role": "user", "content": "Deploy the shop."}])
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("no Tacit daemon runs (nothing answers on ")
    assert "daemon.sock" in line
    assert "`tacit list` starts one" in line
    assert "FileNotFoundError" not in line


def test_other_failures_are_told_each_time(tmp_path, caplog):
    heard = DaemonFailureLog(Home(tmp_path), starts=True)
    with caplog.at_level(logging.WARNING):
        try:
            raise DaemonUnavailable("No answer.", hint="") from ConnectionRefusedError()
        except DaemonUnavailable as error:
            heard(error)
        heard(FileNotFoundError())
        heard(TimeoutError("late"))
        heard(TimeoutError("late"))
    told = [record.getMessage() for record in caplog.records]
    assert "One is being started" in told[0]
    assert told[1:] == ["the memory gave no answer: TimeoutError: late"] * 2
