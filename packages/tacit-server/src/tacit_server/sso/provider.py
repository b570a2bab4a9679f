"""A client of the OpenID Connect provider. In: an authorization code. Out: the checked claims of a person.

PyJWT checks the signature, the issuer, the audience and the times of an ID token. This module checks the nonce, the authorized party and the subject of
the user-info answer. Only asymmetric algorithms are accepted, so that a public key is never used as a shared secret. Metadata and keys are cached for an
hour; if a token names an unknown key, the keys are fetched again at once.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, cast
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx2 as httpx
import jwt
import msgspec

from tacit.errors import InvalidInput, SyncError
from tacit.sync.connection import is_loopback

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_S = 60
"""The clocks of the provider and the server may differ by this many seconds."""
KEPT_S = 3600.0
ANSWER_S = 10.0
MAX_SUBJECT = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The metadata of a provider (OpenID Connect Discovery 1.0, section 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    scopes_supported: tuple[str, ...] = ()
    authorization_response_iss_parameter_supported: bool = False
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """This server as a client of the provider. `secret` "" = a public client."""

    issuer: str
    client_id: str
    secret: str = ""
    redirect_uri: str


class Provider:
    """A provider. Safe to share between threads."""

    def __init__(
        self,
        client: Client,
        *,
        http: httpx.Client | None = None,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Talk to the provider as `client`. Nothing is sent yet.

        Raises:
            InvalidInput: the issuer is not an HTTPS URL, nor one on loopback.
        """
        if not _is_safe(client.issuer):
            raise InvalidInput(
                f"{client.issuer!r} cannot be the issuer of a provider.", hint="Expected https://HOST, exactly as the ID tokens of the provider name it."
            )  # fmt: skip
        self._client = client
        self._http = http or httpx.Client(timeout=ANSWER_S, follow_redirects=False)
        self._monotonic_s = monotonic_s
        self._lock = Lock()
        self._metadata: tuple[float, Metadata] | None = None
        self._keys: tuple[float, jwt.PyJWKSet] | None = None

    def metadata(self) -> Metadata:
        """Return the metadata of the provider.

        Raises:
            SyncError: the provider cannot be reached, or has another issuer.
        """
        with self._lock:
            kept = self._metadata
        if kept is not None and self._monotonic_s() - kept[0] < KEPT_S:
            return kept[1]
        issuer = self._client.issuer
        reply = self._ask("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        try:
            found = msgspec.json.decode(reply, type=Metadata)
        except msgspec.MsgspecError as error:
            raise SyncError(f"{issuer} is not an OpenID Connect provider: {error}.") from error
        if found.issuer != issuer:
            raise SyncError(
                f"The provider at {issuer} calls itself {found.issuer[:200]}.",
                hint="Give --oidc-issuer exactly as the provider writes it. For Entra ID: the URL with the tenant's ID and /v2.0.",
            )
        used = (found.authorization_endpoint, found.token_endpoint, found.jwks_uri, found.userinfo_endpoint)
        if wrong := [url for url in used if url and not _is_safe(url)]:
            raise SyncError(f"The provider names a URL without TLS: {wrong[0][:200]}.")
        with self._lock:
            self._metadata = (self._monotonic_s(), found)
        return found

    def authorization_url(self, *, state: str, nonce: str, verifier: str) -> str:
        """Return the URL at which a browser logs in (RFC 6749, section 4.1.1, with the code challenge of RFC 7636)."""
        metadata = self.metadata()
        scopes = ["openid", "profile", "email"]
        scopes += ["groups"] if "groups" in metadata.scopes_supported else []
        challenge = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self._client.client_id,
            "redirect_uri": self._client.redirect_uri,
            "scope": " ".join(scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        joint = "&" if urlsplit(metadata.authorization_endpoint).query else "?"
        return f"{metadata.authorization_endpoint}{joint}{urlencode(query)}"

    def identify(self, code: str, *, nonce: str, verifier: str, wanted: tuple[str, ...] = ()) -> Mapping[str, object]:  # fmt: skip
        """Exchange an authorization code, and return the checked claims of the person.

        Args:
            code: the code of the authorization response.
            nonce: the nonce that the ID token must hold.
            verifier: the code verifier of this login.
            wanted: claims to ask the user-info endpoint for if the ID token lacks one of them.

        Raises:
            SyncError: the provider cannot be reached, refuses, or its answer is not accepted.
        """
        tokens = self._exchange(code, verifier)
        token, access = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(token, str):
            raise _refused("it sent no ID token")
        claims = self._checked(token, nonce)
        endpoint = self.metadata().userinfo_endpoint
        if endpoint and isinstance(access, str) and any(name not in claims for name in wanted):
            told = _object(self._ask("GET", endpoint, headers={"Authorization": f"Bearer {access}"}))
            if told.get("sub") != claims["sub"]:
                raise _refused("its user-info answer is about another user")
            claims = {**told, **claims}  # signed claims take precedence
        return claims

    def _exchange(self, code: str, verifier: str) -> Mapping[str, object]:
        client = self._client
        metadata = self.metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": client.redirect_uri,
            "code_verifier": verifier,
            "client_id": client.client_id,
        }
        auth = None
        if client.secret and "client_secret_basic" in metadata.token_endpoint_auth_methods_supported:
            # RFC 6749, section 2.3.1: both are form-encoded first
            auth = httpx.BasicAuth(quote_plus(client.client_id), quote_plus(client.secret))
        elif client.secret:
            form["client_secret"] = client.secret
        return _object(self._ask("POST", metadata.token_endpoint, data=form, auth=auth))

    def _checked(self, token: str, nonce: str) -> dict[str, object]:
        """Check an ID token (OpenID Connect Core 1.0, section 3.1.3.7), and return its claims."""
        try:
            claims = cast(
                "dict[str, object]",
                jwt.decode(
                    token,
                    key=self._key_of(token),
                    algorithms=list(ALGORITHMS),
                    audience=self._client.client_id,
                    issuer=self._client.issuer,
                    leeway=LEEWAY_S,
                    options={"require": ["iss", "sub", "aud", "exp", "iat"]},
                ),
            )
        except jwt.PyJWTError as error:
            raise _refused(f"{type(error).__name__}: {error}") from error
        told, party = claims.get("nonce"), claims.get("azp")
        if not (isinstance(told, str) and hmac.compare_digest(told.encode(), nonce.encode())):
            raise _refused("its ID token belongs to another login")
        if party != self._client.client_id and (party is not None or _count(claims["aud"]) > 1):
            raise _refused("its ID token was issued to another party")
        if not 0 < len(str(claims["sub"])) <= MAX_SUBJECT:
            raise _refused("its ID token has no valid subject")
        return claims

    def _key_of(self, token: str) -> jwt.PyJWK:
        """Return the key that a token names in its header. If the key is unknown, the keys are fetched again."""
        kid = jwt.get_unverified_header(token).get("kid")
        for again in (False, True):
            keys = [key for key in self._key_set(again=again).keys if key.public_key_use in (None, "sig")]
            fitting = [key for key in keys if kid in (None, key.key_id)]
            if len(fitting) == 1:
                return fitting[0]
        raise _refused("its ID token is signed with a key that it does not publish")

    def _key_set(self, *, again: bool) -> jwt.PyJWKSet:
        with self._lock:
            kept = self._keys
        if kept is not None and not again and self._monotonic_s() - kept[0] < KEPT_S:
            return kept[1]
        try:
            found = jwt.PyJWKSet.from_dict(_object(self._ask("GET", self.metadata().jwks_uri)))
        except jwt.PyJWTError as error:
            raise _refused(f"its keys cannot be read: {error}") from error
        with self._lock:
            self._keys = (self._monotonic_s(), found)
        return found

    def _ask(self, method: str, url: str, **how: Any) -> bytes:
        try:
            reply = self._http.request(method, url, headers={"Accept": "application/json"} | how.pop("headers", {}), **how)  # fmt: skip
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SyncError(
                f"The provider {self._client.issuer} cannot be reached ({type(error).__name__}).",
                hint="Try again later. Devices that are logged in keep syncing.",
            ) from error
        if not reply.is_success:
            raise _refused(f"status {reply.status_code} {_reason(reply.content)}".rstrip())
        return reply.content


def _refused(why: str) -> SyncError:
    return SyncError(
        f"The login with the provider failed: {why}.",
        hint="Begin again with `tacit login URL --sso`. If it fails again, show this message to the person who runs the server.",
    )


def _reason(raw: bytes) -> str:
    """Return the OAuth error code in an answer, without its description, which may hold any text."""
    try:
        code = _object(raw).get("error")
    except SyncError:
        return ""
    return code if isinstance(code, str) and len(code) <= 60 and code.isidentifier() else ""


def _object(raw: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _refused("its answer cannot be read") from error


def _count(audience: object) -> int:
    return len(cast("list[object]", audience)) if isinstance(audience, list) else 1


def _is_safe(url: str) -> bool:
    """Return whether a URL uses TLS or is on loopback."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))
