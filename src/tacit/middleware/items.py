"""The items of the Responses API as a list of messages. In: `input` items. Out: what each says; items that carry blocks.

Besides messages (role and content) there are calls (`function_call` and its kin) and their outputs. Never: a change to an
item that came in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tacit.app.library.message_formats import (
    MAX_RESULT_CHARS,
    ROLE_CONTENT,
    MessageFacts,
    ToolOutcome,
    ToolRequest,
    call_of,
    field,
    looks_failed,
    own_text,
    parts_of,
    place_in_message,
)

TEXT_PART = "input_text"


class ResponseItems:
    """`input` of the Responses API, and `output` of its replies."""

    def read(self, message: object) -> MessageFacts:
        """What an item says."""
        kind = field(message, "type")
        if isinstance(message, str):
            return ROLE_CONTENT.read({"role": "user", "content": message})
        if kind in (None, "message"):
            return ROLE_CONTENT.read(message)
        if isinstance(kind, str) and kind.endswith("_call_output"):
            output = field(message, "output")
            text = (
                own_text(output, parts_of(output)) if not isinstance(output, Mapping) else json.dumps(output)
            )
            failed = field(message, "status") == "incomplete" or looks_failed(text)
            call_id = str(field(message, "call_id") or "")
            return MessageFacts(
                role="tool",
                results=(ToolOutcome(call_id=call_id, text=text[:MAX_RESULT_CHARS], failed=failed),),
            )
        if isinstance(kind, str) and kind.endswith("_call"):
            return MessageFacts(role="assistant", calls=(_call(message),))
        return MessageFacts(role="")

    def block_place(self, message: object) -> tuple[str, str]:
        """The field of an item that a block stands at the end of, and the type of a part that holds it there."""
        called = str(field(message, "type") or "").endswith("_call_output")
        return "output" if called else "content", TEXT_PART

    def place(self, message: Any, text: str) -> Any:
        """An item with `text` at its end as the only block in it; the same object where nothing changes."""
        return place_in_message(message, text, self.block_place(message))


def _call(item: object) -> ToolRequest:
    call_id = str(field(item, "call_id") or field(item, "id") or "")
    action = field(item, "action")
    if isinstance(action, Mapping):  # the built-in shell: what it runs stands in its action
        return ToolRequest(call_id=call_id, tool="shell", args=cast("Mapping[str, object]", action))
    return call_of(
        call_id, field(item, "name") or field(item, "type"), field(item, "arguments") or field(item, "input")
    )


RESPONSE_ITEMS = ResponseItems()
