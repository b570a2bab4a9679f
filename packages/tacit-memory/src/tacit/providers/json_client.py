"""Posts JSON to a model server: retries, one deadline for all of them, and errors that say what to do.

In: an address, headers, a JSON body. Out: the reply's JSON. Never logs a key or a text, never follows a redirect.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from tacit.errors import FailureReason, ProviderError
from tacit.frozen import frozen

if TYPE_CHECKING:
    import httpx2 as httpx

_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})  # 529: overloaded, at Anthropic
_MOST_TRIES = 4
_FIRST_PAUSE_S = 0.25
_SHOWN_CHARS = 200  # of an error reply
_MOST_BYTES = 64_000_000


@frozen
class _RetryableFailure:
    """A failed attempt at a request that may be repeated; `wait_s` = the wait that the server asked for, None = it asked for none."""

    why: str
    wait_s: float | None
    reason: FailureReason = "timed out"


class JsonClient:
    """An HTTP client that posts JSON to one server and returns its JSON reply, with retries. Connects at the first request; safe to share between threads."""

    def __init__(
        self,
        base: str,
        *,
        timeout_ms: int,
        sleep: Callable[[float], None] = time.sleep,
        headers: Mapping[str, str] | None = None,
        section: str = "embedder",
    ) -> None:
        """Set up the client. It does not connect yet.

        Args:
            base: address of the server.
            timeout_ms: milliseconds for one answer, all tries together.
            sleep: waits between two tries.
            headers: headers of every request, such as the key.
            section: section of the settings that errors name.

        Raises:
            ProviderError: if `base` is no address.
        """
        url = urlsplit(base)
        if url.scheme not in {"http", "https"} or not url.hostname:
            raise ProviderError(
                f"{base!r} is not the address of a model server.",
                hint=f"Set `{section}.endpoint` to something like http://localhost:11434.",
            )
        self._base = base.rstrip("/")
        self._loopback = url.hostname in {"localhost", "127.0.0.1", "::1"}
        self._headers = headers or {}
        self._section = section
        self._timeout_s = timeout_ms / 1000
        self._sleep = sleep
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def post(self, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        """Post `body` to `path` and return the reply. Blocks until there is one; failures that may pass are retried within the timeout.

        Raises:
            ProviderError: if the server cannot be reached in time, refuses, or answers with something else.
        """
        until = time.monotonic() + self._timeout_s
        pause = _FIRST_PAUSE_S
        tried = 0
        while True:
            outcome = self._try(path, body, timeout_s=until - time.monotonic())
            if not isinstance(outcome, _RetryableFailure):
                return outcome
            tried += 1
            wait = pause if outcome.wait_s is None else outcome.wait_s
            if tried == _MOST_TRIES or time.monotonic() + wait >= until:
                raise ProviderError(
                    f"The model server {self._base} did not answer ({outcome.why}, {tried} tries).",
                    hint="Check that it runs, and that it is fast enough.",
                    reason=outcome.reason,
                )
            self._sleep(wait)
            pause *= 2

    def _try(
        self, path: str, body: Mapping[str, object], *, timeout_s: float
    ) -> Mapping[str, object] | _RetryableFailure:
        client = self._connect()
        import httpx2 as httpx  # noqa: PLC0415 - loaded by _connect

        until = time.monotonic() + timeout_s
        try:
            with client.stream(
                "POST", self._base + path, json=dict(body), timeout=max(timeout_s, 0.001)
            ) as reply:
                text = _read(reply.iter_bytes(), until=until).decode("utf-8", "replace")
        except (httpx.TransportError, httpx.InvalidURL, httpx.DecodingError, TimeoutError) as error:
            reason = "missing" if isinstance(error, httpx.ConnectError) else "timed out"
            return _RetryableFailure(why=f"{type(error).__name__}: {error}", wait_s=None, reason=reason)
        if reply.status_code in _TRY_AGAIN:
            return _RetryableFailure(
                why=f"status {reply.status_code}",
                wait_s=_retry_after_s(reply.headers.get("retry-after")),
                reason="refused",
            )
        if reply.status_code in (401, 403):  # without the reply, which may repeat the key or a part of it
            raise ProviderError(
                f"The model server {self._base} refused the key: status {reply.status_code}.",
                hint=f"Check the key in the variable that `{self._section}.api_key_env` names, and `{self._section}.endpoint`.",
                reason="not logged in",
            )
        if reply.status_code != 200:
            raise ProviderError(
                f"The model server {self._base} refused: status {reply.status_code}, {text[:_SHOWN_CHARS]!r}.",
                hint=f"Check `{self._section}.endpoint`, `.model` and the key in the variable that `.api_key_env` names.",
                reason="refused",
            )
        try:
            answer: object = json.loads(text)
        except ValueError as error:
            raise ProviderError(
                f"The model server {self._base} did not answer with JSON: {error}", reason="garbage"
            ) from error
        if not isinstance(answer, dict):
            raise ProviderError(
                f"The model server {self._base} did not answer with a JSON object.", reason="garbage"
            )
        return cast("Mapping[str, object]", answer)

    def _connect(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                import httpx2 as httpx  # noqa: PLC0415 - 100 ms, spent only by those who use a server

                # A proxy is right for a server far away and wrong for one on this machine.
                self._client = httpx.Client(headers=self._headers, trust_env=not self._loopback)
            return self._client

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None


def bearer(key: str) -> Mapping[str, str]:
    """Return the headers that send `key` as a bearer token; none for an empty key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def _read(chunks: Iterable[bytes], *, until: float) -> bytes:
    """Read a whole reply.

    Raises:
        TimeoutError: if it comes byte by byte and is not there in time, or is longer than any answer.
    """
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if time.monotonic() > until or len(data) > _MOST_BYTES:
            raise TimeoutError("the reply is too slow or too long")
    return bytes(data)


def _retry_after_s(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header; None = there is none, or it is a date, which is rare."""
    return float(header) if header is not None and header.isdecimal() else None
