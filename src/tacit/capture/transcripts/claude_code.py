"""Claude Code's JSONL transcript. In: a file and the position where reading stopped. Out: a `Transcript`.

Also what `claude -p --output-format stream-json` prints. Deaf to attachments (hook output lives there) but for prompts that
were typed while the agent worked, to meta lines, compaction summaries, sidechains unless asked, and prompts that the host
made itself. Never writes, never fails on a bad or half-written line.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from tacit.capture.transcripts.assemble import TurnBuilder, text_of, time_of
from tacit.capture.transcripts.rows import Fields, RowReader, fields_of, text_in
from tacit.capture.turn import Position, Transcript
from tacit.reading.prompts.machine_made import PROGRAM_SOURCES

_DEAF_FLAGS = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")


def read_claude_code(path: Path, since: Position | None = None, *, subagents: bool = False) -> Transcript:
    """Read `path` from `since` on; from the start when the file is another one or has shrunk.

    A last line without an end is read only when it is whole; else it is left for the next reading.

    Raises:
        OSError: if the file cannot be read.
    """
    rows = RowReader(path=path, since=since or Position())
    builder: TurnBuilder | None = None
    session_id = cwd = ""
    for fields in rows:
        builder = builder or rows.builder()
        session_id = session_id or text_in(fields, "sessionId") or text_in(fields, "session_id")
        cwd = cwd or text_in(fields, "cwd")
        _take(builder, fields, subagents=subagents)
    return rows.transcript(builder or rows.builder(), session_id=session_id, cwd=cwd)


def _take(builder: TurnBuilder, fields: Fields, *, subagents: bool) -> None:
    kind = fields.get("type")
    if kind == "attachment":
        builder.user(_typed_meanwhile(fields), time_of(fields.get("timestamp")))
        return
    if kind not in ("user", "human", "assistant") or any(fields.get(flag) for flag in _DEAF_FLAGS):
        return
    if (fields.get("isSidechain") or fields.get("parent_tool_use_id")) and not subagents:
        return
    raw = fields.get("message")
    if not isinstance(raw, Mapping):
        return
    content = cast("Fields", raw).get("content")
    at_ms = time_of(fields.get("timestamp"))
    if kind == "assistant":
        _take_reply(builder, content, at_ms)
    else:
        machine = any(
            fields.get(name) in PROGRAM_SOURCES for name in ("promptSource", "turnOrigin", "source")
        )
        _take_prompt(builder, content, at_ms, machine=machine)


def _typed_meanwhile(fields: Fields) -> str:
    """What a person typed while the agent worked: Claude Code keeps it as an attachment, never as a line of the user."""
    given = fields_of(fields.get("attachment"))
    origin = fields_of(given.get("origin")).get("kind", "human")
    if given.get("type") != "queued_command" or given.get("isMeta") or fields.get("isSidechain"):
        return ""
    if given.get("commandMode", "prompt") != "prompt" or origin != "human":
        return ""
    return text_of(given.get("prompt"))


def _take_prompt(builder: TurnBuilder, content: object, at_ms: int, *, machine: bool) -> None:
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    for block in blocks:
        if isinstance(block, Mapping) and cast("Fields", block).get("type") == "tool_result":
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
        if not isinstance(block, Mapping):
            continue
        fields = cast("Fields", block)
        if fields.get("type") == "text":
            builder.reply(text_in(fields, "text"), at_ms)
        elif fields.get("type") == "tool_use":
            builder.call(text_in(fields, "name"), text_in(fields, "id"), fields.get("input"), at_ms)
