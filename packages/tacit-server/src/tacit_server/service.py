"""Authentication, rate limits, parsing of requests, errors as problems, and counters for all endpoints. In: a request. Out: a response."""

from __future__ import annotations

import hmac
import logging
import math
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

import msgspec
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    ProcessCollector,
    Summary,
    generate_latest,
)
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tacit.api.problems import problem, problem_of
from tacit.errors import InvalidPayload, NotLoggedIn, StoreError, TacitError
from tacit_server.limits import WINDOW_S, Counts, LocalCounts
from tacit_server.logs import MAX_NUMBER, Principal, hash_of
from tacit_server.tracing import request_span

_LOG = logging.getLogger(__name__)
SSO_PREFIX = "/auth/v1"
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_PAGE = 500
"""One answer holds at most this many rows."""
LOGIN_FAILURES = 10
"""After `LOGIN_FAILURES` failed logins from one address in a minute, further ones are refused unread."""
REQUESTS, REQUESTS_STEP = 1200, 100
"""The server answers at most `REQUESTS` requests of one principal in a minute. A process tells the others each time it has answered `REQUESTS_STEP` of them."""
Handler = Callable[[Request], Awaitable[Response]]
WhoIs = Callable[[str], Principal]
"""Returns the principal of a token; raises `NotLoggedIn` if there is none."""


class Metrics:
    """The numbers of one process that `/metrics` shows."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter("tacit_requests", "Requests.", ["route", "status"], registry=self._registry)
        self._seconds = Summary(
            "tacit_request_seconds", "Seconds of a request.", ["route"], registry=self._registry
        )
        self.entries = Counter("tacit_entries", "Entries that devices sent.", registry=self._registry)
        self.waiting = Gauge(
            "tacit_waiting_devices", "Devices that wait for changes.", registry=self._registry
        )

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request to `route` that took `seconds`."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return the numbers in the text format of Prometheus."""
        return generate_latest(self._registry)


class Service:
    """What all endpoints of one application share: authentication, limits, errors, counters and tracing."""

    def __init__(
        self,
        *,
        devices: WhoIs,
        services: WhoIs,
        trusted: tuple[IPv4Network | IPv6Network, ...] = (),
        counts: Counts | None = None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """Serve the principals of known tokens.

        Args:
            devices: looks up the token of a device.
            services: looks up the token of a service account.
            trusted: networks of the proxies that terminate TLS; see `make_app`.
            counts: counts events for all processes; None = for this one alone.
            now_s: the current time in seconds.
        """
        self._devices = devices
        self._services = services
        self._trusted = trusted
        self._counts = counts or LocalCounts(now_s=now_s)
        self._asked = LocalCounts(now_s=now_s)
        self.metrics = Metrics()

    def answering(self, route: str, handler: Handler) -> Handler:
        """Return `handler` with its errors turned into problems, and its requests counted and traced under `route`."""

        async def answer(request: Request) -> Response:
            began = time.perf_counter()
            with request_span(request.method, route) as answered:
                response = await answer_or_problem(request)
                answered(response.status_code)
            self.metrics.count(route or request.url.path, response.status_code, time.perf_counter() - began)
            return response

        async def answer_or_problem(request: Request) -> Response:
            try:
                response = (self._refused(request) if route else None) or await handler(request)
            except NotLoggedIn as error:
                response = problem(
                    error.code,
                    error.message,
                    hint=error.hint,
                    status=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
            except StoreError as error:
                # The message is the operator's: it names hosts, roles and schemas.
                _LOG.error("%s failed: %s %s", route or request.url.path, error.message, error.hint)
                response = problem(
                    "store_error",
                    "The server cannot use its database at the moment.",
                    hint="Try again later. The server's log tells the person who runs it what is wrong.",
                    status=503,
                    headers={"Retry-After": "10"},
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
        if comes_from(request, self._trusted) and request.headers.get("x-forwarded-proto") == "https":
            return None
        return problem(
            "unauthorized",
            "This server accepts only HTTPS requests that its proxy forwards.",
            status=403,
        )

    def address(self, request: Request) -> str:
        """Return the address of the client: the peer or, behind a trusted proxy, the address that the proxy saw."""
        if comes_from(request, self._trusted):
            forwarded = _ip(",".join(request.headers.getlist("x-forwarded-for")).rpartition(",")[2].strip())
            if forwarded is not None:
                return str(forwarded)
        return request.client.host if request.client else ""

    def require_operator(self, request: Request, token: str) -> None:
        """Refuse a request that does not come from the operator: it has the bearer `token` or, if that is "", comes from this machine without a proxy.

        Raises:
            NotLoggedIn: it is somebody else's.
        """
        if token:
            allowed = hmac.compare_digest(_token(request).encode(), token.encode())
        else:
            peer = _ip(request.client.host) if request.client else None
            allowed = peer is not None and peer.is_loopback and "x-forwarded-for" not in request.headers
        if not allowed:
            raise NotLoggedIn("Only the person who runs the server may read this.")

    @asynccontextmanager
    async def guess(self, request: Request) -> AsyncGenerator[None]:
        """Count a login as failed while it is under way, so that many at once do not pass the limit, and for good if it fails.

        Raises:
            TooManyRequests: the address has reached the limit.
        """
        key = f"failed {hash_of(self.address(request))}"
        if await self.counted(key, 1) > LOGIN_FAILURES:
            raise TooManyRequests("Too many failed logins from this address.", code="not_logged_in")
        yield
        await self.counted(key, -1)

    async def counted(self, key: str, count: int) -> int:
        """Count events of `key` in all processes, and return how many there were in this minute."""
        return await run_in_threadpool(self._counts.add, key, count)

    async def device(self, request: Request, *, known: WhoIs | None = None) -> Principal:
        """Return the device that sent the request. `known` looks up its token instead of what the service was made with.

        Raises:
            NotLoggedIn: the token does not belong to a device.
            TooManyRequests: the device has reached its limit.
        """
        return await self._who(_token(request), known or self._devices)

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
        key = f"asked {who.account} {who.device}"
        asked = self._asked.add(key, 1)
        if (
            asked <= REQUESTS
            and asked % REQUESTS_STEP == 0
            and await self.counted(key, REQUESTS_STEP) > REQUESTS
        ):
            asked = self._asked.add(key, REQUESTS)
        if asked > REQUESTS:
            raise TooManyRequests("Too many requests from this device.", code="sync_error")
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
            headers={"Retry-After": str(WINDOW_S)},
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


def comes_from(request: Request, networks: Iterable[IPv4Network | IPv6Network]) -> bool:
    """Return whether the peer that sent a request is in one of `networks`."""
    peer = _ip(request.client.host) if request.client else None
    return peer is not None and any(peer in network for network in networks)


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
