"""The page of commands is what the commands say."""

from __future__ import annotations

from pathlib import Path

from tacit.cli.reference import commands, exit_codes, render
from tacit.cli.terminal.output import EXIT_CODES

ROOT = Path(__file__).parents[3]


def test_the_page_is_current():
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert page == render(), "run: python -m tacit.cli.reference > docs/reference/cli.md"


def test_every_command_takes_json_and_says_what_it_does():
    for name, command in commands().items():
        assert "as_json" in {parameter.name for parameter in command.params}, name
        assert command.help, name


def test_every_option_says_what_it_is_for():
    silent = [
        f"{name} {parameter.name}"
        for name, command in commands().items()
        for parameter in command.params
        if not getattr(parameter, "help", None)
    ]
    assert silent == []


def test_every_exit_code_is_on_the_page():
    assert {code for _, code in EXIT_CODES} <= set(exit_codes())
    for code in exit_codes():
        assert f"\n| {code} | " in render()
