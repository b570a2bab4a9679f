"""A client of the `anthropic` or `openai` SDK with memory. In: a client. Out: another one of the same class.

The client that came in, its settings and everything that is handed to a call stay as they are: requests are changed on their
way out. Sync and async clients, streams, helpers (`stream`, `parse`, tool runners), raw responses and `with_options` all go the same
way, because they all end in one HTTP request.
"""

from __future__ import annotations

import os
from typing import TypeVar, cast

from tacit.app.library.tacit import Tacit
from tacit.errors import InvalidInput
from tacit.middleware.conversations import Conversations
from tacit.middleware.exchange import Exchange
from tacit.middleware.http_wrapper import wrap_http_client

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
    """A client like `client` whose conversations have a memory.

    Args:
        client: `Anthropic`, `AsyncAnthropic`, `OpenAI`, `AsyncOpenAI`, or one of their kin that signs no bodies.
        memory: an open memory; None = the one of this machine's daemon (`Tacit.connect()`).
        session: the session that every request belongs to. "" = found by what is said, or by the header `X-Tacit-Session`
            of a request (`extra_headers`). The header `X-Tacit: off` leaves a request alone.
        cwd: folder whose project it is about; None = as the memory says, "" = none.
        agent: name of the agent, where settings differ by agent.
        deadline_ms: longest wait for one thing that is asked for a request.
        capture: whether something may be learned from the conversations.

    Raises:
        InvalidInput: if it is no client of these SDKs.
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
    """An HTTP client that sends through `inner` and gives conversations a memory, for frameworks that take one of their user's.

    Args:
        inner: a client of httpx or httpx2, sync or async.
        memory: an open memory; None = the daemon's.
        session: the session that every request belongs to; "" = found by what is said.
        cwd: folder whose project it is about.
        agent: name of the agent.
        deadline_ms: longest wait for one thing that is asked for a request.
        capture: whether something may be learned from the conversations.

    Raises:
        InvalidInput: if it is no such client.
    """
    opened = memory or Tacit.connect(cwd=cwd)
    conversations = Conversations(
        lambda name, folder: opened.session(
            name, cwd=folder or cwd, agent=agent, deadline_ms=deadline_ms, capture=capture
        )
    )
    return cast("C", wrap_http_client(inner, Exchange(conversations, session=session)))
