"""The pager: which commands it is for, which program it is, and what it gets."""

from __future__ import annotations

import io
import sys

import pytest

from tacit.cli.reference import commands
from tacit.cli.terminal.pager import PAGED, PagedOutput, is_paged, pager_command


def test_every_paged_name_is_a_command_that_asks_nothing():
    groups = {name.partition(" ")[0] for name in commands()}
    assert {name for name in PAGED if name not in commands()} <= groups
    for asking in ("review", "purge", "install", "learn", "demo", "serve", "team join", "import files"):
        assert not is_paged(asking.split()), asking


@pytest.mark.parametrize(
    ("line", "paged"),
    [
        ("list", True),
        ("list --kind fact", True),
        ("config get recall", True),
        ("config set recall.level eager", False),
        ("team members acme", True),
        ("team create acme", False),
        ("team", True),
        ("--no-pager list", False),
        ("list --json", False),
        ("logs", True),
        ("why-not mem_x commit this", True),
        ("", False),
    ],
)
def test_a_command_is_paged_by_its_words(line, paged):
    assert is_paged(line.split()) is paged


def test_the_environment_names_the_pager(monkeypatch, tmp_path):
    program = tmp_path / "mypager"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pager_command({"PAGER": "mypager -S"}) == ["mypager", "-S"]
    assert pager_command({"PAGER": "cat", "TACIT_PAGER": "mypager"}) == ["mypager"]
    for none in ("", "cat", "nowhere", "'open"):
        assert pager_command({"PAGER": none}) == []
    assert pager_command({}) == [], "neither less nor more is there"


def written(text: str, *, lines: int, command) -> tuple[str, PagedOutput]:
    out = io.StringIO()
    stream = PagedOutput(out, command, lines=lines, columns=20)
    for part in text.splitlines(keepends=True):
        stream.write(part)
    stream.finish()
    return out.getvalue(), stream


def test_short_output_needs_no_pager_and_long_output_goes_there_whole(tmp_path):
    kept = tmp_path / "kept"
    pager = [sys.executable, "-c", f"import sys; open({str(kept)!r}, 'w').write(sys.stdin.read())"]
    short = "a\nb\nc\n"
    assert written(short, lines=3, command=pager)[0] == short
    assert not kept.exists()
    for long in (short + "d\n", "a line that takes two\n" * 2):
        assert written(long, lines=3, command=pager)[0] == ""
        assert kept.read_text() == long
        kept.unlink()


def test_a_pager_that_is_left_or_cannot_start_harms_nothing():
    long = "word\n" * 50_000
    assert written(long, lines=3, command=[sys.executable, "-c", "pass"])[0] == ""
    assert written("a\nb\nc\n", lines=1, command=["/nowhere/pager"])[0] == "a\nb\nc\n"
