"""aider's history. In: `.aider.chat.history.md`. Out: one `Transcript` per chat in it.

`# aider chat started at ...` between empty lines begins a chat. The user's lines begin with `#### ` and end with two blanks, and an empty line stands in
front of the first. Lines after `> ` are what aider itself said (tools, commits, questions), the rest is the model's; so is all that stands in a fence, whatever it
looks like. Deaf to slash commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tacit.hosts.transcripts.assemble import TurnBuilder
from tacit.hosts.transcripts.rows import read_whole, whole
from tacit.hosts.transcripts.turn import Transcript
from tacit.state.captured import Position
from tacit.text.lazy_regex import lazy_regex

STARTED = lazy_regex(r"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$", re.MULTILINE)
_FENCE = lazy_regex(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")
_PROMPT_LINE = lazy_regex(r"#### (.*)  \r?")
_COMMIT = lazy_regex(r"^Commit ([0-9a-f]{7,12}) (\S.*?)\s*$")
_APPLIED = lazy_regex(r"^Applied edit to (.+?)\s*$")
_RAN = lazy_regex(r"^Running (.+?)\s*$")


def read_aider(path: Path) -> Iterator[Transcript]:
    """The chats of a history, oldest first; their ids are the moments they began at.

    Raises:
        OSError: if the file cannot be read.
    """
    text, _ = read_whole(path)
    lines = [_Line(text=line) for line in text.split("\n")]
    _mark_fences(lines)
    starts = [
        (number, match)
        for number, line in enumerate(lines)
        if not line.fenced and (match := _started(lines, number))
    ]
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    for (number, start), until in zip(starts, ends, strict=False):
        at_ms = int(datetime.fromisoformat(start[1]).replace(tzinfo=UTC).timestamp() * 1000)
        builder = TurnBuilder()
        _take(builder, lines[number + 1 : until], at_ms)
        cwd = str(path.parent) if path.name == ".aider.chat.history.md" else ""
        offset = sum(len(line.text) + 1 for line in lines[:until])
        yield whole(
            builder,
            Position(offset=min(offset, len(text))),
            session_id=re.sub(r"\D+", "-", start[1]),
            cwd=cwd,
        )


@dataclass(slots=True, kw_only=True)
class _Line:
    """A line, and whether it belongs to a fence."""

    text: str
    fenced: bool = False


def _started(lines: Sequence[_Line], number: int) -> re.Match[str] | None:
    """The mark of a new chat, where an empty line stands on both sides of it."""
    near = (lines[at].text.strip() for at in (number - 1, number + 1) if 0 <= at < len(lines))
    return None if any(near) else STARTED.fullmatch(lines[number].text)


def _mark_fences(lines: Sequence[_Line]) -> None:
    """Mark the lines of fences. A fence that a reply left open ends at the next chat.

    The mark of a chat inside of a fence is part of the reply: the number of fence lines behind it, up to the next such mark, is odd then.
    """
    fences = {number: fence for number, line in enumerate(lines) if (fence := _FENCE.match(line.text))}
    chats = [number for number in range(len(lines)) if _started(lines, number)]
    real = {
        chat
        for chat, until in zip(chats, [*chats[1:], len(lines)], strict=False)
        if sum(chat < number < until for number in fences) % 2 == 0
    }
    opened = ""
    for number, line in enumerate(lines):
        if number in real:
            opened = ""
        line.fenced = bool(opened) or number in fences
        if (fence := fences.get(number)) is not None:
            if not opened:
                opened = fence["mark"]
            elif fence["mark"].startswith(opened) and not fence["info"].strip():
                opened = ""


def _take(builder: TurnBuilder, lines: Sequence[_Line], at_ms: int) -> None:
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

    before = ""
    for row in lines:
        line, previous = row.text, before
        before = line
        if row.fenced:
            if prompt_lines:
                flush()
            reply_lines.append(line)
            continue
        # A prompt of several lines is one block: only its first line has an empty one in front of it.
        users = _PROMPT_LINE.fullmatch(line)
        if users and (prompt_lines or not previous.strip()):
            if reply_lines:
                flush()
            prompt_lines.append(users[1].rstrip())
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
