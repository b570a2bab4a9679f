"""Library: a Python program that keeps its own list of messages, through `tacit.Tacit` or the SDK middleware.

In: what `Plain` reads (docs there), and two things more: `sent` at the end of a message (what its requests were like), and
`{"event": "replay", "session", "message_ids": [...]}`. Out: `{"system": text}` for what stands in the system prompt,
`{"text": text}` for what goes with the message or the tool result it was asked for; `{"history": [message ids]}` (of all texts only these stay);
`{"texts": {id: text}}`. Never: a decision.

The program sends its whole list with every request, so nothing that was handed over is stored for us: the same bytes go
out again each time, and a process that has lost them asks for a replay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from tacit.hosts.payload import Fields, read_replay, replay_reply
from tacit.hosts.plain import FIELDS as PLAIN_FIELDS
from tacit.hosts.plain import Plain
from tacit.model.pack import Block, Surface
from tacit.model.signal import MessageEnded, RequestUsage, Signal
from tacit.ports.host import BESIDE_RESULTS, Delivery, HostCapabilities, ReplayRequest

NAME = "library"
MAX_SENT = 16
_COUNTS = ("requests", "before", "kept", "before_bare", "kept_bare", "input_tokens", "cached_tokens")
FIELDS: Mapping[str, tuple[str, ...]] = {
    **PLAIN_FIELDS,
    "message_end": (*PLAIN_FIELDS["message_end"], "sent"),
    "replay": ("message_ids",),
    "ping": (),
}
"""The fields of each event that this host takes, besides `plain.COMMON`."""
_PLAIN = Plain(NAME, fields=FIELDS)
_SYSTEM_EVENTS = frozenset({"start", "subagent"})
_TEXT_EVENTS = frozenset({"prompt", "tool_start", "tool_end", "tool_failed"})

_DELIVERIES = (
    Delivery(surface=Surface.START, where="system prompt, as the program places it"),
    Delivery(surface=Surface.PROMPT, where="the newest user message"),
    Delivery(
        surface=Surface.ACTION,
        where="beside the result of the call",
        limit="the call that it is for has run by then; the next one can follow the rule",
    ),
    Delivery(surface=Surface.FAILURE, where="beside the failed result"),
    Delivery(surface=Surface.COMPACTION, where="system prompt, renewed"),
    Delivery(surface=Surface.SUBAGENT, where="system prompt of the subagent"),
    Delivery(surface=Surface.ON_DEMAND, where="answer of `recall` or `context_for`"),
)


class Library:
    """The `Host` for programs that use Tacit as a library; also a `ReplayingHost`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of this host, `library`."""
        return NAME

    @property
    def capabilities(self) -> HostCapabilities:
        """What this host can do. A block for a tool call arrives with its result; blocks may be placed in the system prompt."""
        return HostCapabilities(
            arrival=BESIDE_RESULTS,
            cap_chars=60_000,
            stored=False,
            post_compaction=True,
            system_prompt=True,
            title="Library (Python)",
            basis="an interface of Tacit: the program that calls it places the text",
            deliveries=_DELIVERIES,
        )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read one event into a signal; None for `ping` and `replay`, which are no signals.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        fields = _PLAIN.read(payload)
        if fields.raw("event") in ("ping", "replay"):
            return None
        signal = _PLAIN.parse(payload, at_ms=at_ms)
        if not isinstance(signal, MessageEnded):
            return signal
        return replace(signal, sent=tuple(_sent(request) for request in fields.children("sent")[:MAX_SENT]))

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """Return the reply as JSON: `system` or `text`, `history` and `notice`; "" = there is nothing to say, or the event takes no text."""
        event = payload.get("event")
        answer: dict[str, object] = {}
        if event not in _SYSTEM_EVENTS | _TEXT_EVENTS:
            return ""
        if not block.empty:
            in_system = event in _SYSTEM_EVENTS or block.placement == "system"
            answer["system" if in_system else "text"] = block.text
        if block.history is not None:
            answer["history"] = block.history
        if notice:
            answer["notice"] = notice
        return json.dumps(answer) if answer else ""

    def parse_replay(self, payload: Mapping[str, object]) -> ReplayRequest | None:
        """Read the event by which a program asks for the texts of earlier replies again, with its message ids; None for all other events.

        Raises:
            InvalidPayload: naming the field that is missing or wrong.
        """
        return read_replay(_PLAIN.read(payload), session="session", messages="message_ids")

    def encode_replay(self, texts: Mapping[str, str]) -> str:
        """Return the answer to a replay request, `{"texts": {message id: exact text}}`; "" = no text is known."""
        return replay_reply(texts)


def _sent(fields: Fields) -> RequestUsage:
    counts = {name: max(0, fields.whole(name) or 0) for name in _COUNTS}
    return RequestUsage(placement=fields.identifier("placement") or "none", **counts)
