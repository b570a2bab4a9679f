"""A connection to the server: requests as JSON, answers as values, refusals as errors. In: a URL, a token. Plain HTTP is for loopback alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from tacit.errors import DaemonError, InvalidInput, SyncError, TacitError, error_of

CONNECT_S, ANSWER_S = 5.0, 30.0
_T = TypeVar("_T")


def checked_url(url: str) -> str:
    """The address of a server without what follows its path's last slash.

    Raises:
        InvalidInput: if it is none, or would send tokens over the network in the clear.
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
    """Whether a host name stands for this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class ServerConnection:
    """Asks a server. Close it when done; safe to use from several threads."""

    def __init__(self, url: str, token: str = "", *, client: httpx.Client | None = None) -> None:
        """Speak to the server at `url`; without a token only to log in."""
        self._url = checked_url(url)
        self.token = token
        timeout = httpx.Timeout(ANSWER_S, connect=CONNECT_S)
        self._client = client or httpx.Client(timeout=timeout, follow_redirects=False)

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
    ) -> _T:
        """The answer to a request.

        Raises:
            SyncError: if nothing answers, or something that is no Tacit server.
            TacitError: as the server says.
        """
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        content = b"" if body is None else msgspec.json.encode(body)
        if content:
            headers["Content-Type"] = "application/json"
        ask = partial(
            self._client.request,
            method,
            f"{self._url}{path}",
            content=content or None,
            params=dict(params or {}),
            headers=headers,
        )
        try:
            reply = ask() if timeout is None else ask(timeout=timeout)
        except (httpx.HTTPError, httpx.InvalidURL, RuntimeError) as error:
            raise SyncError(
                f"The server at {self._url} cannot be reached ({type(error).__name__}).",
                hint="What is new here waits for it; recall works without it.",
            ) from error
        if reply.is_success:
            return self._read(reply, kind)
        error = self._stranger(reply)
        if reply.is_error:
            said = error_of(_problem(reply.content), reply.status_code)
            error = error if isinstance(said, DaemonError) else said
        raise error

    def _read(self, reply: httpx.Response, kind: type[_T]) -> _T:
        try:
            return msgspec.json.decode(reply.content, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._stranger(reply) from error

    def _stranger(self, reply: httpx.Response) -> TacitError:
        return SyncError(
            f"{self._url} answered with status {reply.status_code} and is no Tacit server.",
            hint="Check the address.",
        )


def _problem(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
