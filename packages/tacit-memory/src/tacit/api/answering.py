"""What handlers are given and what they answer, and answers as JSON. The engine itself is the service: no second contract.

In: the models of `tacit.verbs.answers`, and values of the program. Out: plain values, and bytes that any reader accepts (ASCII, so that
a lone surrogate in an old memory breaks nobody). The shapes decide the form; nothing is worded here.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import TypeAdapter

from tacit.app.values import PROGRAM, Caller
from tacit.errors import DaemonUnavailable
from tacit.frozen import frozen
from tacit.model.memory import Speaker

if TYPE_CHECKING:
    from tacit.app.engine import Engine as Service
    from tacit.hosts.install import HostStatus
else:
    Service = Any

__all__ = ["Answer", "Parameters", "Service", "encode", "to_bytes"]


def _no_document() -> Mapping[str, Any]:
    raise DaemonUnavailable("Nothing is served here.")


def _no_reopening(work: Callable[[], Any]) -> Any:  # noqa: ARG001 - the shape of `EngineSource.reopen`
    raise DaemonUnavailable("Nothing is opened again here.", hint="`tacit restore` does it without a daemon.")


def _no_recalls(engine: Service, speaker: Speaker) -> AsyncIterator[bytes]:  # noqa: ARG001 - the shape of `Streams.recalls`
    raise DaemonUnavailable("Nothing is streamed here.")


@frozen
class Parameters:
    """The facts about a request that a handler needs besides its values: the path's parameters, who asks, and what the process knows.

    Attributes:
        values: the parameters of the path by name.
        caller: who asks.
        counters: returns counters of the process by name.
        installed: returns the state of each known agent's files, by its name; None = nobody looks at them here.
        recalls: opens a stream of recalls for a speaker.
        reopened: calls a function while the store is closed, and opens it again.
        document: returns the OpenAPI document of the served API.
        waits: returns whether the client is still connected.
    """

    values: Mapping[str, str] = field(default_factory=dict[str, str])
    caller: Caller = PROGRAM
    counters: Callable[[], Mapping[str, float]] = dict
    installed: Callable[[], Mapping[str, HostStatus]] | None = None
    recalls: Callable[[Service, Speaker], AsyncIterator[bytes]] = _no_recalls
    reopened: Callable[[Callable[[], Any]], Any] = _no_reopening
    document: Callable[[], Mapping[str, Any]] = _no_document
    waits: Callable[[], bool] = lambda: True

    @property
    def speaker(self) -> Speaker:
        """Return whose word the request is: the user's or an agent's."""
        return self.caller.speaker

    def __getitem__(self, name: str) -> str:
        return self.values[name]


BodyT = TypeVar("BodyT")


@dataclass(frozen=True, slots=True)
class Answer(Generic[BodyT]):
    """The answer of a handler. The type of `body`, as the handler's signature names it, is the shape in the OpenAPI document.

    Attributes:
        body: a model of `tacit.verbs.answers` or a value of the program; None = no content, or the content is in `events`.
        status: HTTP status; 0 = the first that the endpoint names.
        etag: the version of what is answered, for `If-Match`; "" = it has none.
        events: an answer of server-sent events, which are sent as they arrive.
    """

    body: BodyT
    status: int = 0
    etag: str = ""
    events: AsyncIterator[bytes] | None = None


def to_bytes(value: object) -> bytes:
    """Return plain values as JSON text."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def encode(value: object, shape: Any = None) -> Any:
    """Return `value` as plain JSON values, in the form of the type `shape`; None = its own type."""
    return _adapter(type(value) if shape is None else shape).dump_python(value, mode="json")


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)
