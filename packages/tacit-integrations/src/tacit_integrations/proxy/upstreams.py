"""The addresses of the APIs. In: the addresses, a request. Out: the URL of the request, with its path and query unchanged.

An OpenAI address has the form of OPENAI_BASE_URL, with `/v1` at its end; an Anthropic address that of ANTHROPIC_BASE_URL, without `/v1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import httpx2 as httpx

from tacit.errors import InvalidInput

OPENAI = "https://api.openai.com/v1"
ANTHROPIC = "https://api.anthropic.com"
_VERSION = b"/v1"
_ANTHROPIC_HEADERS = ("anthropic-version", "x-api-key")


class Addressed(Protocol):
    """The part of a request that determines its URL."""

    raw_path: bytes
    query: bytes
    by_name: dict[str, str]


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The addresses of the two APIs."""

    openai: httpx.URL
    anthropic: httpx.URL

    @classmethod
    def parse(cls, *, openai: str = OPENAI, anthropic: str = ANTHROPIC) -> Upstreams:
        """Read the addresses.

        Raises:
            InvalidInput: a text is not the address of a server.
        """
        parsed = _address("--openai", openai)
        if parsed.path in ("", "/"):
            parsed = parsed.copy_with(path="/v1")
        return cls(
            openai=parsed, anthropic=_address("--anthropic", anthropic.rstrip("/").removesuffix("/v1"))
        )

    def url_of(self, request: Addressed) -> httpx.URL:
        """Return the URL of a request. For the OpenAI API, the address of the API replaces `/v1`."""
        path = request.raw_path
        if self._is_anthropics(path, request.by_name):
            base = self.anthropic
        else:
            base = self.openai
            path = (
                path.removeprefix(_VERSION) if path == _VERSION or path.startswith(_VERSION + b"/") else path
            )
        whole = base.raw_path.rstrip(b"/") + path
        return base.copy_with(raw_path=whole + b"?" + request.query if request.query else whole)

    def address_of(self, request: Addressed) -> str:
        """Return scheme and host of the server of a request, for messages."""
        url = self.url_of(request)
        return f"{url.scheme}://{url.netloc.decode('ascii')}"

    def _is_anthropics(self, path: bytes, headers: Mapping[str, str]) -> bool:
        """Return whether a request is for the Anthropic API. For paths that both APIs have, the headers that it requires decide."""
        if path.startswith((b"/v1/messages", b"/v1/complete")):
            return True
        return any(name in headers for name in _ANTHROPIC_HEADERS)


def _address(option: str, text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, TypeError) as error:
        raise InvalidInput(
            f"{option} is not an address: {error}.", hint="Give an address like https://api.example.com/v1."
        ) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidInput(
            f"{option} names no server: {text!r}.", hint="Give an address like https://api.example.com/v1."
        )
    if url.userinfo or url.query or url.fragment:
        raise InvalidInput(
            f"{option} holds more than a server and a path.",
            hint="Leave out user, query and fragment; programs send their keys in headers.",
        )
    return url
