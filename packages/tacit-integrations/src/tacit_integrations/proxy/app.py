"""The proxy as an ASGI application: it sends requests to their API with the blocks of their conversation, and returns answers unchanged.

In: requests of any program. Out: the answers of the API, streamed as they arrive. This is a boundary: after any failure of the memory,
the request is sent unchanged. Only requests of conversations are read; all others, and bodies that are too large, are streamed. Never logs
or stores a header, a key or any text of a body; never follows a redirect, stores a cookie or sends a request twice.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx2 as httpx

from tacit.library.session import guarded
from tacit_integrations.bodies import api_of
from tacit_integrations.exchange import GOES_OUT, OUR_HEADERS, Exchange, SentRequest
from tacit_integrations.http_wrapper import ReplyCopy, learn_from_stream
from tacit_integrations.proxy.codings import MAX_BYTES, decode, encode, readable
from tacit_integrations.proxy.headers import RawHeaders, as_mapping, end_to_end, from_a_web_page
from tacit_integrations.proxy.upstreams import Upstreams

_LOG = logging.getLogger(__name__)
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
THREADS = 64
"""The number of requests that ask the memory at once. Further requests wait for a free thread until their deadline."""
GUARD_S = 2.0
"""This many seconds after its deadline, a request is sent without blocks even if the memory has not answered."""
_OURS = tuple(name.encode() for name in OUR_HEADERS)
_REPLACED = (b"host", b"content-length", b"expect", *_OURS)


class ClientGone(Exception):
    """Raised if the program closed its connection before it sent the whole request."""


class Proxy:
    """The ASGI application of the proxy: sends requests on with blocks, and learns from the answers. `close` ends its threads; the caller closes the HTTP client."""

    def __init__(
        self,
        exchange: Exchange,
        upstreams: Upstreams,
        client: httpx.AsyncClient,
        *,
        deadline_ms: float,
        reads_answers: bool,
    ) -> None:
        """Send requests through `client`.

        Args:
            exchange: adds the blocks of conversations.
            upstreams: the addresses of the APIs.
            client: sends the requests.
            deadline_ms: longest time that the memory may take for one request.
            reads_answers: whether Tacit learns from answers. Then the API is asked for content codings that can be decoded here.
        """
        self._exchange = exchange
        self._upstreams = upstreams
        self._client = client
        self._deadline_s = deadline_ms / 1000
        self._reads_answers = reads_answers
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="tacit-proxy")

    def close(self) -> None:
        """Wait until the answers that were received are processed, and end the threads."""
        self._threads.shutdown(wait=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. If the program closes its connection, close the one to the API, too."""
        if scope["type"] != "http":
            return
        request = _ProxyRequest(scope, receive)
        forward = asyncio.create_task(self._forward(request, send))
        gone = asyncio.create_task(request.gone())
        try:
            await asyncio.wait({forward, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (forward, gone):
                if not task.done():
                    task.cancel()
            with suppress(asyncio.CancelledError, ClientGone):
                await forward
            with suppress(asyncio.CancelledError):
                await gone

    async def _forward(self, request: _ProxyRequest, send: Send) -> None:
        carries = request.method == "POST" and api_of(request.path) is not None
        content = await request.read(MAX_BYTES) if carries else None
        sent: SentRequest | None = None
        if content is not None:
            content, sent = await self._with_memory(request, content)
        outgoing = self._outgoing(request, content, answer_is_read=sent is not None)
        try:
            response = await self._client.send(outgoing, stream=True)
        except httpx.RequestError as error:
            await _send_error(
                send, f"{self._upstreams.address_of(request)} cannot be reached: {type(error).__name__}."
            )
            return
        try:
            await self._answer(response, sent, send)
        finally:
            await response.aclose()

    async def _with_memory(self, request: _ProxyRequest, content: bytes) -> tuple[bytes, SentRequest | None]:
        """Return the body to send instead of `content`, and the `SentRequest` for its answer. The body may be `content` itself."""
        headers = request.by_name
        if from_a_web_page(headers):
            return content, None
        until = time.monotonic() + self._deadline_s
        work = asyncio.get_running_loop().run_in_executor(
            self._threads,
            guarded,
            lambda: self._prepare(request.path, headers, content, until),
            (content, None),
            GOES_OUT,
        )
        try:
            return await asyncio.wait_for(asyncio.shield(work), self._deadline_s + GUARD_S)
        except TimeoutError:
            _LOG.warning("%s: it was not ready in time", GOES_OUT)
            return content, None

    def _prepare(
        self, path: str, headers: Mapping[str, str], content: bytes, until: float
    ) -> tuple[bytes, SentRequest | None]:
        coding = headers.get("content-encoding", "").strip().lower()
        plain = decode(coding, content)
        if plain is None:
            return content, None
        changed, sent = self._exchange.outgoing(path, headers, plain, until=until)
        return content if changed is plain else encode(coding, changed), sent

    def _outgoing(
        self, request: _ProxyRequest, content: bytes | None, *, answer_is_read: bool
    ) -> httpx.Request:
        headers = end_to_end(request.headers, without=_REPLACED)
        if answer_is_read and self._reads_answers:
            headers = [
                (
                    name,
                    readable(value.decode("latin-1")).encode("latin-1")
                    if name == b"accept-encoding"
                    else value,
                )
                for name, value in headers
            ]
        body: bytes | AsyncIterator[bytes] | None = content
        if content is None and request.has_body:
            body = request.stream()
            length = request.by_name.get("content-length")
            headers += [(b"content-length", length.encode())] if length is not None else []
        url = self._upstreams.url_of(request)
        return httpx.Request(request.method, url, headers=headers, content=body)

    async def _answer(self, response: httpx.Response, sent: SentRequest | None, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": response.status_code,
                "headers": end_to_end(response.headers.raw),
            }
        )
        copy = ReplyCopy()
        try:
            async for chunk in response.aiter_raw():
                if sent is not None:
                    copy.add(chunk)
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except httpx.RequestError as error:
            # uvicorn closes the connection because the response is incomplete. So the program sees a broken stream, as without the proxy.
            _LOG.info("an answer broke off: %s", type(error).__name__)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        if sent is not None and response.is_success:
            with suppress(RuntimeError):  # the proxy is closing
                self._threads.submit(learn_from_stream, httpx, self._exchange, sent, response, copy.whole)


class _ProxyRequest:
    """A request that the proxy received."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        self.query: bytes = scope.get("query_string", b"")
        self.headers: RawHeaders = scope["headers"]
        self.by_name = as_mapping(self.headers)
        self._receive = receive
        self._read: list[bytes] = []
        self._ended = not self.has_body
        self._whole = asyncio.Event()
        if self._ended:
            self._whole.set()

    @property
    def has_body(self) -> bool:
        """Return whether the headers announce a body."""
        return "transfer-encoding" in self.by_name or self.by_name.get("content-length", "0") != "0"

    async def read(self, most: int) -> bytes | None:
        """Read the body; None if it has more than `most` bytes. Then `stream` still yields all of it."""
        size = 0
        while not self._ended:
            self._read.append(await self._chunk())
            size += len(self._read[-1])
            if size > most:
                return None
        return b"".join(self._read)

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the body from its beginning, as it arrives."""
        for chunk in self._read:
            yield chunk
        while not self._ended:
            yield await self._chunk()

    async def gone(self) -> None:
        """Wait until the program has closed its connection, or the response was sent."""
        await self._whole.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _chunk(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        if not message.get("more_body"):
            self._ended = True
            self._whole.set()
        body: bytes = message.get("body", b"")
        return body


async def _send_error(send: Send, why: str) -> None:
    """Send an error in the form that the SDKs of both APIs read."""
    error = {"type": "upstream_unreachable", "code": "upstream_unreachable", "message": f"Tacit proxy: {why}"}
    body = json.dumps({"type": "error", "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 502, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
