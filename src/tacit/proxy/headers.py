"""Headers of a request and of a response on their way through the proxy. In: raw headers. Out: those that go on.

Never changes one that goes on, besides the case of its name, which HTTP ignores.
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
"""Headers about one connection alone. Source: RFC 9110, section 7.6.1."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_WEB = ("http", "https", "")


def end_to_end(headers: RawHeaders, *, without: Collection[bytes] = ()) -> list[tuple[bytes, bytes]]:
    """The headers that go on, in their order: neither those about the connection, which `Connection` may name, nor those of `without`."""
    listed = [(name.lower(), value) for name, value in headers]
    named = {
        option.strip().lower()
        for name, value in listed
        if name == b"connection"
        for option in value.split(b",")
    }
    return [
        (name, value) for name, value in listed if name not in HOP_BY_HOP and name not in named | {*without}
    ]


def as_mapping(headers: RawHeaders) -> dict[str, str]:
    """The headers by their names in lower case; of several with one name the last."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


def from_a_web_page(headers: Mapping[str, str]) -> bool:
    """Whether a page of a web site may have sent a request, which must not learn what the memory holds.

    A browser names the page's origin; a name that was bent to the loopback stands in `Host`.
    """
    host = urlsplit(f"//{headers.get('host', '')}").hostname
    if host not in _LOOPBACK:
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    parts = urlsplit("" if origin == "null" else origin)
    return parts.scheme in _WEB and parts.hostname not in _LOOPBACK
