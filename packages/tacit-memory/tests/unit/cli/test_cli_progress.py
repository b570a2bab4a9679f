"""Progress tells rate and remaining time, in plain lines where there is no terminal."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import pytest

from tacit.cli.connection import ask_with_progress
from tacit.cli.context import use_context
from tacit.cli.terminal.interaction import SAY_EVERY_S, Progress
from tacit.errors import NotFound


def test_without_a_terminal_a_plain_line_comes_every_few_seconds(capsys):
    moments = iter([0.0, 1.0, SAY_EVERY_S, SAY_EVERY_S + 1.0, 2 * SAY_EVERY_S])
    with Progress("importing old.jsonl", monotonic_s=lambda: next(moments)) as progress:
        progress.update(100, 4000)
        assert capsys.readouterr().err == ""
        progress.update(1000, 4000)
        assert capsys.readouterr().err == "importing old.jsonl: 1,000 of 4,000, 200 a second, 15 s left\n"
        progress.update(1200, 4000)
        progress.update(2000, 0)
    assert capsys.readouterr().err == "importing old.jsonl: 2,000, 200 a second\n"


def test_who_reads_json_sees_no_progress(capsys):
    moments = iter([0.0, 2 * SAY_EVERY_S])
    with Progress("importing old.jsonl", quiet=True, monotonic_s=lambda: next(moments)) as progress:
        progress.update(1000, 4000)
    assert capsys.readouterr().err == ""


class Working:
    """A daemon that works until it was asked twice how far it is."""

    def __init__(self, fails: bool) -> None:
        self.fails = fails
        self.looks = 0
        self.looked = Event()

    def ensure_running(self, timeout_s):
        pass

    def request(self, method, path, json_body=None, *, timeout_s=30.0):
        if path == "/v1/jobs":
            self.looks += 1
            if self.looks >= 2:
                self.looked.set()
            job = {"name": "backup", "state": "running", "done": self.looks * 10, "whole": 100}
            return 200, {"jobs": [job, {**job, "name": "check", "done": 99}]}
        assert self.looked.wait(30)
        if self.fails:
            raise NotFound("Nothing is there.")
        return 201, {"target": json_body["target"]}


@pytest.mark.parametrize("fails", [False, True])
def test_it_is_asked_how_far_the_daemon_is_until_it_has_answered(tacit, fails):
    daemon = Working(fails)
    use_context(replace(tacit.place, connect=lambda _home: daemon))
    arguments = ("POST", "/v1/backups", {"target": "/x"}, "backup", "backing up")
    if fails:
        with pytest.raises(NotFound):
            ask_with_progress(*arguments, quiet=False)
    else:
        assert ask_with_progress(*arguments, quiet=False) == {"target": "/x"}
    assert daemon.looks >= 2
