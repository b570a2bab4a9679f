"""Progress tells rate and remaining time, in plain lines where there is no terminal."""

from __future__ import annotations

from tacit.cli.terminal.interaction import SAY_EVERY_S, Progress


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
