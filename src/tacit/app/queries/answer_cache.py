"""A short-lived cache, so that equal requests share one answer. In: the inputs of an answer, and a function that makes it. Out: the answer.

Many clients of one daemon stand in one line, and agents that work side by side on one task often ask alike: the second need
not wait for the same work again. Never hands out what was made before the store changed, nor what is older than two seconds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

from tacit.ports.clock import Clock

FRESH_MS = 2000.0
"""What is younger counts as asked at the same moment: so long may a line of clients be."""
MAX_CACHED = 64

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """Answers that were made just now or are being made. Safe to use from several threads."""

    def __init__(self, *, change: Callable[[], int], clock: Clock) -> None:
        """Share over a store whose `change` grows with every change of what it holds."""
        self._change = change
        self._clock = clock
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[float, Future[T], object]] = OrderedDict()

    def ask(self, asked: Hashable, *, under: object, make: Callable[[], T]) -> T:
        """The answer to `asked`, made here or by whoever asked first.

        Args:
            asked: everything that the answer depends on besides the store and `under`.
            under: settings that hold; others that are equal but not the same count as others.
            make: makes the answer; what it raises is raised for all who wait for it, and is not kept.
        """
        now, key = self._clock.monotonic_ms(), (asked, id(under), self._change())
        with self._lock:
            known = self._kept.get(key)
            if known is not None and now - known[0] < FRESH_MS:
                promise, mine = known[1], False
            else:
                promise, mine = Future[T](), True
                self._kept[key] = (now, promise, under)  # held, so that no other settings get its id
                self._kept.move_to_end(key)
                while len(self._kept) > MAX_CACHED:
                    self._kept.popitem(last=False)
        return self._made(key, promise, make) if mine else promise.result()

    def _made(self, key: Hashable, promise: Future[T], make: Callable[[], T]) -> T:
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                self._kept.pop(key, None)
            promise.set_exception(error)
            raise
        promise.set_result(value)
        return value
