"""Requests that depend on what was before: on the version that was read, on whether they were sent already.

`If-Match`: nobody overwrites what they have not seen. `Idempotency-Key`: what is sent twice is done once. In: headers, the present version. Out: the right to go on, or a refusal. Kept answers stay in this process, for a day at most.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from tacit.api.answering import Answer, Parameters, Service
from tacit.api.problems import RequestRefused
from tacit.verbs.answers import etag_of

if TYPE_CHECKING:
    from tacit.api.endpoints import Endpoint

KEPT_S = 86_400.0
MOST_KEPT = 512
MAX_HEADER_CHARS = 200

_changing = Lock()
"""Held by every request with `If-Match` from the check of the version until the change is written."""


def _header(headers: Mapping[str, str], name: str) -> str:
    """Return the value of a header; "" = it was not sent.

    Raises:
        RequestRefused: if it is empty, too long, or not plain ASCII.
    """
    value = headers.get(name.lower())
    if value is None:
        return ""
    if not value.strip() or len(value) > MAX_HEADER_CHARS or not (value.isascii() and value.isprintable()):
        raise RequestRefused(
            "invalid_input",
            f"The header `{name}` is no text of 1 to {MAX_HEADER_CHARS} plain characters.",
            hint="Leave it out, or correct it.",
        )
    return value.strip()


@contextmanager
def precondition(
    endpoint: Endpoint, engine: Service, at: Parameters, headers: Mapping[str, str]
) -> Generator[None]:
    """Return a context manager that runs its block if `If-Match` names the present version, or the request has no such header.

    Raises:
        RequestRefused: 412 where it names another version; the present one is in `ETag`.
    """
    if_match = _header(headers, "If-Match") if endpoint.matched else ""
    if not if_match:
        yield
        return
    with _changing:
        present = (
            engine.admin.options.etag() if endpoint.matched == "settings" else etag_of(engine.show(at["id"]))
        )
        etags = {tag.strip().removeprefix("W/").strip('"') for tag in if_match.split(",")}
        if if_match != "*" and present not in etags:
            raise RequestRefused(
                "precondition_failed",
                "It was changed since you read it.",
                hint="Read it again, then send the new `etag` as `If-Match`.",
                headers={"ETag": f'"{present}"'},
            )
        yield


@dataclass(slots=True)
class _Kept:
    request: str
    at_s: float
    lock: Lock = field(default_factory=Lock)
    answer: Answer[Any] | None = None


class IdempotencyCache:
    """Keeps answers by the `Idempotency-Key` of their request, so that a repeated request gets the same answer. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def answered(
        self, endpoint: Endpoint, request: Request, body: bytes, work: Callable[[], Answer[Any]]
    ) -> Answer[Any]:
        """Call `work` and return its answer, or return the answer that an earlier request with the same key got. Blocks while that request is running.

        Raises:
            RequestRefused: if the key is too long, or came with another request.
        """
        key = _header(request.headers, "Idempotency-Key") if endpoint.once else ""
        if not key:
            return work()
        digest = hashlib.sha256(f"{request.method} {request.url.path}\n".encode() + body).hexdigest()
        entry = self._of(key, digest)
        if entry.request != digest:
            raise RequestRefused(
                "idempotency_mismatch",
                "This `Idempotency-Key` came with another request before.",
                hint="Use a new key for a new request.",
            )
        with entry.lock:
            if entry.answer is None:
                entry.answer = work()
            return entry.answer

    def _of(self, key: str, digest: str) -> _Kept:
        now_s = time.monotonic()
        with self._lock:
            while self._kept and (
                len(self._kept) > MOST_KEPT or now_s - next(iter(self._kept.values())).at_s > KEPT_S
            ):
                self._kept.popitem(last=False)
            return self._kept.setdefault(key, _Kept(request=digest, at_s=now_s))
