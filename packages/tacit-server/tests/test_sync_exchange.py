"""Devices and a server over HTTP: forks, restored homes, a restored server, revoked devices."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from postgres_server import connections, new_tenant_name
from samples import memory_named
from tacit.backends.sqlite import SqliteStore
from tacit.errors import NotLoggedIn, SyncError
from tacit.model.changes import Add, Removal, Rewrite
from tacit.model.scope import project_scope
from tacit.providers.clock import FakeClock
from tacit.sync.exchange import LogExchange
from tacit.sync.http_server import HttpServer
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.replica import Replica
from tacit.sync.replicating import Replicating
from tacit.sync.views import Exchanged, LoggedIn
from tacit_server.app import make_app
from tacit_server.postgres.transaction import Transaction
from tacit_server.postgres_logs import PostgresLogs
from unit.sync.devices import NOW

pytestmark = pytest.mark.postgres
URL = "http://127.0.0.1"


def serve(logs: PostgresLogs) -> TestClient:
    """What reaches a server with these logs over HTTP."""
    return TestClient(make_app(logs, now_ms=lambda: NOW), base_url=URL)


class Home:
    """A home with store, replica, key and token; `copy` copies all of them, as a backup of the folder does."""

    def __init__(self, folder: Path, client: TestClient, account: AccountKey, token: str = "") -> None:
        folder.mkdir()
        self.folder, self.client, self.account = folder, client, account
        self.remote = HttpServer(URL, token, client=client)
        self.store = SqliteStore.temporary(clock=FakeClock(now_ms=NOW))
        self.key = DeviceKey.new()
        self.replica = Replica(folder / "sync.db")

    def log_in(self, code: str) -> LoggedIn:
        return self.remote.log_in(
            code=code,
            key=self.account.account,
            device=self.key.device,
            name=self.folder.name,
            signature=self.key.sign(self.key.device.encode()),
        )

    def sync(self) -> Exchanged:
        def keep(key: DeviceKey, _: LoggedIn) -> None:
            self.key = key

        return LogExchange(
            replica=self.replica,
            server=self.remote,
            key=self.key,
            replicating=lambda key: Replicating(
                store=self.store,
                replica=self.replica,
                account=self.account,
                device=key,
                now_ms=lambda: NOW,
            ),
            keep=keep,
        ).run()

    def copy(self, folder: Path) -> Home:
        twin = Home(folder, self.client, self.account, self.remote.connection.token)
        twin.replica.close()
        with self.replica.writing():
            pass
        self.replica._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(self.folder / "sync.db", folder / "sync.db")
        twin.replica = Replica(folder / "sync.db")
        everything = self.store.scopes()
        versions = self.store.recorded(scope=everything, limit=1000)
        twin.store.restore(sorted(versions, key=lambda version: version.at_ms), uses={})
        twin.key = self.key
        return twin

    def learn(self, name: str, content: str) -> None:
        self.store.apply([Add(memory=memory_named(name, content, scope=project_scope("alpha"), at_ms=NOW))])

    @property
    def contents(self) -> list[str]:
        from tacit.ports.store import MemoryFilter

        found = self.store.list_memories(MemoryFilter(), scope=self.store.scopes(), limit=99)
        return sorted(memory.content for memory in found)


@pytest.fixture
def logs() -> PostgresLogs:
    return PostgresLogs(connections())


@pytest.fixture
def ana() -> str:
    """Return the name of an account that does not exist yet."""
    return new_tenant_name()


@pytest.fixture
def two(tmp_path: Path, logs: PostgresLogs, ana: str) -> tuple[Home, Home]:
    account = AccountKey.new()
    client = serve(logs)
    a, b = Home(tmp_path / "a", client, account), Home(tmp_path / "b", client, account)
    a.log_in(logs.add_account(ana, now_ms=NOW))
    b.log_in(a.remote.invite())
    return a, b


def test_a_copied_home_goes_on_under_a_name_of_its_own(tmp_path, two):
    a, b = two
    a.learn("mem_1", "Tabs, not spaces.")
    a.sync()
    copy = a.copy(tmp_path / "copy")
    a.learn("mem_2", "Learned by the original.")
    copy.learn("mem_3", "Learned by the copy.")
    assert not a.sync().renewed
    assert copy.sync().renewed
    assert copy.key.device != a.key.device
    for home in (b, a, copy, b, a):
        home.sync()
    expected = ["Learned by the copy.", "Learned by the original.", "Tabs, not spaces."]
    assert a.contents == b.contents == copy.contents == expected


def test_a_home_that_was_set_back_catches_up_and_loses_nothing(tmp_path, two):
    a, b = two
    a.learn("mem_1", "Tabs, not spaces.")
    a.sync()
    old = a.copy(tmp_path / "old")
    old.learn("mem_9", "Learned after the backup and before the sync.")
    a.learn("mem_2", "Learned since.")
    a.sync()
    done = old.sync()  # the backup takes the place of the home
    assert done.renewed
    b.sync()
    expected = ["Learned after the backup and before the sync.", "Learned since.", "Tabs, not spaces."]
    assert old.contents == b.contents == expected


def test_a_restored_server_gets_back_what_it_lost(two, logs, ana):
    a, b = two
    for number in range(3):
        a.learn(f"mem_{number}", f"Statement {number}.")
        a.sync()
        b.sync()

    def restore(transaction: Transaction) -> None:
        transaction.execute("DELETE FROM entries WHERE tenant = %(tenant)s AND number > 1")
        transaction.execute("UPDATE logs SET last = 1 WHERE tenant = %(tenant)s")

    logs._accounts[ana].writing(restore, alone=True)
    assert b.sync().sent == 2
    assert a.sync() == Exchanged()


def test_a_revoked_device_gets_and_gives_nothing(two):
    a, b = two
    a.remote.revoke(b.key.device)
    b.learn("mem_1", "Learned by the revoked one.")
    with pytest.raises(NotLoggedIn):
        b.sync()
    a.sync()
    assert a.contents == []


def test_a_purge_takes_the_bodies_from_the_server_and_each_device_confirms_it(two):
    a, b = two
    a.learn("mem_1", "The client is called Wintergreen.")
    a.sync()
    b.sync()
    a.store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=("mem_1",)))
    a.sync()
    remote = a.remote
    held = [each for device in remote.heads() for each in remote.entries(device, after=0, limit=9)]
    assert [(entry.kind, bool(entry.sealed)) for entry in held] == [
        ("state", False),
        ("purge", True),  # of the memory that another device may have made of the same wording
        ("purge", True),
    ]
    assert {view.name: view.behind for view in a.remote.devices()} == {"a": 0, "b": 2}
    b.sync()
    assert b.contents == []
    assert {view.name: view.behind for view in a.remote.devices()} == {"a": 0, "b": 0}


def test_an_exchange_that_is_cut_off_anywhere_is_done_by_the_next(two, monkeypatch):
    a, b = two
    a.learn("mem_1", "Tabs, not spaces.")
    a.sync()
    b.sync()
    for at, method in enumerate(("heads", "entries", "push", "report")):
        a.store.apply(
            [Rewrite(memory=replace(a.store.get(["mem_1"], scope=a.store.scopes())[0], frequency=at + 2))]
        )
        b.learn(f"mem_b{at}", f"Learned by b, {at}.")
        b.sync()
        with monkeypatch.context() as patch:
            patch.setattr(HttpServer, method, _gone)
            with pytest.raises(SyncError, match="gone"):
                a.sync()
        a.sync()
        b.sync()
        assert a.contents == b.contents
    assert b.store.get(["mem_1"], scope=b.store.scopes())[0].frequency == 5


def _gone(*_: object, **__: object) -> None:
    raise SyncError("gone")


def test_a_home_that_joins_again_knows_what_it_knew(tmp_path, two):
    a, b = two
    a.learn("mem_1", "Deploy on Mondays.")
    a.sync()
    b.sync()
    (known,) = a.store.get(["mem_1"], scope=a.store.scopes())
    a.store.apply([Rewrite(memory=replace(known, content="Deploy on Tuesdays."))])
    a.sync()
    b.replica.close()
    (b.folder / "sync.db").unlink()
    b.replica, b.key = Replica(b.folder / "sync.db"), DeviceKey.new()
    b.log_in(a.remote.invite())
    done = b.sync()
    a.sync()
    assert (done.recorded, a.contents, b.contents) == (0, ["Deploy on Tuesdays."], ["Deploy on Tuesdays."])


def test_a_purge_under_a_name_that_was_given_up_is_written_once_more(tmp_path, two, monkeypatch):
    a, b = two
    a.learn("mem_1", "The client is called Wintergreen.")
    a.sync()
    b.sync()
    copy = a.copy(tmp_path / "copy")
    a.learn("mem_2", "Tabs, not spaces.")
    a.sync()
    copy.store.rewrite_texts(lambda text, _: text, dry_run=False, gone=Removal(memories=("mem_1",)))
    with monkeypatch.context() as patch:
        patch.setattr(copy.remote, "heads", _gone)
        with pytest.raises(SyncError):
            copy.sync()
    copy.sync()
    a.sync()
    b.sync()
    assert a.contents == b.contents == ["Tabs, not spaces."]
