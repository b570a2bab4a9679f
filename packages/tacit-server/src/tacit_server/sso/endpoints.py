"""The HTTP interface of single sign-on. In: requests of devices and of browsers. Out: JSON for devices, pages for browsers.

A browser gets a cookie with the page that asks for confirmation. Without this cookie it can neither confirm a login nor return from the provider.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tacit.api.problems import STATUS
from tacit.errors import InvalidPayload, NotLoggedIn, TacitError
from tacit.sync.views import SignInBegun
from tacit_server.logs import hash_of
from tacit_server.service import (
    SSO_PREFIX,
    Handler,
    Recent,
    Service,
    TooManyRequests,
    as_json,
    read_body,
    read_bytes,
)
from tacit_server.sso.login import SingleSignOn
from tacit_server.sso.pages import confirm_page, done_page, failed_page
from tacit_server.sso.sign_ins import LOGIN_MS, MAX_DEVICE, no_login

BEGUN, BEGUN_WINDOW_S = 20, 60.0
"""One address may begin at most `BEGUN` logins in `BEGUN_WINDOW_S` seconds."""
MAX_FORM_BYTES = 4096
MAX_TEXT = 4096
_BROWSER = re.compile(r"[A-Za-z0-9_-]{43}")


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
        self._lately = Recent(most=BEGUN, window_s=BEGUN_WINDOW_S)
        self._secure = sso.settings.public_url.startswith("https:")
        self._cookie = "__Host-tacit-login" if self._secure else "tacit-login"

    def paths(self) -> tuple[tuple[str, str, Handler], ...]:
        """Return the method, the path below `SSO_PREFIX` and the handler of each endpoint."""
        return (
            ("POST", "/begin", self._begin),
            ("POST", "/finish", self._finish),
            ("GET", "/confirm", self._page(self._ask)),
            ("POST", "/confirm", self._page(self._agree)),
            ("GET", "/callback", self._page(self._returned)),
        )

    # --- devices

    async def _begin(self, request: Request) -> Response:
        self._service.refuse_guessing(request)
        address = self._service.address(request)
        if self._lately.too_many(address):
            raise TooManyRequests("Too many logins were begun from this address.", code="sync_error")
        self._lately.add(address)
        # A device that is logged in links or renews its own account. An invalid token is refused and not ignored.
        by = await self._service.device(request) if "authorization" in request.headers else None
        asked = await read_body(request, BeginRequest)
        if not 0 < len(asked.device) <= MAX_DEVICE or not asked.device.isprintable():
            raise InvalidPayload(f"A device needs a name of at most {MAX_DEVICE} printable characters.")
        begun = await run_in_threadpool(
            self._sso.begin, device=asked.device, address=address, by=by, now_ms=self._now_ms()
        )
        query = urlencode({"login": begun.login})
        return as_json(
            SignInBegun(
                login=begun.login,
                secret=begun.secret,
                code=begun.code,
                browser_url=f"{self._sso.settings.public_url}{SSO_PREFIX}/confirm?{query}",
                until_ms=begun.until_ms,
            )
        )

    async def _finish(self, request: Request) -> Response:
        self._service.refuse_guessing(request)
        asked = await read_body(request, FinishRequest)
        with self._counting(request):
            return as_json(
                await run_in_threadpool(self._sso.finish, asked.login, asked.secret, now_ms=self._now_ms())
            )

    # --- browsers

    async def _ask(self, request: Request) -> Response:
        login, browser = _text(request, "login"), self._browser(request) or secrets.token_urlsafe(32)
        with self._counting(request):
            shown = await run_in_threadpool(self._sso.show, login, browser, now_ms=self._now_ms())
        page = confirm_page(
            shown, login=login, token=_token(browser, login), address=self._service.address(request)
        )
        page.set_cookie(
            self._cookie,
            browser,
            max_age=LOGIN_MS // 1000,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="lax",  # the redirect of the provider is a navigation from another site
        )
        return page

    async def _agree(self, request: Request) -> Response:
        form = parse_qs((await read_bytes(request, MAX_FORM_BYTES)).decode("utf-8", "replace"))
        login, token = (form.get(name, [""])[0] for name in ("login", "token"))
        browser = self._browser(request)
        if not browser or not hmac.compare_digest(token.encode(), _token(browser, login).encode()):
            raise no_login()
        with self._counting(request):
            url = await run_in_threadpool(self._sso.agree, login, browser, now_ms=self._now_ms())
        return RedirectResponse(
            url, status_code=303, headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
        )

    async def _returned(self, request: Request) -> Response:
        with self._counting(request):
            account = await run_in_threadpool(
                self._sso.complete,
                state=_text(request, "state"),
                code=_text(request, "code"),
                error=_text(request, "error"),
                issuer=_text(request, "iss"),
                browser=self._browser(request),
                now_ms=self._now_ms(),
            )
        return done_page(account)

    # --- helpers

    def _page(self, handler: Callable[[Request], Awaitable[Response]]) -> Handler:
        """Return `handler` with its errors turned into pages."""

        async def answer(request: Request) -> Response:
            try:
                self._service.refuse_guessing(request)
                return await handler(request)
            except TooManyRequests as error:
                return failed_page(str(error), "Try again in a minute.", status=429)
            except TacitError as error:
                return failed_page(error.message, error.hint, status=STATUS[error.code])

        return answer

    def _browser(self, request: Request) -> str:
        """Return the secret in the browser's cookie; "" = the browser has none."""
        value = request.cookies.get(self._cookie, "")
        return value if _BROWSER.fullmatch(value) else ""

    @contextmanager
    def _counting(self, request: Request) -> Generator[None]:
        """Count a request that names no login as a failed login of its address, so that nobody can guess ids."""
        try:
            yield
        except NotLoggedIn:
            self._service.failed.add(self._service.address(request))
            raise


def _text(request: Request, name: str) -> str:
    return request.query_params.get(name, "")[:MAX_TEXT]


def _token(browser: str, login: str) -> str:
    """Return the token of the confirmation form. It proves that the form came from the page of this browser and login."""
    return hash_of(f"agree {browser} {login}")
