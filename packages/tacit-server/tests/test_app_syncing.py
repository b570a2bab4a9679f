"""The login of a home: what is kept of it, and what happens where the file or the server is broken."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from postgres_server import connections, new_tenant_name
from tacit.app.admin.purging import Purger
from tacit.app.sharing.shared_teams import SharedTeams
from tacit.app.sharing.syncing import Syncing
from tacit.app.values import OpenStore
from tacit.backends.sqlite import SqliteStore
from tacit.cli.status import SOON_MS, sign_in_advice
from tacit.errors import InvalidInput, NotLoggedIn, StoreError, SyncError
from tacit.providers.clock import FakeClock
from tacit.state.captured import TeamState
from tacit.state.registry import TEAMS
from tacit.sync.http_server import HttpServer
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.views import DeviceView, LoggedIn, SignInBegun, SignInResult
from tacit_server.logs import Login
from tacit_server.postgres_logs import PostgresLogs

pytestmark = pytest.mark.postgres
NOW = 1_770_000_000_000


class Server:
    """Stands for the server over HTTP: takes logins, has nothing else. `lost` = its answers do not arrive."""

    def __init__(self) -> None:
        self.logs, self.ana = PostgresLogs(connections()), new_tenant_name()
        self.lost = False
        self.token = ""
        self.connected: list[tuple[str, str]] = []
        """The URL and the token of every connection."""

    def connect(self, url: str, token: str) -> HttpServer:
        self.token = token
        self.connected.append((url, token))
        return cast(HttpServer, self)

    def invite(self) -> str:
        return self.logs.add_account(self.ana, now_ms=NOW)

    def log_in(self, *, code: str, key: str, device: str, name: str, signature: bytes) -> LoggedIn:
        login = Login(code=code, key=key, device=device, name=name, signature=signature)
        done = self.logs.log_in(login, now_ms=NOW)
        if self.lost:
            raise SyncError("The server cannot be reached.")
        return done

    def heads(self) -> Any:
        raise SyncError("The server cannot be reached.")

    def wait(self, known: int, *, shared: int = -1, wait_s: float) -> tuple[bool, int]:
        raise SyncError("The server cannot be reached.")

    def begin_sign_in(self, device: str) -> SignInBegun:
        return SignInBegun(
            login="l", secret=self.token, code="ABCD-EFGH", browser_url=f"https://x/{device}", until_ms=NOW
        )

    def finish_sign_in(self, login: str, secret: str) -> SignInResult:
        return SignInResult(done=True, account="ana")

    def devices(self) -> Sequence[DeviceView]:
        return self.logs.devices(self.logs.principal(self.token, now_ms=NOW))

    def revoke(self, device: str) -> None:
        del device

    def rotate(self, key: str) -> None:
        self.logs.rotate(self.logs.principal(self.token, now_ms=NOW), key, now_ms=NOW)
        if self.lost:
            raise SyncError("The server cannot be reached.")

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def syncing(tmp_path: Path, server: Server):
    clock = FakeClock(now_ms=NOW)
    home = SimpleNamespace(root=tmp_path, database=tmp_path / "memory.db")
    parts = SimpleNamespace(home=home, store=SqliteStore.temporary(clock=clock), clock=clock)
    opened = SimpleNamespace(parts=parts, changed=lambda: None)
    teams = SimpleNamespace(take_over=lambda _: 0, note_contact=lambda: None, leave_all=lambda: 0)
    made = Syncing(
        cast(OpenStore, opened),
        purger=cast(Purger, None),
        teams=lambda: cast(SharedTeams, teams),
        connect=server.connect,
    )
    yield made
    made.close()


def test_a_login_whose_answer_is_lost_loses_no_secret(syncing, server):
    server.lost = True
    with pytest.raises(SyncError):
        syncing.log_in("https://sync.example", code=server.invite())
    assert not syncing.status().logged_in
    server.lost = False
    done = syncing.log_in("https://sync.example", code=server.invite())
    assert done.phrase
    assert syncing.status().logged_in
    syncing.log_out()
    with pytest.raises(SyncError, match="another recovery phrase"):
        syncing.log_in("https://sync.example", code=server.invite())
    syncing.log_in("https://sync.example", code=server.invite(), phrase=done.phrase)


def test_a_second_login_is_refused_before_anybody_is_asked(syncing, server):
    syncing.refuse_second_login()
    syncing.log_in("https://sync.example", code=server.invite())
    with pytest.raises(InvalidInput, match="is logged in at"):
        syncing.refuse_second_login()


def test_a_device_does_not_revoke_itself(syncing, server):
    syncing.log_in("https://sync.example", code=server.invite(), name="laptop")
    with pytest.raises(InvalidInput, match="is this device") as refused:
        syncing.revoke("laptop")
    assert "tacit logout" in refused.value.hint


def test_a_code_that_is_wrong_leaves_the_home_as_it_was(syncing):
    with pytest.raises(NotLoggedIn):
        syncing.log_in("https://sync.example", code="ana-aaaaaaaa")
    assert not syncing.status().logged_in


def test_a_new_phrase_is_shown_even_if_the_first_answer_was_lost(syncing, server):
    old = syncing.log_in("https://sync.example", code=server.invite()).phrase
    before = syncing._membership()
    server.lost = True
    with pytest.raises(SyncError):
        syncing.rotate()
    with pytest.raises(SyncError, match="begun") as refused:  # nothing leaves with either secret meanwhile
        syncing.run()
    assert "tacit devices rotate" in refused.value.hint
    server.lost = False
    new = syncing.rotate().phrase
    after = syncing._membership()
    assert new != old
    assert (after.account, after.token, after.device) == (before.account, before.token, before.device)
    assert AccountKey.from_phrase(new).secret == after.secret
    with pytest.raises(SyncError, match="cannot be reached"):
        syncing.run()
    syncing.log_out()
    with pytest.raises(SyncError, match="another recovery phrase"):
        syncing.log_in("https://sync.example", code=server.invite(), phrase=old)
    syncing.log_in("https://sync.example", code=server.invite(), phrase=new)


def test_a_device_is_shown_before_it_is_revoked(syncing, server):
    syncing.log_in("https://sync.example", code=server.invite(), name="laptop")
    key, secret = DeviceKey.new(), AccountKey(syncing._membership().secret)
    login = {"key": secret.account, "device": key.device, "signature": key.sign(key.device.encode())}
    server.log_in(code=server.invite(), name="laptop", **login)
    found = syncing.revoke("laptop 2", dry_run=True)
    assert (found.name, found.device) == ("laptop 2", key.device)
    assert all(each.revoked_at_ms is None for each in syncing.devices())


def test_a_damaged_file_is_shown_and_a_logout_removes_it(syncing):
    syncing.file.write_bytes(b"no database at all" * 1000)
    status = syncing.status()
    assert status.logged_in
    assert "cannot be opened" in status.error
    with pytest.raises(StoreError, match="cannot be opened"):
        syncing.run()
    syncing.log_out()
    assert not syncing.status().logged_in
    assert not syncing.file.exists()


def test_the_last_error_is_shown_until_an_exchange_succeeds(syncing, server):
    syncing.log_in("https://sync.example", code=server.invite())
    with pytest.raises(SyncError):
        syncing.run()
    assert syncing.status().error == "The server cannot be reached."


def test_after_a_logout_another_login_works_in_the_background_again(syncing, server):
    phrase = syncing.log_in("https://sync.example", code=server.invite()).phrase
    syncing.log_out()
    syncing.log_in("https://sync.example", code=server.invite(), phrase=phrase)
    assert [thread.is_alive() for thread in syncing._threads] == [True, True]


def test_a_login_with_the_provider_is_this_devices_where_it_is_logged_in(syncing, server):
    begun = syncing.begin_sign_in("https://sync.example", name=" laptop ")
    assert (begun.secret, begun.browser_url) == ("", "https://x/laptop")
    syncing.log_in("https://sync.example", code=server.invite())
    token = syncing._membership().token
    assert syncing.begin_sign_in("https://sync.example/").secret == token
    server.connected.clear()
    with pytest.raises(InvalidInput, match="is logged in at"):
        syncing.begin_sign_in("https://other.example")
    syncing.finish_sign_in("https://sync.example", login="l", secret="s")
    assert "https://other.example" not in {url for url, _ in server.connected}, "it is not shown the token"
    assert ("https://sync.example", "") in server.connected, "the result is asked for without the token"


def test_when_to_log_in_with_the_provider_again_is_kept_until_that_was_done(syncing, server):
    syncing.log_in("https://sync.example", code=server.invite())
    store, clock = syncing._parts.store, syncing._parts.clock

    def noted(teams: dict[str, TeamState]) -> int:
        TEAMS.write(store, teams)
        syncing._note_sign_in()
        return syncing.status().sign_in_by_ms

    assert noted({"acme": TeamState(role="reader")}) == 0
    both = {"acme": TeamState(until_ms=NOW + 9), "acme/core": TeamState(until_ms=NOW + 5)}
    assert noted(both) == NOW + 5
    assert noted({}) == 0  # removed from the team: no reason to sign in again
    assert noted(both) == NOW + 5
    clock.advance(10)
    assert noted({}) == NOW + 5  # it has ended, and stays stored as the reason why the team is gone
    syncing.finish_sign_in("https://sync.example", login="l", secret="s")
    assert syncing.status().sign_in_by_ms == 0


def test_it_is_said_a_week_before_and_afterwards():
    now_ms = int(time.time() * 1000)

    def said(by_ms: int) -> str:
        return sign_in_advice(cast(Any, {"sign_in_by_ms": by_ms, "url": "https://sync.example"}))

    assert said(0) == said(now_ms + SOON_MS + 60_000) == ""
    assert said(now_ms + SOON_MS - 60_000).startswith("your teams end on ")
    assert said(now_ms - 60_000).startswith("your teams ended on ")
    assert said(now_ms).endswith("`tacit login https://sync.example --sso`")


class Slow(Server):
    """A connection to a server that does not answer until the connection is closed."""

    def __init__(self, logs: PostgresLogs, asked: Event) -> None:
        super().__init__()
        self.logs, self.asked, self.closed = logs, asked, Event()

    def heads(self) -> Any:
        self.asked.set()
        assert self.closed.wait(timeout=20), "the connection was never closed"
        raise SyncError("The server cannot be reached.")

    def close(self) -> None:
        self.closed.set()


def test_a_logout_does_not_wait_for_an_exchange_that_never_ends(syncing, server, monkeypatch):
    asked = Event()
    monkeypatch.setattr(syncing, "_connect", lambda _url, _token: Slow(server.logs, asked))
    syncing.log_in("https://sync.example", code=server.invite())
    assert asked.wait(timeout=10)
    syncing.log_out()
    assert not syncing.status().logged_in
