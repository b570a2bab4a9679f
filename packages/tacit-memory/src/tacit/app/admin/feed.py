"""New traces to whoever looks on. In: traces as they are stored, cleaned already. Out: calls of those who asked for them.

Knows no event loop: a listener is called on the thread that stored the trace and must not block. Keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from tacit.model.trace import Trace

Listener = Callable[[Trace], None]


class TraceFeed:
    """Hands every stored trace on. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: tuple[Listener, ...] = ()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every trace from now on; call what comes back to end that."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def leave() -> None:
            with self._lock:
                self._listeners = tuple(other for other in self._listeners if other is not listener)

        return leave

    def publish(self, traces: Iterable[Trace]) -> None:
        """Hand `traces` on, in order."""
        listeners = self._listeners
        for trace in traces if listeners else ():
            for listener in listeners:
                listener(trace)
