"""The requests about the logs of a person's devices. In: a URL, a token. Out: entries, heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import httpx2 as httpx

from tacit.frozen import frozen
from tacit.sync.connection import ANSWER_S, CONNECT_S, NoContent, ServerConnection
from tacit.sync.entry import Entry
from tacit.sync.views import DeviceView, LoggedIn, SignInBegun, SignInResult

PREFIX = "/sync/v1"
SIGN_IN_PREFIX = "/auth/v1"


@frozen
class _Heads:
    heads: dict[str, int]
    shared: int = 0


@frozen
class _Entries:
    entries: tuple[Entry, ...]


@frozen
class _Devices:
    devices: tuple[DeviceView, ...]


@frozen
class _Invited:
    code: str


class HttpServer:
    """The client of the sync server over HTTP: it implements `SyncServer` and the logins. Close it when done; thread-safe."""

    def __init__(self, url: str, token: str = "", *, client: httpx.Client | None = None) -> None:
        """Send requests to the server at `url`. Without a token, only a login is possible."""
        self.connection = ServerConnection(url, token, client=client)

    def close(self) -> None:
        """Close the connections; a call that waits ends with a `SyncError`."""
        self.connection.close()

    def log_in(self, *, code: str, key: str, device: str, name: str, signature: bytes) -> LoggedIn:
        """Log this device in to an account with an invitation `code`, and use the token from now on; see `tacit_server.logs.Login`."""
        body = {"code": code, "key": key, "device": device, "name": name, "signature": signature}
        done = self.connection.ask(LoggedIn, "POST", f"{PREFIX}/login", body)
        self.connection.token = done.token
        return done

    def begin_sign_in(self, device: str) -> SignInBegun:
        """Begin a single sign-on for the device named `device`; return where the user goes on. With a token, it links this device's account or renews its teams."""
        return self.connection.ask(SignInBegun, "POST", f"{SIGN_IN_PREFIX}/begin", {"device": device})

    def finish_sign_in(self, login: str, secret: str) -> SignInResult:
        """Return the result of a single sign-on. The server returns the final result only once."""
        body = {"login": login, "secret": secret}
        return self.connection.ask(SignInResult, "POST", f"{SIGN_IN_PREFIX}/finish", body)

    def heads(self) -> Mapping[str, int]:
        """Return device -> number of the last entry of its log on the server."""
        return self.connection.ask(_Heads, "GET", f"{PREFIX}/heads").heads

    def wait(self, known: int, *, shared: int = -1, wait_s: float) -> tuple[bool, int]:
        """Block until the account's number of entries differs from `known`, or its teams' number of changes from `shared`, at most `wait_s` seconds.

        `shared` -1 = only the entries are compared. Return (whether there is news, the number of changes of the teams).
        """
        timeout = httpx.Timeout(wait_s + ANSWER_S, connect=CONNECT_S) if wait_s else None
        params = {"wait": wait_s, "known": known, "shared": shared}
        answer = self.connection.ask(_Heads, "GET", f"{PREFIX}/heads", params=params, timeout=timeout)
        news = sum(answer.heads.values()) != known or (shared >= 0 and answer.shared != shared)
        return news, answer.shared

    def entries(self, device: str, *, after: int, limit: int) -> Sequence[Entry]:
        """Return up to `limit` entries of a device with numbers above `after`, in order; empty = there are no more."""
        params = {"device": device, "after": after, "limit": limit}
        return self.connection.ask(_Entries, "GET", f"{PREFIX}/entries", params=params).entries

    def push(self, entries: Sequence[Entry]) -> None:
        """Store entries of one log on the server, in order; those that it has already are ignored."""
        self.connection.ask(NoContent, "POST", f"{PREFIX}/entries", {"entries": entries})

    def report(self, heads: Mapping[str, int]) -> None:
        """Tell the server the number of the last entry that this device has, for every log (device -> number)."""
        self.connection.ask(NoContent, "POST", f"{PREFIX}/report", {"heads": heads})

    def renew(self, device: str, signature: bytes) -> LoggedIn:
        """Log this home in as another device, named by its new public key `device`, and return the login, whose token is used from now on.

        The old device stays. Called after the home's own log was forked. `signature` = the new key's signature of `device`.
        """
        body = {"device": device, "signature": signature}
        done = self.connection.ask(LoggedIn, "POST", f"{PREFIX}/renew", body)
        self.connection.token = done.token
        return done

    def rotate(self, key: str) -> None:
        """Give the account a new secret, whose public name is `key`: the server revokes all other devices and deletes what they and this one sent."""
        self.connection.ask(NoContent, "POST", f"{PREFIX}/rotate", {"key": key})

    def devices(self) -> Sequence[DeviceView]:
        """Return the devices of the account, revoked ones included."""
        return self.connection.ask(_Devices, "GET", f"{PREFIX}/devices").devices

    def revoke(self, device: str) -> None:
        """Revoke a device: the server refuses its token from now on."""
        self.connection.ask(NoContent, "POST", f"{PREFIX}/devices/{device}/revoke")

    def invite(self) -> str:
        """Return a new code with which one more device may log in; it works once and expires soon."""
        return self.connection.ask(_Invited, "POST", f"{PREFIX}/invites").code
