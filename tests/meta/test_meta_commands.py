"""The pages and tables that are made from the commands, those of other packages included, are what the commands say."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from tacit.cli import packages
from tacit.cli.main import whole_tree
from tacit.cli.reference import commands, exit_codes, render
from tacit.cli.terminal.output import EXIT_CODES

ROOT = Path(__file__).parents[2]
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("docs/guide/*.md"),
    *ROOT.glob("docs/reference/*.md"),
    *(page for folder in ("clients", "packages", "plugins") for page in (ROOT / folder).glob("*/README.md")),
    *ROOT.glob("plugins/*/commands/*.md"),
)
CODE = re.compile(r"^```(?:sh|text)?\n(.*?)^```|^```.*?^```|`([^`]+)`", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"(?:^|[\s(;&|])(tacit|tacit-server) ([a-z][^#;&|)>]*)", re.MULTILINE)


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


def typed_on(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each command that a page shows: its program, and its words up to what follows it as a remark."""
    for block, span in CODE.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines() or [" ".join(span.split())]:
            for program, rest in TYPED.findall(line):
                shown = re.split(r" {3,}|, ", rest)[0].replace("[", "").replace("]", "")
                yield program, [word.strip("`.,:'\"").partition("=")[0] for word in shown.split()]


def test_the_pages_show_commands_with_options_that_exist():
    from tacit_server.main import app

    trees = {"tacit": whole_tree().commands, "tacit-server": get_command(app).commands}
    wrong: list[str] = []
    seen = 0
    for page in PAGES:
        for program, (name, *words) in typed_on(page):
            seen += 1
            told = f"{page.relative_to(ROOT)}: {program} {' '.join((name, *words))}"
            command = trees[program].get(name)
            if command is None:
                wrong.append(told)
                continue
            parts = [command, *(getattr(command, "commands", {}).get(word) for word in words[:1])]
            parameters = [parameter for part in parts if part for parameter in part.params]
            known = {option for one in parameters for option in (*one.opts, *one.secondary_opts)}
            known |= {"--help", "-h", "--json", "--version"}
            if program == "tacit" and name in packages.COMMANDS:
                continue
            wrong += [
                told for word in words if word.startswith("-") and word.strip("-") and word not in known
            ]
    assert wrong == []
    assert seen > 500
