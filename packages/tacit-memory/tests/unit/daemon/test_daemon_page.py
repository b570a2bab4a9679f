"""The page's files and its sign-in, over the application in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tacit.config.home import Home
from tacit.daemon.page.files import IMMUTABLE, REVALIDATE, find_files
from tacit.daemon.page.mount import PageMount
from tacit.daemon.page.signin import CODE_S, COOKIE, SESSION_S, PageSessions
from tacit.daemon.server import guarded
from tacit.model.memory import Speaker
from tacit.safety.authority import Authority

BASE = "http://127.0.0.1:8423"
OWN = {"Origin": BASE, "Sec-Fetch-Site": "same-origin"}


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(
        '<meta name="csp-nonce" content="__TACIT_NONCE__"><script src="/ui/a.js">'
    )
    (folder / "assets" / "main-AbCd1234.js").write_text("export {}")
    (folder / "tacit.svg").write_text("<svg/>")
    (folder / "notes.md").write_text("not served")
    (tmp_path / "secret.js").write_text("not ours")
    (folder / "assets" / "link-AbCd1234.js").symlink_to(tmp_path / "secret.js")
    return folder


def talk(folder: Path, sessions: PageSessions, work: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    page = PageMount(sessions, folder=folder)
    routes = [Route(path, page) for path in ("/ui", "/ui/{rest:path}")]
    routes.append(Route("/v1/{rest:path}", lambda _: PlainTextResponse("memories"), methods=["GET", "POST"]))

    async def run() -> None:
        transport = httpx.ASGITransport(
            app=guarded(Starlette(routes=routes), "token", sessions, Authority(Home(folder)))
        )
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            await work(client)

    asyncio.run(run())


async def sign_in(client: httpx.AsyncClient, sessions: PageSessions) -> dict[str, str]:
    reply = await client.post("/ui/session", json={"code": sessions.issue_code(Speaker.USER)}, headers=OWN)
    assert reply.status_code == 201
    return {"X-Tacit-Key": reply.json()["key"]}


def test_files_have_their_types_and_as_long_a_life_as_their_names_allow(built):
    async def work(client):
        index = await client.get("/ui/")
        policy = index.headers["content-security-policy"]
        assert index.headers["cache-control"] == "no-store"
        assert "unsafe" not in policy
        assert "__TACIT_NONCE__" not in index.text
        nonce = index.text.split('content="')[1].split('"')[0]
        assert f"'nonce-{nonce}'" in policy
        assert (await client.get("/ui/")).text != index.text
        script = await client.get("/ui/assets/main-AbCd1234.js")
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        assert script.headers["cache-control"] == IMMUTABLE
        again = await client.get(
            "/ui/assets/main-AbCd1234.js", headers={"If-None-Match": script.headers["etag"]}
        )
        assert again.status_code == 304
        picture = await client.get("/ui/tacit.svg")
        assert picture.headers["content-type"] == "image/svg+xml"
        assert picture.headers["cache-control"] == REVALIDATE
        assert picture.headers["x-content-type-options"] == "nosniff"
        assert (await client.get("/ui")).headers["location"] == "/ui/"

    talk(built, PageSessions(), work)


def test_addresses_of_the_page_give_the_page_and_missing_files_do_not(built):
    async def work(client):
        for path in ("/ui/memories", "/ui/traces/trc_1", "/ui/sessions/plain/a.b"):
            assert "csp-nonce" in (await client.get(path)).text
        assert (await client.get("/ui/assets/gone-AbCd1234.js")).status_code == 404
        assert (await client.post("/ui/memories", headers=OWN)).status_code == 405

    talk(built, PageSessions(), work)


@pytest.mark.parametrize(
    "path",
    [
        "/ui/../secret.js", "/ui/%2e%2e/secret.js", "/ui/assets/../../secret.js", "/ui/..%2fsecret.js", "/ui/assets/link-AbCd1234.js",
        "/ui/%5c..%5csecret.js", "/ui//etc/passwd", "/ui/assets/%00", "/ui/notes.md",
    ],
)  # fmt: skip
def test_nothing_but_the_built_files_is_ever_read(built, path):
    async def work(client):
        reply = await client.get(path)
        assert "not ours" not in reply.text
        assert "not served" not in reply.text
        assert "root:" not in reply.text

    talk(built, PageSessions(), work)
    assert sorted(find_files(built)) == ["assets/main-AbCd1234.js", "index.html", "tacit.svg"]


def test_without_a_built_page_it_says_what_to_do(tmp_path):
    async def work(client):
        reply = await client.get("/ui/")
        assert reply.status_code == 503
        assert "build_page.sh" in reply.text

    talk(tmp_path, PageSessions(), work)


def test_a_code_works_once_and_not_for_long(built):
    clock = Clock()
    sessions = PageSessions(now_s=clock)

    async def work(client):
        code = sessions.issue_code(Speaker.USER)
        first = await client.post("/ui/session", json={"code": code}, headers=OWN)
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert first.json()["key"] not in cookie
        assert (await client.post("/ui/session", json={"code": code}, headers=OWN)).status_code == 401
        late = sessions.issue_code(Speaker.USER)
        clock.now_s += CODE_S + 1
        assert (await client.post("/ui/session", json={"code": late}, headers=OWN)).status_code == 401
        for body in (b"", b"[]", b'{"code": 3}', b"\xff", b'{"code": "' + b"x" * 9000 + b'"}'):
            assert (await client.post("/ui/session", content=body, headers=OWN)).status_code == 401

    talk(built, sessions, work)


def test_codes_are_given_out_on_the_socket_alone(built):
    async def work(client):
        assert (await client.post("/ui/code", headers=OWN)).status_code == 401

    talk(built, PageSessions(), work)


def test_the_api_takes_cookie_and_key_together_and_from_our_own_page_alone(built):
    sessions = PageSessions()

    async def work(client):
        key = await sign_in(client, sessions)
        assert (await client.get("/v1/memories", headers=key)).status_code == 200
        assert (await client.post("/v1/rescan", headers={**key, **OWN})).status_code == 200
        for headers in (
            OWN,  # the cookie alone, as another page on this machine could send it
            {**key, "Origin": "http://127.0.0.1:3000"},
            {**key, "Origin": "null"},
            {**key, **OWN, "Sec-Fetch-Site": "same-site"},
            {**key, **OWN, "Sec-Fetch-Site": "cross-site"},
            {**key},  # a change that names no origin
            {**OWN, "X-Tacit-Key": "guess"},
            {**key, **OWN, "Host": "evil.example:8423"},
        ):
            assert (await client.post("/v1/rescan", headers=headers)).status_code in (401, 403, 421), headers
        jar = dict(client.cookies)
        client.cookies.clear()
        assert (await client.get("/v1/memories", headers=key)).status_code == 401  # the key alone
        client.cookies.set(COOKIE, jar[COOKIE])
        assert (await client.delete("/ui/session", headers={**key, **OWN})).status_code == 204
        client.cookies.set(COOKIE, jar[COOKIE])
        assert (await client.get("/v1/memories", headers=key)).status_code == 401

    talk(built, sessions, work)


def test_who_asks_nothing_for_long_is_signed_out():
    clock = Clock()
    sessions = PageSessions(now_s=clock)
    made = sessions.exchange(sessions.issue_code(Speaker.USER))
    assert made is not None
    headers = {b"cookie": f"a=b; {COOKIE}={made.cookie}".encode(), b"x-tacit-key": made.key.encode()}
    clock.now_s += SESSION_S - 1
    assert sessions.admits("GET", headers)
    clock.now_s += SESSION_S - 1
    assert sessions.admits("GET", headers)
    clock.now_s += SESSION_S + 1
    assert not sessions.admits("GET", headers)
