"""The HTTP application of the server, and its endpoints for sync. In: requests of devices. Out: JSON, or a problem. It logs no body and no token.

Every request for sync except a login carries the bearer token of its device. The endpoints of teams and of single sign-on have modules of their own. Entries
are JSON with bytes in base64, as `msgspec` writes them; their content is encrypted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tacit.errors import InvalidPayload, NotLoggedIn, SyncError
from tacit.sync.entry import Entry
from tacit_server.logs import MAX_LOGS, MAX_NUMBER, Login, Logs, Principal, is_device
from tacit_server.service import SSO_PREFIX, Handler, Service, as_json, read_body, read_limit, read_number
from tacit_server.teams import Teams
from tacit_server.teams.endpoints import TEAM_PREFIX, TeamEndpoints, WatchedTeams

if TYPE_CHECKING:
    from tacit_server.sso.login import SingleSignOn

PREFIX = "/sync/v1"
MAX_WAIT_S = 30.0
WAIT_STEP_S, LONGEST_STEP_S = 0.5, 2.0
"""Seconds between two reads of the database for a device that waits for changes: first `WAIT_STEP_S`, then twice as long each time, up to `LONGEST_STEP_S`.

A push that reaches the same process wakes the device at once.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRequest:
    """The body of a request of a device to log in; see `Login`."""

    code: str
    key: str
    device: str
    name: str
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewRequest:
    """The body of a request of a home to continue as another device; `signature` proves that it has that device's key."""

    device: str
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRequest:
    """The body of a push: entries of one log, in order."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """The body of a report: the number of the last entry that a device has applied, by log."""

    heads: dict[str, int]


def make_app(
    logs: Logs,
    *,
    teams: Teams | None = None,
    sso: SingleSignOn | None = None,
    trusted_proxies: Sequence[IPv4Network | IPv6Network] = (),
    now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    leaving: Callable[[], bool] = lambda: False,
) -> Starlette:
    """Return the application that serves `logs`.

    Args:
        logs: the accounts, their devices and logs.
        teams: organizations and what they share; None = this server has no teams.
        sso: single sign-on; None = this server has none.
        trusted_proxies: networks of the proxies that terminate TLS for this server. If any is given, every request must come from one of them and
            say that it arrived by HTTPS. Failed logins are then counted by the last address in `X-Forwarded-For`, which the proxy wrote.
        now_ms: the current time in milliseconds.
        leaving: whether the server is stopping; it then answers devices that wait for changes.
    """
    service = Service(
        devices=lambda token: logs.principal(token, now_ms=now_ms()),
        services=lambda token: teams.members.service(token, now_ms=now_ms()) if teams else _no_service(),
        trusted=tuple(trusted_proxies),
    )
    watched = WatchedTeams(teams) if teams else None
    sync = _SyncEndpoints(logs, service, now_ms=now_ms, leaving=leaving, watched=watched)
    found = [(f"{PREFIX}{path}", method, handler) for method, path, handler in sync.paths()]
    if teams is not None:
        endpoints = TeamEndpoints(teams, service, now_ms=now_ms)
        found += [(f"{TEAM_PREFIX}{path}", method, handler) for method, path, handler in endpoints.paths()]
    found += _sign_in_paths(sso, service, now_ms=now_ms)
    routes = [
        Route(path, service.answering(path, handler), methods=[method]) for path, method, handler in found
    ]

    async def health(request: Request) -> Response:
        del request
        return as_json({"status": "ok"})

    async def metrics(request: Request) -> Response:
        del request
        return PlainTextResponse(
            service.counters.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    return Starlette(routes=[*routes, Route("/health", health), Route("/metrics", metrics)])


def _sign_in_paths(
    sso: SingleSignOn | None, service: Service, *, now_ms: Callable[[], int]
) -> list[tuple[str, str, Handler]]:
    if sso is None:
        return [(f"{SSO_PREFIX}/begin", "POST", _no_provider)]
    from tacit_server.sso.endpoints import SsoEndpoints  # noqa: PLC0415 - only a server with a provider loads it

    endpoints = SsoEndpoints(sso, service, now_ms=now_ms)
    return [(f"{SSO_PREFIX}{path}", method, handler) for method, path, handler in endpoints.paths()]


async def _no_provider(request: Request) -> Response:
    del request
    raise SyncError(
        "This server has no single sign-on.",
        hint="Ask the person who runs the server for an invitation: `tacit login URL --code CODE`.",
    )


def _no_service() -> Principal:
    raise NotLoggedIn("This server has no teams.")


class _News:
    """Wakes waiting devices of an account when another one pushes to this process. Only for use in the event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}

    async def wait(self, account: str, seconds: float) -> None:
        """Wait until `tell` is called for `account`, for at most `seconds`."""
        told = asyncio.Event()
        waiting = self._waiting.setdefault(account, set())
        waiting.add(told)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(told.wait(), seconds)
        finally:
            waiting.discard(told)
            if not waiting:
                self._waiting.pop(account, None)

    def tell(self, account: str) -> None:
        """Wake the devices of an account that wait in this process."""
        for told in self._waiting.get(account, ()):
            told.set()


class _SyncEndpoints:
    def __init__(
        self,
        logs: Logs,
        service: Service,
        *,
        now_ms: Callable[[], int],
        leaving: Callable[[], bool],
        watched: WatchedTeams | None,
    ) -> None:
        self._logs = logs
        self._service = service
        self._now_ms = now_ms
        self._leaving = leaving
        self._watched = watched
        self._news = _News()

    def paths(self) -> tuple[tuple[str, str, Handler], ...]:
        return (
            ("POST", "/login", self.log_in),
            ("GET", "/heads", self.heads),
            ("GET", "/entries", self.entries),
            ("POST", "/entries", self.push),
            ("POST", "/report", self.report),
            ("POST", "/renew", self.renew),
            ("GET", "/devices", self.devices),
            ("POST", "/devices/{device}/revoke", self.revoke),
            ("POST", "/invites", self.invite),
        )

    async def log_in(self, request: Request) -> Response:
        asked = await read_body(request, LoginRequest)
        login = Login(
            code=asked.code, key=asked.key, device=asked.device, name=asked.name, signature=asked.signature
        )
        with self._service.guess(request):
            done = await run_in_threadpool(self._logs.log_in, login, now_ms=self._now_ms())
        return as_json(done)

    async def heads(self, request: Request) -> Response:
        """Return the heads of the account, and a number that changes when its teams change.

        With `wait` (seconds), this answers as soon as the sum of the heads is not `known`, the number is not `shared`, the time is over, or the
        server stops.
        """
        who = await self._service.device(request)
        wait_s = min(read_number(request, "wait", 0), MAX_WAIT_S)
        known = read_number(request, "known", -1, least=-1)
        seen = read_number(request, "shared", -1, least=-1)
        until, step_s = time.monotonic() + wait_s, WAIT_STEP_S
        while True:
            heads = await run_in_threadpool(self._logs.heads, who)
            shared = await run_in_threadpool(self._watched.total, who) if self._watched else 0
            over = time.monotonic() >= until or self._leaving()
            news = sum(heads.values()) != known or (seen >= 0 and shared != seen)
            if over or news or await request.is_disconnected():
                return as_json({"heads": heads, "shared": shared})
            await self._news.wait(who.account, step_s)
            step_s = min(2 * step_s, LONGEST_STEP_S)

    async def entries(self, request: Request) -> Response:
        who = await self._service.device(request)
        device = _device(request.query_params.get("device", ""))
        limit = read_limit(request)
        after = int(read_number(request, "after", 0))
        found = await run_in_threadpool(self._logs.entries, who, device, after=after, limit=limit)
        return as_json({"entries": found})

    async def push(self, request: Request) -> Response:
        who = await self._service.device(request)
        asked = await read_body(request, PushRequest)
        await run_in_threadpool(self._logs.push, who, asked.entries, now_ms=self._now_ms())
        self._service.counters.entries += len(asked.entries)
        self._news.tell(who.account)
        return as_json({})

    async def report(self, request: Request) -> Response:
        who = await self._service.device(request)
        asked = await read_body(request, ReportRequest)
        _check_heads(asked.heads)
        await run_in_threadpool(self._logs.report, who, asked.heads, now_ms=self._now_ms())
        return as_json({})

    async def renew(self, request: Request) -> Response:
        who = await self._service.device(request)
        asked = await read_body(request, RenewRequest)
        done = await run_in_threadpool(
            self._logs.renew, who, asked.device, asked.signature, now_ms=self._now_ms()
        )
        return as_json(done)

    async def devices(self, request: Request) -> Response:
        who = await self._service.device(request)
        return as_json({"devices": await run_in_threadpool(self._logs.devices, who)})

    async def revoke(self, request: Request) -> Response:
        who = await self._service.device(request)
        device = _device(request.path_params["device"])
        await run_in_threadpool(self._logs.revoke, who, device, now_ms=self._now_ms())
        return as_json({})

    async def invite(self, request: Request) -> Response:
        who = await self._service.device(request)
        code = await run_in_threadpool(self._logs.add_account, who.account, now_ms=self._now_ms())
        return as_json({"code": code})


def _device(text: str) -> str:
    if not is_device(text):
        raise InvalidPayload(f"{text[:40]!r} does not name a device; expected 64 hexadecimal digits.")
    return text


def _check_heads(heads: Mapping[str, int]) -> None:
    if len(heads) > MAX_LOGS:
        raise InvalidPayload(f"`heads` names more than {MAX_LOGS} logs.")
    for device, number in heads.items():
        if not 0 <= number <= MAX_NUMBER:
            raise InvalidPayload(f"A number in `heads` is not from 0 to {MAX_NUMBER}.")
        _device(device)
