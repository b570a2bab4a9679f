"""The pages and tables that are made from the commands, those of other packages included, are what the commands say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tacit.cli import packages
from tacit.cli.reference import commands, exit_codes, render
from tacit.cli.terminal.output import EXIT_CODES

ROOT = Path(__file__).parents[2]


def test_the_page_is_current():
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert page == render(), "run: python -m tacit.cli.reference > docs/reference/cli.md"


@pytest.mark.parametrize("name", packages.COMMANDS)
def test_the_help_lists_a_command_of_another_package_with_its_own_words(name):
    package, about = packages.COMMANDS[name]
    assert (ROOT / "packages" / package).is_dir()
    assert " ".join(packages.load(name).help.partition("\n\n")[0].split()) == about


def test_the_help_loads_no_other_package():
    code = "import sys; from tacit.cli.main import run; run(['--help']); sys.exit(any(n.partition('.')[0] in ('tacit_integrations', 'tacit_evals') for n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert "proxy" in done.stdout


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
    page = render()
    assert [code for code in exit_codes() if f"\n| {code} | " not in page] == []
