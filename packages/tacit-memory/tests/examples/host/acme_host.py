"""Example of a host: the agent program Acme, whose hook command is `tacit-hook acme`.

In: `{"type", "id", "dir", ...}` for the types `start`, `message`, `tool`, `done`. Out: `{"context": text}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tacit.hosts.payload import Fields, digest
from tacit.model.pack import Block
from tacit.model.session import SessionKey
from tacit.model.signal import (
    MessageEnded,
    PromptSubmitted,
    SessionStarted,
    Signal,
    ToolCall,
    ToolStarting,
)
from tacit.ports.host import BESIDE_RESULTS, HostCapabilities


class Acme:
    """See the port `Host`."""

    name = "acme"
    capabilities = HostCapabilities(
        arrival=BESIDE_RESULTS, cap_chars=20_000, stored=True, post_compaction=False
    )

    def parse(self, payload: Mapping[str, object], *, at_ms: int) -> Signal | None:
        """Read one event; other types mean nothing to Tacit."""
        fields = Fields(self.name, payload)
        kind = fields.needed_identifier("type")
        common = {
            "session": SessionKey(host=self.name, session_id=fields.needed_identifier("id")),
            "key": f"{kind}:{digest(at_ms, payload)}",
            "at_ms": at_ms,
            "cwd": fields.path("dir"),
        }
        match kind:
            case "start":
                return SessionStarted(**common)
            case "message":
                return PromptSubmitted(**common, text=fields.needed_text("text"))
            case "tool":
                call = ToolCall(tool=fields.needed_identifier("tool"), command=fields.text("command"))
                return ToolStarting(**common, call=call)
            case "done":
                return MessageEnded(**common, text=fields.text("text"), final=True)
            case _:
                return None

    def encode(self, payload: Mapping[str, object], block: Block, *, notice: str = "") -> str:
        """What Acme adds to the conversation; nothing where there is no block."""
        return "" if block.empty else json.dumps({"context": block.text})
