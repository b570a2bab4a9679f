"""Commands that other packages bring, where such a package is not installed."""

from __future__ import annotations

import pytest

from tacit.cli import packages
from tacit.errors import NotFound


@pytest.mark.parametrize("name", packages.COMMANDS)
def test_a_command_without_its_package_says_what_to_install(name):
    stand_in = packages.missing(name)
    with pytest.raises(NotFound) as caught:
        stand_in()
    assert packages.COMMANDS[name][0] in caught.value.hint
    assert (stand_in.__doc__ or "").startswith(packages.COMMANDS[name][1])


def test_an_unknown_command_is_brought_by_nobody():
    assert packages.load("nothing-brings-this") is None
