"""Clients that never finish: cut off in time, while others are served. On a real loopback socket, with short limits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from tacit.daemon.http_limits import MAX_HEAD_BYTES, LimitedHttpProtocol

HEAD = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


class Hasty(LimitedHttpProtocol):
    head_s = 1.0
    body_s = 1.0


async def echo(scope, receive, send):
    request = Request(scope, receive)
    await PlainTextResponse(str(len(await request.body())))(scope, receive, send)


def serving(talk):
    async def run() -> None:
        bound = socket.socket()
        bound.bind(("127.0.0.1", 0))
        bound.listen(64)
        config = uvicorn.Config(
            echo, http=Hasty, ws="none", lifespan="off", log_config=None, timeout_keep_alive=30
        )
        server = uvicorn.Server(config)
        server.capture_signals = contextlib.nullcontext
        task = asyncio.create_task(server.serve(sockets=[bound]))
        try:
            await asyncio.wait_for(talk(bound.getsockname()[1]), 50)
        finally:
            server.should_exit = True
            await task

    asyncio.run(run())


async def answer_to(port: int, *parts: bytes, pause_s: float = 0.0) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause_s)
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


WHOLE = HEAD + b"Content-Length: 3\r\nConnection: close\r\n\r\nabc"


def test_drops_of_a_head_and_drops_of_a_body_are_cut_off_and_others_are_served():
    async def talk(port: int) -> None:
        drops = [bytes([one]) for one in HEAD + b"X: " + b"y" * 400]
        slow = [asyncio.create_task(answer_to(port, *drops, pause_s=0.02)) for _ in range(20)]
        body = HEAD + b"Content-Length: 1000\r\n\r\n"
        slow += [asyncio.create_task(answer_to(port, body, *[b"z"] * 400, pause_s=0.02)) for _ in range(20)]
        idle = asyncio.create_task(answer_to(port))
        await asyncio.sleep(0.1)
        assert b"\r\n\r\n3" in await answer_to(port, WHOLE)
        assert [await one for one in slow] == [b""] * 40
        assert await idle == b""
        assert b"\r\n\r\n3" in await answer_to(port, WHOLE)

    serving(talk)


def test_a_head_without_end_is_refused_and_one_that_is_no_http_too():
    async def talk(port: int) -> None:
        for given, status, code in (
            (HEAD + b"X: " + b"y" * (MAX_HEAD_BYTES + 1), 431, "head_too_large"),
            (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000, 431, "head_too_large"),
            (b"\x16\x03\x01 no http at all\r\n\r\n", 400, "invalid_payload"),
        ):
            told = await answer_to(port, given)
            assert told.startswith(b"HTTP/1.1 %d " % status), told[:80]
            assert json.loads(told.partition(b"\r\n\r\n")[2])["code"] == code

    serving(talk)


def test_a_kept_connection_may_rest_between_requests_but_not_inside_one():
    async def talk(port: int) -> None:
        request = HEAD + b"Content-Length: 3\r\n\r\nabc"
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        assert await reader.readuntil(b"\r\n\r\n3")
        await asyncio.sleep(1.2)
        writer.write(request)
        assert await reader.readuntil(b"\r\n\r\n3")
        writer.write(request[:20])
        assert await reader.read() == b""
        writer.close()

    serving(talk)


@pytest.mark.parametrize("pieces", [1, 7])
def test_a_whole_request_is_served_however_it_is_cut(pieces):
    async def talk(port: int) -> None:
        step = len(WHOLE) // pieces
        parts = [WHOLE[at : at + step] for at in range(0, len(WHOLE), step)]
        assert b"\r\n\r\n3" in await answer_to(port, *parts)

    serving(talk)
