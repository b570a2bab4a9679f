"""An HTTP client that wraps the one of an SDK: it passes bodies through `Exchange`, and changes nothing else.

In: the HTTP client of an SDK client (httpx, or httpx2 if the SDK uses that). Out: a client of the same library that sends through it,
so that its proxies, limits and certificates apply. Streams are passed on as they arrive. Never changes the wrapped client.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Any

from tacit.errors import InvalidInput
from tacit_integrations.exchange import MAX_REPLY_BYTES, OUR_HEADERS, Exchange, SentRequest

_OK = range(200, 300)
_EVENTS = "text/event-stream"


def wrap_http_client(inner: Any, exchange: Exchange) -> Any:
    """Return a client that sends through `inner` and is of the same library.

    Raises:
        InvalidInput: `inner` is not a client of httpx or httpx2.
    """
    for base in type(inner).__mro__:
        library = sys.modules.get(base.__module__.partition(".")[0])
        if library is None or base not in (
            getattr(library, "Client", None),
            getattr(library, "AsyncClient", None),
        ):
            continue
        client_class = (_async_client if base.__name__ == "AsyncClient" else _sync_client)(library)
        client = client_class(
            transport=library.MockTransport(_unused), timeout=inner.timeout, base_url=inner.base_url
        )
        client.inner, client.exchange = inner, exchange
        return client
    raise InvalidInput(
        f"{type(inner).__name__} is no client of httpx.", hint="Wrap a client of the anthropic or openai SDK."
    )


@cache
def _sync_client(library: Any) -> Any:
    class Carrying(library.Client):
        inner: Any
        exchange: Exchange

        def build_request(self, *args: Any, **kwargs: Any) -> Any:
            return self.inner.build_request(*args, **kwargs)

        def send(self, request: Any, *, stream: bool = False, **kwargs: Any) -> Any:
            request, sent = _outgoing(library, self.exchange, request)
            response = self.inner.send(request, stream=stream, **kwargs)
            if sent is None or response.status_code not in _OK:
                return response
            if stream:
                response.stream = _tees(library)[0](response, sent, self.exchange)
            else:
                _learn_from_reply(self.exchange, sent, response, response.content)
            return response

        def close(self) -> None:
            self.inner.close()
            library.Client.close(self)

    return Carrying


@cache
def _async_client(library: Any) -> Any:
    class AsyncCarrying(library.AsyncClient):
        inner: Any
        exchange: Exchange

        def build_request(self, *args: Any, **kwargs: Any) -> Any:
            return self.inner.build_request(*args, **kwargs)

        async def send(self, request: Any, *, stream: bool = False, **kwargs: Any) -> Any:
            exchange = self.exchange
            request, sent = await on_a_thread(lambda: _outgoing(library, exchange, request))
            response = await self.inner.send(request, stream=stream, **kwargs)
            if sent is None or response.status_code not in _OK:
                return response
            if stream:
                response.stream = _tees(library)[1](response, sent, exchange)
            else:
                content = response.content
                await on_a_thread(lambda: _learn_from_reply(exchange, sent, response, content))
            return response

        async def aclose(self) -> None:
            await self.inner.aclose()
            await library.AsyncClient.aclose(self)

    return AsyncCarrying


def _unused(request: object) -> Any:
    raise AssertionError(f"sent past the client: {request}")


def _outgoing(library: Any, exchange: Exchange, request: Any) -> tuple[Any, SentRequest | None]:
    """Return the request to send: `request` itself if nothing changes, else a new one."""
    ours = [name for name in OUR_HEADERS if name in request.headers]
    content, sent = _body(library, request), None
    if content is not None and request.method == "POST":
        content, sent = exchange.outgoing(request.url.path, request.headers, content)
    if not ours and (content is None or content is request.content):
        return request, sent
    headers = [
        (k, v) for k, v in request.headers.multi_items() if k.lower() not in (*OUR_HEADERS, "content-length")
    ]
    changed = library.Request(
        request.method, request.url, headers=headers, content=content, extensions=request.extensions
    )
    return changed, sent


def _body(library: Any, request: Any) -> bytes | None:
    """Return the body of a request; None if it is empty or a stream."""
    try:
        content: bytes = request.content
    except library.RequestNotRead:
        return None
    return content or None


def _learn_from_reply(exchange: Exchange, sent: SentRequest, response: Any, content: bytes) -> None:
    exchange.heard(sent, content, stream=response.headers.get("content-type", "").startswith(_EVENTS))


def learn_from_stream(library: Any, exchange: Exchange, sent: SentRequest, response: Any, raw: bytes) -> None:
    """Pass a streamed answer to `exchange`. `raw` is its body as it arrived. Nothing is learned from a body that cannot be decoded."""
    try:
        content = _decoded(library, response, raw)
    except (ValueError, library.DecodingError):
        content = b""
    _learn_from_reply(exchange, sent, response, content)


def _decoded(library: Any, response: Any, raw: bytes) -> bytes:
    """Return the body of a response without its content coding."""
    packed = response.headers.get("content-encoding")
    if not packed or packed == "identity":
        return raw
    content: bytes = library.Response(200, headers={"content-encoding": packed}, content=raw).content
    return content


class ReplyCopy:
    """A copy of the body of an answer, if it is not larger than `MAX_REPLY_BYTES`."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.learned = False

    def add(self, chunk: bytes) -> None:
        """Add a part of the body."""
        self.size += len(chunk)
        if self.size <= MAX_REPLY_BYTES:
            self.parts.append(chunk)

    @property
    def whole(self) -> bytes:
        """Return the whole body; empty if it is too large."""
        return b"".join(self.parts) if self.size <= MAX_REPLY_BYTES else b""


@cache
def _tees(library: Any) -> tuple[Any, Any]:
    """Return a synchronous and an asynchronous stream class. Such a stream passes an answer on, and then to `exchange`."""

    class Tee(library.SyncByteStream):
        def __init__(self, response: Any, sent: SentRequest, exchange: Exchange) -> None:
            self._inner, self._copy = response.stream, ReplyCopy()
            self._told = (response, sent, exchange)

        def __iter__(self) -> Iterator[bytes]:
            for chunk in self._inner:
                self._copy.add(chunk)
                yield chunk

        def close(self) -> None:
            self._inner.close()
            _over(library, self._copy, *self._told)

    class AsyncTee(library.AsyncByteStream):
        def __init__(self, response: Any, sent: SentRequest, exchange: Exchange) -> None:
            self._inner, self._copy = response.stream, ReplyCopy()
            self._told = (response, sent, exchange)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._inner:
                self._copy.add(chunk)
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()
            _over(library, self._copy, *self._told)

    return Tee, AsyncTee


def _over(library: Any, copy: ReplyCopy, response: Any, sent: SentRequest, exchange: Exchange) -> None:
    if not copy.learned:
        copy.learned = True
        learn_from_stream(library, exchange, sent, response, copy.whole)


async def on_a_thread(work: Callable[[], Any]) -> Any:
    """Run `work` in a thread. Without an asyncio event loop (in another async library), run it here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    return await asyncio.to_thread(work)
