"""The sessions of OpenCode: its database, the files that it wrote before it had one, a running server, and what our plugin hands over.

In: `opencode.db` (read only), folders, an address on this machine, or messages. Out: sessions and `Transcript`s.

- Tables as in OpenCode 1.18: session(id, directory, parent_id, time_updated), message(id, session_id, data) with `role` and `time` in data,
  part(message_id, data) with types text, tool, step-start, patch, ... Synthetic and ignored text parts are what a program added.
- Before 1.2, one JSON file a part: `storage/session/PROJECT/SESSION.json` (id, directory, parentID), `storage/message/SESSION/MESSAGE.json` (role, time),
  `storage/part/MESSAGE/PART.json` (the same parts as in the database). Ids sort by time. A file that cannot be read counts as a bad line.
- A server: `GET /session` lists those of its project, `GET /session/ID/message` gives `{info, parts}` as the database holds them.

Never writes, never asks another machine.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote, urlsplit

from tacit.errors import HostError, InvalidInput, InvalidPayload
from tacit.hosts.transcripts import Transcript, TurnBuilder, text_of, time_of
from tacit.hosts.transcripts.rows import (
    DetectedFormat,
    Fields,
    Readers,
    TranscriptInfo,
    fields_of,
    is_list,
    is_object,
    list_of,
    parse_json,
    take_message,
    text_in,
    transcript_info,
)
from tacit.state.captured import Position

if TYPE_CHECKING:
    import httpx2 as httpx


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


def list_opencode_sessions(
    path: Path, folder: str, *, subagents: bool = False
) -> tuple[tuple[str, int], ...]:
    """Return (id, last change in milliseconds) of the sessions that ran in `folder` or below it, oldest change first.

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
    """Return the ids of all sessions in the database, oldest change first.

    Raises:
        HostError: if the database cannot be read, or is not OpenCode's.
    """
    with _open(path) as connection:
        rows = connection.execute("SELECT id, parent_id FROM session ORDER BY time_updated, id").fetchall()
    return tuple(str(sid) for sid, parent in rows if subagents or parent is None)


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
            parts.setdefault(message_id, []).append(_json(data))
    builder = TurnBuilder()
    bad = 0
    for message_id, data in messages:
        info = _json(data)
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


def read_opencode_messages(messages: object) -> Transcript:
    """Read a list of messages that the plugin hands over: plain messages, or OpenCode's own `{info, parts}`.

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
        fields = cast("Fields", message)
        info, parts = fields.get("info"), fields.get("parts")
        if isinstance(info, Mapping) and isinstance(parts, list):
            take_opencode(builder, cast("Fields", info), cast("list[object]", parts))
        else:
            take_message(builder, fields)
    turns = builder.done()
    return Transcript(turns=turns, end=Position(prompts=builder.prompts), bad_lines=bad)


def _json(data: object) -> object:
    try:
        return cast("object", json.loads(data)) if isinstance(data, str | bytes) else None
    except ValueError:
        return None


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


MOST_FILES = 50_000
"""The most files of parts that are read of one session."""


def is_storage_session(fields: Fields) -> bool:
    """Whether a JSON object is the file of a session, in the form before OpenCode had a database."""
    return text_in(fields, "id").startswith("ses") and "projectID" in fields and "directory" in fields


def is_storage_piece(fields: Fields) -> bool:
    """Whether a JSON object is a message or part in that form, which is read with its session."""
    return "sessionID" in fields and text_in(fields, "id").startswith(("msg", "prt"))


def storage_sessions(folder: Path) -> Iterator[Path]:
    """Yield the session files below the folder `storage`, in a fixed order."""
    yield from sorted((folder / "session").glob("*/ses*.json"))


def session_facts(path: Path) -> tuple[str, str, str]:
    """Return (id, folder, parent id) of the session in a file, each "" if the file does not say it.

    Raises:
        OSError: if it cannot be read.
    """
    fields = fields_of(parse_json(path.read_bytes()))
    return text_in(fields, "id"), text_in(fields, "directory"), text_in(fields, "parentID")


def read_opencode_storage(path: Path) -> Transcript:
    """Read the session whose session file is `path`, with its message and part files beside it.

    Raises:
        OSError: if that file cannot be read.
    """
    session_id, directory, _ = session_facts(path)
    storage = path.parents[2]
    builder = TurnBuilder()
    bad = looked = 0
    for file in sorted((storage / "message" / session_id).glob("*.json")) if session_id else ():
        info = _fields(file)
        parts: list[object] = []
        for piece in sorted((storage / "part" / file.stem).glob("*.json")):
            looked += 1
            part = _fields(piece) if looked <= MOST_FILES else None
            if part is None:
                bad += 1
            else:
                parts.append(part)
        if info is None:
            bad += 1
        else:
            take_opencode(builder, info, parts)
    return Transcript(
        turns=builder.done(),
        end=Position(prompts=builder.prompts),
        session_id=session_id,
        cwd=directory,
        bad_lines=bad,
    )


def _fields(path: Path) -> Fields | None:
    try:
        value = parse_json(path.read_bytes())
    except OSError:
        return None
    return fields_of(value) if is_object(value) else None


DATABASE = "opencode.db"


def detect_document(fields: Fields) -> DetectedFormat | None:
    """Return format, session and folder if a JSON object is a session file from before OpenCode had a database; for a message or part of then no format, but the reason; else None."""
    if is_storage_session(fields):
        return DetectedFormat(
            format="opencode-storage",
            host="opencode",
            session_id=text_in(fields, "id"),
            cwd=text_in(fields, "directory"),
        )
    if is_storage_piece(fields):
        return DetectedFormat(format="", reason="a piece of a session, which is read with it")
    return None


def file_of_session(folders: Sequence[Path], session_id: str) -> Path | None:
    """Return the file that keeps a session: always the database in the first folder that has one; None = no folder has it. Whether the session is in it is not checked."""
    del session_id
    return next((folder / DATABASE for folder in folders if (folder / DATABASE).is_file()), None)


def find(folders: Sequence[Path], root: str, *, subagents: bool) -> Iterator[TranscriptInfo]:
    """Find the databases, and the session files from before them. A session in both is read from the database."""
    moved: set[str] = set()
    for database in (folder / DATABASE for folder in folders):
        try:
            if not database.is_file():
                continue
            if root:
                listed = list_opencode_sessions(database, root, subagents=subagents)
                names = tuple(name for name, _ in listed if name not in moved)
            else:
                session_ids = every_opencode_session(database, subagents=subagents)
                names = tuple(name for name in session_ids if name not in moved)
        except HostError:
            continue
        moved.update(names)
        info = transcript_info("opencode", database, names, root) if names else None
        if info:
            yield info
    for path in (path for folder in folders for path in storage_sessions(folder / "storage")):
        try:
            name, directory, parent = session_facts(path)
        except OSError:
            continue
        inside = not root or directory == root or directory.startswith(f"{root}/")
        if name and name not in moved and inside and (subagents or not parent):
            moved.add(name)
            info = transcript_info("opencode", path, (name,), directory or root)
            if info:
                yield info


def _read_storage(path: Path, since: Position | None = None, *, subagents: bool = False) -> Transcript:
    del since, subagents
    return read_opencode_storage(path)


FORMATS: Readers = {"opencode-storage": _read_storage}


TIMEOUT_S = 20.0
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSession:
    """A session that a running server lists. `parent` = the session that began it or "", `changed_ms` = its last change."""

    session_id: str
    cwd: str
    parent: str
    changed_ms: int


def served_sessions(address: str) -> tuple[ServedSession, ...]:
    """Ask the OpenCode server at `address` for its sessions; return them with the oldest change first.

    Raises:
        InvalidInput: if the address is not one of this machine.
        HostError: if nothing that speaks like OpenCode answers there.
    """
    with _client(address) as client:
        listed = _get(client, "/session")
    if not is_list(listed):
        raise HostError(
            f"{address} does not answer like OpenCode.", hint="Name what `opencode serve` printed."
        )
    sessions: list[ServedSession] = []
    for fields in map(fields_of, list_of(listed)):
        changed = fields_of(fields.get("time")).get("updated")
        if name := text_in(fields, "id"):
            at_ms = int(changed) if isinstance(changed, int | float) else 0
            sessions.append(
                ServedSession(
                    session_id=name,
                    cwd=text_in(fields, "directory"),
                    parent=text_in(fields, "parentID"),
                    changed_ms=at_ms,
                )
            )
    return tuple(sorted(sessions, key=lambda session: (session.changed_ms, session.session_id)))


def read_served(address: str, sessions: tuple[ServedSession, ...]) -> Iterator[Transcript]:
    """Ask the server for the messages of `sessions`, and yield their transcripts in order.

    Raises:
        InvalidInput: if the address is not one of this machine.
        HostError: if the server does not answer any more.
    """
    with _client(address) as client:
        for session in sessions:
            messages = _get(client, f"/session/{quote(session.session_id, safe='')}/message")
            if not is_list(messages):
                raise HostError(
                    f"{address} tells nothing of {session.session_id}.", hint="Is it still running?"
                )
            yield replace(read_opencode_messages(messages), session_id=session.session_id, cwd=session.cwd)


@contextmanager
def _client(address: str) -> Generator[httpx.Client]:
    url = urlsplit(address)
    if url.scheme not in ("http", "https") or url.hostname not in _HERE:
        raise InvalidInput(
            f"{address!r} is no server on this machine.", hint="Name it as http://127.0.0.1:4096."
        )
    import httpx2 as httpx  # noqa: PLC0415 - 100 ms, spent only by those who use a server

    with httpx.Client(base_url=address.rstrip("/"), timeout=TIMEOUT_S, trust_env=False) as client:
        yield client


def _get(client: httpx.Client, path: str) -> object:
    import httpx2 as httpx  # noqa: PLC0415 - loaded by _client

    try:
        reply = client.get(path)
    except httpx.HTTPError as error:
        raise HostError(
            f"No OpenCode server answers at {client.base_url}: {type(error).__name__}.", hint="Is it running?"
        ) from error
    if reply.status_code != 200:
        raise HostError(
            f"The server at {client.base_url} refused {path}: status {reply.status_code}.",
            hint="Put its user name and password into the address where it has them.",
        )
    return parse_json(reply.content)
