"""Which commands are for the pager; tests/e2e/test_e2e_output.py has one on a real terminal."""

from __future__ import annotations

import pytest

from tacit.cli.reference import commands
from tacit.cli.terminal.pager import PAGED, is_paged


def test_every_paged_name_is_a_command_that_asks_nothing():
    groups = {name.partition(" ")[0] for name in commands()}
    assert {name for name in PAGED if name not in commands()} <= groups
    for asking in ("review", "purge", "install", "sessions --write-up", "demo", "team join", "import x"):
        assert not is_paged(asking.split()), asking


@pytest.mark.parametrize(
    ("line", "paged"),
    [
        ("list", True),
        ("list --kind fact", True),
        ("config get recall", True),
        ("team members acme", False),
        ("--no-pager list", False),
        ("list --json", False),
        ("status --log", True),
        ("why-not mem_x commit this", True),
        ("", False),
    ],
)
def test_a_command_is_paged_by_its_words(line, paged):
    assert is_paged(line.split()) is paged
