"""Whole sessions for replay: JSON Lines, one session a line: `session_id, date, turns: [{role, kind, text}]`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit_evals.data.rows import Row, read_rows

PROMPT_KINDS = ("prompt", "")
"""Kinds of a user's turn that reach the model as a prompt; slash commands and the like do not."""

UNDATED_MS = 1_735_689_600_000
"""When a session without a date is replayed: 2025-01-01."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One prompt with the end of what the agent answered."""

    prompt: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSession:
    """One session as its exchanges."""

    id: str
    at_ms: int
    exchanges: tuple[Exchange, ...]


def load_sessions(path: Path) -> tuple[RecordedSession, ...]:
    """Sessions with at least one prompt.

    Raises:
        InvalidInput: naming file and line.
    """
    sessions = (_session(row) for row in read_rows(path))
    return tuple(session for session in sessions if session.exchanges)


def _session(row: Row) -> RecordedSession:
    turns = row.values.get("turns")
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise row.bad("field 'turns' is no list of objects.")
    exchanges: list[Exchange] = []
    for turn in turns:
        text = str(turn.get("text") or "")
        if turn.get("role") == "user" and (turn.get("kind") or "") in PROMPT_KINDS and text.strip():
            exchanges.append(Exchange(prompt=text, answer=""))
        elif (
            turn.get("role") == "assistant"
            and turn.get("kind") in PROMPT_KINDS
            and exchanges
            and text.strip()
        ):
            exchanges[-1] = Exchange(prompt=exchanges[-1].prompt, answer=text)
    at_ms = row.day_ms("date") if row.values.get("date") else UNDATED_MS
    return RecordedSession(id=row.text("session_id"), at_ms=at_ms, exchanges=tuple(exchanges))
