"""A connection to the server. In: a URL, a token, requests. Out: answers as values, refusals as errors. Uses plain HTTP only on the loopback interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2 as httpx
import msgspec

from tacit.errors import DaemonError, InvalidInput, SyncError, TacitError, error_of

CONNECT_S, ANSWER_S = 5.0, 30.0
WHOLE_S = 300.0
"""Most seconds for a whole answer; a slower one is given up even if data still arrives."""
_NOT_FOUND = 404
MAX_ANSWER_BYTES = 256 * 1024 * 1024
MAX_SAID = 500
"""Most characters of a server's error message that are shown."""
_T = TypeVar("_T")


def checked_url(url: str) -> str:
    """Check the address of a server, and return it without query, fragment and final slashes. Without TLS, only a loopback address is accepted.

    Raises:
        InvalidInput: it is not such an address, or tokens would go over the network unencrypted.
    """
    wrong = InvalidInput(f"{url!r} is no address of a server.", hint="Expected https://HOST.")
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise wrong from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise wrong
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise InvalidInput(
            f"{url} would send your token over the network in the clear.", hint="Use https://."
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def is_loopback(host: str) -> bool:
    """Return whether a host is `localhost` or a loopback address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class NoContent:
    """An answer without content."""


class ServerConnection:
    """HTTP connections to a Tacit server, with the device's token. Close it when done; thread-safe."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        client: httpx.Client | None = None,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the server's address; the first request connects. Without a token, only a login is possible."""
        self._url = checked_url(url)
        self.token = token
        timeout = httpx.Timeout(ANSWER_S, connect=CONNECT_S)
        self._client = client or httpx.Client(timeout=timeout, follow_redirects=False)
        self._monotonic_s = monotonic_s

    def close(self) -> None:
        """Close the connections; a call that waits ends with a `SyncError`."""
        self._client.close()

    def ask(
        self,
        kind: type[_T],
        method: str,
        path: str,
        body: object = None,
        *,
        params: Mapping[str, str | float] | None = None,
        timeout: httpx.Timeout | None = None,
        unknown: _T | None = None,
    ) -> _T:
        """Send a request and return its answer, decoded as `kind`. Blocks.

        Args:
            kind: the type of the answer.
            method: the HTTP method.
            path: the path below the address of the server.
            body: is sent as JSON; None = no body.
            params: the query.
            timeout: None = the timeout of this connection.
            unknown: is returned if the server does not know the path, because it is older or lacks this part.

        Raises:
            SyncError: there is no answer, or not one of a Tacit server.
            TacitError: the error that the server names.
        """
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        content = b"" if body is None else msgspec.json.encode(body)
        if content:
            headers["Content-Type"] = "application/json"
        options: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        until = self._monotonic_s() + WHOLE_S
        try:
            with self._client.stream(
                method,
                f"{self._url}{path}",
                content=content or None,
                params=dict(params or {}),
                headers=headers,
                **options,
            ) as reply:
                raw = self._whole(reply, until)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, RuntimeError) as error:
            raise SyncError(
                f"The server at {self._url} cannot be reached ({type(error).__name__}).",
                hint="Check its address and your network. Meanwhile recall works without it, and changes wait.",
            ) from error
        if reply.is_success:
            return self._read(reply, raw, kind)
        error = self._stranger(reply)
        if reply.status_code == _NOT_FOUND and unknown is not None and not _problem(raw):
            return unknown
        if reply.is_error:
            said = error_of(_problem(raw), reply.status_code)
            error = error if isinstance(said, DaemonError) else said
        raise error

    def _whole(self, reply: httpx.Response, until: float) -> bytes:
        """Read and return the body of an answer; it must be complete when the monotonic clock reaches `until`.

        Raises:
            SyncError: it is too large or takes too long.
        """
        raw = bytearray()
        for chunk in reply.iter_bytes():
            raw += chunk
            if len(raw) > MAX_ANSWER_BYTES or self._monotonic_s() > until:
                raise SyncError(
                    f"An answer of the server at {self._url} is too large or does not come to its end.",
                    hint="Try again; if it stays so, ask whoever runs the server.",
                )
        return bytes(raw)

    def _read(self, reply: httpx.Response, raw: bytes, kind: type[_T]) -> _T:
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._stranger(reply) from error

    def _stranger(self, reply: httpx.Response) -> TacitError:
        return SyncError(
            f"{self._url} answered with status {reply.status_code} and is no Tacit server.",
            hint="Check the address.",
        )


def _problem(raw: bytes) -> dict[str, str]:
    """Return the texts of a problem response, shortened and without control characters, so that they are safe to print."""
    try:
        read = msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    texts = {name: read.get(name) for name in ("code", "detail", "hint")}
    return {
        name: "".join(each if each.isprintable() else " " for each in text[:MAX_SAID])
        for name, text in texts.items()
        if isinstance(text, str)
    }
