"""What was said since the extractor read last. In: turns. Out: utterances that wait, and the JSON text that carries them.

Secrets are taken out before anything waits. The newest words are kept where there are too many.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from tacit.capture.turn import Role, Turn

LONGEST = 4000
"""Characters of one utterance that is read whole; of a longer one the beginning and the end are."""
_HEAD, _TAIL = 2600, 1300


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What one side said. `prompt` = number of the user's prompt it belongs to."""

    prompt: int
    role: Role
    text: str
    at_ms: int = 0


def unread_name(host: str, session_id: str) -> str:
    """Name of the value that holds what waits of a session."""
    return f"capture/unread/{host}/{session_id}"


def read_unread(text: str | None) -> tuple[Waiting, ...]:
    """What waits; nothing where the text makes no sense."""
    try:
        raw = cast("list[dict[str, Any]]", json.loads(text or "[]"))
        return tuple(Waiting(**one) for one in raw)
    except (ValueError, TypeError):
        return ()


def write_unread(waiting: Sequence[Waiting]) -> str | None:
    """As JSON; None = nothing waits."""
    return json.dumps([asdict(one) for one in waiting], separators=(",", ":")) if waiting else None


def with_turns(
    waiting: Sequence[Waiting], turns: Sequence[Turn], *, redact: Callable[[str], str], most_chars: int
) -> tuple[Waiting, ...]:
    """What waits with what `turns` add, the newest `most_chars` characters of it."""
    added = [
        Waiting(prompt=turn.number, role=turn.role, text=text, at_ms=turn.at_ms)
        for turn in turns
        if (text := _shortened(redact(turn.text)).strip())
    ]
    kept: list[Waiting] = []
    chars = 0
    for one in reversed((*waiting, *added)):
        chars += len(one.text)
        if chars > most_chars and kept:
            break
        kept.append(one)
    return tuple(reversed(kept))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:_HEAD]}\n[...]\n{text[-_TAIL:]}"
