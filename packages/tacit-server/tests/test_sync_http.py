"""The HTTP interface of the server, and the client that devices use."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import httpx2 as httpx
import msgspec
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from postgres_server import connections, new_tenant_name, server
from tacit.errors import (
    UPGRADE,
    InvalidInput,
    LogForked,
    NotFound,
    NotLoggedIn,
    StoreError,
    StoreNewer,
    SyncError,
)
from tacit.sync.connection import checked_url
from tacit.sync.http_server import HttpServer
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.views import Exchanged
from tacit_server.app import make_app
from tacit_server.limits import LocalCounts, SharedCounts
from tacit_server.logs import MAX_LOGS, Principal
from tacit_server.news import News
from tacit_server.postgres.connection import Connections
from tacit_server.postgres_logs import PostgresLogs
from tacit_server.service import LOGIN_FAILURES, REQUESTS, REQUESTS_STEP, Service, TooManyRequests
from test_sync_exchange import URL, Home, serve
from unit.sync.devices import NOW

pytestmark = pytest.mark.postgres


class Site:
    """A server, and homes that log in over HTTP."""

    def __init__(self, folder: Path) -> None:
        self.logs, self.ana = PostgresLogs(connections()), new_tenant_name()
        self.client = serve(self.logs)
        self.folder = folder
        self.account = AccountKey.new()

    def server(self, token: str = "") -> HttpServer:
        return HttpServer(URL, token, client=self.client)

    def invite(self) -> str:
        return self.logs.add_account(self.ana, now_ms=NOW)

    def home(self, name: str, code: str) -> Home:
        home = Home(self.folder / name, self.client, self.account)
        home.log_in(code)
        return home


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_two_homes_sync_over_http(site):
    a = site.home("a", site.invite())
    b = site.home("b", a.remote.invite())
    a.learn("mem_1", "Tabs, not spaces.")
    assert a.sync() == Exchanged(recorded=1, sent=1)
    assert b.sync() == Exchanged(received=1, applied=1)
    assert b.contents == ["Tabs, not spaces."]
    devices = {(view.name, view.entries, view.behind) for view in a.remote.devices()}
    assert devices == {("a", 1, 0), ("b", 0, 0)}


def test_errors_come_as_what_they_are(site):
    a = site.home("a", site.invite())
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
    a = site.home("a", site.invite())
    headers = {"Authorization": f"Bearer {a.remote.connection.token}"}
    reply = site.client.post("/sync/v1/entries", content=body, headers=headers)
    assert reply.status_code == 400
    assert "cannot be read" in reply.json()["detail"]


def _asked(site: Site, method: str, path: str, body: object = None) -> httpx.Response:
    """What the server answers to a device of Ana's."""
    a = site.home("a", site.invite())
    headers = {"Authorization": f"Bearer {a.remote.connection.token}"}
    return site.client.request(method, f"/sync/v1{path}", content=msgspec.json.encode(body), headers=headers)


@pytest.mark.parametrize(
    "path",
    [
        "/heads?wait=nan",
        "/heads?wait=inf",
        "/heads?wait=-1",
        "/heads?known=-2",
        "/heads?known=x",
        f"/entries?device={'0' * 64}&after=1e300",
        f"/entries?device={'0' * 64}&limit=nan",
        f"/entries?device={'0' * 64}&after=-1",
        "/entries?device=%00",
        f"/entries?device={'A' * 64}",
        "/entries",
    ],
)
def test_a_parameter_of_another_form_is_refused(site, path):
    reply = _asked(site, "GET", path)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_payload")


@pytest.mark.parametrize("device", ["%00", "x", "0" * 63, "A" * 64])
def test_no_device_of_another_form_is_revoked(site, device):
    assert _asked(site, "POST", f"/devices/{device}/revoke").status_code == 400


@pytest.mark.parametrize(
    "heads",
    [
        {"\0": 1},
        {"A" * 64: 1},
        {"0" * 64: -1},
        {"0" * 64: 2**53 + 1},
        {f"{number:064x}": 1 for number in range(MAX_LOGS + 1)},
    ],
)
def test_a_report_of_another_form_is_refused(site, heads):
    assert _asked(site, "POST", "/report", {"heads": heads}).status_code == 400


def test_numbers_at_their_bounds_are_taken(site):
    heads = {f"{number:064x}": 2**53 for number in range(MAX_LOGS)}
    assert _asked(site, "POST", "/report", {"heads": heads}).status_code == 200


def test_an_entry_of_another_form_is_refused(site):
    a = site.home("a", site.invite())
    a.learn("mem_1", "Tabs, not spaces.")
    (entry,) = _own(a)
    with pytest.raises(InvalidInput, match="device"):
        a.remote.push([replace(entry, device="x")])
    with pytest.raises(InvalidInput, match="NUL"):
        a.remote.push([replace(entry, device="\0")])


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (rb'{"heads": {"\u0000": 1}}', 400),
        (rb'{"heads": {"\\\u0000": 1}}', 400),
        (rb'{"heads": {}, "more": ["a\u0000"]}', 400),
        (rb'{"heads": {}, "more": "\\u0000"}', 200),
    ],
)
def test_a_nul_in_any_body_is_refused_and_a_text_about_one_is_not(site, sent, status):
    token = site.home("a", site.invite()).remote.connection.token
    reply = site.client.post("/sync/v1/report", content=sent, headers={"Authorization": f"Bearer {token}"})
    assert reply.status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer ana.x"},
        {"Authorization": "Bearer acme/ci.x"},
        {"Authorization": "Basic x"},
    ],
)
def test_who_is_not_known_is_not_authenticated(site, headers):
    reply = site.client.get("/sync/v1/heads", headers=headers)
    assert (reply.status_code, reply.json()["code"], reply.headers["WWW-Authenticate"]) == (
        401,
        "not_logged_in",
        "Bearer",
    )


def test_text_that_is_no_utf_8_is_a_broken_body(site):
    reply = site.client.post("/sync/v1/login", content=b'{"code": "\xff"}')
    assert reply.status_code == 400


def _guess() -> dict[str, str]:
    device = DeviceKey.new().device
    return {"code": "ana-00000000", "key": "0" * 32, "device": device, "name": "x", "signature": ""}


def test_guessing_codes_is_slow(site):
    body = _guess()
    codes = [site.client.post("/sync/v1/login", json=body).status_code for _ in range(LOGIN_FAILURES + 1)]
    assert codes[-1] == 429
    assert set(codes[:-1]) == {422}


def test_behind_a_proxy_each_address_guesses_for_itself(site):
    trusted = make_app(site.logs, trusted_proxies=[ip_network("10.0.0.0/8")], now_ms=lambda: NOW)
    client = TestClient(trusted, base_url=URL, client=("10.1.2.3", 5))

    def guess(forwarded: str) -> int:
        headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": forwarded}
        return client.post("/sync/v1/login", json=_guess(), headers=headers).status_code

    for number in range(LOGIN_FAILURES):
        assert guess(f"192.0.2.{number}, 198.51.100.7") == 422
    assert guess("192.0.2.99, 198.51.100.7") == 429
    assert guess("198.51.100.8") == 422
    for number in range(LOGIN_FAILURES):
        assert guess(f"no address {number}") == 422
    assert guess("none either") == 429


def test_without_a_trusted_proxy_a_forwarded_address_counts_nothing(site):
    codes = [
        site.client.post(
            "/sync/v1/login", json=_guess(), headers={"X-Forwarded-For": f"192.0.2.{number}"}
        ).status_code
        for number in range(LOGIN_FAILURES + 1)
    ]
    assert codes[-1] == 429


@pytest.mark.parametrize("kind", ["local", "shared"])
def test_events_of_a_minute_are_counted_and_then_forgotten(kind):
    now = [0.0]
    database = Connections(server().dsn()) if kind == "shared" else None
    start = 6e7 * os.getpid()  # of no other process of this run
    counts = [
        SharedCounts(database, now_s=lambda: start + now[0])
        if database
        else LocalCounts(now_s=lambda: now[0])
        for _ in range(2 if database else 1)
    ]
    key = f"failed {os.getpid()}"
    assert [counts[0].add(key, 1), counts[-1].add(key, 2), counts[0].add("other", 0)] == [1, 3, 0]
    assert counts[0].add(key, -1) == 2
    now[0] = 61
    assert counts[0].add(key, 0) == 0
    if database:
        database.close()


def test_two_processes_count_together(site):
    database = Connections(server().dsn())
    clients = [
        TestClient(
            make_app(site.logs, now_ms=lambda: NOW, database=database),
            base_url=URL,
            client=(f"guess-{os.getpid()}", 1),
        )
        for _ in range(2)
    ]
    codes = [clients[n % 2].post("/sync/v1/login", json=_guess()).status_code for n in range(12)]
    assert codes == [*[422] * LOGIN_FAILURES, 429, 429]
    database.close()


def test_a_device_is_limited_by_what_it_asks_of_all_processes():
    who = Principal(account="ana", device="d")
    shared = LocalCounts(now_s=lambda: 0.0)
    one, two = (
        Service(devices=lambda _: who, services=lambda _: who, counts=shared, now_s=lambda: 0.0)
        for _ in range(2)
    )
    request = Request({"type": "http", "headers": [(b"authorization", b"Bearer ana.t")]})

    async def ask() -> int:
        for number in range(2 * REQUESTS):
            try:
                await (one, two)[number % 2].device(request)
            except TooManyRequests:
                return number
        return -1

    assert REQUESTS <= asyncio.run(ask()) <= REQUESTS + 2 * REQUESTS_STEP


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
    a = site.home("a", site.invite())
    assert a.remote.wait(0, wait_s=0) == (False, 0)
    a.learn("mem_1", "Tabs, not spaces.")
    a.sync()
    assert a.remote.wait(0, wait_s=5) == (True, 0)


def test_waiting_ends_when_the_server_stops(site):
    a = site.home("a", site.invite())
    news = News()
    news.stop()
    client = TestClient(make_app(site.logs, news=news, now_ms=lambda: NOW), base_url=URL)
    headers = {"Authorization": f"Bearer {a.remote.connection.token}"}
    assert client.get("/sync/v1/heads?wait=5&known=0", headers=headers).json()["heads"] == {}


def test_health_and_metrics(site):
    site.home("a", site.invite())
    assert site.client.get("/health").json() == site.client.get("/ready").json() == {"status": "ok"}
    operator = TestClient(site.client.app, base_url=URL, client=("127.0.0.1", 5))
    text = operator.get("/metrics").text
    assert 'tacit_requests_total{route="/sync/v1/login",status="200"} 1.0' in text
    assert "process_resident_memory_bytes" in text


def test_strangers_read_no_metrics(site):
    assert site.client.get("/metrics").status_code == 401
    forwarded = TestClient(site.client.app, base_url=URL, client=("127.0.0.1", 5))
    assert forwarded.get("/metrics", headers={"X-Forwarded-For": "192.0.2.1"}).status_code == 401
    client = TestClient(make_app(site.logs, metrics_token="m3trics"), base_url=URL, client=("127.0.0.1", 5))
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer other"}).status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer m3trics"}).status_code == 200


class _BrokenLogs(PostgresLogs):
    """Logs whose database says more than a stranger may know."""

    def __init__(self, error: StoreError) -> None:
        super().__init__(connections())
        self.error = error

    def principal(self, token, *, now_ms):
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        StoreError("The database cannot be reached: 10.1.2.3 port 5477 failed.", hint="role tacit_app"),
        StoreNewer("The database has schema 6; this Tacit knows up to 5 and reads nothing.", hint=UPGRADE),
    ],
)
def test_what_is_wrong_with_the_database_is_told_to_the_operator_alone(caplog, error):
    client = TestClient(make_app(_BrokenLogs(error)), base_url=URL)
    reply = client.get("/sync/v1/heads", headers={"Authorization": "Bearer ana.x"})
    assert (reply.status_code, reply.json()["code"]) == (503, "store_error")
    assert not any(word in reply.text for word in ("5477", "tacit_app", "schema", "pgrade"))
    assert error.message in caplog.text
    with pytest.raises(StoreError, match="cannot use its database"):
        HttpServer(URL, "ana.x", client=client).heads()


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
    "url",
    [
        "http://example.org",
        "ftp://example.org",
        "example.org",
        "",
        "http://127.0.0.1.evil.org",
        "https://[::1",
        "https://example.org:port",
    ],
)
def test_addresses_that_are_refused(url):
    with pytest.raises(InvalidInput):
        checked_url(url)


def test_a_server_that_is_gone_says_so():
    with pytest.raises(SyncError, match="cannot be reached"):
        HttpServer("http://127.0.0.1:9").heads()


@pytest.mark.parametrize(
    "reply",
    [
        httpx.Response(301, headers={"Location": "https://elsewhere.example.org"}),
        httpx.Response(302, json={"heads": {}, "code": "x", "entries": [], "devices": []}),
        httpx.Response(200, content=b"<html>"),
        httpx.Response(200, content=b""),
        httpx.Response(200, content=b'{"heads": '),
        httpx.Response(200, json=[]),
        httpx.Response(404, content=b"<html>"),
    ],
)
@pytest.mark.parametrize("call", ["heads", "wait", "entries", "push", "devices", "invite", "renew"])
def test_what_is_no_tacit_server_is_called_so(reply, call):
    _refused(reply, call)


@pytest.mark.parametrize("call", ["heads", "wait", "entries", "devices", "invite", "renew"])
@pytest.mark.parametrize(
    "body", [{}, {"heads": 3, "entries": [{"device": "x"}], "devices": {}, "code": 1, "token": 1}]
)
def test_an_answer_of_another_form_is_no_tacit_server_s(body, call):
    _refused(httpx.Response(200, json=body), call)


def test_an_answer_that_is_no_utf_8_is_no_tacit_server_s():
    _refused(httpx.Response(200, content=b'{"heads": {"\xff": 1}}'), "heads")


def _refused(reply: httpx.Response, call: str) -> None:
    server = HttpServer(URL, "ana.x", client=httpx.Client(transport=httpx.MockTransport(lambda _: reply)))
    calls = {
        "heads": server.heads,
        "wait": lambda: server.wait(0, wait_s=0),
        "entries": lambda: server.entries("00" * 32, after=0, limit=1),
        "push": lambda: server.push([]),
        "devices": server.devices,
        "invite": server.invite,
        "renew": lambda: server.renew("00" * 32, b""),
    }
    with pytest.raises(SyncError, match="is no Tacit server"):
        calls[call]()


def test_requests_are_spans_where_opentelemetry_is_set_up(site, monkeypatch):
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    site.client.get("/sync/v1/heads")
    (span,) = exporter.get_finished_spans()
    assert span.name == "GET /sync/v1/heads"
    assert span.attributes == {
        "http.request.method": "GET",
        "http.route": "/sync/v1/heads",
        "http.response.status_code": 401,
    }
