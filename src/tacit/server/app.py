"""The server's HTTP interface. In: requests of devices. Out: JSON, or a problem. Sees encrypted entries only; logs no body and no token.

Every call but a login names its device by a bearer token. Entries are JSON with bytes in base64, as `msgspec` writes them.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tacit.api.problems import problem, problem_of
from tacit.errors import InvalidPayload, NotLoggedIn, TacitError
from tacit.server.logs import MAX_LOGS, MAX_NUMBER, Login, Logs, Principal, is_device
from tacit.sync.entry import Entry

_LOG = logging.getLogger(__name__)
PREFIX = "/sync/v1"
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_PAGE = 500
MAX_WAIT_S = 30.0
WAIT_STEP_S = 0.5
LOGIN_FAILURES, LOGIN_WINDOW_S = 10, 60.0
"""So many failed logins of one address are answered in so many seconds; further ones are refused unread."""
_Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRequest:
    """A device that wants to join; see `Login`."""

    code: str
    key: str
    device: str
    name: str
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewRequest:
    """A home that goes on as another device."""

    device: str
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRequest:
    """Entries of one log, in order."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """What a device has taken over, by log."""

    heads: dict[str, int]


@dataclass(slots=True, kw_only=True)
class Counters:
    """What the server counts, for `/metrics`. Numbers only."""

    requests: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    entries: int = 0

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests[route, status] = self.requests.get((route, status), 0) + 1
        self.seconds[route] = self.seconds.get(route, 0.0) + seconds

    def text(self) -> str:
        """In the text format of Prometheus."""
        lines = ["# TYPE tacit_requests_total counter"]
        lines += [
            f'tacit_requests_total{{route="{route}",status="{status}"}} {count}'
            for (route, status), count in sorted(self.requests.items())
        ]
        lines.append("# TYPE tacit_request_seconds_total counter")
        lines += [
            f'tacit_request_seconds_total{{route="{route}"}} {seconds:.6f}'
            for route, seconds in sorted(self.seconds.items())
        ]
        lines += ["# TYPE tacit_entries_total counter", f"tacit_entries_total {self.entries}"]
        return "\n".join((*lines, ""))


class FailedLogins:
    """Remembers the failed logins of each address for a while, and nothing of an address that has not failed lately."""

    def __init__(self, *, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._failures: dict[str, deque[float]] = {}
        """By address, in the order of their last failures."""
        self._monotonic_s = monotonic_s

    def __len__(self) -> int:
        """So many addresses are remembered."""
        return len(self._failures)

    def too_many(self, address: str) -> bool:
        """Whether an address has failed too often lately."""
        times = self._failures.get(address, deque())
        while times and times[0] < self._monotonic_s() - LOGIN_WINDOW_S:
            times.popleft()
        if not times:
            self._failures.pop(address, None)
        return len(times) >= LOGIN_FAILURES

    def add(self, address: str) -> None:
        """One more failure. Forgets the addresses whose failures are all too old to count."""
        now_s = self._monotonic_s()
        times = self._failures.pop(address, None) or deque(maxlen=LOGIN_FAILURES)
        times.append(now_s)
        self._failures[address] = times
        for oldest in tuple(
            itertools.takewhile(lambda one: self._last_s(one) < now_s - LOGIN_WINDOW_S, self._failures)
        ):
            del self._failures[oldest]

    def _last_s(self, address: str) -> float:
        return self._failures[address][-1]


def make_app(
    logs: Logs,
    *,
    trusted_proxies: Sequence[IPv4Network | IPv6Network] = (),
    now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
    leaving: Callable[[], bool] = lambda: False,
) -> Starlette:
    """The application over `logs`.

    Args:
        logs: what is kept.
        trusted_proxies: networks of the proxies that speak TLS for this server. With any, every request must come from one of them and
            say that it arrived by HTTPS. Failed logins then count for the last address in `X-Forwarded-For`, which the proxy wrote.
        now_ms: the time.
        leaving: whether the server stops: then whoever waits for news is answered.
    """
    service = _Service(logs, now_ms=now_ms, trusted=tuple(trusted_proxies), leaving=leaving)
    paths: tuple[tuple[str, str, _Handler], ...] = (
        ("POST", "/login", service.log_in),
        ("GET", "/heads", service.heads),
        ("GET", "/entries", service.entries),
        ("POST", "/entries", service.push),
        ("POST", "/report", service.report),
        ("POST", "/renew", service.renew),
        ("GET", "/devices", service.devices),
        ("POST", "/devices/{device}/revoke", service.revoke),
        ("POST", "/invites", service.invite),
    )
    routes = [
        Route(f"{PREFIX}{path}", service.answering(path, handler), methods=[method])
        for method, path, handler in paths
    ]
    routes += [Route("/health", service.health), Route("/metrics", service.metrics)]
    return Starlette(routes=routes)


class _Service:
    def __init__(
        self,
        logs: Logs,
        *,
        now_ms: Callable[[], int],
        trusted: tuple[IPv4Network | IPv6Network, ...],
        leaving: Callable[[], bool],
    ) -> None:
        self._logs = logs
        self._now_ms = now_ms
        self._trusted = trusted
        self._leaving = leaving
        self._failed = FailedLogins()
        self.counters = Counters()

    def answering(self, route: str, handler: _Handler) -> _Handler:
        """`handler` with its errors as problems, counted."""

        async def answer(request: Request) -> Response:
            began = time.perf_counter()
            try:
                response = self._refused(request) or await handler(request)
            except TacitError as error:
                response = problem_of(error)
            except msgspec.MsgspecError as error:
                response = problem_of(InvalidPayload(f"The body cannot be read: {error}."))
            except Exception as error:  # noqa: BLE001 - the interface's boundary: one broken request must not show or break more than itself
                _LOG.exception("%s failed", route)
                response = problem("internal", f"The server failed with {type(error).__name__}.")
            self.counters.count(route, response.status_code, time.perf_counter() - began)
            return response

        return answer

    def _refused(self, request: Request) -> Response | None:
        if not self._trusted:
            return None
        if self._by_proxy(request) and request.headers.get("x-forwarded-proto") == "https":
            return None
        return problem(
            "unauthorized",
            "Only the proxy in front of this server may speak to it, for requests that came by HTTPS.",
            status=403,
        )

    def _by_proxy(self, request: Request) -> bool:
        peer = _ip(request.client.host) if request.client else None
        return peer is not None and any(peer in network for network in self._trusted)

    def _address(self, request: Request) -> str:
        """Whose request it is: the peer, or behind a trusted proxy the address that the proxy saw."""
        if self._by_proxy(request):
            forwarded = _ip(",".join(request.headers.getlist("x-forwarded-for")).rpartition(",")[2].strip())
            if forwarded is not None:
                return str(forwarded)
        return request.client.host if request.client else ""

    async def _who(self, request: Request) -> Principal:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise NotLoggedIn("The request names no device.", hint="`tacit login URL` lets a device in.")
        return await run_in_threadpool(self._logs.principal, token.strip(), now_ms=self._now_ms())

    async def log_in(self, request: Request) -> Response:
        address = self._address(request)
        if self._failed.too_many(address):
            return problem(
                "not_logged_in",
                "Too many failed logins from this address.",
                hint="Try again in a minute.",
                status=429,
                headers={"Retry-After": str(int(LOGIN_WINDOW_S))},
            )
        asked = await _body(request, LoginRequest)
        login = Login(
            code=asked.code, key=asked.key, device=asked.device, name=asked.name, signature=asked.signature
        )
        try:
            done = await run_in_threadpool(self._logs.log_in, login, now_ms=self._now_ms())
        except TacitError:
            self._failed.add(address)
            raise
        return _json(done)

    async def heads(self, request: Request) -> Response:
        """The heads; with `wait` and `known` as soon as there are more entries than `known`, or the server stops."""
        who = await self._who(request)
        wait_s = min(_number(request, "wait", 0), MAX_WAIT_S)
        known = _number(request, "known", -1, least=-1)
        until = time.monotonic() + wait_s
        while True:
            heads = await run_in_threadpool(self._logs.heads, who)
            over = time.monotonic() >= until or self._leaving()
            if over or sum(heads.values()) != known or await request.is_disconnected():
                return _json({"heads": heads})
            await asyncio.sleep(WAIT_STEP_S)

    async def entries(self, request: Request) -> Response:
        who = await self._who(request)
        device = _device(request.query_params.get("device", ""))
        limit = max(1, min(int(_number(request, "limit", MAX_PAGE)), MAX_PAGE))
        after = int(_number(request, "after", 0))
        found = await run_in_threadpool(self._logs.entries, who, device, after=after, limit=limit)
        return _json({"entries": found})

    async def push(self, request: Request) -> Response:
        who = await self._who(request)
        asked = await _body(request, PushRequest)
        await run_in_threadpool(self._logs.push, who, asked.entries, now_ms=self._now_ms())
        self.counters.entries += len(asked.entries)
        return _json({})

    async def report(self, request: Request) -> Response:
        who = await self._who(request)
        asked = await _body(request, ReportRequest)
        _check_heads(asked.heads)
        await run_in_threadpool(self._logs.report, who, asked.heads, now_ms=self._now_ms())
        return _json({})

    async def renew(self, request: Request) -> Response:
        who = await self._who(request)
        asked = await _body(request, RenewRequest)
        done = await run_in_threadpool(
            self._logs.renew, who, asked.device, asked.signature, now_ms=self._now_ms()
        )
        return _json(done)

    async def devices(self, request: Request) -> Response:
        who = await self._who(request)
        return _json({"devices": await run_in_threadpool(self._logs.devices, who)})

    async def revoke(self, request: Request) -> Response:
        who = await self._who(request)
        device = _device(request.path_params["device"])
        await run_in_threadpool(self._logs.revoke, who, device, now_ms=self._now_ms())
        return _json({})

    async def invite(self, request: Request) -> Response:
        who = await self._who(request)
        code = await run_in_threadpool(self._logs.add_account, who.account, now_ms=self._now_ms())
        return _json({"code": code})

    async def health(self, request: Request) -> Response:
        del request
        return _json({"status": "ok"})

    async def metrics(self, request: Request) -> Response:
        del request
        return PlainTextResponse(self.counters.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


async def _body(request: Request, kind: type[Any]) -> Any:
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > MAX_BODY_BYTES:
            raise InvalidPayload(
                f"The body is larger than {MAX_BODY_BYTES} bytes.", hint="Send fewer entries at once."
            )
    try:
        return msgspec.json.decode(bytes(raw), type=kind)
    except (UnicodeDecodeError, RecursionError) as error:
        raise InvalidPayload(f"The body cannot be read: {type(error).__name__}.") from error


def _number(request: Request, name: str, default: float, *, least: int = 0) -> float:
    text = request.query_params.get(name)
    if text is None:
        return default
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= MAX_NUMBER:
        raise InvalidPayload(f"`{name}` is {text[:40]!r}; expected a number from {least} to {MAX_NUMBER}.")
    return number


def _device(text: str) -> str:
    if not is_device(text):
        raise InvalidPayload(f"{text[:40]!r} names no device; expected 64 hexadecimal digits.")
    return text


def _check_heads(heads: Mapping[str, int]) -> None:
    if len(heads) > MAX_LOGS:
        raise InvalidPayload(f"`heads` names more than {MAX_LOGS} logs.")
    for device, number in heads.items():
        if not 0 <= number <= MAX_NUMBER:
            raise InvalidPayload(f"A number in `heads` is not from 0 to {MAX_NUMBER}.")
        _device(device)


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
