"""Headers of requests and responses that the proxy sends on. In: raw headers. Out: the headers to send.

Never changes a header that is sent on, except for the case of its name, which HTTP ignores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from urllib.parse import urlsplit

RawHeaders = Iterable[tuple[bytes, bytes]]
HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""Headers that belong to a single connection. Source: RFC 9110, section 7.6.1."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PAGES_HERE = ("http", "https")


def end_to_end(headers: RawHeaders, *, without: Collection[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """Return the headers to send on, in order: all except those in `without`, `HOP_BY_HOP` and those that `Connection` names."""
    listed = [(name.lower(), value) for name, value in headers]
    named = {
        option.strip().lower()
        for name, value in listed
        if name == b"connection"
        for option in value.split(b",")
    }
    return [
        (name, value)
        for name, value in listed
        # Servers may take `X_Tacit` for `X-Tacit`.
        if name not in HOP_BY_HOP and name not in named and name.replace(b"_", b"-") not in without
    ]


def as_mapping(headers: RawHeaders) -> dict[str, str]:
    """Return the headers by name in lower case; the last one if a name occurs several times."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


def from_a_web_page(headers: Mapping[str, str]) -> bool:
    """Return whether a web page, a browser extension, or the web view of an app may have sent a request. They must not get memories.

    A browser sends the origin of what it shows, with a scheme of its own for extensions, files and apps. After DNS rebinding to loopback, `Host` has the
    name of the web site. Without an origin, `Sec-Fetch-Site` tells of a request across sites. A program that is no browser sends neither.
    """
    host = urlsplit(f"//{headers.get('host', '')}").hostname
    if host not in _LOOPBACK:
        return True
    if headers.get("sec-fetch-site", "").strip().lower() == "cross-site":
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    parts = urlsplit(origin)
    return parts.scheme not in _PAGES_HERE or parts.hostname not in _LOOPBACK
