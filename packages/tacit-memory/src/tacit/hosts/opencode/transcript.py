"""The sessions of OpenCode. In: its database `opencode.db`, read only. Out: sessions and `Transcript`s. Never writes.

Tables as in OpenCode 1.18: session(id, directory, parent_id, time_updated), message(id, session_id, data) with `role` and `time` in data,
part(message_id, data) with types text, tool, step-start, patch, ... Synthetic and ignored text parts are what a program added.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

from tacit.errors import HostError
from tacit.hosts.transcripts import Transcript, TurnBuilder, text_of, time_of
from tacit.hosts.transcripts.rows import (
    Fields,
    TranscriptInfo,
    fields_of,
    parse_json,
    text_in,
    transcript_info,
)
from tacit.state.captured import Position


@contextmanager
def _open(path: Path) -> Generator[sqlite3.Connection]:
    """Open the database read-only, and turn SQLite's errors into HostError. `immutable` is not set: OpenCode may be writing."""
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=2.0)
        ) as connection:
            yield connection
    except sqlite3.Error as error:
        raise HostError(
            f"Cannot read OpenCode's history in {path}: {error}.", hint="Is it from OpenCode 1.18 or later?"
        ) from error


def opencode_sessions(path: Path, folder: str = "", *, subagents: bool = False) -> tuple[str, ...]:
    """Return the ids of the sessions in the database that ran in `folder` or below it, oldest change first; "" = anywhere.

    Sessions of subagents, which have a parent, are left out unless `subagents`.

    Raises:
        HostError: if the database cannot be read, or is not OpenCode's.
    """
    with _open(path) as connection:
        rows = connection.execute("SELECT id, directory, parent_id FROM session ORDER BY time_updated, id")
        return tuple(
            str(name)
            for name, directory, parent in rows
            if (subagents or parent is None)
            and (not folder or f"{directory}/".startswith(f"{folder.rstrip('/')}/"))
        )


def read_opencode(path: Path, session_id: str) -> Transcript:
    """Read one session from the database `opencode.db`; an unknown id gives an empty transcript.

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
            parts.setdefault(message_id, []).append(parse_json(data))
    builder = TurnBuilder()
    bad = 0
    for message_id, data in messages:
        info = parse_json(data)
        if isinstance(info, Mapping):
            message = {"id": message_id, **cast("Fields", info)}
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


def take_opencode(builder: TurnBuilder, info: Fields, parts: Iterable[object]) -> None:
    """Add one message of OpenCode, given as its `info` and `parts`, to `builder`."""
    raw_time = info.get("time")
    at_ms = time_of(cast("Fields", raw_time).get("created")) if isinstance(raw_time, Mapping) else 0
    mine = [cast("Fields", part) for part in parts if isinstance(part, Mapping)]
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


def _take_tokens(builder: TurnBuilder, info: Fields, at_ms: int) -> None:
    """Add the token counts of a message to `builder`, as in OpenCode 1.18: `cache.read` and `cache.write` come on top of `input`."""
    tokens = fields_of(info.get("tokens"))
    cache = fields_of(tokens.get("cache"))
    counts = [cache.get("read"), tokens.get("input"), cache.get("write")]
    if all(isinstance(count, int) for count in counts):
        cached, *uncached = cast("list[int]", counts)
        builder.request(text_in(info, "id"), read=cached + sum(uncached), cached=cached, at_ms=at_ms)


def _spoken(part: Fields) -> bool:
    return part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored")


def _take_tool(builder: TurnBuilder, part: Fields, at_ms: int) -> None:
    raw = part.get("state")
    state: Fields = cast("Fields", raw) if isinstance(raw, Mapping) else {}
    call_id = str(part.get("callID", ""))
    builder.call(str(part.get("tool", "")), call_id, state.get("input"), at_ms)
    metadata = state.get("metadata")
    exit_code = cast("Fields", metadata).get("exit") if isinstance(metadata, Mapping) else None
    wrong = isinstance(exit_code, int) and exit_code != 0
    if state.get("status") == "error":
        builder.result(call_id, failed=True, text=str(state.get("error", "")), at_ms=at_ms)
    elif state.get("status") == "completed":
        output = str(state.get("output", ""))
        text = f"Exit code {exit_code}\n{output}" if wrong else output
        builder.result(call_id, failed=wrong, text=text, at_ms=at_ms)


DATABASE = "opencode.db"


def file_of_session(folders: Sequence[Path], session_id: str) -> Path | None:
    """Return the file that keeps a session: always the database in the first folder that has one; None = no folder has it. Whether the session is in it is not checked."""
    del session_id
    return next((folder / DATABASE for folder in folders if (folder / DATABASE).is_file()), None)


def find(folders: Sequence[Path], root: str) -> Iterator[TranscriptInfo]:
    """Yield the databases with sessions that ran in `root` or below it; "" = anywhere. What a database before has, the next one does not list."""
    listed: set[str] = set()
    for database in (folder / DATABASE for folder in folders):
        try:
            ids = opencode_sessions(database, root) if database.is_file() else ()
        except HostError:
            continue
        names = tuple(name for name in ids if name not in listed)
        listed.update(names)
        info = transcript_info("opencode", database, names, root) if names else None
        if info:
            yield info
