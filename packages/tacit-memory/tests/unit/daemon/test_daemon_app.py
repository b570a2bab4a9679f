"""The daemon's application in this process, over an engine that the test plays."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import cast

import httpx2 as httpx
import pytest

from tacit import Engine, __version__
from tacit.api.problems import problem_of
from tacit.config.home import Home
from tacit.daemon.hooks import DaemonParts
from tacit.daemon.server import build_app, guarded
from tacit.daemon.source import EngineSource
from tacit.daemon.workers import Busy, WorkerPool
from tacit.errors import DaemonError, DaemonUnavailable, NotFound, StoreNewer
from tacit.providers.clock import FakeClock
from tacit.safety.authority import Authority
from tacit.session.answer_priority import wait_for_pending_answers
from unit.daemon.place import EngineDouble


def parts_of(engine: object, *, threads: int = 2, queue: int = 2) -> DaemonParts:
    return DaemonParts(
        source=EngineSource(lambda: engine), pool=WorkerPool(threads=threads, queue=queue), home="/h"
    )


def ask(parts: DaemonParts, talk: Callable[[httpx.AsyncClient], Awaitable[None]]) -> None:
    async def run() -> None:
        transport = httpx.ASGITransport(app=build_app(parts))
        async with httpx.AsyncClient(transport=transport, base_url="http://tacit") as client:
            await talk(client)

    try:
        asyncio.run(run())
    finally:
        parts.pool.close(timeout_s=20)


def test_a_hook_gets_the_engines_text_and_the_version():
    engine = EngineDouble(lambda host, payload, _: f"{host}:{payload['prompt']}")
    parts = parts_of(engine)

    async def talk(client: httpx.AsyncClient) -> None:
        reply = await client.post(
            "/hook/plain", content='{"prompt": "é"}', headers={"X-Tacit-Deadline-Ms": "5000"}
        )
        assert (reply.status_code, reply.text) == (200, "plain:é")
        assert reply.headers["x-tacit-version"] == __version__

    ask(parts, talk)
    assert 3000 < engine.asked[0] < 5000
    assert parts.counters.values()["injections"] == 1


def test_every_unknown_path_and_method_gets_a_problem_document():
    async def talk(client: httpx.AsyncClient) -> None:
        for method, path, status in (
            ("GET", "/", 404),
            ("GET", "/v1", 404),
            ("POST", "/v2/memories", 404),
            ("TRACE", "/v1/memories", 405),
            ("DELETE", "/health", 405),
        ):
            reply = await client.request(method, path)
            assert (reply.status_code, reply.headers["content-type"]) == (status, "application/problem+json")
            assert reply.json()["hint"]

    ask(parts_of(EngineDouble(lambda *_: "never")), talk)


def test_a_hook_that_is_not_posted_is_told_what_to_do():
    async def talk(client: httpx.AsyncClient) -> None:
        for method in ("GET", "PUT", "DELETE"):
            reply = await client.request(method, "/hook/plain")
            assert (reply.status_code, reply.headers["allow"]) == (405, "POST")
            assert reply.json()["hint"] == "It takes POST."

    ask(parts_of(EngineDouble(lambda *_: "never")), talk)


def test_bytes_that_are_no_text_and_lone_surrogates_reach_the_engine():
    engine = EngineDouble(lambda _, payload, __: str(payload["prompt"]))

    async def talk(client: httpx.AsyncClient) -> None:
        assert (await client.post("/hook/plain", content=b'{"prompt": "a\xffb"}')).text == "a\ufffdb"
        reply = await client.post("/hook/plain", content=b'{"prompt": "a\\ud800b\\u0000"}')
        assert reply.content == b"a?b\0"

    ask(parts_of(engine), talk)


def test_over_the_limit_is_an_answer_at_once():
    release = threading.Event()
    parts = parts_of(EngineDouble(lambda *_: "late" if release.wait(30) else ""), threads=1, queue=1)

    async def talk(client: httpx.AsyncClient) -> None:
        running = [asyncio.create_task(client.post("/hook/plain", content="{}")) for _ in range(2)]
        while parts.pool.count < 2:  # noqa: ASYNC110 - the pool has no event to wait for
            await asyncio.sleep(0.005)
        assert (await client.post("/hook/plain", content="{}")).status_code == 503
        assert not any(task.done() for task in running)  # it was told so at once
        release.set()
        assert [(await task).status_code for task in running] == [200, 200]

    ask(parts, talk)
    assert parts.counters.values()["busy"] == 1


def test_past_the_deadline_is_an_answer_too():
    release = threading.Event()
    parts = parts_of(EngineDouble(lambda *_: "late" if release.wait(30) else ""))

    async def talk(client: httpx.AsyncClient) -> None:
        reply = await client.post("/hook/plain", content="{}", headers={"X-Tacit-Deadline-Ms": "60"})
        assert reply.status_code == 504
        release.set()

    ask(parts, talk)
    assert parts.counters.values()["late"] == 1


def test_health_tells_who_it_is_and_does_not_count_as_use():
    parts = parts_of(EngineDouble(lambda *_: ""))

    async def talk(client: httpx.AsyncClient) -> None:
        await asyncio.sleep(0.05)
        told = (await client.get("/health")).json()
        assert told["version"] == __version__
        assert told["home"] == "/h"
        assert told["idle_s"] >= 0.05
        began = time.monotonic()
        await client.post("/hook/plain", content="{}")
        idle_s = (await client.get("/health")).json()["idle_s"]
        assert idle_s <= time.monotonic() - began + 0.001  # rounded

    ask(parts, talk)


def test_stop_answers_before_it_stops():
    stopped: list[bool] = []
    parts = parts_of(EngineDouble(lambda *_: ""))
    parts.stop = lambda: stopped.append(True)

    async def talk(client: httpx.AsyncClient) -> None:
        assert (await client.post("/stop")).status_code == 202
        assert stopped == []
        while not stopped:  # noqa: ASYNC110 - it is told by nothing else
            await asyncio.sleep(0.01)
        assert stopped == [True]

    ask(parts, talk)


def test_an_engine_that_cannot_be_opened_says_why_and_is_tried_again():
    tries: list[int] = []

    def open_it() -> object:
        tries.append(1)
        if len(tries) == 1:
            raise StoreNewer("The store was written by a newer Tacit.", hint="Upgrade.")
        return EngineDouble(lambda *_: "open now")

    parts = DaemonParts(
        source=EngineSource(open_it, retry_s=2.0), pool=WorkerPool(threads=1, queue=1), home="/h"
    )

    async def talk(client: httpx.AsyncClient) -> None:
        for path in ("/hook/plain", "/v1/status"):
            reply = await client.post(path, content="{}")
            assert reply.status_code == 409
            assert reply.json()["code"] == "store_newer"
        await asyncio.sleep(2.1)
        assert (await client.post("/hook/plain", content="{}")).text == "open now"

    ask(parts, talk)
    assert len(tries) == 2


def test_the_store_is_exchanged_when_the_requests_at_work_are_done():
    """One works, one restores, and one comes in between with the engine that is being closed."""
    done: list[str] = []

    class Closing:
        def close(self) -> None:
            done.append("closed")

    source = EngineSource(lambda: cast(Engine, Closing()))
    engine = source.begin().result(30)
    at_work, refused = threading.Event(), threading.Event()

    def work() -> None:
        with source.used(engine):
            at_work.set()
            assert refused.wait(30)
            done.append("worked")

    worker = threading.Thread(target=work)
    worker.start()
    assert at_work.wait(30)

    def restore() -> None:
        with source.used(engine):
            source.reopen(lambda: done.append("exchanged"))

    restorer = threading.Thread(target=restore)
    restorer.start()
    while source.ready is engine:
        time.sleep(0.001)
    with pytest.raises(DaemonUnavailable, match="being exchanged"), source.used(engine):
        done.append("used a closed engine")
    refused.set()
    for thread in (worker, restorer):
        thread.join(30)
    assert done == ["worked", "closed", "exchanged"]
    assert source.ready not in (None, engine)


def test_a_broken_program_is_reported_to_whoever_runs_it():
    broken = threading.Event()

    def open_it() -> object:
        raise RuntimeError("no module")

    source = EngineSource(open_it, on_broken=broken.set)
    waiting: Future[object] = source.begin()
    assert isinstance(waiting.exception(timeout=30), DaemonError)
    assert broken.wait(30)
    assert source.ready is None


def test_the_api_of_a_program_that_cannot_start_says_what_failed_and_where_to_look():
    def open_it() -> object:
        raise RuntimeError("the text of a memory")

    async def talk(client: httpx.AsyncClient) -> None:
        reply = await client.get("/v1/status")
        assert (reply.status_code, reply.headers["content-type"]) == (500, "application/problem+json")
        said = reply.json()
        assert (said["code"], said["detail"]) == (
            "daemon_error", "Tacit cannot open its store: RuntimeError.",
        )  # fmt: skip
        assert "tacit status --log" in said["hint"]

    ask(
        DaemonParts(source=EngineSource(open_it), pool=WorkerPool(threads=2, queue=2), home="/h"),
        talk,
    )


def test_whoever_waits_for_a_store_that_takes_long_to_open_is_told_so():
    opened = threading.Event()

    def open_it() -> object:
        opened.wait(30)
        raise StoreNewer("it ends with the test")

    source = EngineSource(open_it)
    try:
        with pytest.raises(DaemonUnavailable, match="is still being opened") as refused:
            asyncio.run(source.get(until_s=time.monotonic() + 0.05))
        assert problem_of(refused.value).status_code == 503
    finally:
        opened.set()


def test_loopback_needs_the_token_and_a_local_name():
    parts = parts_of(EngineDouble(lambda *_: "text"))

    async def talk(_: httpx.AsyncClient) -> None:
        transport = httpx.ASGITransport(
            app=guarded(build_app(parts), "secret", parts.page, Authority(Home(Path("/h"))))
        )
        good = {"Authorization": "Bearer secret"}
        for base, headers, status in (
            ("http://127.0.0.1:8123", good, 200),
            ("http://localhost:8123", good, 200),
            ("http://[::1]:8123", good, 200),
            ("http://LocalHost:8123", good, 200),
            ("http://127.0.0.1:8123", {}, 401),
            ("http://127.0.0.1:8123", {"Authorization": "Bearer wrong"}, 401),
            ("http://127.0.0.1:8123", {"Authorization": "secret"}, 401),
            ("http://evil.example:8123", good, 421),
            ("http://127.0.0.1.evil.example:8123", good, 421),
            ("http://127.0.0.1:8123", {**good, "Origin": "http://evil.example"}, 403),
            ("http://127.0.0.1:8123", {**good, "Origin": "http://localhost:8123"}, 403),
            ("http://127.0.0.1:8123", {**good, "Origin": "null"}, 403),
            ("http://127.0.0.1:8123", {**good, "Sec-Fetch-Site": "cross-site"}, 403),
            ("http://127.0.0.1:8123", {**good, "Origin": "http://127.0.0.1:8123"}, 200),
        ):
            async with httpx.AsyncClient(transport=transport, base_url=base) as client:
                assert (await client.post("/hook/plain", content="{}", headers=headers)).status_code == status
                for path in (
                    "/stop",
                    "/listen",
                    "/stop%0a",
                    "/listen%0a",
                    "/%73top",
                    "/hook/%0a",
                    "//stop",
                    "/",
                ):
                    barred = (await client.post(path, headers=headers)).status_code
                    assert barred == (404 if status == 200 else status), path

    ask(parts, talk)


def test_the_pool_drops_what_has_not_begun_by_its_deadline():
    pool = WorkerPool(threads=1, queue=5)
    release, ran = threading.Event(), []

    async def run() -> None:
        first = asyncio.create_task(pool.run(lambda: release.wait(30)))
        await asyncio.sleep(0.02)
        with pytest.raises(TimeoutError):
            await pool.run(lambda: ran.append(1), until_s=time.monotonic() + 0.05)
        release.set()
        assert await first

    asyncio.run(run())
    assert pool.close(timeout_s=20)
    assert ran == []
    assert pool.count == 0
    with pytest.raises(Busy):
        asyncio.run(pool.run(lambda: 1))


def test_what_a_turn_waits_for_goes_ahead_of_a_line_of_searches():
    pool = WorkerPool(threads=1, queue=5)
    release, done = threading.Event(), []

    async def run() -> None:
        searches = [asyncio.create_task(pool.run(lambda: release.wait(3))) for _ in range(3)]
        await asyncio.sleep(0.02)
        await pool.run(lambda: done.append("hook"), until_s=time.monotonic() + 3, ahead=True)
        assert pool.count == 3
        release.set()
        assert all(await asyncio.gather(*searches))

    asyncio.run(run())
    assert pool.close(timeout_s=2)
    assert done == ["hook"]


def test_calls_that_fill_the_line_turn_no_hook_away():
    pool = WorkerPool(threads=1, queue=1)
    release = threading.Event()

    async def run() -> None:
        calls = [asyncio.create_task(pool.run(lambda: release.wait(3))) for _ in range(2)]
        await asyncio.sleep(0.02)
        with pytest.raises(Busy):
            await pool.run(lambda: "call")
        assert await pool.run(lambda: "hook", ahead=True) == "hook"
        hooks = [asyncio.create_task(pool.run(lambda: release.wait(3), ahead=True)) for _ in range(2)]
        await asyncio.sleep(0.02)
        assert pool.count == 4
        with pytest.raises(Busy):
            await pool.run(lambda: "hook", ahead=True)
        release.set()
        assert all(await asyncio.gather(*calls, *hooks))

    asyncio.run(run())
    assert pool.close(timeout_s=2)


class ProgramsDouble:
    """Notes on which thread each call came, and whether an answer was owed meanwhile; then it fails."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.seen: list[tuple[str, bool]] = []

    def handle(self, *_: object, **__: object) -> None:
        self._note()

    def status(self, **_: object) -> None:
        self._note()

    def _note(self) -> None:
        self.seen.append(
            (threading.current_thread().name.rpartition("_")[0], not wait_for_pending_answers(0))
        )
        raise NotFound("Nothing is here.")


def test_an_injection_is_owed_like_a_hook_and_other_calls_are_not():
    engine = ProgramsDouble()
    parts = parts_of(engine)

    async def talk(client: httpx.AsyncClient) -> None:
        asked = {"text": "Fix the parser", "session_id": "s1"}
        assert (await client.post("/v1/injections", json=asked)).status_code == 404
        assert (await client.get("/v1/status")).status_code == 404

    ask(parts, talk)
    assert engine.seen == [("tacit-ahead", True), ("tacit-worker", False)]
