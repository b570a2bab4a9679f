"""One request and its answer: the changed request, and capture from the answer.

In: the path, headers and body of a request; later the body of its response. Out: the body that goes out. A boundary: whatever breaks
here, the request goes out as the program wrote it, with one line in the log. Synchronous; a client with an event loop runs it on
a thread.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from tacit.app.library.conversation import Placement
from tacit.app.library.message_formats import MessageFacts
from tacit.middleware.bodies import Body, RequestConversation, api_of, read_conversation, with_blocks
from tacit.middleware.conversations import MAX_SAID, Conversations, KnownConversation
from tacit.middleware.replies import Api, Reply, read_reply
from tacit.middleware.reuse import Reuse, kept, outline

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
GOES_OUT = "a request goes out without memory"
NOT_LEARNED_FROM = "an answer is not learned from"
SESSION_HEADER = "x-tacit-session"
OFF_HEADER = "x-tacit"
MAX_REPLY_BYTES = 16 << 20
"""A longer answer is passed on all the same, and not learned from."""
MAX_UNMEASURED = 20
"""Most requests of one turn that the cache meter looks at."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """A request that went out with its conversation; `Exchange.heard` or `answered` wants it back with the answer."""

    known: KnownConversation
    said: tuple[MessageFacts, ...]
    stored: bool
    api: Api = "chat"


class Exchange:
    """Requests and answers of one client. Safe to use from several threads."""

    def __init__(self, talks: Conversations, *, session: str) -> None:
        """Carry the conversations of `talks`; `session` = the one that every request belongs to, "" = found by what is said."""
        self._conversations = talks
        self._session = session

    def outgoing(
        self, path: str, headers: Mapping[str, str], content: bytes
    ) -> tuple[bytes, SentRequest | None]:
        """The body that goes out in place of `content`, which may be `content` itself, and what to hand back with the answer."""
        api = api_of(path)
        if api is None or headers.get(OFF_HEADER, "").lower() == "off":
            return content, None
        return guarded(lambda: self._changed(api, headers, content), (content, None), GOES_OUT)

    def _changed(
        self, api: Api, headers: Mapping[str, str], content: bytes
    ) -> tuple[bytes, SentRequest | None]:
        body: object = json.loads(content)
        conversation = read_conversation(api, cast("Body", body)) if isinstance(body, Mapping) else None
        return self._carried(conversation, headers, content) if conversation is not None else (content, None)

    def _carried(
        self, conversation: RequestConversation, headers: Mapping[str, str], content: bytes
    ) -> tuple[bytes, SentRequest]:
        body, sent = self.carry(conversation, session=headers.get(SESSION_HEADER, ""))
        if body is conversation.body:
            return content, sent
        return _ENCODER.encode(body).encode("utf-8", "surrogatepass"), sent

    def carry(self, conversation: RequestConversation, *, session: str = "") -> tuple[Body, SentRequest]:
        """The body of a request with its blocks, the same object where there are none; `session` = the name that the request gives."""
        sent, placed = self.begin(
            conversation.said,
            session=session,
            continues=conversation.continues,
            lasting=bool(conversation.body.get("conversation")),
            api=conversation.api,
        )
        body = with_blocks(conversation, system=placed.system, texts=placed.texts)
        note_sent(sent, conversation.body, body, every_call=placed.every_call)
        return body, sent

    def begin(
        self,
        said: Sequence[MessageFacts],
        *,
        session: str = "",
        continues: str = "",
        lasting: bool = False,
        api: Api = "chat",
    ) -> tuple[SentRequest, Placement]:
        """Ask the memory for what is new in the messages of a request; the placement has one text for each of them.

        Args:
            said: what the messages say, oldest first.
            session: the name that the program gives the conversation; "" = the exchange's own, else it is found by what is said.
            continues: the name of what the API keeps and this request continues.
            lasting: whether that name stays the same as the conversation goes on.
            api: the API of the request.
        """
        known = self._known(said, session=session, continues=continues, lasting=lasting)
        before = known.said if continues else ()
        messages = (*before, *said)
        placed = known.session.place(messages, whole=not continues)
        texts = placed.texts[len(before) :] or ("",) * len(said)
        sent = SentRequest(known=known, said=messages, stored=api == "responses", api=api)
        return sent, replace(placed, texts=texts)

    def _known(
        self, said: Sequence[MessageFacts], *, session: str, continues: str, lasting: bool
    ) -> KnownConversation:
        name = session or self._session
        if name:
            return self._conversations.named(name)
        if continues:
            return self._conversations.kept(continues, lasting=lasting) or self._conversations.new()
        return self._conversations.found(said)

    def heard(self, sent: SentRequest, content: bytes, *, stream: bool) -> None:
        """Take in the answer to a request."""
        if len(content) > MAX_REPLY_BYTES:
            return
        guarded(lambda: self._read(sent, content, stream=stream), None, NOT_LEARNED_FROM)

    def _read(self, sent: SentRequest, content: bytes, *, stream: bool) -> None:
        reply = read_reply(sent.api, content, stream=stream)
        if reply is not None:
            self.answered(sent, reply)

    def answered(self, sent: SentRequest, reply: Reply) -> None:
        """Take in an answer that was read already."""
        conversation = sent.known
        messages = (*sent.said, reply.said)
        if sent.stored:
            conversation.said = messages[-MAX_SAID:]
            if reply.response_id:
                self._conversations.keep(reply.response_id, conversation)
        if reply.input_tokens:
            conversation.tokens.append((reply.input_tokens, reply.cached_tokens))
        if reply.ended:
            conversation.session.heard(messages, sent=lambda: _sums(conversation))


def guarded(work: Callable[[], T], otherwise: T, warning: str) -> T:
    """What `work` returns, or `otherwise` and one line in the log where it breaks: a program's own request and answer are not ours to lose."""
    try:
        return work()
    except Exception:  # noqa: BLE001 - the middleware's boundary
        _LOG.warning(warning, exc_info=True)
        return otherwise


def note_sent(sent: SentRequest, written: Body, body: Body, *, every_call: bool) -> None:
    """Keep a request for the cache meter: as the program wrote it, and as it went out."""
    sent.known.unmeasured.append((written, body, every_call))
    del sent.known.unmeasured[:-MAX_UNMEASURED]


def _measure(conversation: KnownConversation) -> list[Reuse]:
    """What the requests since the last turn have in common with the ones before them."""
    reuse: list[Reuse] = []
    while conversation.unmeasured:
        written, sent, every_call = conversation.unmeasured.pop(0)
        current = outline(sent)
        bare = current if sent is written else outline(written)
        if sent is not written:
            conversation.placement = "system_every_call" if every_call else "default"
        if conversation.sent is not None and conversation.bare is not None:
            mine, theirs = kept(current, conversation.sent), kept(bare, conversation.bare)
            reuse.append(
                Reuse(
                    before=conversation.sent.size,
                    kept=mine,
                    before_bare=conversation.bare.size,
                    kept_bare=theirs,
                )
            )
        conversation.sent, conversation.bare = current, bare
    return reuse


def _sums(conversation: KnownConversation) -> list[dict[str, object]]:
    """The counts since the last turn, as one entry; nothing where nothing was sent twice. Behind the answers."""
    reuse = _measure(conversation)
    tokens, conversation.tokens = conversation.tokens, []
    if not reuse and not tokens:
        return []
    return [
        {
            "placement": conversation.placement,
            "requests": len(reuse),
            "before": sum(request.before for request in reuse),
            "kept": sum(request.kept for request in reuse),
            "before_bare": sum(request.before_bare for request in reuse),
            "kept_bare": sum(request.kept_bare for request in reuse),
            "input_tokens": sum(read for read, _ in tokens),
            "cached_tokens": sum(cached for _, cached in tokens),
        }
    ]
