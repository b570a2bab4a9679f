"""Where capture of a session stands. In and out: one JSON text per session, kept as a named value in the store.

Holds no memory text but what the digest needs, already redacted. Never reads or writes the store itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from tacit.capture.extract.confirmed import Solution
from tacit.capture.extract.digest import SessionWork
from tacit.capture.extract.fixes import Failure, read_failure
from tacit.capture.turn import Position, Turn

MAX_SEEN = 4000
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """How far one session was captured, and what is carried on.

    Attributes:
        path: the transcript that `position` belongs to.
        position: where reading stopped.
        root: key of the conversation's first utterance; forks and resumed copies share it.
        failures: commands that still fail.
        work: what the digest tells.
        digest_id, todo_id: the session's own notes, rewritten as it goes on; "" = none yet.
        problem: the problem that the user stated last.
        solution: what was solved and the user has not answered yet.
    """

    path: str = ""
    position: Position = field(default_factory=Position)
    root: str = ""
    failures: tuple[Failure, ...] = ()
    work: SessionWork = field(default_factory=SessionWork)
    digest_id: str = ""
    todo_id: str = ""
    problem: str = ""
    solution: Solution | None = None


def checkpoint_name(host: str, session_id: str) -> str:
    """Name of the value that holds a session's checkpoint."""
    return f"capture/session/{host}/{session_id}"


def seen_name(root: str) -> str:
    """Name of the value that holds the keys of all utterances captured of a conversation and its forks."""
    return f"capture/seen/{root}"


def requests_name(root: str) -> str:
    """Name of the value that holds the marks of the model's requests that were counted of a conversation and its forks.

    Turns grow, and are read again then as new ones; a request is counted once.
    """
    return f"capture/requests/{root}"


def said_name(host: str, session_id: str) -> str:
    """Name of the value that holds the hashes of what was captured in real time."""
    return f"capture/said/{host}/{session_id}"


def write_checkpoint(checkpoint: Checkpoint) -> str:
    """The checkpoint as JSON."""
    return json.dumps({"version": _VERSION, **asdict(checkpoint)}, separators=(",", ":"), sort_keys=True)


def read_checkpoint(text: str | None) -> Checkpoint:
    """The checkpoint in `text`; an empty one when there is none or it cannot be read (then all is read again)."""
    try:
        raw = cast("object", json.loads(text or ""))
    except ValueError:
        return Checkpoint()
    if not isinstance(raw, dict) or cast("dict[str, object]", raw).get("version") != _VERSION:
        return Checkpoint()
    given = cast("dict[str, Any]", raw)
    try:
        return Checkpoint(
            path=str(given["path"]),
            position=Position(**given["position"]),
            root=str(given["root"]),
            failures=tuple(one for raw in given["failures"] if (one := read_failure(raw))),
            work=_work(given["work"]),
            digest_id=str(given["digest_id"]),
            todo_id=str(given["todo_id"]),
            problem=str(given.get("problem", "")),
            solution=Solution(**_tuples(given["solution"])) if given.get("solution") else None,
        )
    except (KeyError, TypeError):
        return Checkpoint()


def read_keys(text: str | None) -> tuple[str, ...]:
    """A list of keys from JSON; empty when there is none."""
    try:
        raw = cast("object", json.loads(text or "[]"))
    except ValueError:
        return ()
    return tuple(str(key) for key in cast("list[object]", raw)) if isinstance(raw, list) else ()


def write_keys(old: Iterable[str], new: Iterable[str]) -> str:
    """Keys without repeats as JSON, the newest last, at most `MAX_SEEN`."""
    return json.dumps(list(dict.fromkeys((*old, *new)))[-MAX_SEEN:], separators=(",", ":"))


def first_key(turns: Iterable[Turn]) -> str:
    """Key of the first thing the user said, or "" when nothing was said."""
    return next((turn.key for turn in turns if turn.role == "user"), "")


def _work(given: Mapping[str, Any]) -> SessionWork:
    """Commits were once a number alone."""
    commits = given["commits"]
    if isinstance(commits, int):
        commits = [f"#{number + 1}" for number in range(commits)]
    return SessionWork(**_tuples({**given, "commits": commits}))


def _tuples(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _tuple(value) for name, value in given.items()}


def _tuple(value: Any) -> Any:
    return tuple(_tuple(part) for part in cast("list[Any]", value)) if isinstance(value, list) else value
