"""The library for a program with an event loop: every call runs on a thread. No logic of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from tacit.library.message_formats import ROLE_CONTENT, MessageFormat
from tacit.library.session import Prepared, Session
from tacit.library.tacit import Tacit

M = TypeVar("M")
P = ParamSpec("P")
R = TypeVar("R")


def _on_thread(
    method: Callable[Concatenate[Tacit, P], R],
) -> Callable[Concatenate[AsyncTacit, P], Coroutine[Any, Any, R]]:
    """The method with `await`, with the same arguments and the same result."""

    @wraps(method)
    async def run(self: AsyncTacit, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    return run


class AsyncTacit:
    """`Tacit` with `await`; see there."""

    def __init__(self, memory: Tacit) -> None:
        """Ask `memory`."""
        self.memory = memory

    remember = _on_thread(Tacit.remember)
    recall = _on_thread(Tacit.recall)
    context_for = _on_thread(Tacit.context_for)
    list = _on_thread(Tacit.list)
    get = _on_thread(Tacit.get)
    edit = _on_thread(Tacit.edit)
    forget = _on_thread(Tacit.forget)
    undo = _on_thread(Tacit.undo)
    history = _on_thread(Tacit.history)
    why = _on_thread(Tacit.why)
    export = _on_thread(Tacit.export)
    feedback = _on_thread(Tacit.feedback)
    flush = _on_thread(Tacit.flush)
    close = _on_thread(Tacit.close)

    async def prepare(
        self, session: Session, messages: Sequence[M], *, shape: MessageFormat = ROLE_CONTENT
    ) -> Prepared[M]:
        """See `Session.prepare`."""
        return await asyncio.to_thread(session.prepare, messages, shape=shape)
