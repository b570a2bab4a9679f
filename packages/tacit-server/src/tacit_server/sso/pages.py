"""The pages that a browser shows during a login. In: texts. Out: HTML without scripts, which no page may frame and no cache may store."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from html import escape

from starlette.responses import HTMLResponse

from tacit_server.sso.sign_ins import Shown

_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;padding:0 1rem}"
    "code{font-size:1.6rem;letter-spacing:.1em}button{font:inherit;padding:.5rem 1.5rem}"
)
_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def confirm_page(shown: Shown, *, person: str, login: str, token: str, address: str) -> HTMLResponse:
    """Return the page that asks whether the person began this login. `person` is what the person is called, `address` the address of the browser."""
    what = (
        f"The device “{shown.device}” wants to link the account “{shown.account}” to you ({person}), or to renew its teams."
        if shown.account
        else f"The device “{shown.device}” wants to log in as you ({person})."
    )
    where = (
        "It has the same address as this browser."
        if shown.address == address
        else f"Its address is {shown.address or 'unknown'}; this browser's is {address or 'unknown'}."
    )
    return _page(
        "Log in to Tacit",
        f"<p>{escape(what)} {escape(where)}</p>"
        f"<p>It must show this code:</p><p><code>{escape(shown.code)}</code></p>"
        "<p><strong>Go on only if you began this login yourself, a moment ago, and your terminal shows this code.</strong>"
        " If somebody sent you here, close this window: they would log in as you.</p>"
        '<form method="post" action="confirm">'
        f'<input type="hidden" name="login" value="{escape(login)}">'
        f'<input type="hidden" name="token" value="{escape(token)}">'
        '<button type="submit">The codes are the same: log in</button></form>',
    )


def done_page(account: str) -> HTMLResponse:
    """Return the page that says that the login worked."""
    return _page(
        "Logged in", f"<p>You are logged in as {escape(account)}. You can close this window; your terminal goes on.</p>"
    )  # fmt: skip


def failed_page(message: str, hint: str, *, status: int) -> HTMLResponse:
    """Return the page that says why a login did not work."""
    return _page("Not logged in", f"<p>{escape(message)}</p><p>{escape(hint)}</p>", status=status)


def _page(title: str, body: str, *, status: int = 200) -> HTMLResponse:
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"><style>'
        f"{_STYLE}</style></head><body><h1>{title}</h1>{body}</body></html>",
        status_code=status,
        headers=_HEADERS,
    )
