"""Claude Code's JSONL transcript. In: a file and the position where reading stopped. Out: a `Transcript`.

Deaf to attachments (hook output lives there), meta lines, compaction summaries, sidechains unless asked, and prompts
that the host made itself. Never writes, never fails on a bad or half-written line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from tacit.capture.transcripts.assemble import TurnBuilder, text_of, time_of
from tacit.capture.turn import Position, Transcript
from tacit.reading.prompts.machine_made import PROGRAM_SOURCES

_HEAD_BYTES = 256
_DEAF_FLAGS = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
_Fields = Mapping[str, object]


def read_claude_code(path: Path, since: Position | None = None, *, subagents: bool = False) -> Transcript:
    """Read `path` from `since` on; from the start when the file is another one or has shrunk.

    A last line without an end is read only when it is whole; else it is left for the next reading.

    Raises:
        OSError: if the file cannot be read.
    """
    start = since or Position()
    with path.open("rb") as file:
        head = hashlib.sha256(file.read(_HEAD_BYTES)).hexdigest()[:16]
        size = file.seek(0, 2)
        if start.offset > size or (start.head and start.head != head and start.offset >= _HEAD_BYTES):
            start = Position()
        file.seek(start.offset)
        builder = TurnBuilder(prompts=start.prompts)
        offset, bad, session_id, cwd = start.offset, 0, "", ""
        for line in file:
            fields = _parse(line)
            if fields is None and not line.endswith(b"\n"):
                break
            offset += len(line)
            if fields is None:
                bad += bool(line.strip())
                continue
            session_id = session_id or _text(fields, "sessionId")
            cwd = cwd or _text(fields, "cwd")
            _take(builder, fields, subagents=subagents)
    turns = builder.done()
    end = Position(offset=offset, head=head, prompts=builder.prompts)
    return Transcript(turns=turns, end=end, session_id=session_id, cwd=cwd, bad_lines=bad)


def _parse(line: bytes) -> _Fields | None:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("_Fields", value) if isinstance(value, dict) else None


def _text(fields: _Fields, name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _take(builder: TurnBuilder, fields: _Fields, *, subagents: bool) -> None:
    kind = fields.get("type")
    if kind not in ("user", "human", "assistant") or any(fields.get(flag) for flag in _DEAF_FLAGS):
        return
    if fields.get("isSidechain") and not subagents:
        return
    raw = fields.get("message")
    if not isinstance(raw, Mapping):
        return
    content = cast("_Fields", raw).get("content")
    at_ms = time_of(fields.get("timestamp"))
    if kind == "assistant":
        _take_reply(builder, content, at_ms)
    else:
        machine = any(
            fields.get(name) in PROGRAM_SOURCES for name in ("promptSource", "turnOrigin", "source")
        )
        _take_prompt(builder, content, at_ms, machine=machine)


def _take_prompt(builder: TurnBuilder, content: object, at_ms: int, *, machine: bool) -> None:
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    for block in blocks:
        if isinstance(block, Mapping) and cast("_Fields", block).get("type") == "tool_result":
            fields = cast("_Fields", block)
            builder.result(
                _text(fields, "tool_use_id"),
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
        fields = cast("_Fields", block)
        if fields.get("type") == "text":
            builder.reply(_text(fields, "text"), at_ms)
        elif fields.get("type") == "tool_use":
            builder.call(_text(fields, "name"), _text(fields, "id"), fields.get("input"), at_ms)
