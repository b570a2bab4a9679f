"""The HTTP application of the server, and its endpoints for sync. In: requests of devices. Out: JSON, or a problem. It logs no body and no token.

Every request for sync except a login carries the bearer token of its device. The endpoints of teams and of single sign-on have modules of their own. Entries
are JSON with bytes in base64, as `msgspec` writes them; their content is encrypted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.errors import InvalidPayload, NotLoggedIn, SyncError
from tacit.sync.entry import Entry
from tacit_server.limits import SharedCounts
from tacit_server.logs import MAX_LOGS, MAX_NUMBER, Login, Logs, Principal, is_device
from tacit_server.news import News
from tacit_server.service import SSO_PREFIX, Handler, Service, as_json, read_body, read_limit, read_number
from tacit_server.teams import Teams
from tacit_server.teams.endpoints import TEAM_PREFIX, TeamEndpoints, Watched

if TYPE_CHECKING:
    from tacit_server.postgres.connection import Connections
    from tacit_server.sso.login import SingleSignOn

PREFIX = "/sync/v1"
MAX_WAIT_S = 55.0
POLL_S = 2.0
"""Seconds between two reads of the database for a device that waits for changes, while this process does not listen for notifications."""


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
class RotateRequest:
    """The body of a request to give the account a new secret; `key` is its public name."""

    key: str


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
    database: Connections | None = None,
    news: News | None = None,
    metrics_token: str = "",
) -> Starlette:
    """Return the application that serves `logs`.

    Args:
        logs: the accounts, their devices and logs.
        teams: organizations and what they share; None = this server has no teams.
        sso: single sign-on; None = this server has none.
        trusted_proxies: networks of the proxies that terminate TLS for this server. If any is given, every request must come from one of them and
            say that it arrived by HTTPS. Failed logins are then counted by the last address in `X-Forwarded-For`, which the proxy wrote.
        now_ms: the current time in milliseconds.
        database: the database in which limits are counted for all processes; `/ready` asks whether it answers. None = this process counts for itself.
        news: tells waiting devices about changes; the application listens while it runs. None = they find changes by reading.
        metrics_token: the bearer token for `/metrics`; "" = only programs on this machine may read it.
    """
    told = news or News()

    def now_s() -> float:
        return now_ms() / 1000

    service = Service(
        devices=lambda token: logs.principal(token, now_ms=now_ms()),
        services=lambda token: teams.members.service(token, now_ms=now_ms()) if teams else _no_service(),
        trusted=tuple(trusted_proxies),
        counts=SharedCounts(database, now_s=now_s) if database else None,
        now_s=now_s,
    )
    watched = Watched(teams, told) if teams else None
    sync = _SyncEndpoints(logs, service, now_ms=now_ms, news=told, watched=watched)
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

    async def ready(request: Request) -> Response:
        del request
        if database is not None:
            await run_in_threadpool(database.check)
        return as_json({"status": "ok"})

    async def metrics(request: Request) -> Response:
        service.require_operator(request, metrics_token)
        return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    @asynccontextmanager
    async def listening(_app: Starlette) -> AsyncGenerator[None]:
        task = asyncio.create_task(told.listen())
        yield
        task.cancel()

    own = [Route(f"/{each.__name__}", service.answering("", each)) for each in (health, ready, metrics)]
    return Starlette(routes=[*routes, *own], lifespan=listening)


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


class _SyncEndpoints:
    def __init__(
        self,
        logs: Logs,
        service: Service,
        *,
        now_ms: Callable[[], int],
        news: News,
        watched: Watched | None,
    ) -> None:
        self._logs = logs
        self._service = service
        self._now_ms = now_ms
        self._news = news
        self._watched = watched

    def paths(self) -> tuple[tuple[str, str, Handler], ...]:
        return (
            ("POST", "/login", self.log_in),
            ("GET", "/heads", self.heads),
            ("GET", "/entries", self.entries),
            ("POST", "/entries", self.push),
            ("POST", "/report", self.report),
            ("POST", "/renew", self.renew),
            ("POST", "/rotate", self.rotate),
            ("GET", "/devices", self.devices),
            ("POST", "/devices/{device}/revoke", self.revoke),
            ("POST", "/invites", self.invite),
        )

    async def log_in(self, request: Request) -> Response:
        asked = await read_body(request, LoginRequest)
        login = Login(
            code=asked.code, key=asked.key, device=asked.device, name=asked.name, signature=asked.signature
        )
        async with self._service.guess(request):
            done = await run_in_threadpool(self._logs.log_in, login, now_ms=self._now_ms())
        return as_json(done)

    async def heads(self, request: Request) -> Response:
        """Return the heads of the account, and a number that changes when its teams change.

        With `wait` (seconds), this answers as soon as the sum of the heads is not `known`, the number is not `shared`, the time is over, or the
        server stops.
        """
        wait_s = min(read_number(request, "wait", 0), MAX_WAIT_S)
        who = await self._service.device(request, known=self._waiting_device if wait_s > 0 else None)
        known = read_number(request, "known", -1, least=-1)
        seen = read_number(request, "shared", -1, least=-1)
        until = time.monotonic() + wait_s
        changes = self._news.changes
        tenants, heads, shared = await run_in_threadpool(self._read, who, wait_s > 0)
        with self._news.watching(tenants) as told, self._service.metrics.waiting.track_inprogress():
            if self._news.changes != changes:
                told.set()  # perhaps one of these tenants changed before anybody watched: read again
            while True:
                left_s = until - time.monotonic()
                news = sum(heads.values()) != known or (seen >= 0 and shared != seen)
                if news or left_s <= 0 or self._news.stopped or await request.is_disconnected():
                    break
                listening = self._news.listening
                with suppress(TimeoutError):
                    await asyncio.wait_for(told.wait(), left_s if listening else min(left_s, POLL_S))
                if listening and not told.is_set():
                    break  # nothing changed
                told.clear()
                _, heads, shared = await run_in_threadpool(self._read, who, wait_s > 0)
        return as_json({"heads": heads, "shared": shared})

    def _waiting_device(self, token: str) -> Principal:
        """Return the device that waits with a token."""

        def read(token: str) -> Principal:
            return self._logs.principal(token, now_ms=self._now_ms())

        return self._watched.device(token, read) if self._watched else read(token)

    def _read(self, who: Principal, waits: bool) -> tuple[tuple[int, ...], Mapping[str, int], int]:
        """Return the tenants whose changes concern a device, the heads of its account, and the number of changes of its teams."""
        if self._watched is None:
            return (), self._logs.heads(who), 0
        tenants, shared = self._watched.look(who)
        return tenants, self._watched.heads(who, self._logs.heads, waits=waits), shared

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
        self._service.metrics.entries.inc(len(asked.entries))
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

    async def rotate(self, request: Request) -> Response:
        who = await self._service.device(request)
        asked = await read_body(request, RotateRequest)
        await run_in_threadpool(self._logs.rotate, who, asked.key, now_ms=self._now_ms())
        return as_json({})

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
