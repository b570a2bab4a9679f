"""Waiting devices are woken by notifications of PostgreSQL, whichever process made the change, and the server says whether it is ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from starlette.testclient import TestClient

from postgres_server import OWNER, new_tenant_name, own_server, server
from tacit.sync.entry import PurgeBody, append_entry
from tacit.sync.keys import AccountKey, DeviceKey
from tacit_server.app import make_app
from tacit_server.logs import Login, Principal
from tacit_server.news import News
from tacit_server.postgres.connection import Connections
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.teams import Teams, open_teams
from unit.sync.devices import NOW

URL = "http://127.0.0.1"
WAIT = 20


class Waiting:
    """One process of a server, and a device that waits there for changes. `elsewhere` stands for another process."""

    def __init__(self, client: TestClient, news: News, elsewhere: PostgresLogs, teams: Teams) -> None:
        self.client, self.news, self.logs, self.teams = client, news, elsewhere, teams
        self.account = new_tenant_name()
        self.key, self.secret = DeviceKey.new(), AccountKey.new()
        login = Login(
            code=self.logs.add_account(self.account, now_ms=NOW),
            key=self.secret.account,
            device=self.key.device,
            name="laptop",
            signature=self.key.sign(self.key.device.encode()),
        )
        token = self.logs.log_in(login, now_ms=NOW).token
        self.headers = {"Authorization": f"Bearer {token}"}
        self.who = Principal(account=self.account, device=self.key.device)
        until(lambda: news.listening)

    def ask(self, **asked: float) -> dict:
        return self.client.get("/sync/v1/heads", params=asked, headers=self.headers).json()

    def waits(self) -> int:
        """The status of a short request that waits for changes."""
        return self.client.get("/sync/v1/heads?wait=0.05&known=0", headers=self.headers).status_code

    def woken_by(self, work: Callable[[], object], **asked: float) -> dict:
        """The answer to a device that waits while `work` is done elsewhere. Without a notification it says what was known before."""
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(lambda: self.ask(wait=WAIT, **asked))
            until(lambda: "tacit_waiting_devices 1.0" in self.client.get("/metrics").text)
            until(lambda: any(self.news._waiting.values()))
            work()
            return answer.result()

    def push(self) -> None:
        body = PurgeBody(memory_id="mem_a")
        entry = append_entry(body, number=1, previous="", device=self.key, account=self.secret)
        self.logs.push(self.who, [entry], now_ms=NOW)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def waiting() -> Iterator[Waiting]:
    here, elsewhere = (Connections(server().dsn(), max_size=4) for _ in range(2))
    logs, news = PostgresLogs(here), News(here.dsn)
    app = make_app(logs, teams=open_teams(here, logs), now_ms=lambda: NOW, database=here, news=news)
    other = PostgresLogs(elsewhere)
    with TestClient(app, base_url=URL, client=("127.0.0.1", 5)) as client:
        yield Waiting(client, news, other, open_teams(elsewhere, other))
    here.close()
    elsewhere.close()


def test_a_push_through_another_process_wakes_the_devices_of_the_account(waiting):
    assert waiting.woken_by(waiting.push, known=0)["heads"] == {waiting.key.device: 1}


def test_while_nothing_changes_the_logs_of_a_device_that_waits_are_read_once(waiting, monkeypatch):
    read, reads = PostgresLogs.heads, []
    monkeypatch.setattr(PostgresLogs, "heads", lambda logs, who: reads.append(who) or read(logs, who))
    for _ in range(3):
        assert waiting.ask(wait=0.05, known=0)["heads"] == {}
    assert len(reads) == 1
    assert waiting.woken_by(waiting.push, known=0)["heads"] == {waiting.key.device: 1}
    assert len(reads) == 2
    waiting.ask()
    assert len(reads) == 3, "who does not wait gets what is stored now"


def test_who_waits_is_read_once_and_refused_when_another_process_revokes_it(waiting, monkeypatch):
    read, reads = PostgresLogs.principal, []
    monkeypatch.setattr(
        PostgresLogs,
        "principal",
        lambda logs, token, *, now_ms: reads.append(token) or read(logs, token, now_ms=now_ms),
    )

    assert [waiting.waits() for _ in range(3)] == [200, 200, 200]
    assert len(reads) == 1
    waiting.ask()
    assert len(reads) == 2, "a request that does not wait is checked each time"
    waiting.logs.revoke(waiting.who, waiting.key.device, now_ms=NOW)
    until(lambda: waiting.waits() == 401)


@pytest.mark.parametrize("ended", ["removed", "new secret"])
def test_a_device_that_waits_is_refused_when_its_account_is(waiting, ended):
    assert waiting.waits() == 200
    if ended == "removed":
        waiting.logs.remove_account(waiting.account)
    else:
        other = waiting.logs.renew(
            waiting.who, (device := DeviceKey.new()).device, device.sign(device.device.encode()), now_ms=NOW
        )
        who = waiting.logs.principal(other.token, now_ms=NOW)
        waiting.logs.rotate(who, AccountKey.new().account, now_ms=NOW)
    until(lambda: waiting.waits() == 401)


def test_while_no_notification_can_arrive_each_request_that_waits_is_checked(waiting):
    assert waiting.waits() == 200
    waiting.news.listening = False
    waiting.news.heard(None)
    waiting.news.heard = lambda tenant: None
    assert waiting.waits() == 200
    waiting.logs.revoke(waiting.who, waiting.key.device, now_ms=NOW)
    assert waiting.waits() == 401


def test_a_team_that_a_person_joins_and_a_memory_that_it_shares_wake_their_devices(waiting):
    alone = waiting.ask()["shared"]
    members = waiting.teams.members
    joined = waiting.woken_by(
        lambda: members.add_organization(
            f"o{waiting.account}", admin=waiting.account, name="Ana", now_ms=NOW
        ),
        known=0,
        shared=alone,
    )["shared"]
    assert joined != alone
    database = members.access.as_server(f"o{waiting.account}")

    def change(transaction) -> None:
        transaction.execute("UPDATE tenants SET change = change + 1 WHERE tenant = %(tenant)s")
        transaction.tell()

    told = waiting.woken_by(lambda: database.writing(change, alone=True), known=0, shared=joined)
    assert told["shared"] == joined + 1


def test_while_the_connection_is_lost_the_database_is_read_and_nothing_is_missed(waiting):
    with psycopg.connect(server().dsn("postgres"), autocommit=True) as connection:

        def cut() -> None:
            waiting.push()  # its notification may be lost
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
            )

        assert waiting.woken_by(cut, known=0)["heads"] == {waiting.key.device: 1}
    until(lambda: waiting.news.listening)


@pytest.mark.slow
def test_a_server_without_its_database_is_not_ready_and_says_no_more(caplog) -> None:
    with own_server() as database:
        folder = str(database.folder)
        connections = Connections(database.dsn())
        client = TestClient(make_app(PostgresLogs(connections), database=connections), base_url=URL)
        assert client.get("/ready").status_code == 200
        database.stop()
        for path in ("/ready", "/sync/v1/heads"):
            reply = client.get(path, headers={"Authorization": "Bearer ana.x"})
            assert (reply.status_code, folder in reply.text) == (503, False)
        assert folder in caplog.text
        assert client.get("/health").status_code == 200
        database.start()
        assert client.get("/ready").status_code == 200
        with psycopg.connect(database.dsn(OWNER), autocommit=True) as owner:
            owner.execute("UPDATE alembic_version SET version_num = '9999'")
        assert client.get("/ready").status_code == 503
        assert "schema 9999" in caplog.text
        connections.close()
