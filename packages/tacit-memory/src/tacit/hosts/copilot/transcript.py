"""Copilot CLI's logs. In: `events.jsonl` of a session. Out: a `Transcript`.

Events are `{type, data, id, timestamp, parentId}`; `data` of `user.message` has the words as typed in `content` and, with
what hooks and the host added, in `transformedContent`, which is not read. Deaf to messages with a `source` other than the
user and to subagents unless asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tacit.hosts.transcripts import Transcript, TurnBuilder, text_of, time_of
from tacit.hosts.transcripts.rows import (
    DetectedFormat,
    Fields,
    Readers,
    RowReader,
    fields_of,
    list_of,
    parse_json,
    text_in,
)
from tacit.session.transcripts import last_lines
from tacit.state.captured import Position
from tacit.text.lazy_regex import lazy_regex

_EXIT = lazy_regex(
    r"<(?:shell )?exited with exit code (\d+)>|<shellId: [^<>\n]* completed with exit code (\d+)>"
)
_GUIDANCE = lazy_regex(r'(?<!\n)\n+Tool "[^"\n]*" succeeded\. Additional guidance from postToolUse hooks:')
"""Matches where hooks added their text to a tool result. What follows may contain our own blocks."""
TAIL_BYTES = 256_000


def read_copilot(path: Path, since: Position | None = None, *, subagents: bool = False) -> Transcript:
    """Read the events of a session from `since` on; return a transcript with its turns and the position at which the next reading goes on.

    Raises:
        OSError: if the file cannot be read.
    """
    rows = RowReader(path=path, since=since or Position())
    start = fields_of(rows.first().get("data"))
    builder = rows.walk(partial(_take, subagents=subagents))
    cwd = text_in(fields_of(start.get("context")), "cwd")
    return rows.transcript(builder, session_id=text_in(start, "sessionId"), cwd=cwd)


def _take(builder: TurnBuilder, row: Fields, *, subagents: bool) -> None:
    data = fields_of(row.get("data"))
    at_ms = time_of(row.get("timestamp"))
    if (data.get("parentToolCallId") or row.get("agentId")) and not subagents:
        return
    match row.get("type"):
        case "user.message":
            if data.get("source") in (None, "", "user"):
                builder.user(text_in(data, "content"), at_ms)
        case "assistant.message":
            builder.reply(text_in(data, "content"), at_ms)
            for raw in list_of(data.get("toolRequests")):
                call = fields_of(raw)
                builder.call(text_in(call, "name"), text_in(call, "toolCallId"), call.get("arguments"), at_ms)
        case "tool.execution_complete":
            result = fields_of(data.get("result"))
            error = fields_of(data.get("error"))
            text = text_in(error, "message") or text_in(result, "content") or text_of(data.get("error"))
            if guidance := _GUIDANCE.search(text):
                text = text[: guidance.start()]
            failed = data.get("success") is False or _exit_code(data, text) not in ("", "0")
            builder.result(text_in(data, "toolCallId"), failed=failed, text=text, at_ms=at_ms)
        case _:
            pass


def _exit_code(data: Fields, text: str) -> str:
    """Return the exit code of a command as a text, from its field (newer versions) or its output (older ones); "" = there is none."""
    code = fields_of(data.get("shellExecution")).get("exitCode")
    if isinstance(code, int) and not isinstance(code, bool):
        return str(code)
    match = _EXIT.search(text[-400:])
    return (match[1] or match[2]) if match else ""


def last_reply(path: Path) -> str:
    """Return the words of the main agent's last message, found at the end of the events file; "" = none in its last `TAIL_BYTES`, or the file cannot be read."""
    for line in reversed(last_lines(path, TAIL_BYTES).split(b"\n")):
        if b'"assistant.message"' not in line:
            continue
        row = fields_of(parse_json(line.decode("utf-8", "replace")))
        data = fields_of(row.get("data"))
        if row.get("type") == "assistant.message" and not (
            data.get("parentToolCallId") or row.get("agentId")
        ):
            return text_in(data, "content")
    return ""


PLACES = (("session-state", "*/events.jsonl"),)
"""Where Copilot keeps sessions: (folder below its data folder, glob of the files in it)."""
FORMATS: Readers = {"copilot": read_copilot}
_FIRST = ("session.start", "session.info", "user.message", "assistant.message", "assistant.turn_start")


def detect_rows(rows: Sequence[Fields]) -> DetectedFormat | None:
    """Return format, session and folder if the first row (there must be one) is that of a Copilot session; else None."""
    first = rows[0]
    if text_in(first, "type") not in _FIRST or "data" not in first:
        return None
    data = fields_of(first.get("data"))
    cwd = text_in(fields_of(data.get("context")), "cwd")
    return DetectedFormat(format="copilot", host="copilot", session_id=text_in(data, "sessionId"), cwd=cwd)


def file_of_session(folders: Sequence[Path], session_id: str) -> Path | None:
    """Return the file that keeps the events of a session; None = no folder has it."""
    if not re.fullmatch(r"[A-Za-z0-9-]+", session_id):
        return None
    files = (folder / "session-state" / session_id / "events.jsonl" for folder in folders)
    return next((file for file in files if file.is_file()), None)
