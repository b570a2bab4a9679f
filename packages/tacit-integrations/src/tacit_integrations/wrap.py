"""Clients of the `anthropic` and `openai` SDKs with memory. In: a client. Out: another client of the same class.

The original client, its settings and the arguments of calls do not change: Tacit changes the HTTP request that a call sends. So this
works for sync and async clients, streams, helpers (`stream`, `parse`, tool runners), raw responses and `with_options`.
"""

from __future__ import annotations

import os
from typing import TypeVar, cast

from tacit.errors import InvalidInput
from tacit.library.tacit import Tacit
from tacit_integrations.conversations import Conversations
from tacit_integrations.exchange import Exchange
from tacit_integrations.http_wrapper import wrap_http_client

C = TypeVar("C")


def with_memory(
    client: C,
    memory: Tacit | None = None,
    *,
    session: str = "",
    cwd: str | os.PathLike[str] | None = None,
    agent: str = "",
    deadline_ms: float = 400.0,
    capture: bool = True,
) -> C:
    """Return a copy of `client` whose conversations have a memory.

    Args:
        client: `Anthropic`, `AsyncAnthropic`, `OpenAI`, `AsyncOpenAI`, or a subclass that does not sign bodies.
        memory: an open memory; None = the one of this machine's daemon (`Tacit.connect()`).
        session: the session that every request belongs to. "" = the conversation is found by its beginning, or by the header `X-Tacit-Session`
            of a request (`extra_headers`). A request with the header `X-Tacit: off` is not changed.
        cwd: the folder of the project; None = the one of the memory, "" = none.
        agent: name of the agent, where settings differ by agent.
        deadline_ms: longest wait for the answer to one event.
        capture: whether Tacit may learn from the conversations.

    Raises:
        InvalidInput: `client` is not a client of these SDKs.
    """
    inner = getattr(client, "_client", None)
    copy = getattr(client, "copy", None)
    if inner is None or not callable(copy):
        raise InvalidInput(
            f"{type(client).__name__} is no client of the anthropic or openai SDK.",
            hint="Give an Anthropic, AsyncAnthropic, OpenAI or AsyncOpenAI client.",
        )
    carrier = http_client(
        inner, memory, session=session, cwd=cwd, agent=agent, deadline_ms=deadline_ms, capture=capture
    )
    return cast("C", copy(http_client=carrier))


def http_client(
    inner: C,
    memory: Tacit | None = None,
    *,
    session: str = "",
    cwd: str | os.PathLike[str] | None = None,
    agent: str = "",
    deadline_ms: float = 400.0,
    capture: bool = True,
) -> C:
    """Return an HTTP client that sends through `inner` and gives conversations a memory, for frameworks that accept an HTTP client.

    Args:
        inner: a client of httpx or httpx2, sync or async.
        memory: an open memory; None = the daemon's.
        session: the session that every request belongs to; "" = conversations are found by their beginning.
        cwd: the folder of the project.
        agent: name of the agent.
        deadline_ms: longest wait for the answer to one event.
        capture: whether Tacit may learn from the conversations.

    Raises:
        InvalidInput: `inner` is not such a client.
    """
    opened = memory or Tacit.connect(cwd=cwd)
    conversations = Conversations(
        lambda name, folder: opened.session(
            name, cwd=folder or cwd, agent=agent, deadline_ms=deadline_ms, capture=capture
        )
    )
    return cast("C", wrap_http_client(inner, Exchange(conversations, session=session)))
