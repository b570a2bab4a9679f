"""Claude Code's JSONL transcript. In: a file and the position where reading stopped. Out: a `Transcript`.

Also what `claude -p --output-format stream-json` prints. Deaf to attachments (hook output lives there) but for prompts that
were typed while the agent worked, to meta lines, compaction summaries, sidechains unless asked, and prompts that the host
made itself. Never writes, never fails on a bad or half-written line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from tacit.hosts.registry import CLAUDE_CODE
from tacit.hosts.transcripts import Transcript, TurnBuilder, text_of, time_of
from tacit.hosts.transcripts.rows import (
    DetectedFormat,
    Fields,
    Readers,
    RowReader,
    TranscriptInfo,
    fields_of,
    is_object,
    parse_json,
    text_in,
    transcript_info,
)
from tacit.reading.prompts import by_program
from tacit.state.captured import Position

_MESSAGE_TYPES = ("user", "human", "assistant")


class _Usage(msgspec.Struct):
    """The tokens of a request as the API counted them: read without the cache, read from the cache, written to the cache."""

    anew: int | None = msgspec.field(default=None, name="input_tokens")
    cached: int | None = msgspec.field(default=None, name="cache_read_input_tokens")
    written: int | None = msgspec.field(default=None, name="cache_creation_input_tokens")


class _Said(msgspec.Struct):
    """The words of a message, and the token counts of the request that it answers."""

    content: Any = None
    id: Any = None
    usage: _Usage | None = None


class _Row(msgspec.Struct, rename="camel"):
    """The fields that are read of a line, under the host's names. Everything else in it, a third of a long session, is skipped undecoded."""

    type: Any = None
    session_id: Any = None
    session: Any = msgspec.field(default=None, name="session_id")
    cwd: Any = None
    timestamp: Any = None
    message: _Said | None = None
    attachment: Any = None
    is_meta: Any = None
    is_compact_summary: Any = None
    is_visible_in_transcript_only: Any = None
    is_api_error_message: Any = None
    is_sidechain: Any = None
    parent: Any = msgspec.field(default=None, name="parent_tool_use_id")
    prompt_source: Any = None
    turn_origin: Any = None
    entrypoint: Any = None
    origin: Any = None
    source: Any = None


_decode = msgspec.json.Decoder(_Row).decode
_NAMES = _Row.__struct_encode_fields__


def _row(line: bytes) -> object:
    """Parse a line into a `_Row`; another value if the line is JSON but no object, None if it is no JSON."""
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        value = parse_json(line)
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, object]", value)
    message = fields.get("message")
    content = {"content": cast("Fields", message).get("content")} if isinstance(message, dict) else None
    return msgspec.convert({**{name: fields.get(name) for name in _NAMES}, "message": content}, _Row)


def read_claude_code(path: Path, since: Position | None = None, *, subagents: bool = False) -> Transcript:
    """Read a session from `since` on; from the start if the file is another one or has shrunk. Sidechains are left out unless `subagents`.

    A last line without an end is read only when it is whole; else it is left for the next reading.

    Raises:
        OSError: if the file cannot be read.
    """
    rows = RowReader(path=path, since=since or Position())
    session_id = cwd = ""

    def take(builder: TurnBuilder, row: _Row) -> None:
        nonlocal session_id, cwd
        session_id = session_id or _text(row.session_id) or _text(row.session)
        cwd = cwd or _text(row.cwd)
        _take(builder, row, subagents=subagents)

    builder = rows.walk_parsed(_row, _Row, take)
    return rows.transcript(builder, session_id=session_id, cwd=cwd)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _take(builder: TurnBuilder, row: _Row, *, subagents: bool) -> None:
    kind = row.type
    if kind == "attachment":
        builder.user(_typed_meanwhile(row), time_of(row.timestamp))
        return
    if kind not in _MESSAGE_TYPES or row.message is None:
        return
    if row.is_meta or row.is_compact_summary or row.is_visible_in_transcript_only or row.is_api_error_message:
        return
    if (row.is_sidechain or row.parent) and not subagents:
        return
    content = row.message.content
    at_ms = time_of(row.timestamp)
    if kind == "assistant":
        _take_usage(builder, row.message, at_ms)
        _take_reply(builder, content, at_ms)
    else:
        machine = by_program(
            row.origin, row.prompt_source, row.turn_origin, row.source, entrypoint=_text(row.entrypoint)
        )
        _take_prompt(builder, content, at_ms, machine=machine)


def _take_usage(builder: TurnBuilder, message: _Said, at_ms: int) -> None:
    if (counted := message.usage) is not None:
        cached = counted.cached or 0
        read = (counted.anew or 0) + cached + (counted.written or 0)
        builder.request(_text(message.id), read=read, cached=cached, at_ms=at_ms)


def _typed_meanwhile(row: _Row) -> str:
    """Return the prompt that was typed while the agent worked, which Claude Code keeps as an attachment; "" = the row is none."""
    attachment = fields_of(row.attachment)
    if attachment.get("type") != "queued_command" or attachment.get("isMeta") or row.is_sidechain:
        return ""
    if attachment.get("commandMode", "prompt") != "prompt" or by_program(attachment.get("origin")):
        return ""
    return text_of(attachment.get("prompt"))


def _take_prompt(builder: TurnBuilder, content: object, at_ms: int, *, machine: bool) -> None:
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    for block in blocks:
        if isinstance(block, dict) and cast("Fields", block).get("type") == "tool_result":
            fields = cast("Fields", block)
            builder.result(
                text_in(fields, "tool_use_id"),
                failed=bool(fields.get("is_error")),
                text=text_of(fields.get("content")),
                at_ms=at_ms,
            )
    if not machine:
        builder.user(content if isinstance(content, str) else text_of(blocks), at_ms)


def _take_reply(builder: TurnBuilder, content: object, at_ms: int) -> None:
    if isinstance(content, str):
        builder.reply(content, at_ms)
    if not isinstance(content, list):
        return
    for block in cast("list[object]", content):
        if not isinstance(block, dict):
            continue
        fields = cast("Fields", block)
        if fields.get("type") == "text":
            builder.reply(text_in(fields, "text"), at_ms)
        elif fields.get("type") == "tool_use":
            builder.call(text_in(fields, "name"), text_in(fields, "id"), fields.get("input"), at_ms)


_CLAUDE = (
    "user",
    "human",
    "assistant",
    "summary",
    "system",
    "attachment",
    "queue-operation",
    "file-history-snapshot",
)


def detect_rows(rows: Sequence[Fields]) -> DetectedFormat | None:
    """Return format, session and folder if the first rows of a file (at least one) are those of a Claude Code session; else None."""
    if not any(_is_claude(row) for row in rows):
        return None
    sessions = [row for row in rows if text_in(row, "sessionId") or text_in(row, "session_id")]
    row = sessions[0] if sessions else rows[0]
    session_id = text_in(row, "sessionId") or text_in(row, "session_id")
    cwd = next((text_in(row, "cwd") for row in rows if text_in(row, "cwd")), "")
    return DetectedFormat(format=CLAUDE_CODE.name, host=CLAUDE_CODE.name, session_id=session_id, cwd=cwd)


def _is_claude(row: Fields) -> bool:
    if row.get("type") not in _CLAUDE:
        return False
    return (
        is_object(row.get("message"))
        or "sessionId" in row
        or "leafUuid" in row
        or (row.get("type") == "system" and row.get("subtype") == "init" and "session_id" in row)
    )


def folder_name(folder: str) -> str:
    """Return the name of Claude Code's folder for a working folder: everything but letters and digits becomes a dash."""
    return re.sub(r"[^A-Za-z0-9]", "-", folder)


def find(folders: Sequence[Path], root: str) -> Iterator[TranscriptInfo]:
    """Yield the transcript files of sessions that ran in `root`; "" = anywhere. Empty files and those of subagents are left out."""
    places = [
        place
        for folder in folders
        for place in sorted((folder / "projects").glob(folder_name(root) if root else "*"))
    ]
    for path in (path for place in places for path in place.glob("*.jsonl")):
        if not path.name.startswith("agent-"):
            info = transcript_info(CLAUDE_CODE.name, path, (path.stem,), root)
            if info and info.size_bytes:
                yield info


FORMATS: Readers = {CLAUDE_CODE.name: read_claude_code}
