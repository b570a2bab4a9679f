"""Codex' rollouts. In: a rollout file and the position where reading stopped. Out: a `Transcript`.

Lines `{timestamp, type, payload}`: `session_meta` says where it ran, `response_item` holds what the model saw (messages,
calls, outputs), `event_msg` what the terminal showed. Both tell the same words; they are heard once. Deaf to developer
messages (hook output lives there), environment and rule text posing as the user, compaction, and subagents unless asked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
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
from tacit.state.captured import Position
from tacit.text.lazy_regex import lazy_regex

_NOT_SAID = lazy_regex(
    r"\s*(?:# AGENTS\.md instructions|<(?:permissions|skill|skills_instructions|turn_aborted|subagent_notification"
    r"|collaboration_mode|user_shell_command|INSTRUCTIONS)\b)",
    re.IGNORECASE,
)
_REQUEST = lazy_regex(r"^## My request for Codex:\s*$", re.MULTILINE)
_EXIT = lazy_regex(
    r"^(?:Process exited with code|Exit code:?|Command failed with exit code) (\d+)", re.MULTILINE
)
_OUTPUT = lazy_regex(r"^(?:Output|Stdout):\s*$", re.MULTILINE)


def read_codex(path: Path, since: Position | None = None, *, subagents: bool = False) -> Transcript:
    """Read the session of a rollout file from `since` on; None = from the start. The rollout of a subagent gives no turns unless `subagents`.

    Raises:
        OSError: if the file cannot be read.
    """
    rows = RowReader(path=path, since=since or Position())
    first = rows.first()
    meta = fields_of(first.get("payload")) if first.get("type") == "session_meta" else first
    deaf = _is_subagent(meta) and not subagents
    heard: dict[str, str] = {}

    def take(builder: TurnBuilder, row: Fields) -> None:
        if not deaf:
            _take(builder, row, heard)

    session_id = text_in(meta, "session_id") or text_in(meta, "id")
    return rows.transcript(rows.walk(take), session_id=session_id, cwd=text_in(meta, "cwd"))


def _is_subagent(meta: Fields) -> bool:
    return meta.get("thread_source") == "subagent" or "subagent" in fields_of(meta.get("source"))


def _take(builder: TurnBuilder, row: Fields, heard: dict[str, str]) -> None:
    at_ms = time_of(row.get("timestamp"))
    kind = row.get("type")
    if kind == "event_msg":
        payload = fields_of(row.get("payload"))
        role = {"user_message": "user", "agent_message": "assistant"}.get(text_in(payload, "type"))
        if role:
            _say(builder, role, text_in(payload, "message"), at_ms, heard)
    elif kind == "response_item":
        _take_item(builder, fields_of(row.get("payload")), at_ms, heard)
    elif kind in ("message", "function_call", "function_call_output"):  # rollouts of 2025, without envelope
        _take_item(builder, row, at_ms, heard)


def _take_item(builder: TurnBuilder, item: Fields, at_ms: int, heard: dict[str, str]) -> None:
    match item.get("type"):
        case "message":
            kinds = fields_of(item.get("internal_chat_message_metadata_passthrough")).get(
                "content_item_kinds"
            )
            if item.get("role") == "user" and kinds is not None and "user.text" not in list_of(kinds):
                return
            _say(builder, text_in(item, "role"), text_of(item.get("content")), at_ms, heard)
        case "function_call":
            arguments = parse_json(text_in(item, "arguments"))
            builder.call(text_in(item, "name"), text_in(item, "call_id"), arguments, at_ms)
        case "custom_tool_call":
            builder.call(text_in(item, "name"), text_in(item, "call_id"), item.get("input"), at_ms)
        case "local_shell_call":
            action = item.get("action")
            builder.call("local_shell", text_in(item, "call_id") or text_in(item, "id"), action, at_ms)
        case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
            failed, text = _outcome(item.get("output"))
            builder.result(text_in(item, "call_id"), failed=failed, text=text, at_ms=at_ms)
        case _:
            pass


def _say(builder: TurnBuilder, role: str, text: str, at_ms: int, heard: dict[str, str]) -> None:
    words = text.strip()
    if not words or heard.get(role) == words:
        return
    heard[role] = words
    if role == "user":
        request = _REQUEST.search(words)
        if not _NOT_SAID.match(words):
            builder.user(words[request.end() :] if request else words, at_ms)
    elif role == "assistant":
        builder.reply(words, at_ms)


def _outcome(output: object) -> tuple[bool, str]:
    """Return whether a call failed, and its output as the model saw it. If the exit code is not 0, the text begins with `Exit code N`."""
    fields = fields_of(output)
    text = output if isinstance(output, str) else text_of(output) or text_of(fields.get("content"))
    outcome = fields_of(parse_json(text) if text.startswith("{") else None)
    code = fields_of(outcome.get("metadata")).get("exit_code")
    if outcome and isinstance(outcome.get("output"), str):
        text = text_in(outcome, "output")
    exit_code = _EXIT.search(text[:2000])
    number = code if isinstance(code, int) else int(exit_code[1]) if exit_code else 0
    failed = number != 0 or fields.get("success") is False
    at = _OUTPUT.search(text[:2000])
    shown = text[at.end() :].strip() if at else text
    return failed, f"Exit code {number}\n{shown}" if number else shown or json.dumps(output)[:200]


PLACES = (("sessions", "**/rollout-*.jsonl"), ("archived_sessions", "**/rollout-*.jsonl"))
"""Where Codex keeps sessions: (folder below its data folder, glob of the files in it)."""
FORMATS: Readers = {"codex": read_codex}


def detect_rows(rows: Sequence[Fields]) -> DetectedFormat | None:
    """Return format, session and folder if the first rows of a file (at least one) are those of a Codex session; else None."""
    first = rows[0]
    kinds = [text_in(row, "type") for row in rows]
    if kinds[0] == "session_meta" or {"response_item", "event_msg"} & set(kinds):
        meta = fields_of(first.get("payload"))
        return DetectedFormat(
            format="codex",
            host="codex",
            cwd=text_in(meta, "cwd"),
            session_id=text_in(meta, "session_id") or text_in(meta, "id"),
        )
    if "git" in first and "instructions" in first and "id" in first and "type" not in first:
        return DetectedFormat(format="codex", host="codex", session_id=text_in(first, "id"))
    return None
