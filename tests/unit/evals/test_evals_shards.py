"""The torture of shards: a short run is sound, and what it looks for at the end is found where it is done on purpose."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from postgres_server import server
from tacit_evals.torture.shards.running import ShardOutcome, Torture

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def torture(monkeypatch: pytest.MonkeyPatch) -> Iterator[Torture]:
    server()  # skips where no PostgreSQL can be started
    for name in ("DATABASE", "SHARD_B", "SHARD_C"):  # set by the run; gone again after the test
        for ending in ("URL", "OWNER_URL"):
            monkeypatch.setenv(f"TACIT_{name}_{ending}", "")
    folder = Path(tempfile.mkdtemp(prefix="ts-", dir="/tmp"))
    made = Torture(folder, seed=5, accounts=2, stores=2, writers=1)
    yield made
    made.end()
    shutil.rmtree(folder, ignore_errors=True)


def test_what_is_lost_doubled_or_returned_is_found(torture: Torture) -> None:
    outcome = torture.run(8)
    assert outcome.sound, outcome
    assert outcome.acknowledged["entries"] > 10
    device = torture.devices[0]
    torture.command("move", device.account, "b", "--quiet")
    with psycopg.connect(torture.databases.dsn("b", "postgres"), autocommit=True) as connection:
        connection.execute("DELETE FROM entries WHERE id = %s", (device.log[0].id,))
        connection.execute("UPDATE entries SET sealed = 'body' WHERE sealed = ''")
    with psycopg.connect(torture.databases.dsn("c", "postgres"), autocommit=True) as connection:
        connection.execute(
            "INSERT INTO tenants (name) VALUES ('torture:store-0'), ('torture:store-1') ON CONFLICT DO NOTHING"
        )
        connection.execute("INSERT INTO purges (tenant, id, at_ms) VALUES (99999, 'mem', 1)")
    torture.outcome = ShardOutcome()
    torture._examine()
    assert f"{device.account}: entry 1" in torture.outcome.lost
    assert any("lies on" in line for line in torture.outcome.doubled)
    assert "c: 1 rows of purges are of no tenant" in torture.outcome.unsound
    purged = any(entry.kind == "purge" for entry in device.log[: device.acknowledged])
    assert bool(torture.outcome.returned) == purged
