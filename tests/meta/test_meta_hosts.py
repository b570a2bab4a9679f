"""The page about hosts follows from their capabilities and the tests with real clients."""

from __future__ import annotations

import pytest

from e2e.host_matrix import PAGE, SURFACES, hosts, page, proofs, state
from tacit.ports.host import Host

every_host = pytest.mark.parametrize("host", hosts(), ids=lambda host: host.name)


def test_the_page_of_hosts_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python tests/e2e/host_matrix.py"


@every_host
def test_a_host_says_what_becomes_of_every_surface(host: Host) -> None:
    can = host.capabilities
    assert can.title
    assert can.basis
    for surface in SURFACES:
        said = can.delivery(surface)
        if can.arrives(surface) == "never":
            assert said.limit, f"why can no block of {surface} arrive?"
            assert not said.where, f"a block of {surface} never arrives, yet it has a place"
        else:
            assert said.where, f"where does a block of {surface} stand in the request?"
        if can.arrives(surface) == "after":
            assert said.limit, f"a block of {surface} arrives after the action: that is a limit"


def test_marks_name_known_hosts_and_surfaces_that_arrive() -> None:
    known = {host.name: host.capabilities for host in hosts()}
    surfaces = {str(surface): surface for surface in SURFACES}
    for host, surface, test in proofs():
        assert host in known, test
        assert surface in surfaces, test
        assert state(known[host], surfaces[surface]) != "impossible", test


@every_host
def test_a_client_that_was_measured_has_a_test_that_shows_its_start(host: Host) -> None:
    if host.capabilities.basis.startswith("measured"):
        assert (host.name, "start") in {(name, surface) for name, surface, _ in proofs()}
