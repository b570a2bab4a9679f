"""Forged requests reach nothing of another account, with either guard alone; and a server that leaks is caught."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence

import pytest

from postgres_server import connections, server
from tacit.sync.entry import Entry
from tacit.sync.views import LoggedIn
from tacit_evals.torture.team_leaks import LeakRun, only_row_level_security
from tacit_server.logs import Login, Principal, account_of
from tacit_server.postgres.connection import Connections
from tacit_server.postgres_logs import PostgresLogs

pytestmark = pytest.mark.postgres
_seeds = itertools.count(7_000)


class LeakingLogs(PostgresLogs):
    """Gives the entries of any log to anybody."""

    def __init__(self) -> None:
        super().__init__(connections())
        self.owners: dict[str, str] = {}

    def log_in(self, login: Login, *, now_ms: int) -> LoggedIn:
        """See the protocol."""
        self.owners[login.device] = account_of(login.code, "-")
        return super().log_in(login, now_ms=now_ms)

    def entries(self, who: Principal, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """See the protocol."""
        owner = Principal(account=self.owners.get(device, who.account), device=who.device)
        return super().entries(owner, device, after=after, limit=limit)


def test_a_server_that_leaks_is_caught():
    found = LeakRun(LeakingLogs(), accounts=5, seed=next(_seeds)).run(100)
    assert any("named devices of others" in line for line in found.wrong)


@pytest.mark.slow
def test_postgresql_alone_gives_nothing_of_others():
    unobserved = Connections(server().dsn(), min_size=1, max_size=4)
    with contextlib.closing(unobserved), only_row_level_security():
        found = LeakRun(PostgresLogs(unobserved), accounts=8, seed=next(_seeds)).run(400)
    assert not found.wrong
    assert found.statuses[200] > 100
    assert found.statuses[401] + found.statuses[403] > 20
