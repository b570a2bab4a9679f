"""Single sign-on: from a device through a browser behind the proxy to an account and its teams; who may not, and what cannot be forged, guessed or taken over."""

from __future__ import annotations

import itertools
import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from ipaddress import ip_network

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from postgres_server import check_statement, server
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
from tacit_server.sso.people import Grant, LoginProxy, Person, roles_of
from tacit_server.sso.sign_ins import LOGIN_MS
from tacit_server.teams import Teams, open_teams
from tacit_server.teams.members import DAY_MS
from unit.sync.devices import NOW

pytestmark = pytest.mark.postgres
URL = "http://127.0.0.1"
DAYS = 30
ISSUER, SECRET = "okta", "the-secret-of-the-proxy"
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
        self.people: dict[str, dict[str, str]] = {}
        groups = [
            f"eng={self.core}:writer",
            f"leads={self.core}:admin",
            "staff",
            f"gone=void-{self.tag}:reader",
        ]
        settings = SsoSettings(
            proxy=LoginProxy(networks=(ip_network("127.0.0.1/32"),), secret=SECRET, issuer=ISSUER),
            grants=tuple(map(Grant.parse, groups)),
            days=DAYS,
            public_url=URL,
        )
        self.sso = SingleSignOn(settings, connections, logs, teams)
        self.app = make_app(logs, teams=teams, sso=self.sso, now_ms=clock.now_ms)

    def client(self, address: str = "127.0.0.1") -> TestClient:
        return TestClient(self.app, base_url=URL, client=(address, 50000), follow_redirects=False)

    def device(self, token: str = "", *, address: str = "127.0.0.1") -> HttpServer:
        return HttpServer(URL, token, client=self.client(address))

    def sub(self, name: str) -> str:
        return f"{name}|{self.tag}"

    def person(self, who: str, *groups: str, username: str | None = None, email: str = "") -> str:
        """Somebody whom the proxy knows: what it says about them."""
        sub = self.sub(who)
        self.people[sub] = {
            "Authorization": f"Basic {b64encode(f'{sub}:{SECRET}'.encode()).decode()}",
            "X-Forwarded-User": sub,
            "X-Forwarded-Preferred-Username": f"{who}-{self.tag}" if username is None else username,
            "X-Forwarded-Email": email,
            "X-Forwarded-Groups": ",".join(groups),
        }
        return sub

    def grant(self, *grants: str) -> None:
        self.sso.settings = replace(self.sso.settings, grants=tuple(map(Grant.parse, grants)))

    def log_in(self, sub: str, *, token: str = "") -> SignInResult:
        """The whole way of a device and of a person's browser."""
        device = self.device(token)
        begun = device.begin_sign_in("laptop")
        page = Browser(self, sub).through(begun)
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
    """Of one person, behind the proxy."""

    def __init__(self, site: Site, sub: str = "") -> None:
        self.client = site.client()
        self.client.headers.update(site.people[sub or site.person("somebody", "staff")])

    def open(self, begun: SignInBegun) -> httpx.Response:
        return self.client.get(begun.browser_url.removeprefix(URL))

    def agree(self, page: httpx.Response) -> httpx.Response:
        return self.client.post("/auth/v1/confirm", data=fields_of(page))

    def through(self, begun: SignInBegun) -> httpx.Response:
        return self.agree(self.open(begun))


def fields_of(page: httpx.Response) -> dict[str, str]:
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))


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
    ana = site.person("ana", "eng", "other", username="Ana Ruiz")
    done = site.log_in(ana)
    assert (done.done, done.account.startswith("ana-ruiz"), done.first) == (True, True, True)
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
    assert "form-action 'self'" in policy
    assert f"log in as you (somebody-{site.tag})" in page.text


def test_an_end_is_told_once(site):
    device = site.device()
    begun = device.begin_sign_in("laptop")
    Browser(site, site.person("ana", "eng")).through(begun)
    assert device.finish_sign_in(begun.login, begun.secret).done
    with pytest.raises(NotLoggedIn, match="not known"):
        device.finish_sign_in(begun.login, begun.secret)


def test_a_server_without_a_provider_says_so(opened):
    _, logs, _, clock = opened
    client = TestClient(make_app(logs, now_ms=clock.now_ms), base_url=URL)
    with pytest.raises(SyncError, match="no single sign-on"):
        HttpServer(URL, client=client).begin_sign_in("laptop")


# --- forged, guessed, replayed


def test_nothing_is_known_until_the_person_agreed(site):
    device, browser = site.device(), Browser(site)
    begun = device.begin_sign_in("laptop")
    for step in (lambda: None, lambda: browser.open(begun)):
        step()
        assert device.finish_sign_in(begun.login, begun.secret) == SignInResult(done=False)


def basic(user: str, secret: str) -> str:
    return f"Basic {b64encode(f'{user}:{secret}'.encode()).decode()}"


def id_token(**claims: object) -> str:
    """A token as providers make them, with a signature that nobody checks: the server reads no token."""
    parts = ({"alg": "none"}, {"iss": ISSUER, "sub": "boss", "aud": "tacit", "groups": ["eng"], **claims})
    return ".".join([*(urlsafe_b64encode(json.dumps(each).encode()).decode() for each in parts), "x"])


def user(name: str) -> dict[str, str]:
    return {"X-Forwarded-User": name, "Authorization": basic(name, SECRET)}


FORGED = {
    "no secret": lambda _: {"Authorization": ""},
    "another secret": lambda sub: {"Authorization": basic(sub, SECRET[:-1] + "x")},
    "an empty secret": lambda sub: {"Authorization": basic(sub, "")},
    "the beginning of the secret": lambda sub: {"Authorization": basic(sub, SECRET[:-1])},
    "more than the secret": lambda sub: {"Authorization": basic(sub, SECRET + "x")},
    "the secret for somebody else": lambda _: {"Authorization": basic("eve", SECRET)},
    "the secret as a bearer": lambda _: {"Authorization": f"Bearer {SECRET}"},
    "the secret in the clear": lambda sub: {"Authorization": f"Basic {sub}:{SECRET}"},
    "no user": lambda _: user(""),
    "a user of another form": lambda _: user("a\tb"),
    "a user that is too long": lambda _: user("x" * 256),
    "the header of another proxy": lambda sub: {"X-Forwarded-User": "", "X-Auth-Request-User": sub},
    "a header with an underscore": lambda sub: {"X-Forwarded-User": "", "X_Forwarded_User": sub},
    "a secret for a proxy before": lambda sub: {"Authorization": "", "Proxy-Authorization": basic(sub, SECRET)},
} | {
    f"a token in {header}": lambda _, header=header: {
        "Authorization": f"Bearer {id_token(groups=['leads'])}",
        header: id_token(groups=["leads"]),
    }
    for header in ("X-Forwarded-Access-Token", "X-Auth-Request-Id-Token", "Cookie", "X-Forwarded-User")
}  # fmt: skip


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED.keys())
def test_only_the_proxy_says_who_somebody_is(site, forged):
    victim = site.person("ana", "eng")
    told = site.people[victim] | forged(victim)
    _nobody_comes_in(site, site.client(), {name: value for name, value in told.items() if value})


def _nobody_comes_in(site: Site, client: TestClient, headers: dict[str, str] | list[tuple[str, str]]) -> None:
    device = site.device()
    begun = device.begin_sign_in("laptop")
    shown = client.get(begun.browser_url.removeprefix(URL), headers=headers)
    assert (shown.status_code, begun.code in shown.text) == (403, False)
    page = Browser(site).open(begun)  # a form that the server gave to somebody else
    assert client.post("/auth/v1/confirm", data=fields_of(page), headers=headers).status_code == 403
    assert device.finish_sign_in(begun.login, begun.secret) == SignInResult(done=False)
    assert not site.logs.has_account(f"ana-{site.tag}")


def test_what_the_proxy_says_counts_from_its_own_address_alone(site):
    _nobody_comes_in(site, site.client("10.9.9.6"), site.people[site.person("ana", "eng")])


def test_a_header_that_is_there_twice_names_nobody(site):
    told = site.people[site.person("ana", "eng")]
    _nobody_comes_in(site, site.client(), [*told.items(), ("X-Forwarded-User", "boss")])
    _nobody_comes_in(site, site.client(), [*told.items(), ("Authorization", basic("boss", SECRET))])


def test_a_device_does_not_become_a_person_by_the_headers_of_the_proxy(site):
    told = site.people[site.person("ana", "eng")]
    for method, path in (("GET", "/sync/v1/heads"), ("GET", "/team/v1/teams"), ("POST", "/auth/v1/begin")):
        reply = site.client().request(method, path, headers=told, json={"device": "laptop"})
        assert reply.status_code == 401


def test_nobody_agrees_without_having_seen_the_page(site):
    """Neither by a link from another site, nor with the form that another person got."""
    ana, device = Browser(site, site.person("ana", "eng")), site.device()
    begun, other = device.begin_sign_in("laptop"), device.begin_sign_in("other")
    token = fields_of(ana.open(other))["token"]
    for wrong in ("0" * 64, "", token, fields_of(Browser(site).open(begun))["token"]):
        fields = {"login": begun.login, "token": wrong}
        assert ana.client.post("/auth/v1/confirm", data=fields).status_code == 403
    assert ana.client.get("/auth/v1/confirm", params=fields_of(ana.open(begun))).status_code == 200
    assert device.finish_sign_in(begun.login, begun.secret) == SignInResult(done=False)


def test_a_person_agrees_once(site):
    begun, ana, eve = (
        site.device().begin_sign_in("laptop"),
        site.person("ana", "eng"),
        site.person("eve", "staff"),
    )
    pages = [Browser(site, sub).open(begun) for sub in (ana, eve)]
    assert Browser(site, ana).agree(pages[0]).status_code == 200
    assert Browser(site, eve).agree(pages[1]).status_code == 403
    assert Browser(site, ana).agree(pages[0]).status_code == 403
    assert not site.logs.has_account(f"eve-{site.tag}")


def test_a_login_ends_after_ten_minutes(site):
    device, browser = site.device(), Browser(site)
    begun = device.begin_sign_in("laptop")
    page = browser.open(begun)
    site.clock.advance(LOGIN_MS + 1)
    assert browser.agree(page).status_code == browser.open(begun).status_code == 403
    with pytest.raises(NotLoggedIn):
        device.finish_sign_in(begun.login, begun.secret)


def test_logins_cannot_be_guessed(site):
    client = Browser(site).client
    codes = [client.get("/auth/v1/confirm?login=x").status_code for _ in range(LOGIN_FAILURES + 1)]
    assert codes == [*[403] * LOGIN_FAILURES, 429]


def test_nothing_that_opens_anything_is_stored_in_the_clear(site):
    import psycopg

    begun = site.device().begin_sign_in("laptop")
    with psycopg.connect(server().dsn("postgres")) as connection:
        stored = str(connection.execute("SELECT * FROM sso_logins WHERE code = %s", (begun.code,)).fetchall())
    assert begun.code in stored
    assert begun.login not in stored
    assert begun.secret not in stored


@pytest.mark.parametrize("late", ["before the page", "after it"])
def test_a_login_that_a_revoked_device_began_links_nothing(site, late):
    secret, now_ms = AccountKey.new(), site.clock.now_ms()
    stolen, own = (
        site.join(
            SignInResult(done=True, code=site.logs.add_account(f"vic-{site.tag}", now_ms=now_ms)), secret
        )
        for _ in range(2)
    )
    thief, owner = (site.logs.principal(token, now_ms=now_ms) for token in (stolen, own))
    sub = site.person("mal", "eng")
    begun, browser = site.device(stolen).begin_sign_in("laptop"), Browser(site, sub)
    if late == "before the page":
        site.logs.revoke(owner, thief.device, now_ms=now_ms)
    page = browser.open(begun)
    if late == "after it":
        site.logs.revoke(owner, thief.device, now_ms=now_ms)
    assert "was revoked" in browser.agree(page).text
    assert site.log_in(sub).account == f"mal-{site.tag}", "an account of their own, and not the owner's"


# --- groups as they are written


@pytest.mark.parametrize(
    ("text", "grant"),
    [
        ("engineering=acme/core:writer", Grant(group="engineering", team="acme/core", role="writer")),
        ("/Keycloak/Devs=acme:reader", Grant(group="/Keycloak/Devs", team="acme", role="reader")),
        ("cn=dev,ou=people=acme:admin", Grant(group="cn=dev,ou=people", team="acme", role="admin")),
        ("*=acme:reader", Grant(group="*", team="acme", role="reader")),
        ("staff", Grant(group="staff")),
    ],
)
def test_groups_as_they_are_written(text, grant):
    assert Grant.parse(text) == grant


@pytest.mark.parametrize(
    "text",
    ["", " ", "eng=acme/core", "eng=acme:owner", "eng=Acme:reader", "=acme:reader", "eng=a/b/c:reader"],
)
def test_what_maps_no_group(text):
    with pytest.raises(InvalidInput, match="does not map a group"):
        Grant.parse(text)


def test_the_role_with_most_rights_counts_and_a_star_is_everybody():
    grants = [
        Grant.parse(text) for text in ("a=acme:reader", "b=acme:admin", "c=acme:writer", "a=acme/core:writer")
    ]
    person = Person(issuer=ISSUER, subject="1", groups=frozenset("abc"))
    assert roles_of(person, grants) == {"acme": "admin", "acme/core": "writer"}
    nobody = Person(issuer=ISSUER, subject="1")
    assert roles_of(nobody, [Grant.parse("*=acme:reader")]) == {"acme": "reader"}
    with pytest.raises(NotPermitted, match="no group"):
        roles_of(nobody, grants)


def test_the_secret_of_a_login_cannot_be_guessed(site):
    begun = site.device().begin_sign_in("laptop")
    thief = site.device(address="10.9.9.9")
    for _ in range(LOGIN_FAILURES):
        with pytest.raises(NotLoggedIn, match="not known"):
            thief.finish_sign_in(begun.login, "x" * 43)
    with pytest.raises(NotLoggedIn, match="Too many failed logins"):
        thief.finish_sign_in(begun.login, begun.secret)
    assert site.device().finish_sign_in(begun.login, begun.secret) == SignInResult(done=False)


def test_one_address_does_not_fill_the_table_of_logins(site):
    device = site.device(address="10.9.9.7")
    for _ in range(BEGUN):
        device.begin_sign_in("laptop")
    with pytest.raises(SyncError, match="Too many logins were begun"):
        device.begin_sign_in("laptop")


@pytest.mark.parametrize("name", ["", "x" * 61, "a\nb"])
def test_a_device_has_a_name_that_can_be_shown(site, name):
    reply = site.client().post("/auth/v1/begin", json={"device": name})
    assert reply.status_code == 400


# --- whose account it is


def test_a_name_at_the_provider_takes_nobody_over(site):
    """The name of an account that was invited, or that another person has, leads to another account."""
    site.logs.add_account(f"bo-{site.tag}", now_ms=site.clock.now_ms())
    mallory = site.person("mallory", "eng", username=f"bo-{site.tag}")
    assert site.log_in(mallory).account == f"bo-{site.tag}-2"
    ana, eve = (
        site.person("ana", "eng"),
        site.person("eve", "staff", username=f"ANA-{site.tag}@evil.org"),
    )
    assert site.log_in(ana).account == f"ana-{site.tag}"
    assert site.log_in(eve).account == f"ana-{site.tag}-2"
    site.person("eve", "staff", username=f"ana-{site.tag}", email=f"ana-{site.tag}@example.org")
    assert site.log_in(eve).account == f"ana-{site.tag}-2"


def test_a_person_keeps_their_account_whatever_they_are_called(site):
    ana = site.person("ana", "eng")
    assert site.log_in(ana).account == f"ana-{site.tag}"
    site.person("ana", "eng", username=f"ruiz-{site.tag}")
    assert site.log_in(ana).account == f"ana-{site.tag}"


def test_the_same_subject_at_another_provider_is_another_person():
    one, other = Person(issuer=ISSUER, subject="1"), Person(issuer=f"{ISSUER}/2", subject="1")
    assert identity_of(one) != identity_of(other)
    assert identity_of(Person(issuer="a\nb", subject="c")) != identity_of(Person(issuer="a", subject="b\nc"))


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ({"username": "Ana.Ruiz@example.org"}, "ana-ruiz"),
        ({"username": "Àñá"}, "ana"),
        ({"email": "ana@example.org"}, "ana"),
        ({"username": "李", "email": "li@example.org"}, "li"),
        ({"username": "x" * 90}, "x" * 40),
        ({"username": "-_-"}, "person-"),
        ({"username": "acme/bot"}, "acme-bot"),
        ({"username": "@server"}, "person-"),
    ],
)
def test_names_are_proposed_in_the_letters_of_accounts(told, name):
    from tacit_server.logs import ACCOUNT

    proposed = proposed_name(Person(issuer=ISSUER, subject="1", **told))
    assert proposed.startswith(name)
    assert ACCOUNT.fullmatch(proposed)


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
    page = Browser(site, site.person("eve", "staff")).through(begun)
    assert "belongs to somebody else" in page.text
    with pytest.raises(NotPermitted, match="belongs to somebody else"):
        device.finish_sign_in(begun.login, begun.secret)
    assert site.log_in(site.sub("ana")).account == f"ana-{site.tag}"


def test_a_person_has_one_account(site):
    site.join(site.log_in(site.person("ana", "eng")))
    code = site.logs.add_account(f"bo-{site.tag}", now_ms=site.clock.now_ms())
    device = site.device(site.join(SignInResult(done=True, code=code)))
    begun = device.begin_sign_in("laptop")
    Browser(site, site.sub("ana")).through(begun)
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


def test_an_account_that_is_removed_before_the_device_asks_is_not_made_again(site):
    device = site.device()
    begun = device.begin_sign_in("laptop")
    Browser(site, site.person("ana", "eng")).through(begun)
    site.logs.remove_account(f"ana-{site.tag}")
    with pytest.raises(NotLoggedIn):
        device.finish_sign_in(begun.login, begun.secret)
    assert not site.logs.has_account(f"ana-{site.tag}")


def test_a_new_provider_is_linked_by_the_device(site, opened):
    connections, logs, *_ = opened
    token = site.join(site.log_in(site.person("ana", "eng")))
    account = site.device(token) and f"ana-{site.tag}"
    moved = Person(issuer="https://new.example.org", subject="7")
    identities = Identities(connections, logs, moved.issuer)
    identities.link(moved, account, now_ms=site.clock.now_ms())
    assert identities.find(moved) == account
    before = Person(issuer=ISSUER, subject=site.sub("ana"))
    assert Identities(connections, logs, ISSUER).find(before) == ""


def test_two_logins_at_once_make_one_account(site, opened):
    connections, logs, *_ = opened
    person = Person(issuer=ISSUER, subject=site.sub("twin"), username=f"twin-{site.tag}")
    with ThreadPoolExecutor(4) as pool:
        made = set(
            pool.map(lambda _: Identities(connections, logs, ISSUER).log_in(person, now_ms=NOW), range(4))
        )
    assert len(made) == 1
    assert [name for name in (f"twin-{site.tag}", f"twin-{site.tag}-2", f"twin-{site.tag}-3") if logs.has_account(name)] == [*made]  # fmt: skip


def test_two_people_of_one_name_at_once_get_two_accounts(site, opened):
    connections, logs, *_ = opened
    people = [
        Person(issuer=ISSUER, subject=site.sub(f"n{number}"), username=f"same-{site.tag}")
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
    page = Browser(site, site.person("eve", "guests")).through(begun)
    assert page.status_code == 403
    assert "in no group" in page.text
    with pytest.raises(NotPermitted, match="in no group"):
        device.finish_sign_in(begun.login, begun.secret)
    assert not site.logs.has_account(f"eve-{site.tag}")


def test_roles_follow_the_groups_and_the_audit_log_says_so(site):
    account = site.log_in(site.person("ana", "eng")).account
    site.log_in(site.person("ana", "eng", "leads"))
    assert site.roles(account)["acme/core"] == "admin"
    site.log_in(site.person("ana", "eng", "leads"))  # nothing new: nothing to note
    site.log_in(site.person("ana", "staff"))
    assert site.roles(account) == {}
    noted = [action for action, subject in site.audit(site.core) if subject == account]
    assert noted == [
        "member writer by single sign-on",
        "member admin by single sign-on",
        "member removed by single sign-on",
    ]


def test_who_lost_every_group_is_removed_though_the_login_is_refused(site):
    account = site.log_in(site.person("ana", "eng")).account
    site.join(site.log_in(site.sub("ana")))
    site.person("ana", "guests")
    Browser(site, site.sub("ana")).through(site.device().begin_sign_in("laptop"))
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
    site.grant(f"admins={site.acme}:admin", "staff")
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
    site.grant(f"admins={site.acme}:admin")
    account = site.log_in(site.person("ana", "admins")).account
    ana = Principal(account=account, device="d" * 64)
    with pytest.raises(InvalidInput, match="last administrator"):
        site.members.remove_member(ana, site.acme, site.root.account, now_ms=site.clock.now_ms())
