"""A host's plugin that lost its copy of what was handed over, and asks for it again.

In: the fields of a payload; texts by message. Out: a request, a reply in JSON. Pure; knows no particular host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tacit.hosts.payload import Fields
from tacit.model.session import SessionKey
from tacit.ports.host import ReplayRequest

MAX_REPLAY = 400
"""Most messages of one request, the last ones."""


def read_replay(fields: Fields, *, session: str, messages: str) -> ReplayRequest | None:
    """Read `{"event": "replay", ...}`, its session and message ids in the fields so named; None for other events.

    Raises:
        InvalidPayload: naming the field that is missing or wrong.
    """
    if fields.needed_identifier("event") != "replay":
        return None
    key = SessionKey(host=fields.host, session_id=fields.needed_identifier(session))
    return ReplayRequest(session=key, message_ids=fields.texts(messages, most=MAX_REPLAY))


def replay_reply(texts: Mapping[str, str]) -> str:
    """`{"texts": {message id: exact text}}`; "" when nothing is known."""
    known = {name: text for name, text in texts.items() if text}
    return json.dumps({"texts": known}) if known else ""
