"""The server over HTTP, as a device uses it. In: a URL, a token. Out: entries, heads. Plain HTTP is for loopback alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import msgspec

from tacit.errors import DaemonError, InvalidInput, SyncError, error_of
from tacit.sync.entry import Entry
from tacit.sync.views import DeviceView, LoggedIn

PREFIX = "/sync/v1"
CONNECT_S, ANSWER_S = 5.0, 30.0


def checked_url(url: str) -> str:
    """The address of a server without what follows its path's last slash.

    Raises:
        InvalidInput: if it is none, or would send tokens over the network in the clear.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(f"{url!r} is no address of a server.", hint="Expected https://HOST.")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise InvalidInput(
            f"{url} would send your token over the network in the clear.", hint="Use https://."
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class HttpServer:
    """See `SyncServer`. Close it when done; safe to use from several threads."""

    def __init__(self, url: str, token: str = "", *, client: httpx.Client | None = None) -> None:
        """Speak to the server at `url`; without a token only to log in."""
        self._url = checked_url(url)
        self._token = token
        timeout = httpx.Timeout(ANSWER_S, connect=CONNECT_S)
        self._client = client or httpx.Client(timeout=timeout, follow_redirects=False)

    def close(self) -> None:
        """Close the connections; a call that waits ends with a `SyncError`."""
        self._client.close()

    def log_in(self, *, code: str, key: str, device: str, name: str, signature: bytes) -> LoggedIn:
        """Join an account; see `tacit.server.logs.Login`."""
        body = {"code": code, "key": key, "device": device, "name": name, "signature": signature}
        done = msgspec.convert(self._ask("POST", "/login", body), LoggedIn)
        self._token = done.token
        return done

    def heads(self) -> Mapping[str, int]:
        """See the protocol."""
        return msgspec.convert(self._ask("GET", "/heads")["heads"], dict[str, int])

    def wait(self, known: int, *, wait_s: float) -> bool:
        """Wait until the account has more than `known` entries; whether it has."""
        timeout = httpx.Timeout(wait_s + ANSWER_S, connect=CONNECT_S) if wait_s else None
        answer = self._ask("GET", "/heads", params={"wait": wait_s, "known": known}, timeout=timeout)
        return sum(answer["heads"].values()) != known

    def entries(self, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """See the protocol."""
        answer = self._ask("GET", "/entries", params={"device": device, "after": after, "limit": limit})
        return msgspec.convert(answer["entries"], tuple[Entry, ...])

    def push(self, entries: Sequence[Entry]) -> None:
        """See the protocol."""
        self._ask("POST", "/entries", {"entries": entries})

    def report(self, heads: Mapping[str, int]) -> None:
        """See the protocol."""
        self._ask("POST", "/report", {"heads": heads})

    def renew(self, device: str, signature: bytes) -> LoggedIn:
        """See the protocol."""
        body = {"device": device, "signature": signature}
        done = msgspec.convert(self._ask("POST", "/renew", body), LoggedIn)
        self._token = done.token
        return done

    def devices(self) -> Sequence[DeviceView]:
        """See the protocol."""
        return msgspec.convert(self._ask("GET", "/devices")["devices"], tuple[DeviceView, ...])

    def revoke(self, device: str) -> None:
        """See the protocol."""
        self._ask("POST", f"/devices/{device}/revoke")

    def invite(self) -> str:
        """See the protocol."""
        return str(self._ask("POST", "/invites")["code"])

    def _ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        params: Mapping[str, str | float] | None = None,
        timeout: httpx.Timeout | None = None,
    ) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        content = b"" if body is None else msgspec.json.encode(body)
        if content:
            headers["Content-Type"] = "application/json"
        ask = partial(
            self._client.request,
            method,
            f"{self._url}{PREFIX}{path}",
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
        try:
            answer: Any = msgspec.json.decode(reply.content) if reply.content else {}
        except msgspec.DecodeError:
            answer = {}
        if reply.status_code >= 400 or not isinstance(answer, dict):
            error = error_of(answer, reply.status_code)
            if isinstance(error, DaemonError):  # nothing of ours answers there
                raise SyncError(
                    f"{self._url} answered with status {reply.status_code} and is no Tacit server.",
                    hint="Check the address.",
                )
            raise error
        return cast("dict[str, Any]", answer)
