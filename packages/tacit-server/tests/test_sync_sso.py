"""Single sign-on: from a device through a browser to an account and its teams; who may not, and what cannot be guessed, replayed or taken over."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from postgres_server import check_statement, server
from sso_provider import CLIENT, ISSUER, REDIRECT, SECRET, FakeProvider, signed
from tacit.errors import InvalidInput, NotFound, NotLoggedIn, NotPermitted, SyncError
from tacit.providers.clock import FakeClock
from tacit.providers.embedding import FakeEmbedder
from tacit.sync.http_server import HttpServer
from tacit.sync.keys import AccountKey, DeviceKey
from tacit.sync.views import SignInBegun, SignInResult
from tacit_server.app import make_app
from tacit_server.logs import Principal
from tacit_server.service import LOGIN_FAILURES
from tacit_server.sso.endpoints import BEGUN
from tacit_server.sso.identities import Identities, identity_of, proposed_name
from tacit_server.sso.login import SingleSignOn, SsoSettings
from tacit_server.sso.provider import Client, Provider
from tacit_server.sso.rules import GOOGLE, Claims, Rules
from tacit_server.sso.sign_ins import LOGIN_MS
from tacit_server.teams import Teams, open_teams
from tacit_server.teams.members import DAY_MS
from unit.sync.devices import NOW

pytestmark = pytest.mark.postgres
URL = "http://127.0.0.1"
DAYS = 30
_names = itertools.count()


class Site:
    """A server with an organization of its own, a provider, devices and browsers."""

    def __init__(self, connections, logs, teams: Teams, clock: FakeClock) -> None:
        self.connections, self.logs, self.members, self.clock = connections, logs, teams.members, clock
        self.tag = f"s{os.getpid()}-{next(_names)}"
        self.acme, self.core = f"acme-{self.tag}", f"acme-{self.tag}/core"
        self.root = Principal(account=f"root-{self.tag}", device="d" * 64)
        self.members.add_organization(self.acme, admin=self.root.account, name="Root", now_ms=clock.now_ms())
        self.members.add_team(self.root, self.core, now_ms=clock.now_ms())
        self.provider = FakeProvider()
        client = Client(issuer=ISSUER, client_id=CLIENT, secret=SECRET, redirect_uri=REDIRECT)
        groups = [
            f"eng={self.core}:writer",
            f"leads={self.core}:reviewer",
            "staff",
            f"gone=void-{self.tag}:reader",
        ]
        settings = SsoSettings(
            client=client, rules=Rules.parse(groups, []), groups_claim="groups", days=DAYS, public_url=URL
        )
        self.sso = SingleSignOn(
            settings, connections, logs, teams, provider=Provider(client, http=self.provider.http)
        )
        self.app = make_app(logs, teams=teams, sso=self.sso, now_ms=clock.now_ms)

    def client(self, address: str = "127.0.0.1") -> TestClient:
        return TestClient(self.app, base_url=URL, client=(address, 50000), follow_redirects=False)

    def device(self, token: str = "", *, address: str = "127.0.0.1") -> HttpServer:
        return HttpServer(URL, token, client=self.client(address))

    def sub(self, name: str) -> str:
        return f"{name}|{self.tag}"

    def person(self, who: str, *groups: str, **claims: object) -> str:
        claims = {"preferred_username": f"{who}-{self.tag}", "groups": list(groups), **claims}
        self.provider.person(self.sub(who), **claims)
        return self.sub(who)

    def log_in(self, sub: str, *, token: str = "") -> SignInResult:
        """The whole way of a device and of a person's browser."""
        device = self.device(token)
        begun = device.begin_sign_in("laptop")
        page = Browser(self).through(begun, sub)
        assert "You can close this window" in page.text
        return device.finish_sign_in(begun.login, begun.secret)

    def join(self, done: SignInResult, account: AccountKey | None = None) -> str:
        """The device goes on with its code; returns its token."""
        key, secret = DeviceKey.new(), account or AccountKey.new()
        return self.device().log_in(
            code=done.code,
            key=secret.account,
            device=key.device,
            name="laptop",
            signature=key.sign(key.device.encode()),
        ).token  # fmt: skip

    def roles(self, account: str) -> dict[str, str]:
        teams = self.members.teams(Principal(account=account, device=""))
        return {each.team.replace(self.acme, "acme"): each.role for each in teams}

    def audit(self, team: str) -> list[tuple[str, str]]:
        entries = self.members.audit(self.root, team, before=2**53, limit=100)
        return [(each.action, each.subject) for each in entries][::-1]


class Browser:
    """Of one person, with its cookies."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.client = site.client()

    def open(self, begun: SignInBegun) -> httpx.Response:
        return self.client.get(begun.browser_url.removeprefix(URL))

    def agree(self, page: httpx.Response) -> httpx.Response:
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
        return self.client.post("/auth/v1/confirm", data=fields)

    def at_provider(self, begun: SignInBegun, sub: str) -> str:
        """The address that the provider sends this browser back to."""
        agreed = self.agree(self.open(begun))
        assert agreed.status_code == 303, agreed.text
        return self.site.provider.authorize(agreed.headers["location"], sub)

    def through(self, begun: SignInBegun, sub: str) -> httpx.Response:
        return self.client.get(self.at_provider(begun, sub).removeprefix(URL))


@pytest.fixture(scope="module")
def opened() -> Iterator[tuple]:
    from tacit_server.postgres.connection import Connections
    from tacit_server.postgres_logs import PostgresLogs

    connections = Connections(server().dsn(), min_size=1, max_size=6, observe=check_statement)
    clock = FakeClock(now_ms=NOW)
    logs = PostgresLogs(connections)
    yield connections, logs, open_teams(connections, logs, clock=clock, embedder=FakeEmbedder()), clock
    connections.close()


@pytest.fixture
def site(opened) -> Site:
    return Site(*opened)


# --- the way through


def test_a_person_comes_in_with_the_roles_of_their_groups(site):
    ana = site.person("ana", "eng", "other", name="Ana Ruiz")
    done = site.log_in(ana)
    assert (done.done, done.account, done.first) == (True, f"ana-{site.tag}", True)
    assert site.roles(done.account) == {"acme": "reader", "acme/core": "writer"}
    token = site.join(done)
    assert site.device(token).devices()[0].name == "laptop"
    (member,) = [
        each for each in site.members.members(site.root, site.core) if each.principal == done.account
    ]
    assert (member.name, member.until_ms) == ("Ana Ruiz", site.clock.now_ms() + DAYS * DAY_MS)
    assert ("member writer by single sign-on", done.account) in site.audit(site.core)
    assert ("member reader by single sign-on", done.account) in site.audit(site.acme)


def test_a_second_device_needs_the_phrase_of_the_first(site):
    ana, secret = site.person("ana", "eng"), AccountKey.new()
    site.join(site.log_in(ana), secret)
    again = site.log_in(ana)
    assert (again.account, again.first) == (f"ana-{site.tag}", False)
    with pytest.raises(SyncError, match="another recovery phrase"):
        site.join(again)
    token = site.join(site.log_in(ana), secret)
    assert len(site.device(token).devices()) == 2


def test_the_browser_shows_what_the_terminal_shows_and_whose_device_it_is(site):
    begun = site.device(address="10.1.2.3").begin_sign_in('<b>"laptop"</b>')
    page = Browser(site).open(begun)
    assert re.fullmatch(r"[0-9A-Z]{4}-[0-9A-Z]{4}", begun.code)
    assert begun.code in page.text
    assert begun.code not in begun.browser_url
    assert "10.1.2.3" in page.text
    assert "<b>" not in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["cache-control"] == "no-store"
    cookie = page.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_behind_tls_the_cookie_is_this_hosts_alone(site, opened):
    from dataclasses import replace

    settings = replace(site.sso.settings, public_url="https://tacit.example.org")
    connections, logs, teams, clock = opened
    sso = SingleSignOn(settings, connections, logs, teams, provider=site.sso.provider)
    client = TestClient(make_app(logs, teams=teams, sso=sso, now_ms=clock.now_ms), base_url="https://tacit.example.org")  # fmt: skip
    begun = client.post("/auth/v1/begin", json={"device": "laptop"}).json()
    assert begun["browser_url"].startswith("https://tacit.example.org/auth/v1/confirm?login=")
    cookie = client.get(begun["browser_url"]).headers["set-cookie"]
    assert cookie.startswith("__Host-tacit-login=")
    assert "secure" in cookie.lower()


def test_nothing_is_known_until_the_person_came_back(site):
    device = site.device()
    begun = device.begin_sign_in("laptop")
    browser = Browser(site)
    for step in (
        lambda: None,
        lambda: browser.open(begun),
        lambda: browser.agree(browser.open(begun)),
    ):
        step()
        assert device.finish_sign_in(begun.login, begun.secret) == SignInResult(done=False)


def test_an_end_is_told_once(site):
    device = site.device()
    begun = device.begin_sign_in("laptop")
    Browser(site).through(begun, site.person("ana", "eng"))
    assert device.finish_sign_in(begun.login, begun.secret).done
    with pytest.raises(NotLoggedIn, match="not known"):
        device.finish_sign_in(begun.login, begun.secret)


def test_a_server_without_a_provider_says_so(opened):
    _, logs, _, clock = opened
    client = TestClient(make_app(logs, now_ms=clock.now_ms), base_url=URL)
    with pytest.raises(SyncError, match="no single sign-on"):
        HttpServer(URL, client=client).begin_sign_in("laptop")


# --- phishing, fixation, replay


def test_the_providers_address_passed_on_does_nothing_in_another_browser(site):
    """Whoever begins a login and sends the provider's address to somebody who is signed in there must not get their account."""
    ana, device = site.person("ana", "eng"), site.device()
    begun = device.begin_sign_in("laptop")
    back = Browser(site).at_provider(begun, ana)  # the thief agreed in their own browser; Ana's comes back
    page = Browser(site).client.get(back.removeprefix(URL))
    assert page.status_code == 403
    assert "another browser" in page.text
    assert device.finish_sign_in(begun.login, begun.secret) == SignInResult(done=False)
    with_page = Browser(site)  # even with a cookie of a login of her own
    with_page.open(site.device().begin_sign_in("hers"))
    assert with_page.client.get(back.removeprefix(URL)).status_code == 403


def test_nobody_agrees_without_having_seen_the_page(site):
    begun = site.device().begin_sign_in("laptop")
    fields = {"login": begun.login, "token": "0" * 64}
    assert Browser(site).client.post("/auth/v1/confirm", data=fields).status_code == 403
    browser = Browser(site)
    browser.open(begun)
    assert browser.client.post("/auth/v1/confirm", data=fields).status_code == 403
    other = Browser(site)
    token = re.findall(r'name="token" value="([^"]*)"', other.open(begun).text)[0]
    assert browser.client.post("/auth/v1/confirm", data=fields | {"token": token}).status_code == 403
    assert site.provider.asked.count("/token") == 0


def test_a_login_belongs_to_the_browser_that_agreed(site):
    begun = site.device().begin_sign_in("laptop")
    first, second = Browser(site), Browser(site)
    page = second.open(begun)
    first.agree(first.open(begun))
    assert second.agree(page).status_code == 403
    assert second.open(begun).status_code == 403
    assert first.open(begun).status_code == 200  # going back and on again is fine


@pytest.mark.parametrize("state", ["", "x" * 43])
def test_a_wrong_state_is_refused(site, state):
    begun, browser = site.device().begin_sign_in("laptop"), Browser(site)
    back = httpx.URL(browser.at_provider(begun, site.person("ana", "eng")))
    page = browser.client.get(back.path, params={**back.params, "state": state})
    assert page.status_code == 403
    assert "/token" not in site.provider.asked


def test_a_way_back_counts_once(site):
    begun, browser = site.device().begin_sign_in("laptop"), Browser(site)
    back = browser.at_provider(begun, site.person("ana", "eng")).removeprefix(URL)
    assert browser.client.get(back).status_code == 200
    assert browser.client.get(back).status_code == 403
    assert site.provider.asked.count("/token") == 1


def test_a_way_back_counts_once_while_the_provider_is_still_asked(site):
    begun, browser = site.device().begin_sign_in("laptop"), Browser(site)
    back = browser.at_provider(begun, site.person("ana", "eng")).removeprefix(URL)
    cookies = dict(browser.client.cookies)
    meanwhile = []

    def forge(claims):
        other = site.client()
        other.cookies.update(cookies)
        meanwhile.append(other.get(back).status_code)
        return signed(claims)

    site.provider.forge = forge
    assert browser.client.get(back).status_code == 200
    assert meanwhile == [403]


def test_a_code_of_another_login_is_refused(site):
    """A code that was stolen from one login and put into another: the provider knows whose code challenge it was."""
    victim, thief = Browser(site), Browser(site)
    stolen = httpx.URL(victim.at_provider(site.device().begin_sign_in("hers"), site.person("ana", "eng")))
    device = site.device()
    begun = device.begin_sign_in("thief")
    own = httpx.URL(thief.at_provider(begun, site.person("eve", "staff")))
    page = thief.client.get(own.path, params={**own.params, "code": stolen.params["code"]})
    assert "invalid_grant" in page.text
    with pytest.raises(NotPermitted, match="invalid_grant"):
        device.finish_sign_in(begun.login, begun.secret)


def test_a_token_of_another_login_is_refused(site):
    """A provider that mixes logins up (or does not look at the code challenge): the nonce tells."""
    device, browser = site.device(), Browser(site)
    begun = device.begin_sign_in("laptop")
    back = browser.at_provider(begun, site.person("ana", "eng"))
    site.provider.forge = lambda claims: signed(claims | {"nonce": "x" * 43})
    assert "belongs to another login" in browser.client.get(back.removeprefix(URL)).text
    with pytest.raises(NotPermitted, match="belongs to another login"):
        device.finish_sign_in(begun.login, begun.secret)


@pytest.mark.parametrize("issuer", ["https://evil.example.org", ""])
def test_an_answer_of_another_provider_is_refused(site, issuer):
    begun, browser = site.device().begin_sign_in("laptop"), Browser(site)
    back = httpx.URL(browser.at_provider(begun, site.person("ana", "eng")))
    page = browser.client.get(back.path, params={**back.params, "iss": issuer})
    assert "another provider" in page.text


def test_a_refusal_at_the_provider_reaches_the_device(site):
    device, browser = site.device(), Browser(site)
    begun = device.begin_sign_in("laptop")
    back = httpx.URL(browser.at_provider(begun, site.person("ana", "eng")))
    params = {**back.params, "error": "access_denied", "error_description": "<b>no</b>"}
    del params["code"]
    page = browser.client.get(back.path, params=params)
    assert page.status_code == 403
    assert "access_denied" in page.text
    assert "<b>" not in page.text
    with pytest.raises(NotPermitted, match="did not let you in"):
        device.finish_sign_in(begun.login, begun.secret)


def test_a_login_ends_after_ten_minutes(site):
    device, browser = site.device(), Browser(site)
    begun = device.begin_sign_in("laptop")
    back = browser.at_provider(begun, site.person("ana", "eng"))
    site.clock.advance(LOGIN_MS + 1)
    assert browser.client.get(back.removeprefix(URL)).status_code == 403
    assert Browser(site).open(begun).status_code == 403
    with pytest.raises(NotLoggedIn):
        device.finish_sign_in(begun.login, begun.secret)


def test_the_secret_of_a_login_cannot_be_guessed(site):
    begun = site.device().begin_sign_in("laptop")
    thief = site.device(address="10.9.9.9")
    for _ in range(LOGIN_FAILURES):
        with pytest.raises(NotLoggedIn, match="not known"):
            thief.finish_sign_in(begun.login, "x" * 43)
    with pytest.raises(NotLoggedIn, match="Too many failed logins"):
        thief.finish_sign_in(begun.login, begun.secret)
    assert site.device().finish_sign_in(begun.login, begun.secret) == SignInResult(done=False)


def test_states_and_logins_cannot_be_guessed(site):
    client = site.client("10.9.9.8")
    for number in range(LOGIN_FAILURES):
        path = "/auth/v1/callback?state=x" if number % 2 else "/auth/v1/confirm?login=x"
        assert client.get(path).status_code == 403
    assert client.get("/auth/v1/confirm?login=x").status_code == 429
    assert client.get("/auth/v1/callback?state=x").status_code == 429


def test_one_address_does_not_fill_the_table_of_logins(site):
    device = site.device(address="10.9.9.7")
    for _ in range(BEGUN):
        device.begin_sign_in("laptop")
    with pytest.raises(SyncError, match="Too many logins were begun"):
        device.begin_sign_in("laptop")


def test_nothing_that_opens_anything_is_stored_in_the_clear(site):
    import psycopg

    device, browser = site.device(), Browser(site)
    begun = device.begin_sign_in("laptop")
    back = httpx.URL(browser.at_provider(begun, site.person("ana", "eng")))
    with psycopg.connect(server().dsn("postgres")) as connection:
        stored = str(connection.execute("SELECT * FROM sso_logins WHERE code = %s", (begun.code,)).fetchall())
    assert begun.code in stored
    cookie = browser.client.cookies["tacit-login"]
    for secret in (begun.login, begun.secret, back.params["state"], cookie):
        assert secret not in stored


@pytest.mark.parametrize("name", ["", "x" * 61, "a\nb"])
def test_a_device_has_a_name_that_can_be_shown(site, name):
    reply = site.client().post("/auth/v1/begin", json={"device": name})
    assert reply.status_code == 400


def test_a_provider_that_is_away_stops_no_device(site):
    token = site.join(site.log_in(site.person("ana", "eng")))
    begun, browser = site.device().begin_sign_in("desktop"), Browser(site)
    back = browser.at_provider(begun, site.sub("ana"))
    site.provider.away = True
    assert "cannot be reached" in browser.client.get(back.removeprefix(URL)).text
    assert site.device(token).heads() == {}
    assert site.roles(f"ana-{site.tag}") == {"acme": "reader", "acme/core": "writer"}
    fresh = Provider(site.sso.settings.client, http=site.provider.http)
    site.sso.provider = fresh
    with pytest.raises(SyncError, match="The provider"):
        site.device().begin_sign_in("desktop")


# --- whose account it is


def test_a_name_at_the_provider_takes_nobody_over(site):
    """The name of an account that was invited, or that another person has, leads to another account."""
    site.logs.add_account(f"bo-{site.tag}", now_ms=site.clock.now_ms())
    mallory = site.person("mallory", "eng", preferred_username=f"bo-{site.tag}")
    assert site.log_in(mallory).account == f"bo-{site.tag}-2"
    ana, eve = (
        site.person("ana", "eng"),
        site.person("eve", "staff", preferred_username=f"ANA-{site.tag}@evil.org"),
    )
    assert site.log_in(ana).account == f"ana-{site.tag}"
    assert site.log_in(eve).account == f"ana-{site.tag}-2"
    site.provider.person(site.sub("eve"), preferred_username=f"ana-{site.tag}", email=f"ana-{site.tag}@example.org", email_verified=True, groups=["staff"])  # fmt: skip
    assert site.log_in(eve).account == f"ana-{site.tag}-2"


def test_a_person_keeps_their_account_whatever_they_are_called(site):
    ana = site.person("ana", "eng")
    assert site.log_in(ana).account == f"ana-{site.tag}"
    site.person("ana", "eng", preferred_username=f"ruiz-{site.tag}")
    assert site.log_in(ana).account == f"ana-{site.tag}"


def test_the_same_subject_at_another_provider_is_another_person():
    one, other = Claims(issuer=ISSUER, subject="1"), Claims(issuer=f"{ISSUER}/2", subject="1")
    assert identity_of(one) != identity_of(other)
    assert identity_of(Claims(issuer="a\nb", subject="c")) != identity_of(Claims(issuer="a", subject="b\nc"))


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"preferred_username": "Ana.Ruiz@example.org"}, "ana-ruiz"),
        ({"preferred_username": "Àñá"}, "ana"),
        ({"email": "ana@example.org"}, "ana"),
        ({"preferred_username": "李", "email": "li@example.org"}, "li"),
        ({"preferred_username": "x" * 90}, "x" * 40),
        ({"preferred_username": "-_-"}, "person-"),
        ({"preferred_username": "acme/bot"}, "acme-bot"),
        ({"preferred_username": "@server"}, "person-"),
    ],
)
def test_names_are_proposed_in_the_letters_of_accounts(claims, name):
    from tacit_server.logs import ACCOUNT

    proposed = proposed_name(Claims(issuer=ISSUER, subject="1", **claims))
    assert proposed.startswith(name)
    assert ACCOUNT.fullmatch(proposed)


def test_an_unverified_address_names_nobody(site):
    site.person(
        "ana", "eng", preferred_username="", email=f"boss-{site.tag}@example.org", email_verified=False
    )
    assert site.log_in(site.sub("ana")).account.startswith("person-")
    site.person("bo", "eng", preferred_username="", email=f"bo-{site.tag}@example.org", email_verified=True)
    assert site.log_in(site.sub("bo")).account == f"bo-{site.tag}"


def test_an_invited_account_is_linked_by_a_device_of_it_and_a_login(site):
    code = site.logs.add_account(f"bo-{site.tag}", now_ms=site.clock.now_ms())
    token = site.join(SignInResult(done=True, code=code))
    bo = site.person("robert", "eng")
    done = site.log_in(bo, token=token)
    assert (done.account, done.code) == (f"bo-{site.tag}", "")
    assert site.roles(done.account) == {"acme": "reader", "acme/core": "writer"}
    assert site.log_in(bo).account == f"bo-{site.tag}"  # from now on without the device


def test_an_account_is_linked_to_one_person(site):
    token = site.join(site.log_in(site.person("ana", "eng")))
    device = site.device(token)
    begun = device.begin_sign_in("laptop")
    page = Browser(site).through(begun, site.person("eve", "staff"))
    assert "belongs to somebody else" in page.text
    with pytest.raises(NotPermitted, match="belongs to somebody else"):
        device.finish_sign_in(begun.login, begun.secret)
    assert site.log_in(site.sub("ana")).account == f"ana-{site.tag}"


def test_a_person_has_one_account(site):
    site.join(site.log_in(site.person("ana", "eng")))
    code = site.logs.add_account(f"bo-{site.tag}", now_ms=site.clock.now_ms())
    device = site.device(site.join(SignInResult(done=True, code=code)))
    begun = device.begin_sign_in("laptop")
    Browser(site).through(begun, site.sub("ana"))
    with pytest.raises(NotPermitted, match=f"You have the account ana-{site.tag} already"):
        device.finish_sign_in(begun.login, begun.secret)
    assert site.roles(f"bo-{site.tag}") == {}


def test_the_page_says_which_account_is_to_be_linked(site):
    token = site.join(site.log_in(site.person("ana", "eng")))
    assert (
        f"link the account “ana-{site.tag}”" in Browser(site).open(site.device(token).begin_sign_in("x")).text
    )


def test_a_token_that_is_none_begins_nothing(site):
    with pytest.raises(NotLoggedIn):
        site.device("ana.wrong").begin_sign_in("laptop")


def test_a_removed_account_opens_to_nobody_from_before(site):
    ana = site.person("ana", "eng")
    site.join(site.log_in(ana))
    site.logs.remove_account(f"ana-{site.tag}")
    assert site.log_in(ana).account == f"ana-{site.tag}-2"


@pytest.mark.parametrize("late", ["before the page", "after it", "at the provider"])
def test_a_login_that_a_revoked_device_began_links_nothing(site, late):
    code = site.logs.add_account(f"vic-{site.tag}", now_ms=site.clock.now_ms())
    stolen, secret = None, AccountKey.new()
    stolen = site.join(SignInResult(done=True, code=code), secret)
    code = site.logs.add_account(f"vic-{site.tag}", now_ms=site.clock.now_ms())
    own = site.join(SignInResult(done=True, code=code), secret)
    device = site.device(stolen)
    thief = site.logs.principal(stolen, now_ms=site.clock.now_ms())
    owner = site.logs.principal(own, now_ms=site.clock.now_ms())
    begun, browser = device.begin_sign_in("laptop"), Browser(site)
    sub = site.person("mal", "eng")

    def revoke(now: str) -> None:
        if now == late:
            site.logs.revoke(owner, thief.device, now_ms=site.clock.now_ms())

    revoke("before the page")
    page = browser.open(begun)
    revoke("after it")
    back = site.provider.authorize(browser.agree(page).headers["location"], sub)
    revoke("at the provider")
    page = browser.client.get(back.removeprefix(URL))
    assert "was revoked" in page.text
    assert site.log_in(sub).account == f"mal-{site.tag}", (
        "the thief has an account of their own, and not the owner's"
    )


def test_an_account_that_is_removed_before_the_device_asks_is_not_made_again(site):
    device = site.device()
    begun = device.begin_sign_in("laptop")
    Browser(site).through(begun, site.person("ana", "eng"))
    site.logs.remove_account(f"ana-{site.tag}")
    with pytest.raises(NotLoggedIn):
        device.finish_sign_in(begun.login, begun.secret)
    assert not site.logs.has_account(f"ana-{site.tag}")


def test_a_new_provider_is_linked_by_the_device(site, opened):
    connections, logs, *_ = opened
    token = site.join(site.log_in(site.person("ana", "eng")))
    account = site.device(token) and f"ana-{site.tag}"
    moved = Claims(issuer="https://new.example.org", subject="7")
    identities = Identities(connections, logs, moved.issuer)
    identities.link(moved, account, now_ms=site.clock.now_ms())
    assert identities.find(moved) == account
    before = Claims(issuer=ISSUER, subject=site.sub("ana"))
    assert Identities(connections, logs, ISSUER).find(before) == ""


def test_two_logins_at_once_make_one_account(site, opened):
    connections, logs, *_ = opened
    claims = Claims(issuer=ISSUER, subject=site.sub("twin"), preferred_username=f"twin-{site.tag}")
    with ThreadPoolExecutor(4) as pool:
        made = set(
            pool.map(lambda _: Identities(connections, logs, ISSUER).log_in(claims, now_ms=NOW), range(4))
        )
    assert len(made) == 1
    assert [name for name in (f"twin-{site.tag}", f"twin-{site.tag}-2", f"twin-{site.tag}-3") if logs.has_account(name)] == [*made]  # fmt: skip


def test_two_people_of_one_name_at_once_get_two_accounts(site, opened):
    connections, logs, *_ = opened
    people = [
        Claims(issuer=ISSUER, subject=site.sub(f"n{number}"), preferred_username=f"same-{site.tag}")
        for number in range(4)
    ]
    with ThreadPoolExecutor(4) as pool:
        made = list(
            pool.map(lambda one: Identities(connections, logs, ISSUER).log_in(one, now_ms=NOW), people)
        )
    assert len(set(made)) == 4


# --- groups


def test_who_is_in_no_group_stays_outside_and_gets_no_account(site):
    device = site.device()
    begun = device.begin_sign_in("laptop")
    page = Browser(site).through(begun, site.person("eve", "guests"))
    assert page.status_code == 403
    assert "in no group" in page.text
    with pytest.raises(NotPermitted, match="in no group"):
        device.finish_sign_in(begun.login, begun.secret)
    assert not site.logs.has_account(f"eve-{site.tag}")


def test_roles_follow_the_groups_and_the_audit_log_says_so(site):
    account = site.log_in(site.person("ana", "eng")).account
    site.log_in(site.person("ana", "eng", "leads"))
    assert site.roles(account)["acme/core"] == "reviewer"
    site.log_in(site.person("ana", "eng", "leads"))  # nothing new: nothing to note
    site.log_in(site.person("ana", "staff"))
    assert site.roles(account) == {}
    noted = [action for action, subject in site.audit(site.core) if subject == account]
    assert noted == [
        "member writer by single sign-on",
        "member reviewer by single sign-on",
        "member removed by single sign-on",
    ]


def test_who_lost_every_group_is_removed_though_the_login_is_refused(site):
    account = site.log_in(site.person("ana", "eng")).account
    site.join(site.log_in(site.sub("ana")))
    site.person("ana", "guests")
    Browser(site).through(site.device().begin_sign_in("laptop"), site.sub("ana"))
    assert site.roles(account) == {}
    assert ("member removed by single sign-on", account) in site.audit(site.acme)


def test_what_was_given_by_hand_stays(site):
    account = f"bo-{site.tag}"
    now_ms = site.clock.now_ms()
    code = site.members.put_member(
        site.root, site.core, account, name="Bo", role="reader", now_ms=now_ms
    ).code
    token = site.join(SignInResult(done=True, code=code))
    bo = site.person("bo", "leads")
    site.log_in(bo, token=token)
    assert site.roles(account) == {"acme": "reader", "acme/core": "reader"}
    site.person("bo", "staff")
    site.log_in(bo, token=token)
    assert site.roles(account) == {"acme": "reader", "acme/core": "reader"}


def test_a_team_that_is_not_there_is_passed_over(site):
    assert site.sso.missing_teams() == (f"void-{site.tag}",)
    account = site.log_in(site.person("ana", "gone", "eng")).account
    assert site.roles(account) == {"acme": "reader", "acme/core": "writer"}


def test_a_role_ends_without_another_login(site):
    account = site.log_in(site.person("ana", "eng")).account
    ana = Principal(account=account, device="d" * 64)
    (until_ms,) = {each.until_ms for each in site.members.teams(ana)}
    site.clock.advance(until_ms - site.clock.now_ms() - 1)
    assert site.members.access.enter(ana, site.core).role == "writer"
    site.clock.advance(1)
    for team in (site.core, site.acme):
        with pytest.raises(NotFound, match="You are in no team"):
            site.members.access.enter(ana, team)
    assert site.members.teams(ana) == ()
    site.log_in(site.sub("ana"))
    assert site.roles(account) == {"acme": "reader", "acme/core": "writer"}


def test_who_is_in_an_organization_by_a_group_alone_cannot_stay_by_what_they_gave_themselves(site):
    """An administrator by a group makes a team and puts themselves in by hand: both end with the group."""
    from dataclasses import replace

    rules = Rules.parse([f"admins={site.acme}:admin", "staff"], [])
    site.sso.settings = replace(site.sso.settings, rules=rules)
    account = site.log_in(site.person("ana", "admins")).account
    ana, lab, now_ms = Principal(account=account, device="d" * 64), f"{site.acme}/lab", site.clock.now_ms()
    site.members.add_team(ana, lab, now_ms=now_ms)
    site.members.put_member(ana, site.acme, account, name="Ana", role="admin", now_ms=now_ms)
    site.members.put_member(ana, site.core, account, name="Ana", role="admin", now_ms=now_ms)
    assert site.roles(account) == {"acme": "admin", "acme/core": "admin", "acme/lab": "admin"}
    site.clock.advance(DAYS * DAY_MS)
    for team in (site.acme, lab, site.core):
        with pytest.raises(NotFound):
            site.members.access.enter(ana, team)
    site.log_in(site.person("ana", "staff"))
    assert site.roles(account) == {}
    assert account not in {each.principal for each in site.members.members(site.root, site.acme)}


def test_an_organization_keeps_an_administrator_who_does_not_end(site):
    from dataclasses import replace

    rules = Rules.parse([f"admins={site.acme}:admin"], [])
    site.sso.settings = replace(site.sso.settings, rules=rules)
    account = site.log_in(site.person("ana", "admins")).account
    ana = Principal(account=account, device="d" * 64)
    with pytest.raises(InvalidInput, match="last administrator"):
        site.members.remove_member(ana, site.acme, site.root.account, now_ms=site.clock.now_ms())


@pytest.mark.parametrize(
    ("issuer", "claims", "admitted"),
    [
        ("https://id.example.org", {"email": "ana@corp.example"}, True),
        ("https://id.example.org", {"email": "ana@Corp.Example", "domain": "other.example"}, True),
        ("https://id.example.org", {"domain": "corp.example"}, False),
        ("https://id.example.org", {"email": "eve@evil.example", "domain": "corp.example"}, False),
        ("https://id.example.org", {"email": "eve@evil.example@corp.example"}, False),
        ("https://id.example.org", {"email": "@corp.example"}, False),
        ("https://id.example.org", {"email": "ana@sub.corp.example"}, False),
        (GOOGLE, {"email": "ana@corp.example"}, False),
        (GOOGLE, {"email": "ana@gmail.example", "domain": "corp.example"}, True),
    ],
)
def test_a_domain_counts_by_the_verified_address_and_at_google_by_its_own_claim(issuer, claims, admitted):
    rules = Rules.parse([], ["corp.example"])
    person = Claims(issuer=issuer, subject="1", **claims)
    with nullcontext() if admitted else pytest.raises(NotPermitted):
        rules.roles(person)
