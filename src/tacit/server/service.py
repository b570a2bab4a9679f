"""What all endpoints of the server share: errors as problems, counts, who asks, bodies. In: a request. Out: a response, or who asks."""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tacit.api.problems import problem, problem_of
from tacit.errors import InvalidPayload, NotLoggedIn, TacitError
from tacit.server.logs import MAX_NUMBER, Principal
from tacit.server.tracing import request_span

_LOG = logging.getLogger(__name__)
SSO_PREFIX = "/auth/v1"
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_PAGE = 500
"""One answer holds at most this many rows."""
LOGIN_FAILURES, LOGIN_WINDOW_S = 10, 60.0
"""So many failed logins of one address are answered in so many seconds; further ones are refused unread."""
REQUESTS, REQUESTS_WINDOW_S = 1200, 60.0
"""So many requests of one principal are answered in so many seconds."""
Handler = Callable[[Request], Awaitable[Response]]
WhoIs = Callable[[str], Principal]
"""Whom a token belongs to; raises `NotLoggedIn`."""


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


class Recent:
    """Counts what happened lately by a key (an address, a principal), and remembers nothing of a key for which nothing did."""

    def __init__(
        self, *, most: int, window_s: float, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Say `too_many` from `most` events in `window_s` seconds on."""
        self._most = most
        self._window_s = window_s
        self._times: dict[str, deque[float]] = {}
        """By key, in the order of their last events."""
        self._monotonic_s = monotonic_s

    def __len__(self) -> int:
        """So many keys are remembered."""
        return len(self._times)

    def too_many(self, key: str) -> bool:
        """Whether too much happened for a key lately."""
        times = self._times.get(key, deque())
        while times and times[0] < self._monotonic_s() - self._window_s:
            times.popleft()
        if not times:
            self._times.pop(key, None)
        return len(times) >= self._most

    def add(self, key: str) -> None:
        """One more event. Forgets the keys whose events are all too old to count."""
        now_s = self._monotonic_s()
        times = self._times.pop(key, None) or deque(maxlen=self._most)
        times.append(now_s)
        self._times[key] = times
        for oldest in tuple(
            itertools.takewhile(lambda one: self._last_s(one) < now_s - self._window_s, self._times)
        ):
            del self._times[oldest]

    def _last_s(self, key: str) -> float:
        return self._times[key][-1]


class Service:
    """What the endpoints of one application share."""

    def __init__(
        self,
        *,
        devices: WhoIs,
        services: WhoIs,
        trusted: tuple[IPv4Network | IPv6Network, ...] = (),
    ) -> None:
        """Serve those whom `devices` and `services` know by their tokens; `trusted` are the networks of proxies that speak TLS."""
        self._devices = devices
        self._services = services
        self._trusted = trusted
        self.failed = Recent(most=LOGIN_FAILURES, window_s=LOGIN_WINDOW_S)
        self._asked = Recent(most=REQUESTS, window_s=REQUESTS_WINDOW_S)
        self.counters = Counters()

    def answering(self, route: str, handler: Handler) -> Handler:
        """`handler` with its errors as problems, counted."""

        async def answer(request: Request) -> Response:
            began = time.perf_counter()
            with request_span(request.method, route) as answered:
                response = await answer_or_problem(request)
                answered(response.status_code)
            self.counters.count(route, response.status_code, time.perf_counter() - began)
            return response

        async def answer_or_problem(request: Request) -> Response:
            try:
                response = self._refused(request) or await handler(request)
            except TacitError as error:
                response = problem_of(error)
            except TooManyRequests as error:
                response = error.response
            except msgspec.MsgspecError as error:
                response = problem_of(InvalidPayload(f"The body cannot be read: {error}."))
            except Exception as error:  # noqa: BLE001 - the interface's boundary: one broken request must not show or break more than itself
                _LOG.exception("%s failed", route)
                response = problem("internal", f"The server failed with {type(error).__name__}.")
            return response

        return answer

    def _refused(self, request: Request) -> Response | None:
        if not self._trusted:
            return None
        if self._by_proxy(request) and request.headers.get("x-forwarded-proto") == "https":
            return None
        return problem(
            "unauthorized",
            "This server accepts only HTTPS requests that its proxy forwards.",
            status=403,
        )

    def _by_proxy(self, request: Request) -> bool:
        peer = _ip(request.client.host) if request.client else None
        return peer is not None and any(peer in network for network in self._trusted)

    def address(self, request: Request) -> str:
        """Whose request it is: the peer, or behind a trusted proxy the address that the proxy saw."""
        if self._by_proxy(request):
            forwarded = _ip(",".join(request.headers.getlist("x-forwarded-for")).rpartition(",")[2].strip())
            if forwarded is not None:
                return str(forwarded)
        return request.client.host if request.client else ""

    def refuse_guessing(self, request: Request) -> None:
        """Refuse an address whose logins failed too often lately.

        Raises:
            TooManyRequests: then.
        """
        if self.failed.too_many(self.address(request)):
            raise TooManyRequests("Too many failed logins from this address.", code="not_logged_in")

    async def device(self, request: Request) -> Principal:
        """The device that asks.

        Raises:
            NotLoggedIn: if the token is none of a device.
        """
        return await self._who(request, self._devices)

    async def principal(self, request: Request) -> Principal:
        """The device or the service account that asks.

        Raises:
            NotLoggedIn: if the token is neither's.
        """
        token = _token(request)
        return await self._who(request, self._services if "/" in token.partition(".")[0] else self._devices)

    async def _who(self, request: Request, known: WhoIs) -> Principal:
        who = await run_in_threadpool(known, _token(request))
        key = f"{who.account} {who.device}"
        if self._asked.too_many(key):
            raise TooManyRequests("Too many requests from this device.", code="sync_error")
        self._asked.add(key)
        return who


class TooManyRequests(Exception):
    """The caller asks too often; `response` says so."""

    def __init__(self, detail: str, *, code: str) -> None:
        super().__init__(detail)
        self.response = problem(
            code,
            detail,
            hint="Try again in a minute.",
            status=429,
            headers={"Retry-After": str(int(REQUESTS_WINDOW_S))},
        )


def as_json(value: object) -> Response:
    """`value` as JSON, bytes in base64."""
    return Response(msgspec.json.encode(value), media_type="application/json")


async def read_body(request: Request, kind: type[Any]) -> Any:
    """The body of a request, as a `kind`.

    Raises:
        InvalidPayload: if it is too large or cannot be read.
    """
    raw = await read_bytes(request, MAX_BODY_BYTES, hint="Send fewer entries at once.")
    try:
        return msgspec.json.decode(raw, type=kind)
    except (UnicodeDecodeError, RecursionError) as error:
        raise InvalidPayload(f"The body cannot be read: {type(error).__name__}.") from error


async def read_bytes(request: Request, most: int, *, hint: str = "") -> bytes:
    """The body of a request as it is.

    Raises:
        InvalidPayload: if it has more than `most` bytes.
    """
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > most:
            raise InvalidPayload(f"The body is larger than {most} bytes.", hint=hint)
    return bytes(raw)


def read_number(request: Request, name: str, default: float, *, least: int = 0) -> float:
    """A number of the query string.

    Raises:
        InvalidPayload: if it is none, or out of range.
    """
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


def read_limit(request: Request, default: int = MAX_PAGE) -> int:
    """How many rows the caller asks for in the query string, from 1 to `MAX_PAGE`.

    Raises:
        InvalidPayload: if `limit` is not a number.
    """
    return max(1, min(int(read_number(request, "limit", default)), MAX_PAGE))


def _token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise NotLoggedIn("The request names no device.", hint="`tacit login URL` lets a device in.")
    return token.strip()


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
