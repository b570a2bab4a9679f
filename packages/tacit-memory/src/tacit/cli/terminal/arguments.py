"""Options that several commands share. Reads no more than whether a folder exists."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.connection import ask_running
from tacit.errors import InvalidInput, NotFound, TacitError

MOST_OFFERED, OFFER_TIMEOUT_S = 200, 1.0
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _folder(path: Path) -> Path:
    """Return the option's folder; raise InvalidInput if it does not exist, because what is stored for it would never be seen."""
    if not path.is_dir():
        raise InvalidInput(f"There is no folder {path}.", hint="Name an existing folder with --cwd.")
    return path


Here = Annotated[Path, typer.Option("--cwd", help="Folder of the project.", callback=_folder)]
When = Annotated[
    str,
    typer.Option(
        "--when",
        help="When it applies: always, commit, path:src/**, lang:python, cmd:pytest, or free words.",
    ),
]
Kind = Annotated[
    str,
    typer.Option("--kind", help="preference, decision, correction, fact, ... Default: guessed."),
]
ScopeText = Annotated[
    str,
    typer.Option(
        "--scope",
        help="universal, language:python, project, project:ID or path:ID/src/api (a folder of it). Default: the project of the folder.",
    ),
]
SensitivityText = Annotated[
    str,
    typer.Option(
        "--sensitivity",
        help="Where it may appear: public, project, session (this session only), restricted (never shown to an agent).",
    ),
]


def offer_memories(incomplete: str) -> list[tuple[str, str]]:
    """Return completions for a memory id: (id, first words) of the newest memories visible here. [] = no daemon runs; none is started and no error is raised, because a shell waits."""
    query = {"cwd": str(Path.cwd()), "limit": MOST_OFFERED, "status": ["quarantined", "active"]}
    try:
        memories = ask_running("GET", "/v1/memories", query, timeout_s=OFFER_TIMEOUT_S)["memories"]
    except (TacitError, OSError):
        return []
    # The words of a memory may be anybody's: nothing in them reaches the terminal as a command to it.
    return [
        (m["id"], "".join(ch for ch in " ".join(m["content"].split())[:60] if ch.isalnum() or ch in " .,_-"))
        for m in memories
        if m["id"].startswith(incomplete)
    ]


MemoryId = Annotated[
    str,
    typer.Argument(
        help="Id of a memory, or the beginning or end of it.",
        show_default=False,
        autocompletion=offer_memories,
    ),
]
Previous = Annotated[
    str, typer.Option("--previous", help="With --surface prompt: the end of the agent's last message.")
]
CalledTool = Annotated[str, typer.Option("--tool", help="With --surface action or failure: the called tool.")]
RunCommand = Annotated[str, typer.Option("--command", help="The command it runs.")]
TouchedPaths = Annotated[
    list[str] | None,
    typer.Option("--path", help="A file it touches; may be repeated.", show_default=False),
]
CallError = Annotated[str, typer.Option("--error", help="With --surface failure: the error of the call.")]
InSession = Annotated[
    str,
    typer.Option("--session", help="Ask as in this session, HOST/ID: its last message, prompts and files."),
]
AsOf = Annotated[
    str,
    typer.Option("--as-of", help="The state at a day or time, such as 2026-11-21 or 2026-11-21T14:30."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def parse_moment(text: str) -> int | None:
    """Convert a day or time to milliseconds since the epoch, in the local zone if it names none. A day means its end; "" gives None.

    Raises:
        InvalidInput: if it is neither.
    """
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(
            f"{text!r} is no day.", hint="Write it as 2026-11-21, or with a time as 2026-11-21T14:30."
        ) from error
    if len(text) == len("2026-11-21"):
        at += timedelta(days=1, milliseconds=-1)
    return int(at.timestamp() * 1000)


def drop_empty(**values: object) -> dict[str, object]:
    """Return the values that were given, without those that are None or empty."""
    return {name: value for name, value in values.items() if value not in (None, "", [], ())}


def session_key(session: str) -> dict[str, str] | None:
    """Split `HOST/ID` into the form that the API takes; "" gives None.

    Raises:
        BadParameter: if it is no such name.
    """
    host, _, session_id = session.partition("/")
    if session and not session_id:
        raise typer.BadParameter("Name the session as HOST/ID; `tacit why` shows them.")
    return {"host": host, "session_id": session_id} if session else None


def memory_path(memory: str) -> str:
    """Return the API's path of one memory; `memory` is as for `memory_name`."""
    return f"/v1/memories/{memory_name(memory)}"


def memory_name(memory: str) -> str:
    """Return what a user typed for a memory (its id, or the beginning or end of it) without blanks around it. Checks only the form; looks nothing up.

    Raises:
        typer.BadParameter: if it is empty.
        NotFound: if `memory` cannot be an id.
    """
    name = memory.strip()
    if not name:
        raise typer.BadParameter(
            "Name a memory by its id, or by the beginning or end of it; `tacit list` shows ids."
        )
    if not (name.isascii() and name.replace("_", "").isalnum()):
        raise NotFound(f"No memory is called {name!r}.", hint="`tacit list` shows all memories.")
    return name
