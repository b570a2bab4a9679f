"""One request and its answer: the changed request, and capture from the answer.

In: the path, headers and body of a request; later the body of its response. Out: the body that goes out. A boundary: whatever breaks
here, the request goes out as the program wrote it, with one line in the log. Synchronous; a client with an event loop runs it on
a thread.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from tacit.app.library.message_formats import MessageFacts
from tacit.middleware.bodies import Body, RequestConversation, api_of, read_conversation, with_blocks
from tacit.middleware.conversations import MAX_SAID, Conversations, KnownConversation
from tacit.middleware.replies import Api, Reply, read_reply
from tacit.middleware.reuse import Reuse, kept, outline

_LOG = logging.getLogger(__name__)
SESSION_HEADER = "x-tacit-session"
OFF_HEADER = "x-tacit"
MAX_REPLY_BYTES = 16 << 20
"""A longer answer is passed on all the same, and not learned from."""
MAX_UNMEASURED = 20
"""Most requests of one turn that the cache meter looks at."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """A request that went out with its conversation; `Exchange.heard` wants it back with the answer."""

    api: Api
    known: KnownConversation
    said: tuple[MessageFacts, ...]
    stored: bool


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
        try:
            body: object = json.loads(content)
            conversation = read_conversation(api, cast("Body", body)) if isinstance(body, Mapping) else None
            return (
                self._carried(conversation, headers, content) if conversation is not None else (content, None)
            )
        except Exception:  # noqa: BLE001 - the middleware's boundary: the program's request goes out all the same
            _LOG.warning("a request goes out without memory", exc_info=True)
            return content, None

    def _carried(
        self, conversation: RequestConversation, headers: Mapping[str, str], content: bytes
    ) -> tuple[bytes, SentRequest]:
        known = self._known(conversation, headers)
        before = known.said if conversation.continues else ()
        messages = (*before, *conversation.said)
        placed = known.session.place(messages, whole=not conversation.continues)
        texts = placed.texts[len(before) :] or ("",) * len(conversation.said)
        body = with_blocks(conversation, system=placed.system, texts=texts)
        known.unmeasured.append((conversation.body, body, placed.every_call))
        del known.unmeasured[:-MAX_UNMEASURED]
        sent = SentRequest(
            api=conversation.api, known=known, said=messages, stored=conversation.api == "responses"
        )
        if body is conversation.body:
            return content, sent
        return _ENCODER.encode(body).encode("utf-8", "surrogatepass"), sent

    def _known(self, conversation: RequestConversation, headers: Mapping[str, str]) -> KnownConversation:
        name = headers.get(SESSION_HEADER, "") or self._session
        if name:
            return self._conversations.named(name)
        if conversation.continues:
            lasting = bool(conversation.body.get("conversation"))
            return (
                self._conversations.kept(conversation.continues, lasting=lasting) or self._conversations.new()
            )
        return self._conversations.found(conversation.said)

    def heard(self, sent: SentRequest, content: bytes, *, stream: bool) -> None:
        """Take in the answer to a request."""
        if len(content) > MAX_REPLY_BYTES:
            return
        try:
            reply = read_reply(sent.api, content, stream=stream)
            if reply is not None:
                self._take(sent, reply)
        except Exception:  # noqa: BLE001 - the middleware's boundary: the answer is the program's already
            _LOG.warning("an answer is not learned from", exc_info=True)

    def _take(self, sent: SentRequest, reply: Reply) -> None:
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
