"""The pages and tables that are made from the commands, those of other packages included, are what the commands say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.cli import packages
from tacit.cli.reference import commands, exit_codes, manual, render
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


MANUAL = ROOT / "docs/reference/tacit.1"
MACROS = {"TH", "SH", "SS", "PP", "TP", "B"}


def test_the_manual_page_is_current():
    assert MANUAL.read_text(encoding="utf-8") == manual(), "`just reference` renews docs/reference/tacit.1"


def test_the_manual_page_has_every_command_option_and_exit_code():
    text = manual().replace("\\-", "-")
    for name, command in commands().items():
        assert f'.SS "tacit {name}' in text
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden and parameter.name != "help":
                assert parameter.opts[-1] in text
    assert [f"\n\\fB{code}\\fR\n" in text for code in exit_codes()] == [True] * len(exit_codes())


def test_the_manual_page_is_valid_roff():
    for line in manual().splitlines()[1:]:  # behind the comment
        if line.startswith("."):
            assert line[1:].split(" ")[0] in MACROS, line
        assert not re.search(r"\\(?![-e&fR])", line), f"an escape that man(7) does not have: {line}"
        assert line.count(r"\fB") + line.count(r"\fI") == line.count(r"\fR"), line


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_groff_renders_the_manual_page_without_a_warning():
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-rLL=80n", str(MANUAL)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    plain = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    assert "tacit why-not MEMORY [TEXT...]" in plain
    assert "EXIT STATUS" in plain
    assert max(map(len, plain.splitlines())) <= 80
