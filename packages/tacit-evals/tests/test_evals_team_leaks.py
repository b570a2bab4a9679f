"""Forged requests reach nothing of teams that somebody is not in, with either guard alone; and a server that leaks or believes too much is caught."""

from __future__ import annotations

import contextlib
import re

import pytest

from tacit.model.memory import TrustTier
from tacit_evals.torture.team_leaks import LeakFindings, TeamLeakRun, only_the_database

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def run(requests: int, *, seed: int) -> LeakFindings:
    """What a small run against the server as it is now finds."""
    from postgres_server import server
    from tacit_server.postgres.connection import Connections

    with contextlib.closing(Connections(server().dsn(), min_size=1, max_size=4)) as connections:
        small = TeamLeakRun(connections, organizations=2, teams=3, principals=8, seed=seed)
        return small.run(requests)


class Noticed(Exception):
    """A run has found what it had to find, and needs no further requests."""


@pytest.fixture
def notices(monkeypatch):
    """Call it with words: whether a run says something that holds them, within so many requests."""

    def run_until(words: str, requests: int, *, seed: int) -> bool:
        as_meant = TeamLeakRun._wrong

        def wrong(self, who: str, what: str) -> None:
            as_meant(self, who, what)
            if re.search(words, self.found.wrong[-1]):
                raise Noticed

        monkeypatch.setattr(TeamLeakRun, "_wrong", wrong)
        try:
            run(requests, seed=seed)
        except Noticed:
            return True
        return False

    return run_until


@pytest.mark.parametrize("only_policies", [False, True])
def test_nobody_reads_or_does_more_than_their_roles_allow(only_policies: bool):
    with only_the_database() if only_policies else contextlib.nullcontext():
        found = run(200, seed=9_000 + only_policies)
    assert not found.wrong
    assert found.statuses[200] > 50
    assert found.statuses[404] > 10


def test_a_server_that_lets_everybody_in_is_caught(monkeypatch, notices):
    from tacit_server.teams.access import SERVER, Access, Entered

    def enter(self, who, team, least="reader"):
        del who, least
        return Entered(team=team, database=self._open(team, SERVER), role="reader", name="")

    monkeypatch.setattr(Access, "enter", enter)
    assert notices("was answered", 60, seed=9_002)


def test_a_server_that_believes_the_tier_of_a_body_is_caught(monkeypatch, notices):
    from tacit_server.teams import requests

    monkeypatch.setattr(requests, "tier_of", lambda _who, statement: TrustTier[statement.tier.upper()])
    assert notices("has the tier", 40, seed=9_004)
