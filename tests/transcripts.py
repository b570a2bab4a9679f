"""Transcripts as Claude Code writes them."""

from __future__ import annotations

import json
from pathlib import Path


def write_transcript(
    path: Path,
    *messages: tuple[str, object],
    cwd: Path | str,
    session: str = "s1",
    at: str = "2026-11-20T10:{:02}:00Z",
) -> Path:
    """Write messages of (role, text or blocks); `at` is their time, with a place for the number of the message."""
    rows = [
        {
            "type": role, "uuid": f"{session}-{number}", "sessionId": session, "cwd": str(cwd), "timestamp": at.format(number),
            "message": {"role": role, "content": content},
        }
        for number, (role, content) in enumerate(messages)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def exchange(*said: str) -> list[tuple[str, object]]:
    """The messages of a user and an assistant who speak in turn."""
    return [
        ("assistant", [{"type": "text", "text": text}]) if number % 2 else ("user", text)
        for number, text in enumerate(said)
    ]


def tool_call(name: str, tool: str, **given: object) -> tuple[str, object]:
    """The message with which an assistant calls a tool."""
    return "assistant", [{"type": "tool_use", "id": name, "name": tool, "input": given}]


def tool_result(name: str, text: str = "ok", *, failed: bool = False) -> tuple[str, object]:
    """The message that holds what came of a call."""
    return "user", [{"type": "tool_result", "tool_use_id": name, "content": text, "is_error": failed}]
