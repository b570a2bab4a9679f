"""`/ui`: the page's files, and the exchange of a code for a session.

In: requests below `/ui`. Out: files, the page for every address that the page itself understands, sign-in. Without a built
page it says what to do. Reads no memory: that is the API's part.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Final, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from tacit.api.problems import problem
from tacit.daemon.page.files import INDEX, NONCE_MARK, STATIC, PageFile, find_files
from tacit.daemon.page.signin import COOKIE, READING, PageSessions, cookie_of, same_origin
from tacit.safety.authority import speaker_of

ROOT: Final = "/ui/"
CODE_PATH: Final = "/ui/code"
"""Gives out codes: for the socket alone, whose folder only the user can open."""
SESSION_PATH: Final = "/ui/session"
MOST_BYTES: Final = 4096

HARDENED: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
NOT_BUILT: Final = """\
<!doctype html><html lang="en"><meta charset="utf-8"><title>Tacit</title>
<h1>The page is not built</h1>
<p>This Tacit runs from a clone. With Node 20.19 or newer, run <code>bash scripts/build_page.sh</code> in it, then load this
address again. Everything else works without it: <code>tacit why</code>,
<code>tacit list</code>, <code>tacit review</code>, <code>tacit status</code>.</p>
"""


def content_policy(nonce: str) -> str:
    """Return the content security policy: only the page's own files, and inline styles with this reply's nonce."""
    return (
        "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; img-src 'self' data:; "
        f"font-src 'self'; style-src 'self' 'nonce-{nonce}'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


class PageMount:
    """The ASGI application for `/ui`: it serves the page's files, gives out sign-in codes, and signs browsers in and out."""

    def __init__(self, sessions: PageSessions, *, folder: Path = STATIC) -> None:
        self._sessions = sessions
        self._folder = folder
        self._files: dict[str, PageFile] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request, with security headers added to every reply."""
        request = Request(scope, receive)
        response = await self._answer(request)
        for name, value in HARDENED.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        if path == CODE_PATH:
            if request.method != "POST":
                return _not_allowed("POST")
            return JSONResponse(
                {"code": self._sessions.issue_code(speaker_of(request.scope))},
                headers={"Cache-Control": "no-store"},
            )
        if path == SESSION_PATH:
            return await self._session(request)
        if request.method not in READING:
            return _not_allowed("GET")
        if path == ROOT[:-1]:
            return RedirectResponse(ROOT, status_code=307)
        return self._file(request, path.removeprefix(ROOT))

    async def _session(self, request: Request) -> Response:
        headers = dict(cast("list[tuple[bytes, bytes]]", request.scope["headers"]))
        if request.method not in ("POST", "DELETE"):
            return _not_allowed("DELETE, POST")
        if not same_origin(request.method, headers):
            return problem(
                "unauthorized", "The request comes from another page.", hint="Open the page with `tacit ui`."
            )
        if request.method == "DELETE":
            self._sessions.end(cookie_of(headers))
            response = Response(status_code=204)
            response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
            return response
        signed_in = self._sessions.exchange(await _code(request))
        if signed_in is None:
            return problem(
                "unauthorized",
                "This link was used already, or is older than two minutes.",
                hint="Run `tacit ui` for a new one.",
            )
        answer = JSONResponse({"key": signed_in.key}, status_code=201, headers={"Cache-Control": "no-store"})
        answer.set_cookie(COOKIE, signed_in.cookie, path="/", httponly=True, samesite="strict")
        return answer

    def _file(self, request: Request, name: str) -> Response:
        page_file = self._find(name)
        if page_file is None and name.startswith("assets/"):
            return Response("There is no such file.", status_code=404, media_type="text/plain")
        # An address of the page itself, such as /ui/memories, is the page's to understand.
        page_file = page_file or self._find(INDEX)
        try:
            data, tag = page_file.read() if page_file is not None else (b"", "")
        except OSError:
            page_file, data, tag = None, b"", ""
        if page_file is None:
            headers = {"Cache-Control": "no-store", "Content-Security-Policy": content_policy("none")}
            return Response(NOT_BUILT, status_code=503, media_type="text/html", headers=headers)
        if page_file.name == INDEX:
            nonce = secrets.token_urlsafe(16)
            headers = {"Cache-Control": "no-store", "Content-Security-Policy": content_policy(nonce)}
            return Response(data.replace(NONCE_MARK, nonce.encode()), media_type="text/html", headers=headers)
        headers = {"Cache-Control": page_file.keep, "ETag": tag, "Content-Type": page_file.type}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(data, headers=headers)

    def _find(self, name: str) -> PageFile | None:
        if name not in self._files or not self._files[name].path.is_file():
            self._files = find_files(self._folder)  # a new build has other names
        return self._files.get(name)


async def _code(request: Request) -> str:
    """Return the sign-in code in the request's JSON body; "" if there is none or the body is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            return ""
    try:
        value: object = json.loads(bytes(body))
    except (ValueError, RecursionError):
        return ""
    code = cast("dict[str, object]", value).get("code") if isinstance(value, dict) else None
    return code if isinstance(code, str) else ""


def _not_allowed(methods: str) -> Response:
    return Response(status_code=405, headers={"Allow": methods})
