"""OpenCode's history. In: `opencode.db` (read only) or the messages our plugin hands over. Out: a `Transcript`.

Tables as in OpenCode 1.18: session(id, directory, parent_id, time_updated), message(id, session_id, data) with
`role` and `time` in data, part(message_id, data) with types text, tool, step-start, patch, ... Synthetic and ignored
text parts are what a program added. Never writes to the database.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from tacit.errors import HostError, InvalidPayload
from tacit.hosts.transcripts.assemble import TurnBuilder, text_of, time_of
from tacit.hosts.transcripts.plain import take_message
from tacit.hosts.transcripts.rows import fields_of, text_in
from tacit.hosts.transcripts.turn import Transcript
from tacit.state.captured import Position

_Fields = Mapping[str, object]


@contextmanager
def _open(path: Path) -> Generator[sqlite3.Connection]:
    """Open read-only. `immutable` is not used: OpenCode may be writing."""
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2.0)
        ) as connection:
            yield connection
    except sqlite3.Error as error:
        raise HostError(
            f"Cannot read OpenCode's history in {path}: {error}.", hint="Is it from OpenCode 1.18 or later?"
        ) from error


def list_opencode_sessions(
    path: Path, folder: str, *, subagents: bool = False
) -> tuple[tuple[str, int], ...]:
    """Ids and last change (milliseconds) of the sessions that ran in `folder` or below it, oldest first.

    Raises:
        HostError: if the database cannot be read.
    """
    below = folder.rstrip("/").replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_") + "/%"
    query = (
        "SELECT id, time_updated, parent_id FROM session WHERE directory = ? OR directory LIKE ? ESCAPE '\\'"
    )
    with _open(path) as connection:
        rows = connection.execute(f"{query} ORDER BY time_updated, id", (folder.rstrip("/") or "/", below))
        return tuple((str(sid), int(at)) for sid, at, parent in rows if subagents or parent is None)


def every_opencode_session(path: Path, *, subagents: bool = False) -> tuple[str, ...]:
    """Ids of all sessions of the database, oldest first.

    Raises:
        HostError: if the database cannot be read, or is not OpenCode's.
    """
    with _open(path) as connection:
        rows = connection.execute("SELECT id, parent_id FROM session ORDER BY time_updated, id").fetchall()
    return tuple(str(sid) for sid, parent in rows if subagents or parent is None)


def read_opencode(path: Path, session_id: str) -> Transcript:
    """Read one session from `opencode.db`.

    Raises:
        HostError: if the database cannot be read.
    """
    with _open(path) as connection:
        row = connection.execute("SELECT directory FROM session WHERE id = ?", (session_id,)).fetchone()
        messages = connection.execute(
            "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session_id,)
        ).fetchall()
        parts: dict[str, list[object]] = {}
        for message_id, data in connection.execute(
            "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", (session_id,)
        ):
            parts.setdefault(message_id, []).append(_json(data))
    builder = TurnBuilder()
    bad = 0
    for message_id, data in messages:
        info = _json(data)
        if isinstance(info, Mapping):
            message = {"id": message_id, **cast("_Fields", info)}
            take_opencode(builder, message, parts.get(message_id, []))
        else:
            bad += 1
    turns = builder.done()
    return Transcript(
        turns=turns,
        end=Position(prompts=builder.prompts),
        session_id=session_id,
        cwd=str(row[0]) if row else "",
        bad_lines=bad,
    )


def read_opencode_messages(messages: object) -> Transcript:
    """Read what the plugin hands over: plain messages, or OpenCode's own `{info, parts}`.

    Raises:
        InvalidPayload: if it is not a list.
    """
    if not isinstance(messages, list):
        raise InvalidPayload("OpenCode messages are a list.", hint='Expected [{"role": ..., "text": ...}].')
    builder = TurnBuilder()
    bad = 0
    for message in cast("list[object]", messages):
        if not isinstance(message, Mapping):
            bad += 1
            continue
        fields = cast("_Fields", message)
        info, parts = fields.get("info"), fields.get("parts")
        if isinstance(info, Mapping) and isinstance(parts, list):
            take_opencode(builder, cast("_Fields", info), cast("list[object]", parts))
        else:
            take_message(builder, fields)
    turns = builder.done()
    return Transcript(turns=turns, end=Position(prompts=builder.prompts), bad_lines=bad)


def _json(data: object) -> object:
    try:
        return cast("object", json.loads(data)) if isinstance(data, str | bytes) else None
    except ValueError:
        return None


def take_opencode(builder: TurnBuilder, info: _Fields, parts: Iterable[object]) -> None:
    """Add one message of OpenCode, `{info, parts}`."""
    raw_time = info.get("time")
    at_ms = time_of(cast("_Fields", raw_time).get("created")) if isinstance(raw_time, Mapping) else 0
    mine = [cast("_Fields", part) for part in parts if isinstance(part, Mapping)]
    if info.get("role") == "user":
        builder.user(text_of([part for part in mine if _spoken(part)]), at_ms)
        return
    if info.get("role") != "assistant" or info.get("summary") is True:
        return
    _take_tokens(builder, info, at_ms)
    for part in mine:
        if _spoken(part):
            builder.reply(str(part.get("text", "")), at_ms)
        elif part.get("type") == "tool":
            _take_tool(builder, part, at_ms)


def _take_tokens(builder: TurnBuilder, info: _Fields, at_ms: int) -> None:
    """`tokens` of a message as in OpenCode 1.18: `input` was read anew, `cache.read` and `cache.write` come on top of it."""
    tokens = fields_of(info.get("tokens"))
    cache = fields_of(tokens.get("cache"))
    counts = [cache.get("read"), tokens.get("input"), cache.get("write")]
    if all(isinstance(count, int) for count in counts):
        cached, *uncached = cast("list[int]", counts)
        builder.request(text_in(info, "id"), read=cached + sum(uncached), cached=cached, at_ms=at_ms)


def _spoken(part: _Fields) -> bool:
    return part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored")


def _take_tool(builder: TurnBuilder, part: _Fields, at_ms: int) -> None:
    raw = part.get("state")
    state: _Fields = cast("_Fields", raw) if isinstance(raw, Mapping) else {}
    call_id = str(part.get("callID", ""))
    builder.call(str(part.get("tool", "")), call_id, state.get("input"), at_ms)
    metadata = state.get("metadata")
    exit_code = cast("_Fields", metadata).get("exit") if isinstance(metadata, Mapping) else None
    wrong = isinstance(exit_code, int) and exit_code != 0
    if state.get("status") == "error":
        builder.result(call_id, failed=True, text=str(state.get("error", "")), at_ms=at_ms)
    elif state.get("status") == "completed":
        output = str(state.get("output", ""))
        text = f"Exit code {exit_code}\n{output}" if wrong else output
        builder.result(call_id, failed=wrong, text=text, at_ms=at_ms)
