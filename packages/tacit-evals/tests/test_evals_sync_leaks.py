"""Forged requests reach nothing of another account, with either guard alone; and a server that leaks is caught."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence

import pytest

from memory_logs import InMemoryLogs
from tacit.sync.entry import Entry
from tacit_evals.torture.team_leaks import LeakRun, only_row_level_security
from tacit_server.logs import Principal

_seeds = itertools.count(7_000)


class LeakingLogs(InMemoryLogs):
    """Gives the entries of any log to anybody."""

    def entries(self, who: Principal, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """See the protocol."""
        for name, account in self._accounts.items():
            if device in account.logs:
                return super().entries(
                    Principal(account=name, device=who.device), device, after=after, limit=limit
                )
        return ()


def test_a_server_that_leaks_is_caught():
    found = LeakRun(LeakingLogs(), accounts=5, seed=1).run(300)
    assert any("named devices of others" in line for line in found.wrong)


def test_the_server_in_memory_gives_nothing_of_others():
    found = LeakRun(InMemoryLogs(), accounts=5, seed=1).run(300)
    assert not found.wrong
    assert found.statuses[200] > 100
    assert found.statuses[401] + found.statuses[403] > 20


@pytest.mark.postgres
@pytest.mark.slow
def test_postgresql_alone_gives_nothing_of_others():
    from postgres_server import server
    from tacit_server.postgres.connection import Connections
    from tacit_server.postgres_logs import PostgresLogs

    connections = Connections(server().dsn(), min_size=1, max_size=4)
    with contextlib.closing(connections), only_row_level_security():
        found = LeakRun(PostgresLogs(connections), accounts=8, seed=next(_seeds)).run(400)
    assert not found.wrong
