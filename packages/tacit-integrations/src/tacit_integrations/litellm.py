"""LiteLLM with memory: a function that wraps `completion` or `acompletion`.

In: a function with the argument `messages`, of the module or of a `Router`. Out: a function that is called the same way. It adds the
start pack at the end of the last leading system message, and blocks at the end of their messages. Never changes the list of the caller.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar, Unpack, cast

from tacit.library.tacit import Tacit
from tacit_integrations.exchange import SentRequest
from tacit_integrations.model_calls import CallOptions, ModelCalls, as_fields
from tacit_integrations.replies import read_chunks, read_value

F = TypeVar("F", bound=Callable[..., Any])
SESSION = "tacit_session"
"""Key in `metadata` that names the conversation of one call. LiteLLM sends no metadata to a model."""


def with_memory(
    completion: F,
    memory: Tacit | None = None,
    **options: Unpack[CallOptions],
) -> F:
    """Return a function like `completion` whose conversations have a memory.

    Args:
        completion: `litellm.completion`, `litellm.acompletion`, or those of a `Router`.
        memory: an open memory; None = the one of this machine's daemon (`Tacit.connect()`).
        options: those of `ModelCalls`; a call may name a session of its own with `metadata={"tacit_session": ...}`.
    """
    calls = ModelCalls(memory, **options)
    named = inspect.signature(completion)

    def written(args: tuple[Any, ...], told: dict[str, Any]) -> tuple[inspect.BoundArguments, Any, str]:
        bound = named.bind(*args, **told)
        metadata: Any = told.get("metadata") or {}
        return bound, bound.arguments.get("messages"), str(metadata.get(SESSION) or "")

    if inspect.iscoroutinefunction(completion):

        @functools.wraps(completion)
        async def acall(*args: Any, **told: Any) -> Any:
            bound, messages, name = written(args, told)
            body, sent = await calls.acarry("chat", {"messages": messages}, session=name)
            _put(bound, messages, body["messages"])
            answer = await completion(*bound.args, **bound.kwargs)
            return _AsyncStream(answer, calls, sent) if told.get("stream") else _heard(answer, calls, sent)

        return cast("F", acall)

    @functools.wraps(completion)
    def call(*args: Any, **told: Any) -> Any:
        bound, messages, name = written(args, told)
        body, sent = calls.carry("chat", {"messages": messages}, session=name)
        _put(bound, messages, body["messages"])
        answer = completion(*bound.args, **bound.kwargs)
        return _Stream(answer, calls, sent) if told.get("stream") else _heard(answer, calls, sent)

    return cast("F", call)


def _put(call: inspect.BoundArguments, written: Any, messages: Any) -> None:
    """Replace the messages of the call if `messages` are not the program's own."""
    if messages is not written:
        call.arguments["messages"] = messages


def _heard(answer: Any, calls: ModelCalls, sent: SentRequest | None) -> Any:
    calls.answered(sent, lambda: read_value("chat", as_fields(answer)))
    return answer


class _Passing:
    """A stream that passes the chunks of another stream on, and learns from them at the end. Its other attributes are those of that stream."""

    def __init__(self, stream: Any, calls: ModelCalls, sent: SentRequest | None) -> None:
        self._stream = stream
        self._calls = calls
        self._sent = sent
        self._chunks: list[Any] = []

    def _over(self) -> None:
        chunks, self._chunks = self._chunks, []
        if chunks:
            self._calls.answered(
                self._sent, lambda: read_chunks("chat", [as_fields(chunk) for chunk in chunks])
            )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Stream(_Passing):
    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            chunk = next(self._stream)
        except StopIteration:
            self._over()
            raise
        self._chunks.append(chunk)
        return chunk


class _AsyncStream(_Passing):
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            chunk = await anext(self._stream)
        except StopAsyncIteration:
            self._over()
            raise
        self._chunks.append(chunk)
        return chunk
