"""A provider whose answers a test can spoil: discovery, keys, tokens, the answer about the user. It checks redirect address, code challenge and client.

What a sound provider does is shown with a real one, see tests/live/team/test_live_sso.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2 as httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

ISSUER = f"https://id-{os.getpid()}.example.org"
CLIENT, SECRET = "tacit", "s3cret & more"
REDIRECT = "http://127.0.0.1/auth/v1/callback"


@cache
def private_key(number: int = 0) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def signed(claims: dict[str, Any], *, key: int = 0, kid: str = "", algorithm: str = "RS256") -> str:
    return jwt.encode(claims, private_key(key), algorithm=algorithm, headers={"kid": kid or f"key-{key}"})


class FakeProvider:
    """Attributes to change: `claims` by subject, `in_token` (which claims the ID token holds; None = all), `published` keys, `forge`, `away`."""

    def __init__(self) -> None:
        self.claims: dict[str, dict[str, Any]] = {}
        self.in_token: set[str] | None = None
        self.published = [0]
        self.key = 0
        self.more_keys: list[dict[str, str]] = []
        self.forge: Callable[[dict[str, Any]], str] | None = None
        self.away = False
        self.issuer = ISSUER
        self.userinfo_sub = ""
        self.auth_methods = ["client_secret_basic"]
        self.asked: list[str] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.http = httpx.Client(transport=httpx.MockTransport(self._answer))

    def person(self, sub: str, /, **claims: Any) -> None:
        self.claims[sub] = claims

    def authorize(self, url: str, sub: str) -> str:
        """What the browser of `sub` is sent back to."""
        parts = urlsplit(url)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{ISSUER}/authorize"
        assert (query["client_id"], query["redirect_uri"], query["response_type"]) == (
            CLIENT,
            REDIRECT,
            "code",
        )
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = {"sub": sub, **query}
        return f"{REDIRECT}?{httpx.QueryParams({'code': code, 'state': query['state'], 'iss': ISSUER})}"

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if self.away:
            raise httpx.ConnectError("refused")
        match request.url.path:
            case "/.well-known/openid-configuration":
                return httpx.Response(200, json=self._metadata())
            case "/keys":
                keys = [
                    json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(private_key(number).public_key()))
                    | {"kid": f"key-{number}", "use": "sig"}
                    for number in self.published
                ]
                return httpx.Response(200, json={"keys": keys + self.more_keys})
            case "/token":
                return self._token(request)
            case "/userinfo":
                sub = request.headers["authorization"].removeprefix("Bearer at-")
                return httpx.Response(200, json={"sub": self.userinfo_sub or sub, **self.claims[sub]})
            case _:
                return httpx.Response(404)

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "userinfo_endpoint": f"{ISSUER}/userinfo",
            "scopes_supported": ["openid", "groups"],
            "authorization_response_iss_parameter_supported": True,
            "token_endpoint_auth_methods_supported": self.auth_methods,
        }

    def _token(self, request: httpx.Request) -> httpx.Response:
        form = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        if "client_secret_basic" in self.auth_methods:
            raw = b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
            client, _, secret = raw.partition(":")
            given = (httpx.QueryParams(f"x={client}")["x"], httpx.QueryParams(f"x={secret}")["x"])
        else:
            given = (form["client_id"], form["client_secret"])
        if given != (CLIENT, SECRET):
            return httpx.Response(401, json={"error": "invalid_client"})
        asked = self.codes.pop(form["code"], None)
        challenge = urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if asked is None or asked["code_challenge"] != challenge.decode() or form["redirect_uri"] != REDIRECT:
            return httpx.Response(400, json={"error": "invalid_grant"})
        now = int(time.time())
        told = self.claims[asked["sub"]]
        claims = {
            "iss": ISSUER,
            "sub": asked["sub"],
            "aud": CLIENT,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **{name: value for name, value in told.items() if self.in_token is None or name in self.in_token},
        }
        token = self.forge(claims) if self.forge else signed(claims, key=self.key)
        return httpx.Response(
            200, json={"access_token": f"at-{asked['sub']}", "token_type": "Bearer", "id_token": token}
        )
