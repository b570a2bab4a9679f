"""The model calls of an agent framework: memory before each call, capture after it. All framework modules use this one.

In: the messages of a call, in a framework's own types or as the body of one of the three APIs. Out: the messages and the system text
to send; nothing for the answer. This is a boundary: after any failure here, the call is sent as the program wrote it, with one line in
the log. `exchange` and `conversations` find the conversation and its session.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar, cast

from tacit.library.message_formats import MessageFacts, MessageFormat
from tacit.library.session import guarded, with_texts
from tacit.library.tacit import Tacit
from tacit_integrations.bodies import Body, read_conversation
from tacit_integrations.conversations import Conversations
from tacit_integrations.exchange import (
    GOES_OUT,
    NOT_LEARNED_FROM,
    Exchange,
    SentRequest,
    note_sent,
)
from tacit_integrations.http_wrapper import on_a_thread
from tacit_integrations.replies import Api, Reply

M = TypeVar("M")
SessionName = str | Callable[[], str]
"""The name of the conversation, or a function that returns the name of the current one; "" = conversations are found by their beginning."""


class CallOptions(TypedDict, total=False):
    """The options of `ModelCalls`, which says what they mean, for the functions and classes that pass them on."""

    session: SessionName
    cwd: str | os.PathLike[str] | None
    agent: str
    deadline_ms: float
    capture: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCall(Generic[M]):
    """The messages of a model call.

    Attributes:
        messages: a new list; messages without a block are the same objects as before.
        system: text for the end of the system prompt; "" = none.
        sent: the argument for `ModelCalls.answered`; None = nothing is learned from the answer.
    """

    messages: list[M]
    system: str = ""
    sent: SentRequest | None = None


class ModelCalls:
    """Adds memories to the model calls of one object of a framework, and learns from the answers. Safe to use from several threads. No method raises."""

    def __init__(
        self,
        memory: Tacit | None = None,
        *,
        session: SessionName = "",
        cwd: str | os.PathLike[str] | None = None,
        agent: str = "",
        deadline_ms: float = 400.0,
        capture: bool = False,
    ) -> None:
        """Give the calls of one agent a memory.

        Args:
            memory: an open memory; None = the one of this machine's daemon (`Tacit.connect()`).
            session: the name of the conversation, or a function that returns the name of the current one. "" = conversations are found by their beginning.
            cwd: the folder of the project; None = the one of the memory, "" = none.
            agent: name of the agent: memories of the scope `agent:NAME` are its own, and settings may differ by agent.
            deadline_ms: longest wait for the answer to one event.
            capture: whether Tacit may learn from the conversations.
        """
        opened = memory or Tacit.connect(cwd=cwd)
        self._session = session
        self._exchange = Exchange(
            Conversations(
                lambda name, folder: opened.session(
                    name, cwd=folder or cwd, agent=agent, deadline_ms=deadline_ms, capture=capture
                )
            ),
            session="",
        )

    def prepare(
        self, messages: Sequence[M], shape: MessageFormat, *, system: object = "", session: str = ""
    ) -> PreparedCall[M]:
        """Return the messages of a call with their blocks.

        Args:
            messages: the whole conversation, oldest first.
            shape: the format of the messages.
            system: the program's system prompt if it is not one of the messages; only the cache meter reads it.
            session: the name that the framework gives the conversation. A name that the program gives takes precedence.
        """
        bare = PreparedCall(messages=list(messages))
        return guarded(lambda: self._prepared(messages, shape, system, session) or bare, bare, GOES_OUT)

    def _prepared(
        self, messages: Sequence[M], shape: MessageFormat, system: object, session: str
    ) -> PreparedCall[M] | None:
        said = [shape.read(message) for message in messages]
        if not any(fact.takes_block for fact in said):
            return None
        sent, placed = self._exchange.begin(said, session=self._name() or session)
        listed = with_texts(messages, said, placed.texts, shape=shape)
        note_sent(sent, {"instructions": system, "messages": messages}, placed)
        return PreparedCall(messages=listed, system=placed.system, sent=sent)

    def carry(self, api: Api, body: Body, *, session: str = "") -> tuple[Body, SentRequest | None]:
        """Return the body of a request of one of the three APIs with its blocks; the same object if nothing is added."""
        return guarded(lambda: self._carried(api, body, session), (body, None), GOES_OUT)

    def _carried(self, api: Api, body: Body, session: str) -> tuple[Body, SentRequest | None]:
        text = json.dumps(body, ensure_ascii=False, default=as_fields)
        conversation = read_conversation(api, text)
        if conversation is None:
            return body, None
        changed, sent = self._exchange.carry(conversation, session=self._name() or session)
        return body if changed is text else json.loads(changed), sent

    def answered(self, sent: SentRequest | None, read: Callable[[], Reply | MessageFacts | None]) -> None:
        """Learn from the answer to a call. `read` returns the answer; None = nothing can be learned from it."""
        if sent is not None:
            guarded(lambda: self._heard(sent, read()), None, NOT_LEARNED_FROM)

    def _heard(self, sent: SentRequest, answer: Reply | MessageFacts | None) -> None:
        reply = Reply(said=answer, ended=not answer.calls) if isinstance(answer, MessageFacts) else answer
        if reply is not None:
            self._exchange.answered(sent, reply)

    async def aprepare(
        self, messages: Sequence[M], shape: MessageFormat, *, system: object = "", session: str = ""
    ) -> PreparedCall[M]:
        """Run `prepare` in a thread, for a program with an event loop."""
        call: PreparedCall[M] = await on_a_thread(
            lambda: self.prepare(messages, shape, system=system, session=session)
        )
        return call

    async def acarry(self, api: Api, body: Body, *, session: str = "") -> tuple[Body, SentRequest | None]:
        """Run `carry` in a thread."""
        carried: tuple[Body, SentRequest | None] = await on_a_thread(
            lambda: self.carry(api, body, session=session)
        )
        return carried

    def _name(self) -> str:
        return self._session() if callable(self._session) else self._session


def as_fields(value: Any) -> Mapping[str, Any]:
    """Return a pydantic object of a model API as a mapping; a mapping is returned unchanged."""
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    return cast("Mapping[str, Any]", value.model_dump(mode="json"))
