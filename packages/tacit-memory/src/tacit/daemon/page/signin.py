"""Sign-in of browsers: one-time codes, and the cookie and key that they are exchanged for.

In: a code that `tacit ui` put into a URL's fragment, which browsers never send. Out: a cookie that scripts cannot read, and a
page key that only scripts of this origin can. Both are needed: cookies go to every port of a host, so that another local
server could collect the cookie; a page key is never sent by itself, so that another site cannot use it. Keeps hashes only,
in memory: when the daemon ends, everybody is signed out.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final

from tacit.frozen import frozen
from tacit.model.memory import Speaker

COOKIE: Final = "tacit_page"
KEY_HEADER: Final = b"x-tacit-key"
CODE_S: Final = 120.0
SESSION_S: Final = 12 * 3600.0
"""A browser that asked nothing for so long has to sign in again."""
MOST_SESSIONS: Final = 64
MOST_CODES: Final = 16
READING = ("GET", "HEAD")


@frozen
class SignedIn:
    """The two secrets of a browser that signed in: the cookie, and the page key that its scripts send."""

    cookie: str
    key: str


@dataclass(slots=True, kw_only=True)
class _SignedIn:
    key: bytes
    until_s: float
    speaker: Speaker


class PageSessions:
    """The sign-in codes that are open, and the browsers that are signed in. Kept in memory as hashes. Thread-safe."""

    def __init__(self, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._lock = Lock()
        self._codes: dict[bytes, tuple[float, Speaker]] = {}
        self._sessions: dict[bytes, _SignedIn] = {}

    def issue_code(self, speaker: Speaker) -> str:
        """Return a new sign-in code; it works once, within `CODE_S` seconds. The page that signs in with it has the authority of `speaker`."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._codes[_hash(code)] = (self._now_s() + CODE_S, speaker)
            while len(self._codes) > MOST_CODES:
                del self._codes[next(iter(self._codes))]
        return code

    def exchange(self, code: str) -> SignedIn | None:
        """Use up `code` and return a new session's secrets; None if the code is unknown, used or too old."""
        with self._lock:
            until_s, speaker = self._codes.pop(_hash(code), (0.0, Speaker.AGENT))
            if until_s < self._now_s():
                return None
            signed_in = SignedIn(cookie=secrets.token_urlsafe(32), key=secrets.token_urlsafe(32))
            self._sessions[_hash(signed_in.cookie)] = _SignedIn(
                key=_hash(signed_in.key), until_s=self._now_s() + SESSION_S, speaker=speaker
            )
            while len(self._sessions) > MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
        return signed_in

    def end(self, cookie: str) -> None:
        """Sign out the browser with this cookie; an unknown one is ignored."""
        with self._lock:
            self._sessions.pop(_hash(cookie), None)

    def admits(self, method: str, headers: Mapping[bytes, bytes]) -> Speaker | None:
        """Return the speaker of a request with these headers (names in lower case), by cookie and page key; None = it is not signed in.

        It must pass `same_origin`. An accepted request extends the session.
        """
        if not same_origin(method, headers):
            return None
        with self._lock:
            name = _hash(cookie_of(headers))
            session = self._sessions.get(name)
            if session is None or session.until_s < self._now_s():
                self._sessions.pop(name, None)
                return None
            if not hmac.compare_digest(session.key, _hash(headers.get(KEY_HEADER, b"").decode("latin-1"))):
                return None
            session.until_s = self._now_s() + SESSION_S
            return session.speaker


def same_origin(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """Whether the browser's headers say that the request comes from a page of this host and port. Without an origin, only for a reading method."""
    origin = headers.get(b"origin", b"")
    if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
        return False
    if not origin:
        return method in READING
    return origin.lower() == b"http://" + headers.get(b"host", b"").lower()


def cookie_of(headers: Mapping[bytes, bytes]) -> str:
    """Return the value of the page's cookie, or ""."""
    for pair in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
