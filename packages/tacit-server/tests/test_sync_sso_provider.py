"""What is accepted of a provider, and what is not."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from urllib.parse import parse_qs, urlsplit

import httpx2 as httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization

from sso_provider import CLIENT, ISSUER, REDIRECT, SECRET, FakeProvider, private_key, signed
from tacit.errors import InvalidInput, NotPermitted, SyncError
from tacit_server.sso.provider import KEPT_S, Client, Provider
from tacit_server.sso.rules import GOOGLE, Claims, Grant, Rules, claims_of

NONCE, VERIFIER = "n" * 43, "v" * 64


class Asked:
    """A provider, and this server as its client."""

    def __init__(self, issuer: str = ISSUER) -> None:
        self.fake = FakeProvider()
        self.fake.person("sub-1", preferred_username="ana", groups=["engineering"])
        self.now_s = 0.0
        client = Client(issuer=issuer, client_id=CLIENT, secret=SECRET, redirect_uri=REDIRECT)
        self.provider = Provider(client, http=self.fake.http, monotonic_s=lambda: self.now_s)

    def code(self, sub: str = "sub-1", verifier: str = VERIFIER) -> str:
        url = self.provider.authorization_url(state="s", nonce=NONCE, verifier=verifier)
        return parse_qs(urlsplit(self.fake.authorize(url, sub)).query)["code"][0]

    def identify(self, **how):
        return self.provider.identify(self.code(), nonce=NONCE, verifier=VERIFIER, **how)


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_a_person_is_known_by_a_signed_token(asked):
    claims = asked.identify()
    assert (claims["iss"], claims["sub"], claims["groups"]) == (ISSUER, "sub-1", ["engineering"])


def test_the_address_asks_for_what_is_needed(asked):
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # RFC 7636, appendix B
    url = urlsplit(asked.provider.authorization_url(state="st", nonce="no", verifier=verifier))
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert query.pop("scope") == "openid profile email groups"
    assert query.pop("code_challenge") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    assert query == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": REDIRECT,
        "state": "st",
        "nonce": "no",
        "code_challenge_method": "S256",
    }


def _unsigned(claims):
    return jwt.encode(claims, None, algorithm="none", headers={"kid": "key-0"})


def _with_public_key_as_secret(claims):
    """The classic confusion: the public key as the secret of an HMAC."""
    import hashlib
    import hmac
    import json

    pem = (
        private_key()
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    head = urlsafe_b64encode(json.dumps({"alg": "HS256", "kid": "key-0"}).encode()).rstrip(b"=")
    body = urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    mac = hmac.new(pem, head + b"." + body, hashlib.sha256).digest()
    return b".".join((head, body, urlsafe_b64encode(mac).rstrip(b"="))).decode()


def _without(name):
    return lambda claims: signed({key: value for key, value in claims.items() if key != name})


def _other(**changed):
    return lambda claims: signed(claims | changed)


SPOILED = {
    "signed with another key": lambda claims: signed(claims, key=1, kid="key-0"),
    "signed with a key that is not published": lambda claims: signed(claims, key=1),
    "not signed": _unsigned,
    "signed with the public key": _with_public_key_as_secret,
    "no token": lambda claims: "not.a.token",
    "another issuer": _other(iss="https://evil.example.org"),
    "another audience": _other(aud="other"),
    "several audiences, issued to nobody": _other(aud=[CLIENT, "other"]),
    "issued to another party": _other(aud=[CLIENT, "other"], azp="other"),
    "one audience, issued to another party": _other(azp="other"),
    "expired": lambda claims: signed(claims | {"exp": claims["iat"] - 90, "iat": claims["iat"] - 400}),
    "from the future": lambda claims: signed(claims | {"iat": claims["iat"] + 600}),
    "another nonce": _other(nonce="x" * 43),
    "no nonce": _without("nonce"),
    "a nonce that is no text": _other(nonce=7),
    "no subject": _without("sub"),
    "an empty subject": _other(sub=""),
    "a subject that is no text": _other(sub=7),
    "no expiry": _without("exp"),
    "no time": _without("iat"),
    "no issuer": _without("iss"),
    "no audience": _without("aud"),
}


@pytest.mark.parametrize("forge", SPOILED.values(), ids=SPOILED.keys())
def test_a_spoiled_token_lets_nobody_in(asked, forge):
    asked.fake.forge = forge
    with pytest.raises(SyncError, match="login with the provider failed"):
        asked.identify()


def test_a_shared_secret_signs_nothing_even_if_it_is_published(asked):
    secret = b"s" * 32
    text = urlsafe_b64encode(secret).rstrip(b"=").decode()
    asked.fake.more_keys = [{"kty": "oct", "kid": "mac", "alg": "HS256", "k": text, "use": "sig"}]
    asked.fake.forge = lambda claims: jwt.encode(claims, secret, algorithm="HS256", headers={"kid": "mac"})
    with pytest.raises(SyncError, match="InvalidAlgorithmError"):
        asked.identify()


def test_clocks_may_differ_by_a_minute(asked):
    asked.fake.forge = lambda claims: signed(claims | {"iat": claims["iat"] + 40, "exp": claims["iat"] + 300})
    assert asked.identify()["sub"] == "sub-1"
    asked.fake.forge = lambda claims: signed(claims | {"iat": claims["iat"] - 400, "exp": claims["iat"] - 40})
    assert asked.identify()["sub"] == "sub-1"


def test_a_code_counts_once_and_only_with_its_own_verifier(asked):
    code = asked.code()
    assert asked.provider.identify(code, nonce=NONCE, verifier=VERIFIER)
    with pytest.raises(SyncError, match="status 400 invalid_grant"):
        asked.provider.identify(code, nonce=NONCE, verifier=VERIFIER)
    with pytest.raises(SyncError, match="invalid_grant"):
        asked.provider.identify(asked.code(), nonce=NONCE, verifier="w" * 64)


def test_a_new_key_is_found_at_once_and_a_withdrawn_one_within_the_hour(asked):
    asked.identify()
    asked.fake.published, asked.fake.key = [0, 1], 1
    assert asked.identify()["sub"] == "sub-1"
    assert asked.fake.asked.count("/keys") == 2
    asked.identify()
    assert asked.fake.asked.count("/keys") == 2
    asked.fake.published, asked.fake.key = [0], 1
    asked.now_s += KEPT_S
    with pytest.raises(SyncError, match="does not publish"):
        asked.identify()


def test_a_provider_that_is_away_is_told_from_one_that_refuses(asked):
    asked.fake.away = True
    with pytest.raises(SyncError, match=r"cannot be reached \(ConnectError\)") as away:
        asked.provider.metadata()
    assert "keep syncing" in away.value.hint


def test_a_secret_is_sent_as_the_provider_wants_it(asked):
    asked.fake.auth_methods = ["client_secret_post"]
    assert asked.identify()["sub"] == "sub-1"


def test_what_the_token_leaves_out_is_asked_for(asked):
    asked.fake.in_token = set()
    assert "groups" not in asked.identify()
    assert asked.identify(wanted=("groups",))["groups"] == ["engineering"]
    asked.fake.userinfo_sub = "sub-2"
    with pytest.raises(SyncError, match="another user"):
        asked.identify(wanted=("groups",))


def test_what_is_signed_holds_over_the_answer_about_the_user(asked):
    asked.fake.in_token = {"groups"}
    asked.fake.forge = lambda claims: signed(claims | {"groups": ["signed"]})
    assert asked.identify(wanted=("email",))["groups"] == ["signed"]


def test_a_provider_of_another_name_is_refused(asked):
    asked.fake.issuer = "https://login.example.org/{tenantid}/v2.0"
    with pytest.raises(SyncError, match="calls itself"):
        asked.provider.metadata()


@pytest.mark.parametrize(
    "issuer", ["http://id.example.org", "id.example.org", "ftp://id.example.org", "", "https://"]
)
def test_an_issuer_without_tls_is_refused(issuer):
    with pytest.raises(InvalidInput, match="cannot be the issuer of a provider"):
        Asked(issuer)


def test_an_endpoint_without_tls_is_refused(asked):
    whole = asked.fake._metadata
    asked.fake._metadata = lambda: whole() | {"token_endpoint": "http://id.example.org/token"}
    with pytest.raises(SyncError, match="without TLS"):
        asked.provider.metadata()


def test_the_words_of_a_refusal_are_not_the_providers(asked):
    http = httpx.Client(
        transport=httpx.MockTransport(lambda _: httpx.Response(400, json={"error": "<b>x</b>"}))
    )
    client = Client(issuer=ISSUER, client_id=CLIENT, redirect_uri=REDIRECT)
    with pytest.raises(SyncError) as refused:
        Provider(client, http=http).metadata()
    assert "<b>" not in refused.value.message


# --- who may log in


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


def test_nobody_is_let_in_by_default():
    with pytest.raises(InvalidInput, match="No option says who"):
        Rules.parse([], [])
    with pytest.raises(NotPermitted, match="no group"):
        Rules.parse(["staff"], []).roles(Claims(issuer=ISSUER, subject="1", groups=frozenset({"guests"})))


def test_the_role_with_most_rights_counts():
    rules = Rules.parse(["a=acme:reader", "b=acme:admin", "c=acme:writer", "a=acme/core:writer"], [])
    claims = Claims(issuer=ISSUER, subject="1", groups=frozenset("abc"))
    assert rules.roles(claims) == {"acme": "admin", "acme/core": "writer"}


def test_a_star_is_everybody_and_no_group_of_that_name_is_needed():
    rules = Rules.parse(["*=acme:reader"], [])
    assert rules.roles(Claims(issuer=ISSUER, subject="1")) == {"acme": "reader"}


def _mail(address="ana@example.org", *, verified: object = True, issuer=ISSUER, **more):
    told = {"iss": issuer, "sub": "1", "email": address, "email_verified": verified, **more}
    return claims_of(told, groups_claim="groups")


def test_a_domain_lets_verified_addresses_in_alone():
    rules = Rules.parse([], ["Example.org"])
    assert rules.roles(_mail()) == rules.roles(_mail(hd="elsewhere.example")) == {}
    for stranger in (
        _mail(verified=False),
        _mail(verified="true"),
        _mail(verified=None),
        _mail("ana@evil.example.org"),
        _mail("ana@example.org.evil.com"),
        _mail(""),
        _mail("", hd="example.org"),
        _mail(verified=False, hd="example.org"),
    ):
        with pytest.raises(NotPermitted):
            rules.roles(stranger)


def test_at_google_the_hosted_domain_counts_and_not_the_address():
    rules = Rules.parse([], ["example.org"])
    with pytest.raises(NotPermitted):
        rules.roles(_mail(issuer=GOOGLE))
    assert rules.roles(_mail(issuer=GOOGLE, hd="example.org")) == {}


def test_groups_that_were_left_out_are_not_taken_for_none():
    told = {"iss": ISSUER, "sub": "1", "_claim_names": {"groups": "src1"}}
    with pytest.raises(NotPermitted, match="too many"):
        claims_of(told, groups_claim="groups")
    assert claims_of({"sub": "1", "groups": ["a", 7]}, groups_claim="groups").groups == frozenset({"a"})
    assert claims_of({"sub": "1", "roles": "a"}, groups_claim="roles").groups == frozenset({"a"})
