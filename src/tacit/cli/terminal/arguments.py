"""Options that several commands share, so that they read the same everywhere. Reads no more than whether a folder exists."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _folder(path: Path) -> Path:
    """Refuse a folder that is not there: what is stored for it would never be seen."""
    from tacit.errors import InvalidInput

    if not path.is_dir():
        raise InvalidInput(f"There is no folder {path}.", hint="Name an existing folder with --cwd.")
    return path


Here = Annotated[Path, typer.Option("--cwd", help="Folder whose project is meant.", callback=_folder)]
When = Annotated[
    str,
    typer.Option(
        "--when",
        help="When it applies: always, commit, path:src/**, lang:python, cmd:pytest, or free words.",
    ),
]
Kind = Annotated[
    str, typer.Option("--kind", help="preference, decision, correction, fact, ...; guessed when left out.")
]
ScopeText = Annotated[
    str,
    typer.Option("--scope", help="universal, language:python, project:ID; the project when left out."),
]
MemoryId = Annotated[str, typer.Argument(help="Id of a memory, or its beginning.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; do it.")]


def given(**values: object) -> dict[str, object]:
    """The values that were given: without None and without what is empty."""
    return {name: value for name, value in values.items() if value not in (None, "", [], ())}
