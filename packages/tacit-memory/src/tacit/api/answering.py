"""What handlers are given and what they answer. In: nothing. Out: types. The engine itself is the service: no second contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tacit.app.values import PROGRAM, Caller
from tacit.errors import DaemonUnavailable
from tacit.model.memory import Speaker

if TYPE_CHECKING:
    from tacit.app.engine import Engine as Service
    from tacit.hosts.install import HostStatus
else:
    Service = Any

__all__ = ["Answer", "Parameters", "Service"]


def _no_counters() -> Mapping[str, float]:
    return {}


def _waits() -> bool:
    return True


def _no_document() -> Mapping[str, Any]:
    raise DaemonUnavailable("Nothing is served here.")


def _no_reopening(work: Callable[[], Any]) -> Any:  # noqa: ARG001 - the shape of `EngineSource.reopen`
    raise DaemonUnavailable("Nothing is opened again here.", hint="`tacit restore` does it without a daemon.")


def _no_recalls(engine: Service, speaker: Speaker) -> AsyncIterator[bytes]:  # noqa: ARG001 - the shape of `Streams.recalls`
    raise DaemonUnavailable("Nothing is streamed here.")


@dataclass(frozen=True, slots=True, kw_only=True)
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
    counters: Callable[[], Mapping[str, float]] = _no_counters
    installed: Callable[[], Mapping[str, HostStatus]] | None = None
    recalls: Callable[[Service, Speaker], AsyncIterator[bytes]] = _no_recalls
    reopened: Callable[[Callable[[], Any]], Any] = _no_reopening
    document: Callable[[], Mapping[str, Any]] = _no_document
    waits: Callable[[], bool] = _waits

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
        body: a model of `tacit.verbs.answers` or a value of the program; None = no content, or the content is in `text` or `events`.
        status: HTTP status; 0 = the first that the endpoint names.
        etag: the version of what is answered, for `If-Match`; "" = it has none.
        text, events, media_type: an answer that is not JSON; `events` are sent as they arrive.
    """

    body: BodyT
    status: int = 0
    etag: str = ""
    text: str | None = None
    events: AsyncIterator[bytes] | None = None
    media_type: str = "application/json"
