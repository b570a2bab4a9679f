"""OpenCode's history from before 1.2, one JSON file a part. In: the file of a session. Out: a `Transcript`. Never writes.

`storage/session/PROJECT/SESSION.json` (id, directory, parentID), `storage/message/SESSION/MESSAGE.json` (role, time),
`storage/part/MESSAGE/PART.json` (the same parts as in the database). Ids sort by time. A file that cannot be read counts as a
bad line; the others are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tacit.hosts.opencode.database import take_opencode
from tacit.hosts.transcripts.assemble import TurnBuilder
from tacit.hosts.transcripts.rows import Fields, fields_of, is_object, parse_json, text_in
from tacit.hosts.transcripts.turn import Transcript
from tacit.state.captured import Position

MOST_FILES = 50_000
"""Most files of messages and parts that are read of one session."""


def is_storage_session(fields: Fields) -> bool:
    """Whether a JSON object is the file of a session."""
    return text_in(fields, "id").startswith("ses") and "projectID" in fields and "directory" in fields


def is_storage_piece(fields: Fields) -> bool:
    """Whether a JSON object is a message or part, which is read with its session."""
    return "sessionID" in fields and text_in(fields, "id").startswith(("msg", "prt"))


def storage_sessions(folder: Path) -> Iterator[Path]:
    """Files of sessions below the folder `storage`, in a fixed order."""
    yield from sorted((folder / "session").glob("*/ses*.json"))


def session_facts(path: Path) -> tuple[str, str, str]:
    """Id, folder and parent of the session of a file; empty where it says none.

    Raises:
        OSError: if it cannot be read.
    """
    fields = fields_of(parse_json(path.read_bytes()))
    return text_in(fields, "id"), text_in(fields, "directory"), text_in(fields, "parentID")


def read_opencode_storage(path: Path) -> Transcript:
    """Read the session whose file is `path`.

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
