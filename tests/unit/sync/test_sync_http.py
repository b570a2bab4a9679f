"""The HTTP interface of the server, and the client that devices use."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tacit.errors import InvalidInput, LogForked, NotFound, NotLoggedIn, SyncError
from tacit.server.app import LOGIN_FAILURES, make_app
from tacit.server.logs import InMemoryLogs
from tacit.sync.http_server import HttpServer, checked_url
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.views import Exchanged
from unit.sync.devices import NOW
from unit.sync.test_sync_exchange import Home

URL = "http://127.0.0.1"


class Site:
    """A server, and homes that log in over HTTP."""

    def __init__(self, folder: Path) -> None:
        self.logs = InMemoryLogs()
        self.client = TestClient(make_app(self.logs, now_ms=lambda: NOW), base_url=URL)
        self.folder = folder
        self.account = AccountKey.new()

    def server(self, token: str = "") -> HttpServer:
        return HttpServer(URL, token, client=self.client)

    def home(self, name: str, code: str) -> Home:
        home = Home(self.folder / name, self.logs, self.account)
        server = self.server()
        server.log_in(
            code=code,
            key=self.account.account,
            device=home.key.device,
            name=name,
            signature=home.key.sign(home.key.device.encode()),
        )
        home.remote = server  # type: ignore[assignment]
        return home


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_two_homes_sync_over_http(site):
    a = site.home("a", site.logs.add_account("ana", now_ms=NOW))
    b = site.home("b", a.remote.invite())
    a.learn("mem_1", "Tabs, not spaces.")
    assert a.sync() == Exchanged(recorded=1, sent=1)
    assert b.sync() == Exchanged(received=1, applied=1)
    assert b.contents == ["Tabs, not spaces."]
    assert [(view.name, view.entries, view.behind) for view in a.remote.devices()] == [
        ("a", 1, 0),
        ("b", 0, 0),
    ]


def test_errors_come_as_what_they_are(site):
    a = site.home("a", site.logs.add_account("ana", now_ms=NOW))
    with pytest.raises(NotFound):
        a.remote.revoke("00" * 32)
    with pytest.raises(NotLoggedIn):
        site.server("ana.wrong").heads()
    with pytest.raises(NotLoggedIn):
        site.server().heads()
    twin = a.copy(site.folder / "twin")
    twin.remote = a.remote
    for home, name in ((a, "mem_1"), (twin, "mem_2")):
        home.learn(name, name)
    a.sync()
    with pytest.raises(LogForked):
        twin.remote.push(_own(twin))


def _own(home: Home):
    from tacit.sync.replicating import Replicating

    Replicating(store=home.store, replica=home.replica, account=home.account, device=home.key).record()
    return home.replica.entries(home.key.device, after=0, limit=9)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"entries": 3}', b'{"entries": [{"device": 1}]}', b"\xff\xfe"]
)
def test_a_broken_body_is_refused_with_words(site, body):
    a = site.home("a", site.logs.add_account("ana", now_ms=NOW))
    headers = {"Authorization": f"Bearer {a.remote._token}"}
    reply = site.client.post("/sync/v1/entries", content=body, headers=headers)
    assert reply.status_code == 400
    assert "cannot be read" in reply.json()["detail"]


def test_guessing_codes_is_slow(site):
    device = DeviceKey.new()
    body = {"code": "ana-00000000", "key": "0" * 32, "device": device.device, "name": "x", "signature": ""}
    codes = [site.client.post("/sync/v1/login", json=body).status_code for _ in range(LOGIN_FAILURES + 1)]
    assert codes[-1] == 429
    assert set(codes[:-1]) == {422}


def test_behind_a_proxy_only_its_https_requests_are_answered(site):
    trusted = make_app(site.logs, trusted_proxies=[ip_network("10.0.0.0/8")])
    client = TestClient(trusted, base_url=URL, client=("10.1.2.3", 5))
    assert client.get("/sync/v1/heads").json()["code"] == "unauthorized"
    forwarded = client.get("/sync/v1/heads", headers={"X-Forwarded-Proto": "https"})
    assert forwarded.json()["code"] == "not_logged_in"
    stranger = TestClient(trusted, base_url=URL, client=("11.1.2.3", 5))
    refused = stranger.get("/sync/v1/heads", headers={"X-Forwarded-Proto": "https"})
    assert refused.json()["code"] == "unauthorized"


@pytest.mark.filterwarnings("ignore:You should not use the 'timeout' argument")
def test_waiting_ends_with_news(site):
    a = site.home("a", site.logs.add_account("ana", now_ms=NOW))
    assert a.remote.wait(0, wait_s=0) is False
    a.learn("mem_1", "Tabs, not spaces.")
    a.sync()
    assert a.remote.wait(0, wait_s=5) is True


def test_health_and_metrics(site):
    site.home("a", site.logs.add_account("ana", now_ms=NOW))
    assert site.client.get("/health").json() == {"status": "ok"}
    text = site.client.get("/metrics").text
    assert 'tacit_requests_total{route="/login",status="200"} 1' in text


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://tacit.example.org/", "https://tacit.example.org"),
        ("https://example.org/tacit/", "https://example.org/tacit"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
        ("http://localhost:1", "http://localhost:1"),
    ],
)
def test_addresses(url, kept):
    assert checked_url(url) == kept


@pytest.mark.parametrize(
    "url", ["http://example.org", "ftp://example.org", "example.org", "", "http://127.0.0.1.evil.org"]
)
def test_addresses_that_are_refused(url):
    with pytest.raises(InvalidInput):
        checked_url(url)


def test_a_server_that_is_gone_says_so():
    with pytest.raises(SyncError, match="cannot be reached"):
        HttpServer("http://127.0.0.1:9").heads()
