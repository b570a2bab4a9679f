"""Detection of the tool that wrote a file or folder. In: a path the user named. Out: what to read, with its reader.

By content, never by name alone where there is content to go by. A folder is one of a known kind, or each of its files is
looked at; links are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tacit.capture.importing.databases import DATABASES
from tacit.capture.importing.exports import EXPORTS
from tacit.capture.importing.items import FormatReader
from tacit.capture.importing.notes import NOTES
from tacit.errors import InvalidInput, NotFound

READERS: tuple[FormatReader, ...] = (*DATABASES, *EXPORTS, *NOTES)
TOOLS: tuple[str, ...] = tuple(dict.fromkeys(reader.tool for reader in READERS))
MAX_ENTRIES = 200
_SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3", ".json", ".jsonl", ".md", ".mdc", ""})


def find_readers(path: Path, tool: str = "auto") -> tuple[tuple[Path, FormatReader], ...]:
    """Return the readers for `path`.

    Args:
        path: a file or folder.
        tool: name of a tool; `auto` = whatever is known by its content.

    Raises:
        NotFound: there is nothing at `path`.
        InvalidInput: the tool is unknown, or nothing there is of a format that is known.
    """
    if tool != "auto" and tool not in TOOLS:
        raise InvalidInput(f"No importer is called {tool!r}.", hint=f"Known: auto, {', '.join(TOOLS)}.")
    if path.is_symlink():
        raise InvalidInput(f"{path.name} is a link.", hint="Name the file itself.")
    if not path.exists():
        raise NotFound(f"There is nothing at {path}.")
    allowed = [reader for reader in READERS if tool in ("auto", reader.tool)]
    readers = tuple(_found(path, allowed))
    if not readers:
        tools = ", ".join(TOOLS)
        raise InvalidInput(
            f"{path.name!r} holds nothing in a format that Tacit imports.",
            hint=f"Known: {tools}, and exports of Tacit. Transcripts: `tacit import transcripts`.",
        )
    return readers


def _found(path: Path, readers: list[FormatReader]) -> Iterator[tuple[Path, FormatReader]]:
    whole = _first(path, readers)
    if whole is not None:
        yield path, whole
    elif path.is_dir():
        entries = sorted(entry for entry in path.iterdir() if not entry.is_symlink())
        for entry in entries[:MAX_ENTRIES]:
            if entry.is_file() and entry.suffix.lower() in _SUFFIXES:
                reader = _first(entry, readers)
                if reader is not None:
                    yield entry, reader


def _first(path: Path, readers: list[FormatReader]) -> FormatReader | None:
    for reader in readers:
        try:
            if reader.knows(path):
                return reader
        except (OSError, InvalidInput):
            continue
    return None
