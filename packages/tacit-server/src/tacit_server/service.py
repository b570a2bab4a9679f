"""Authentication, rate limits, parsing of requests, errors as problems, and counters for all endpoints. In: a request. Out: a response."""

from __future__ import annotations

import itertools
import logging
import math
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tacit.api.problems import problem, problem_of
from tacit.errors import InvalidPayload, NotLoggedIn, TacitError
from tacit_server.logs import MAX_NUMBER, Principal
from tacit_server.tracing import request_span

_LOG = logging.getLogger(__name__)
SSO_PREFIX = "/auth/v1"
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_PAGE = 500
"""One answer holds at most this many rows."""
LOGIN_FAILURES, LOGIN_WINDOW_S = 10, 60.0
"""After `LOGIN_FAILURES` failed logins from one address in `LOGIN_WINDOW_S` seconds, further ones are refused unread."""
REQUESTS, REQUESTS_WINDOW_S = 1200, 60.0
"""The server answers at most `REQUESTS` requests of one principal in `REQUESTS_WINDOW_S` seconds."""
Handler = Callable[[Request], Awaitable[Response]]
WhoIs = Callable[[str], Principal]
"""Returns the principal of a token; raises `NotLoggedIn` if there is none."""


@dataclass(slots=True, kw_only=True)
class Counters:
    """The counters of `/metrics`: requests by route and status, seconds by route, and entries that devices pushed."""

    requests: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    entries: int = 0

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request to `route` that took `seconds`."""
        self.requests[route, status] = self.requests.get((route, status), 0) + 1
        self.seconds[route] = self.seconds.get(route, 0.0) + seconds

    def text(self) -> str:
        """Return the counters in the text format of Prometheus."""
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
    """Counts recent events by key (an address, a principal). A key without recent events is forgotten."""

    def __init__(
        self, *, most: int, window_s: float, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Limit the events of a key: `too_many` is true for a key with `most` or more events in the last `window_s` seconds."""
        self._most = most
        self._window_s = window_s
        self._times: dict[str, deque[float]] = {}
        """Times of events by key; keys are in the order of their last events."""
        self._monotonic_s = monotonic_s

    def __len__(self) -> int:
        """Return the number of keys with recent events."""
        return len(self._times)

    def too_many(self, key: str) -> bool:
        """Return whether `key` has reached the limit."""
        times = self._times.get(key, deque())
        while times and times[0] < self._monotonic_s() - self._window_s:
            times.popleft()
        if not times:
            self._times.pop(key, None)
        return len(times) >= self._most

    def add(self, key: str) -> None:
        """Count an event for `key`, and forget the keys whose events are all too old."""
        now_s = self._monotonic_s()
        times = self._times.pop(key, None) or deque(maxlen=self._most)
        times.append(now_s)
        self._times[key] = times
        for oldest in tuple(
            itertools.takewhile(lambda one: self._last_s(one) < now_s - self._window_s, self._times)
        ):
            del self._times[oldest]

    def take_back(self, key: str) -> None:
        """Forget the newest event of `key`."""
        if times := self._times.get(key):
            times.pop()
            if not times:
                del self._times[key]

    def _last_s(self, key: str) -> float:
        return self._times[key][-1]


class Service:
    """What all endpoints of one application share: authentication, limits, errors, counters and tracing."""

    def __init__(
        self,
        *,
        devices: WhoIs,
        services: WhoIs,
        trusted: tuple[IPv4Network | IPv6Network, ...] = (),
    ) -> None:
        """Serve the principals of known tokens.

        Args:
            devices: looks up the token of a device.
            services: looks up the token of a service account.
            trusted: networks of the proxies that terminate TLS; see `make_app`.
        """
        self._devices = devices
        self._services = services
        self._trusted = trusted
        self.failed = Recent(most=LOGIN_FAILURES, window_s=LOGIN_WINDOW_S)
        self._asked = Recent(most=REQUESTS, window_s=REQUESTS_WINDOW_S)
        self.counters = Counters()

    def answering(self, route: str, handler: Handler) -> Handler:
        """Return `handler` with its errors turned into problems, and its requests counted and traced under `route`."""

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
            except NotLoggedIn as error:
                response = problem(
                    error.code,
                    error.message,
                    hint=error.hint,
                    status=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
            except TacitError as error:
                response = problem_of(error)
            except TooManyRequests as error:
                response = error.response
            except msgspec.MsgspecError as error:
                response = problem_of(InvalidPayload(f"The body cannot be read: {error}."))
            except Exception as error:  # noqa: BLE001 - the boundary of the interface: a broken request must neither show internals nor stop the server
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
        """Return the address of the client: the peer or, behind a trusted proxy, the address that the proxy saw."""
        if self._by_proxy(request):
            forwarded = _ip(",".join(request.headers.getlist("x-forwarded-for")).rpartition(",")[2].strip())
            if forwarded is not None:
                return str(forwarded)
        return request.client.host if request.client else ""

    @contextmanager
    def guess(self, request: Request) -> Generator[None]:
        """Count a login as failed while it is under way, so that many at once do not pass the limit, and for good if it fails.

        Raises:
            TooManyRequests: the address has reached the limit.
        """
        self.refuse_guessing(request)
        address = self.address(request)
        self.failed.add(address)
        yield
        self.failed.take_back(address)

    def refuse_guessing(self, request: Request) -> None:
        """Refuse an address from which too many logins have failed.

        Raises:
            TooManyRequests: the address has reached the limit.
        """
        if self.failed.too_many(self.address(request)):
            raise TooManyRequests("Too many failed logins from this address.", code="not_logged_in")

    async def device(self, request: Request) -> Principal:
        """Return the device that sent the request.

        Raises:
            NotLoggedIn: the token does not belong to a device.
            TooManyRequests: the device has reached its limit.
        """
        return await self._who(_token(request), self._devices)

    async def principal(self, request: Request) -> Principal:
        """Return the device or the service account that sent the request.

        Raises:
            NotLoggedIn: the token belongs to neither.
            TooManyRequests: the principal has reached its limit.
        """
        token = _token(request)
        return await self._who(token, self._services if "/" in token.partition(".")[0] else self._devices)

    async def _who(self, token: str, known: WhoIs) -> Principal:
        who = await run_in_threadpool(known, token)
        key = f"{who.account} {who.device}"
        if self._asked.too_many(key):
            raise TooManyRequests("Too many requests from this device.", code="sync_error")
        self._asked.add(key)
        return who


class TooManyRequests(Exception):
    """The caller has reached a limit; `response` is the answer, with the status 429."""

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
    """Return a response with `value` as JSON; bytes are in base64."""
    return Response(msgspec.json.encode(value), media_type="application/json")


async def read_body(request: Request, kind: type[Any]) -> Any:
    """Read the JSON body of a request and return it as a `kind`.

    Raises:
        InvalidPayload: it is too large or cannot be decoded.
        msgspec.MsgspecError: it is not a `kind`.
    """
    raw = await read_bytes(request, MAX_BODY_BYTES, hint="Send fewer entries at once.")
    if _NUL.search(raw):
        raise InvalidPayload("The body holds a NUL character.", hint="Leave it out.")
    try:
        return msgspec.json.decode(raw, type=kind)
    except (UnicodeDecodeError, RecursionError) as error:
        raise InvalidPayload(f"The body cannot be read: {type(error).__name__}.") from error


_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
"""An escaped NUL in a JSON text, which no database takes."""


async def read_bytes(request: Request, most: int, *, hint: str = "") -> bytes:
    """Read the body of a request and return its bytes.

    Raises:
        InvalidPayload: it has more than `most` bytes.
    """
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > most:
            raise InvalidPayload(f"The body is larger than {most} bytes.", hint=hint)
    return bytes(raw)


def read_number(request: Request, name: str, default: float, *, least: int = 0) -> float:
    """Return the number called `name` in the query string, or `default` if it is absent.

    Raises:
        InvalidPayload: it is not a number, or not from `least` to `MAX_NUMBER`.
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
    """Return how many rows the caller asks for in the query string (`limit`), at least 1 and at most `MAX_PAGE`.

    Raises:
        InvalidPayload: `limit` is not a number, or is negative.
    """
    return max(1, min(int(read_number(request, "limit", default)), MAX_PAGE))


def _token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise NotLoggedIn("The request has no token.", hint="`tacit login URL` logs a device in.")
    return token.strip()


def _ip(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
