"""Request bodies of the three APIs: the conversation in a body, and the places for blocks.

In: the text of a request. Out: its messages, and the same text with blocks inserted: the stable part at the end of the system prompt,
the others at the end of their messages. All characters of the text stay in their order: numbers, escapes, blanks and unknown fields
are not rewritten. A message that already has a block gets none.

| API | system prompt | messages |
|---|---|---|
| Messages | `system`, a text or a list of parts; the text becomes its last part | `messages` |
| Chat Completions | the end of the last leading system or developer message, else a system message | `messages` |
| Responses | `instructions`; with a stored `prompt` of the program, a developer item in front | `input` |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.library.message_formats import (
    GAP,
    ROLE_CONTENT,
    JsonFormat,
    MessageFacts,
    field,
    is_block_part,
    sequence,
    strip_own_blocks,
)
from tacit_integrations.items import RESPONSE_ITEMS
from tacit_integrations.located import Located, items_at, members_at, read_object
from tacit_integrations.replies import Api

_PATHS: tuple[tuple[str, Api], ...] = (
    ("/messages", "messages"),
    ("/chat/completions", "chat"),
    ("/responses", "responses"),
)
_SYSTEM = {"messages": "system", "responses": "instructions"}
_LEADING = ("system", "developer")
Body = Mapping[str, Any]
_Insertions = list[tuple[int, str]]
"""Texts with the position in the request where each is inserted."""


def api_of(path: str) -> Api | None:
    """Return the API that a request's path belongs to; None = an endpoint without a conversation."""
    return next((api for end, api in _PATHS if path.rstrip("/").endswith(end)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestConversation:
    """The conversation in a request.

    Attributes:
        api: which API.
        text: the body of the request.
        fields: the members of the body, with their positions.
        messages: the messages; a plain text is one message.
        said: the content of each message.
        continues: id of the response or conversation that the API stores and this request continues; "" = none.
    """

    api: Api
    text: str
    fields: Mapping[str, Located]
    messages: Sequence[Any]
    said: tuple[MessageFacts, ...]
    continues: str = ""

    @property
    def shape(self) -> JsonFormat:
        """Return the format of the messages."""
        return RESPONSE_ITEMS if self.api == "responses" else ROLE_CONTENT

    @property
    def body(self) -> Body:
        """Return the parsed body."""
        return {name: member.value for name, member in self.fields.items()}

    @property
    def placed(self) -> Located:
        """Return the member that holds the messages."""
        return self.fields[_list_name(self.api)]


def read_conversation(api: Api, text: str) -> RequestConversation | None:
    """Read the conversation in a request; None = there is none.

    Raises:
        ValueError: the request is not a JSON object.
    """
    name = _list_name(api)
    fields = read_object(text, lists=(name,))
    raw = fields[name].value if name in fields else None
    messages: Sequence[Any] = [{"role": "user", "content": raw}] if isinstance(raw, str) else sequence(raw)
    if not messages:
        return None
    shape = RESPONSE_ITEMS if api == "responses" else ROLE_CONTENT
    continues = ""
    if api == "responses":
        stored = _value(fields, "conversation")
        continues = (stored if isinstance(stored, str) else field(stored, "id")) or _value(
            fields, "previous_response_id"
        )
    return RequestConversation(
        api=api,
        text=text,
        fields=fields,
        messages=messages,
        said=tuple(shape.read(m) for m in messages),
        continues=str(continues or ""),
    )


def with_blocks(conversation: RequestConversation, *, system: str, texts: Sequence[str]) -> str:
    """Return the text of the request with `system` in the system prompt and `texts` in the messages (one for each; "" = none)."""
    insertions: _Insertions = []
    placed = conversation.placed
    for at, (fact, text) in enumerate(zip(conversation.said, texts, strict=True)):
        if not text or not fact.takes_block:
            continue
        insertions += (
            _into_message(conversation, placed.items[at], text) if placed.items else _at_end(placed, text)
        )
    if system:
        insertions += _into_system(conversation, system)
    return _inserted(conversation.text, insertions)


def _list_name(api: Api) -> str:
    return "input" if api == "responses" else "messages"


def _value(fields: Mapping[str, Located], name: str) -> Any:
    return fields[name].value if name in fields else None


def _into_message(conversation: RequestConversation, message: Located, text: str) -> _Insertions:
    if conversation.text[message.start] != "{":
        return []
    name, kind = conversation.shape.block_place(message.value)
    content = members_at(conversation.text, message.start).get(name)
    return [] if content is None else _into_content(conversation.text, content, text, kind)


def _into_content(text: str, content: Located, block: str, kind: str) -> _Insertions:
    """Return the insertion of a block at the end of a text or a list of parts; none if it is empty or already has a block."""
    if isinstance(content.value, str):
        return _at_end(content, block)
    if not sequence(content.value) or any(is_block_part(part) for part in sequence(content.value)):
        return []
    return [(items_at(text, content.start)[-1].end, "," + _json({"type": kind, "text": block}))]


def _at_end(content: Located, block: str) -> _Insertions:
    """Return the insertion of a block before the closing quotation mark of a text; none if it already has a block."""
    if not isinstance(content.value, str) or strip_own_blocks(content.value) != content.value:
        return []
    return [(content.end - 1, _json(f"{GAP}{block}")[1:-1])]


def _into_system(conversation: RequestConversation, text: str) -> _Insertions:
    if conversation.api == "chat":
        items = conversation.placed.items
        own: Located | None = None
        for item in items:
            if field(item.value, "role") not in _LEADING:
                break
            content = members_at(conversation.text, item.start).get("content")
            own = content if content is not None and isinstance(content.value, str | list) else own
        if own is None:
            return [(items[0].start, _json({"role": "system", "content": text}) + ",")]
        return _into_field(conversation.text, own, text)
    name = _SYSTEM[conversation.api]
    own = conversation.fields.get(name)
    if conversation.api == "responses" and _value(conversation.fields, "prompt") and not (own and own.value):
        return _developer_item(conversation, text)
    if own is None:
        return [(conversation.text.index("{") + 1, f'"{name}":{_json(text)},')]
    if own.value is None:  # if a name occurs twice, the last member counts
        return [(own.end, f',"{name}":{_json(text)}')]
    return _into_field(conversation.text, own, text)


def _into_field(text: str, own: Located, block: str) -> _Insertions:
    """Return the insertion of the start pack at the end of the program's own system text, which may be empty.

    A message of its own would be a second system message, which the chat templates of some models refuse.
    """
    if own.value == "":
        return [(own.end - 1, _json(block)[1:-1])]
    if own.value == []:
        return [(own.end - 1, _json({"type": "text", "text": block}))]
    return _into_content(text, own, block, "text")


def _developer_item(conversation: RequestConversation, text: str) -> _Insertions:
    if conversation.continues:
        return []  # the first request of the stored conversation already has it
    item = _json({"role": "developer", "content": text}) + ","
    placed = conversation.placed
    if placed.items:
        return [(placed.items[0].start, item)]
    return [(placed.start, f'[{item}{{"role":"user","content":'), (placed.end, "}]")]


def _inserted(text: str, insertions: _Insertions) -> str:
    pieces: list[str] = []
    at = 0
    for place, added in sorted(insertions, key=lambda insertion: insertion[0]):
        pieces += (text[at:place], added)
        at = place
    return "".join((*pieces, text[at:])) if insertions else text


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
