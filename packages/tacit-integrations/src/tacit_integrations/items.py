"""The items of the Responses API as messages. In: `input` items. Out: their content as `MessageFacts`; items with blocks.

Items are messages (role and content), calls (`function_call` and similar types) and their outputs. Never changes an item.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tacit.library.message_formats import (
    MAX_RESULT_CHARS,
    ROLE_CONTENT,
    MessageFacts,
    ToolOutcome,
    ToolRequest,
    field,
    looks_failed,
    own_text,
    parts_of,
    place_in_message,
    tool_request_of,
)

TEXT_PART = "input_text"


class ResponseItems:
    """The message format of the Responses API: the items of `input`, and of a reply's `output`."""

    def read(self, message: object) -> MessageFacts:
        """Return the content of an item."""
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
        """Return the field of an item to which a block is appended, and the type of the part that holds it in a list."""
        called = str(field(message, "type") or "").endswith("_call_output")
        return "output" if called else "content", TEXT_PART

    def place(self, message: Any, text: str) -> Any:
        """Return an item with `text` at its end as its only block; the same object if nothing changes."""
        return place_in_message(message, text, self.block_place(message))


def _call(item: object) -> ToolRequest:
    call_id = str(field(item, "call_id") or field(item, "id") or "")
    action = field(item, "action")
    if isinstance(action, Mapping):  # the built-in shell has its command in `action`
        return ToolRequest(call_id=call_id, tool="shell", args=cast("Mapping[str, object]", action))
    return tool_request_of(
        call_id, field(item, "name") or field(item, "type"), field(item, "arguments") or field(item, "input")
    )


RESPONSE_ITEMS = ResponseItems()
