"""Request bodies of the three APIs: where the conversation stands in them, and where a block goes.

In: the JSON value of a request. Out: its messages, and a new value with blocks: the stable part at the end of the system prompt,
the rest with the messages it was made for. Nothing else of a request changes; without a block it is the same object.

| API | system prompt | messages |
|---|---|---|
| Messages | `system`, a text or a list of parts; the text becomes its last part | `messages` |
| Chat Completions | a message behind the leading system or developer messages, of the same role | `messages` |
| Responses | `instructions`; with a stored `prompt` of the caller's, a developer item in front | `input` |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tacit.app.library.message_formats import GAP, ROLE_CONTENT, MessageFacts, MessageFormat, field, sequence
from tacit.middleware.items import RESPONSE_ITEMS
from tacit.middleware.replies import Api

_PATHS: tuple[tuple[str, Api], ...] = (
    ("/messages", "messages"),
    ("/chat/completions", "chat"),
    ("/responses", "responses"),
)
Body = Mapping[str, Any]


def api_of(path: str) -> Api | None:
    """Which API a request's path belongs to; None = none that carries a conversation."""
    return next((api for end, api in _PATHS if path.rstrip("/").endswith(end)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestConversation:
    """A request's conversation.

    Attributes:
        api: which API.
        body: the request.
        messages: its messages; a text alone is one.
        said: what each of them says.
        continues: name of the response or conversation that the API keeps and this goes on with; "" = none.
    """

    api: Api
    body: Body
    messages: Sequence[Any]
    said: tuple[MessageFacts, ...]
    continues: str = ""

    @property
    def shape(self) -> MessageFormat:
        """How its messages are written."""
        return RESPONSE_ITEMS if self.api == "responses" else ROLE_CONTENT


def read_conversation(api: Api, body: Body) -> RequestConversation | None:
    """The conversation in `body`; None where there is none."""
    raw = body.get("input" if api == "responses" else "messages")
    messages: Sequence[Any] = [{"role": "user", "content": raw}] if isinstance(raw, str) else sequence(raw)
    if not messages:
        return None
    shape = RESPONSE_ITEMS if api == "responses" else ROLE_CONTENT
    conversation = body.get("conversation")
    conversation_id = field(conversation, "id") if not isinstance(conversation, str) else conversation
    before = conversation_id or body.get("previous_response_id") if api == "responses" else ""
    return RequestConversation(
        api=api,
        body=body,
        messages=messages,
        said=tuple(shape.read(m) for m in messages),
        continues=str(before or ""),
    )


def with_blocks(conversation: RequestConversation, *, system: str, texts: Sequence[str]) -> Body:
    """The request with `system` in its system prompt and `texts` with its messages (one each; "" = none)."""
    shape = conversation.shape
    placed = [
        shape.place(message, text) if fact.digest or fact.results else message
        for message, fact, text in zip(conversation.messages, conversation.said, texts, strict=True)
    ]
    changed = any(new is not old for new, old in zip(placed, conversation.messages, strict=True))
    body = conversation.body
    if changed:
        name = "input" if conversation.api == "responses" else "messages"
        alone = isinstance(body.get(name), str)
        body = {**body, name: placed[0]["content"] if alone else placed}
    return _with_system(conversation.api, body, system) if system else body


def _with_system(api: Api, body: Body, text: str) -> Body:
    match api:
        case "messages":
            return {**body, "system": _behind(body.get("system"), text)}
        case "chat":
            return {**body, "messages": _after_system(sequence(body.get("messages")), text)}
        case "responses":
            if body.get("prompt") and not body.get("instructions"):
                if body.get("previous_response_id") or body.get("conversation"):
                    return body  # it stands at the beginning of what the API keeps
                input_items = body.get("input")
                items = (
                    [{"role": "user", "content": input_items}]
                    if isinstance(input_items, str)
                    else sequence(input_items)
                )
                return {**body, "input": [{"role": "developer", "content": text}, *items]}
            return {**body, "instructions": _behind(body.get("instructions"), text)}


def _behind(system: object, text: str) -> object:
    if not system:
        return text
    if isinstance(system, str):
        return system + GAP + text
    return [*cast("Sequence[object]", system), {"type": "text", "text": text}]


def _after_system(messages: Sequence[Any], text: str) -> list[Any]:
    leading = 0
    role = "system"
    while leading < len(messages) and field(messages[leading], "role") in ("system", "developer"):
        role = field(messages[leading], "role")
        leading += 1
    return [*messages[:leading], {"role": role, "content": text}, *messages[leading:]]
