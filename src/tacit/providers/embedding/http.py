"""Posts JSON to a model server: retries, deadlines, and errors that say what to do.

In: an address, headers, a JSON body. Out: the reply's JSON. Never logs a key or a text, never follows a redirect.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import numpy as np

from tacit.errors import ProviderError
from tacit.ports.models import Vectors

if TYPE_CHECKING:
    import httpx

_TRY_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_MOST_TRIES = 4
_FIRST_PAUSE_S = 0.25
_SHOWN_CHARS = 200  # of an error reply


@dataclass(frozen=True, slots=True, kw_only=True)
class _Again:
    """A try that failed and may be repeated."""

    why: str
    wait_s: float | None


class JsonClient:
    """Talks to one server. Safe to share between threads; connects at the first request."""

    def __init__(
        self,
        base: str,
        *,
        key: str = "",
        timeout_ms: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(base)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ProviderError(
                f"{base!r} is not the address of a model server.",
                hint="Set `embedder.endpoint` to something like http://localhost:11434.",
            )
        self._base = base.rstrip("/")
        self._loopback = parts.hostname in {"localhost", "127.0.0.1", "::1"}
        self._key = key
        self._timeout_s = timeout_ms / 1000
        self._sleep = sleep
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None

    def post(self, path: str, body: Mapping[str, object]) -> Mapping[str, object]:
        """Post `body` and return the reply, within the timeout for all tries together.

        Raises:
            ProviderError: if the server cannot be reached in time, refuses, or answers with something else.
        """
        until = time.monotonic() + self._timeout_s
        pause = _FIRST_PAUSE_S
        tried = 0
        while True:
            outcome = self._try(path, body, timeout_s=until - time.monotonic())
            if not isinstance(outcome, _Again):
                return outcome
            tried += 1
            wait = pause if outcome.wait_s is None else outcome.wait_s
            if tried == _MOST_TRIES or time.monotonic() + wait >= until:
                raise ProviderError(
                    f"The model server {self._base} did not answer ({outcome.why}, {tried} tries).",
                    hint="Check that it runs, or raise `embedder.timeout_ms`.",
                )
            self._sleep(wait)
            pause *= 2

    def _try(
        self, path: str, body: Mapping[str, object], *, timeout_s: float
    ) -> Mapping[str, object] | _Again:
        client = self._connect()
        import httpx  # noqa: PLC0415 - loaded by _connect

        try:
            reply = client.post(self._base + path, json=dict(body), timeout=max(timeout_s, 0.001))
        except (httpx.TransportError, httpx.InvalidURL) as error:
            return _Again(why=f"{type(error).__name__}: {error}", wait_s=None)
        if reply.status_code in _TRY_AGAIN:
            return _Again(
                why=f"status {reply.status_code}", wait_s=_asked_pause(reply.headers.get("retry-after"))
            )
        if reply.status_code != 200:
            raise ProviderError(
                f"The model server {self._base} refused: status {reply.status_code}, {reply.text[:_SHOWN_CHARS]!r}.",
                hint="Check `embedder.endpoint`, `embedder.model` and the key in the variable `embedder.api_key_env` names.",
            )
        try:
            answer: object = reply.json()
        except json.JSONDecodeError as error:
            raise ProviderError(f"The model server {self._base} did not answer with JSON: {error}") from error
        if not isinstance(answer, dict):
            raise ProviderError(f"The model server {self._base} did not answer with a JSON object.")
        return cast("Mapping[str, object]", answer)

    def _connect(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                import httpx  # noqa: PLC0415 - 100 ms, spent only by those who use a server

                headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
                # A proxy is right for a server far away and wrong for one on this machine.
                self._client = httpx.Client(headers=headers, trust_env=not self._loopback)
            return self._client

    def close(self) -> None:
        """Close connections; the next request opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None


def _asked_pause(header: str | None) -> float | None:
    """Seconds of a Retry-After header; dates are rare there and count as absent."""
    return float(header) if header is not None and header.isdecimal() else None


def sendable(text: str, *, most_chars: int) -> str:
    """`text` as servers accept it: valid Unicode without NUL, not blank, and not longer than `most_chars`."""
    clean = text[:most_chars].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return clean if clean.strip() else "."


def embed_distinct(
    texts: Sequence[str],
    ask: Callable[[list[str]], Vectors],
    *,
    dimensions: int,
    batch: int,
    prepare: Callable[[str], str],
) -> Vectors:
    """Ask for each distinct text once, `batch` prepared texts at a time, and put the rows in the order of `texts`."""
    place = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    ready = [prepare(text) for text in place]
    parts = [ask(ready[start : start + batch]) for start in range(0, len(ready), batch)]
    rows = np.concatenate([np.empty((0, dimensions), dtype=np.float32), *parts])
    return rows[[place[text] for text in texts]]


def unit_rows(rows: object, *, count: int, dimensions: int, server: str) -> Vectors:
    """Check and normalise the vectors of a reply: shape (count, dimensions), float32, length 1.

    Raises:
        ProviderError: if there are more or fewer rows, of another length, not numbers, or all zero.
    """
    hint = "Set `embedder.dimensions` to the length of this model's vectors."
    try:
        array = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ProviderError(
            f"{server} answered with vectors that are not numbers of one length.", hint=hint
        ) from error
    if array.shape != (count, dimensions):
        raise ProviderError(
            f"{server} answered with vectors of shape {array.shape}, expected ({count}, {dimensions}).",
            hint=hint,
        )
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or np.any(lengths == 0.0):
        raise ProviderError(
            f"{server} answered with a vector that has no direction (zero, infinite or not a number)."
        )
    return (array / lengths).astype(np.float32)
