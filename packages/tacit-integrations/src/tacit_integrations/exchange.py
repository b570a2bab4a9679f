"""Requests and their answers: adds blocks to a request, and learns from its answer.

In: the path, headers and body of a request; later the body of its response. Out: the body to send. This is a boundary: after any
failure here, the request is sent as the program wrote it, with one line in the log. Synchronous: a client with an event loop runs it
in a thread. Never logs a header or any text of a body.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tacit.library.conversation import Placement
from tacit.library.message_formats import MessageFacts
from tacit.library.session import guarded
from tacit_integrations.bodies import Body, RequestConversation, api_of, read_conversation, with_blocks
from tacit_integrations.conversations import (
    MAX_SAID,
    NO_SPACE,
    Conversations,
    ConversationSpace,
    KnownConversation,
    WaitingRequest,
)
from tacit_integrations.replies import Api, Reply, read_reply
from tacit_integrations.reuse import Reuse, kept, outline

_LOG = logging.getLogger(__name__)
GOES_OUT = "a request goes out without memory"
NOT_LEARNED_FROM = "an answer is not learned from"
SESSION_HEADER = "x-tacit-session"
PROJECT_HEADER = "x-tacit-project"
OFF_HEADER = "x-tacit"
OUR_HEADERS = (SESSION_HEADER, PROJECT_HEADER, OFF_HEADER)
"""Headers for Tacit. They are not sent on."""
_AGENTS_SESSIONS = (
    "x-claude-code-session-id",
    "x-session-id",
    "session_id",
    "session-id",
    "conversation_id",
    "x-opencode-session",
)
"""Headers in which agents name their session. Requests for a title and of a subagent have the same name, but are separate conversations."""
MAX_REPLY_BYTES = 16 << 20
"""A longer answer is passed on, but not read."""
MAX_UNMEASURED = 8
"""The largest number of requests that wait for the cache meter."""
MAX_REUSE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """A request that was sent, with its conversation. `Exchange.heard` and `answered` take it together with the answer.

    `by_words` = the conversation was found by its beginning: the program did not name it, and the API does not store it.
    """

    known: KnownConversation
    space: ConversationSpace
    said: tuple[MessageFacts, ...]
    stored: bool
    by_words: bool
    api: Api


class Exchange:
    """Adds blocks to the requests of one client, and learns from the answers. Safe to use from several threads."""

    def __init__(self, conversations: Conversations, *, session: str) -> None:
        """Handle the requests of `conversations`. `session` = the name of the session of every request; "" = conversations are found by their beginning."""
        self._conversations = conversations
        self._session = session

    def outgoing(
        self, path: str, headers: Mapping[str, str], content: bytes, *, until: float = math.inf
    ) -> tuple[bytes, SentRequest | None]:
        """Return the body to send instead of `content`, and the `SentRequest` for the answer. The body is `content` itself if nothing is added.

        After `until` (in seconds of `time.monotonic`) the memory is not asked anymore.
        """
        api = api_of(path)
        if api is None or headers.get(OFF_HEADER, "").lower() == "off":
            return content, None
        return guarded(lambda: self._changed(api, headers, content, until), (content, None), GOES_OUT)

    def _changed(
        self, api: Api, headers: Mapping[str, str], content: bytes, until: float
    ) -> tuple[bytes, SentRequest | None]:
        try:
            text = content.decode()
            conversation = read_conversation(api, text)
        except ValueError as error:
            _LOG.debug("%s: its body is not a JSON object: %s", GOES_OUT, type(error).__name__)
            return content, None
        if conversation is None:
            return content, None
        changed, sent = self.carry(
            conversation, session=headers.get(SESSION_HEADER, ""), space=_space_of(headers), until=until
        )
        return content if changed is text else changed.encode(), sent

    def carry(
        self,
        conversation: RequestConversation,
        *,
        session: str = "",
        space: ConversationSpace = NO_SPACE,
        until: float = math.inf,
    ) -> tuple[str, SentRequest]:
        """Return the text of a request with its blocks; the same object if there are none. See `begin` for the arguments."""
        sent, placed = self.begin(
            conversation.said,
            session=session,
            space=space,
            continues=conversation.continues,
            lasting=bool(conversation.body.get("conversation")),
            api=conversation.api,
            until=until,
        )
        text = with_blocks(conversation, system=placed.system, texts=placed.texts)
        note_sent(sent, conversation.body, placed)
        return text, sent

    def begin(
        self,
        said: Sequence[MessageFacts],
        *,
        session: str = "",
        space: ConversationSpace = NO_SPACE,
        continues: str = "",
        lasting: bool = False,
        api: Api = "chat",
        until: float = math.inf,
    ) -> tuple[SentRequest, Placement]:
        """Ask the memory about the new messages of a request. Return a placement with one text for each message.

        Args:
            said: the messages, oldest first.
            session: the name that the program gives the conversation; "" = the exchange's own name, else the conversation is found by its beginning.
            space: the agent's session and the folder of the conversation.
            continues: the id of the response or conversation that the API stores and this request continues; "" = `said` is the whole conversation.
            lasting: whether that id stays the same during the conversation.
            api: the API of the request.
            until: time in seconds of `time.monotonic` after which the memory is not asked anymore.
        """
        name = session or self._session
        known = self._known(said, name, space, continues, lasting=lasting)
        before = known.said if continues else ()
        messages = (*before, *said)
        placed = known.session.place(messages, whole=not continues, until=until)
        self._conversations.placed(known, placed)
        texts = placed.texts[len(before) :]
        sent = SentRequest(
            known=known,
            space=space,
            said=messages,
            stored=api == "responses",
            by_words=not (name or continues),
            api=api,
        )
        return sent, replace(placed, texts=texts)

    def _known(
        self,
        said: Sequence[MessageFacts],
        name: str,
        space: ConversationSpace,
        continues: str,
        *,
        lasting: bool,
    ) -> KnownConversation:
        if name:
            return self._conversations.named(name, space)
        if continues:
            found = self._conversations.kept(continues, space, lasting=lasting)
            return found or self._conversations.new(space)
        return self._conversations.found(said, space)

    def heard(self, sent: SentRequest, content: bytes, *, stream: bool) -> None:
        """Learn from the body of the answer to a request; `stream` = it is a stream of events. Never raises."""
        guarded(lambda: self._read(sent, content, stream=stream), None, NOT_LEARNED_FROM)

    def _read(self, sent: SentRequest, content: bytes, *, stream: bool) -> None:
        reply = read_reply(sent.api, content, stream=stream) if len(content) <= MAX_REPLY_BYTES else None
        if reply is not None:
            self.answered(sent, reply)
        elif sent.by_words:
            self._conversations.answered(sent.known, sent.said, sent.space)

    def answered(self, sent: SentRequest, reply: Reply) -> None:
        """Learn from an answer that was already parsed: record it in its conversation, and hand the messages to capture when the turn is over."""
        known = sent.known
        messages = (*sent.said, reply.said)
        if sent.by_words:
            self._conversations.answered(known, messages, sent.space)
        if sent.stored:
            known.said = messages[-MAX_SAID:]
            if reply.response_id:
                self._conversations.keep(reply.response_id, known)
        if reply.input_tokens:
            known.tokens.append((reply.input_tokens, reply.cached_tokens))
        if reply.ended:
            known.session.heard(messages, sent=lambda: _sums(known))
        else:  # measure now: bodies are large, and a turn may have many requests
            known.session.later(lambda: _measure(known))


def note_sent(sent: SentRequest, body: Body, placed: Placement) -> None:
    """Keep a request for the cache meter, which measures it later: its body as the program wrote it, and the blocks that were added. Of more than `MAX_UNMEASURED` the oldest are dropped."""
    sent.known.unmeasured.append(WaitingRequest(body, placed.system, placed.texts, placed.every_call))
    del sent.known.unmeasured[:-MAX_UNMEASURED]


def _space_of(headers: Mapping[str, str]) -> ConversationSpace:
    name = next((value for header in _AGENTS_SESSIONS if (value := headers.get(header, ""))), "")
    return ConversationSpace(name=name, folder=headers.get(PROJECT_HEADER, ""))


def _measure(known: KnownConversation) -> None:
    """Measure how much each new request has in common with the one before it. Runs after the answers."""
    while known.unmeasured:
        request = known.unmeasured.pop(0)
        bare = outline(request.body)
        current = outline(request.body, system=request.system, texts=request.texts)
        if request.system or any(request.texts):
            known.placement = "system_every_call" if request.every_call else "default"
        if known.sent is not None and known.bare is not None:
            known.reuse.append(
                Reuse(
                    before=known.sent.size,
                    kept=kept(current, known.sent),
                    before_bare=known.bare.size,
                    kept_bare=kept(bare, known.bare),
                )
            )
            del known.reuse[:-MAX_REUSE]
        known.sent, known.bare = current, bare


def _sums(known: KnownConversation) -> list[dict[str, object]]:
    """Return the sums of the cache meter since the last turn as one entry; none if there is nothing to count. Runs after the answers."""
    _measure(known)
    reuse, known.reuse = known.reuse, []
    tokens, known.tokens = known.tokens, []
    if not reuse and not tokens:
        return []
    return [
        {
            "placement": known.placement,
            "requests": len(reuse),
            "before": sum(request.before for request in reuse),
            "kept": sum(request.kept for request in reuse),
            "before_bare": sum(request.before_bare for request in reuse),
            "kept_bare": sum(request.kept_bare for request in reuse),
            "input_tokens": sum(read for read, _ in tokens),
            "cached_tokens": sum(cached for _, cached in tokens),
        }
    ]
