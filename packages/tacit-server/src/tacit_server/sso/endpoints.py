"""The HTTP interface of single sign-on. In: requests of devices and of browsers. Out: JSON for devices, pages for browsers.

Browsers come through the proxy, which says who uses them. A person agrees in a form that only the page that was shown to them can send.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tacit.api.problems import STATUS
from tacit.errors import InvalidPayload, StoreError, TacitError
from tacit_server.logs import hash_of
from tacit_server.service import (
    SSO_PREFIX,
    Handler,
    Service,
    TooManyRequests,
    as_json,
    read_body,
    read_bytes,
)
from tacit_server.sso.login import SingleSignOn
from tacit_server.sso.pages import confirm_page, done_page, failed_page
from tacit_server.sso.people import MAX_TEXT, Person
from tacit_server.sso.sign_ins import MAX_DEVICE, no_login

BEGUN = 20
"""One address may begin at most `BEGUN` logins in a minute."""
MAX_FORM_BYTES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginRequest:
    """A request of a device to begin a login. `device` is the name of the device."""

    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishRequest:
    """A request of a device for the result of its login."""

    login: str
    secret: str


class SsoEndpoints:
    """The endpoints of single sign-on in one application."""

    def __init__(self, sso: SingleSignOn, service: Service, *, now_ms: Callable[[], int]) -> None:
        """Answer requests for `sso`."""
        self._sso = sso
        self._service = service
        self._now_ms = now_ms

    def paths(self) -> tuple[tuple[str, str, Handler], ...]:
        """Return the method, the path below `SSO_PREFIX` and the handler of each endpoint."""
        return (
            ("POST", "/begin", self._begin),
            ("POST", "/finish", self._finish),
            ("GET", "/confirm", self._page(self._ask)),
            ("POST", "/confirm", self._page(self._agree)),
        )

    # --- devices

    async def _begin(self, request: Request) -> Response:
        address = self._service.address(request)
        if await self._service.counted(f"began {hash_of(address)}", 1) > BEGUN:
            raise TooManyRequests("Too many logins were begun from this address.", code="sync_error")
        # A device that is logged in links or renews its own account. An invalid token is refused and not ignored.
        by = await self._service.device(request) if "authorization" in request.headers else None
        asked = await read_body(request, BeginRequest)
        if not 0 < len(asked.device) <= MAX_DEVICE or not asked.device.isprintable():
            raise InvalidPayload(f"A device needs a name of at most {MAX_DEVICE} printable characters.")
        return as_json(
            await run_in_threadpool(
                self._sso.sign_ins.begin,
                f"{self._sso.settings.public_url}{SSO_PREFIX}/confirm",
                device=asked.device,
                address=address,
                by=by,
                now_ms=self._now_ms(),
            )
        )

    async def _finish(self, request: Request) -> Response:
        asked = await read_body(request, FinishRequest)
        async with self._service.guess(request):
            return as_json(
                await run_in_threadpool(self._sso.finish, asked.login, asked.secret, now_ms=self._now_ms())
            )

    # --- browsers

    async def _ask(self, request: Request) -> Response:
        person, login = self._sso.settings.proxy.person(request), request.query_params.get("login", "")
        shown = await run_in_threadpool(self._sso.sign_ins.show, login[:MAX_TEXT], now_ms=self._now_ms())
        return confirm_page(
            shown,
            person=person.username or person.email or person.subject,
            login=login,
            token=self._token(person, login),
            address=self._service.address(request),
        )

    async def _agree(self, request: Request) -> Response:
        person = self._sso.settings.proxy.person(request)
        form = parse_qs((await read_bytes(request, MAX_FORM_BYTES)).decode("utf-8", "replace"))
        login, token = (form.get(name, [""])[0] for name in ("login", "token"))
        if not hmac.compare_digest(token.encode(), self._token(person, login).encode()):
            raise no_login()
        return done_page(await run_in_threadpool(self._sso.agree, login, person, now_ms=self._now_ms()))

    def _page(self, handler: Callable[[Request], Awaitable[Response]]) -> Handler:
        """Return `handler` with its errors turned into pages, and counted as failed logins."""

        async def answer(request: Request) -> Response:
            try:
                async with self._service.guess(request):
                    return await handler(request)
            except TooManyRequests as error:
                return failed_page(str(error), "Try again in a minute.", status=429)
            except StoreError:
                raise
            except TacitError as error:
                return failed_page(error.message, error.hint, status=STATUS[error.code])

        return answer

    def _token(self, person: Person, login: str) -> str:
        """Return the token of the form. It proves that the form came from the page that was shown to this person for this login."""
        shown = f"{len(login)} {login} {person.subject}"
        return hmac.digest(self._sso.settings.proxy.secret.encode(), shown.encode(), "sha256").hex()
