"""aider's history. In: `.aider.chat.history.md`. Out: one `Transcript` per chat in it.

`# aider chat started at ...` begins a chat, lines after `#### ` are the user's, lines after `> ` are what aider itself said
(tools, commits, questions), the rest is the model's. Deaf to slash commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tacit.capture.transcripts.assemble import TurnBuilder
from tacit.capture.transcripts.rows import read_whole, whole
from tacit.capture.turn import Transcript
from tacit.state.captured import Position
from tacit.text.lazy_regex import lazy_regex

STARTED = lazy_regex(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$", re.MULTILINE)
_COMMIT = lazy_regex(r"^Commit ([0-9a-f]{7,12}) (\S.*?)\s*$")
_APPLIED = lazy_regex(r"^Applied edit to (.+?)\s*$")
_RAN = lazy_regex(r"^Running (.+?)\s*$")


def read_aider(path: Path) -> Iterator[Transcript]:
    """The chats of a history, oldest first; their ids are the moments they began at.

    Raises:
        OSError: if the file cannot be read.
    """
    text, _ = read_whole(path)
    starts = list(STARTED.finditer(text))
    for number, start in enumerate(starts):
        until = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        at_ms = int(datetime.fromisoformat(start[1]).replace(tzinfo=UTC).timestamp() * 1000)
        builder = TurnBuilder()
        _take(builder, text[start.end() : until], at_ms)
        cwd = str(path.parent) if path.name == ".aider.chat.history.md" else ""
        yield whole(builder, Position(offset=until), session_id=re.sub(r"\D+", "-", start[1]), cwd=cwd)


def _take(builder: TurnBuilder, text: str, at_ms: int) -> None:
    """Aider gives a time to the chat alone: prompts count on from it, a millisecond each, so that they stay in order."""
    prompt_lines: list[str] = []
    reply_lines: list[str] = []
    calls = 0

    def flush() -> None:
        if reply_lines:
            builder.reply("\n".join(reply_lines), at_ms)
            reply_lines.clear()
        words = "\n".join(prompt_lines).strip()
        if prompt_lines and not words.startswith("/"):
            builder.user(words, at_ms + builder.prompts)
        prompt_lines.clear()

    for line in text.splitlines():
        if line.startswith("#### "):
            if reply_lines:
                flush()
            prompt_lines.append(line[5:].rstrip())
            continue
        if prompt_lines:
            if not line.strip():
                continue
            flush()
        if line.startswith("> "):
            flush()
            calls += _did(builder, line[2:].strip(), f"call-{calls}", at_ms)
        elif not line.startswith(">"):
            reply_lines.append(line)
    flush()


def _did(builder: TurnBuilder, line: str, call_id: str, at_ms: int) -> bool:
    """Return what aider reports of its own work: a commit, an edit, a command."""
    if commit := _COMMIT.match(line):
        builder.call("bash", call_id, {"command": "git commit"}, at_ms)
        builder.result(call_id, failed=False, text=f"[{commit[1]}] {commit[2]}", at_ms=at_ms)
    elif applied := _APPLIED.match(line):
        builder.call("edit", call_id, {"path": applied[1]}, at_ms)
        builder.result(call_id, failed=False, text="", at_ms=at_ms)
    elif ran := _RAN.match(line):
        builder.call("bash", call_id, {"command": ran[1]}, at_ms)
    else:
        return False
    return True
