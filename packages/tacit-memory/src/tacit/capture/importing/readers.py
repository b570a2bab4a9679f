"""Readers of what other tools stored.

Databases of other tools. In: an SQLite file. Out: its statements, row by row. Opened for reading alone.

JSON exports of other tools. In: a file. Out: its statements, entry by entry; known by their fields, whatever the name.

Markdown of other tools and rule files. In: a file or folder. Out: its statements, each with the line it stands in.

Rule files and memory banks are read like a project's own rules, line by line; basic-memory's notes by their observations
(`- [category] words #tag (context)`).

Detection of the tool that wrote a file or folder. In: a path the user named. Out: what to read, with its reader.

By content, never by name alone where there is content to go by. A folder is one of a known kind, or each of its files is
looked at; links are passed over.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import cast

from tacit.capture.bootstrap.markdown import read_rules
from tacit.capture.importing.items import (
    ForeignStatement,
    FormatReader,
    RefusedEntry,
    Row,
    fields_of,
    kind_named,
    moment_ms,
    read_claude_mem,
    read_claude_mem_summary,
    read_mem0,
    read_memory_service,
    read_sugar,
    text_of,
    words_of,
)
from tacit.capture.importing.safe_files import (
    columns_of,
    database,
    head_of,
    is_database,
    markdown_files,
    read_text,
)
from tacit.errors import InvalidInput, NotFound
from tacit.frozen import frozen

MAX_ROWS = 50_000
"""Most rows that are read of one table, newest first."""

SIGNS: dict[str, tuple[str, frozenset[str]]] = {
    "sugar": ("memory_entries", frozenset({"id", "memory_type", "content", "importance", "created_at"})),
    "mcp-memory-service": ("memories", frozenset({"content_hash", "content", "tags", "memory_type"})),
    "claude-mem": ("observations", frozenset({"memory_session_id", "project", "type", "narrative"})),
    "mem0": ("history", frozenset({"memory_id", "old_memory", "new_memory", "event"})),
}
"""For each tool, the table and the columns by which its database is recognized."""


def _knows_database(tool: str) -> Callable[[Path], bool]:
    table, columns = SIGNS[tool]

    def knows(path: Path) -> bool:
        if not is_database(path):
            return False
        try:
            with database(path) as connection:
                return columns <= columns_of(connection, table)
        except (sqlite3.Error, InvalidInput, OSError):
            return False

    return knows


def _rows(path: Path, table: str, order: str) -> Iterator[tuple[Row | None, str]]:
    """Yield (row, where it stands), newest first; (None, reason) where reading ended early."""
    try:
        with database(path) as connection:
            count = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
            cursor = connection.execute(
                f'SELECT * FROM "{table}" ORDER BY {order} DESC LIMIT ?',
                (MAX_ROWS,),
            )
            for number, row in enumerate(cursor, start=1):
                yield dict(row), f"{path.name}, {table} {number}"
            if count > MAX_ROWS:
                yield None, f"{count - MAX_ROWS} older rows of {table}: more than {MAX_ROWS} are not read"
    except (sqlite3.Error, InvalidInput, OSError, OverflowError) as error:
        yield None, f"{table}: {error}"


def _read(
    table: str, order: str, read_row: Callable[[Row, str], ForeignStatement | RefusedEntry]
) -> Callable[[Path], Iterator[ForeignStatement | RefusedEntry]]:
    def read(path: Path) -> Iterator[ForeignStatement | RefusedEntry]:
        for row, where in _rows(path, table, order):
            yield RefusedEntry(where=path.name, reason=where) if row is None else read_row(row, where)

    return read


def _claude_mem(path: Path) -> Iterator[ForeignStatement | RefusedEntry]:
    yield from _read("observations", "created_at_epoch", read_claude_mem)(path)
    for row, where in _rows(path, "session_summaries", "created_at_epoch"):
        if row is None:
            yield RefusedEntry(where=path.name, reason=where)
        else:
            yield from read_claude_mem_summary(row, where)


def _mem0(path: Path) -> Iterator[ForeignStatement | RefusedEntry]:
    """Yield the latest text of each memory in a history database of mem0; deleted ones are refused."""
    memory_ids: set[str] = set()
    for row, where in _rows(path, "history", "rowid"):
        if row is None:
            yield RefusedEntry(where=path.name, reason=where)
            continue
        name = text_of(row.get("memory_id"))
        if name in memory_ids:
            continue
        memory_ids.add(name)
        if row.get("is_deleted") or str(row.get("event")).upper() == "DELETE":
            yield RefusedEntry(where=where, reason="deleted there", meant=True)
        else:
            at = row.get("created_at") or row.get("updated_at")
            yield read_mem0({"id": name, "memory": row.get("new_memory"), "created_at": at}, where)


DATABASES: tuple[FormatReader, ...] = (
    FormatReader(
        tool="sugar",
        about="Sugar's `.sugar/memory.db`",
        knows=_knows_database("sugar"),
        read=_read("memory_entries", "created_at", read_sugar),
    ),
    FormatReader(
        tool="mcp-memory-service",
        about="mcp-memory-service's `sqlite_vec.db`",
        knows=_knows_database("mcp-memory-service"),
        read=_read("memories", "created_at", read_memory_service),
    ),
    FormatReader(
        tool="claude-mem",
        about="claude-mem's `claude-mem.db`",
        knows=_knows_database("claude-mem"),
        read=_claude_mem,
    ),
    FormatReader(tool="mem0", about="mem0's `history.db`", knows=_knows_database("mem0"), read=_mem0),
)


MAX_ENTRIES = 50_000
MAX_JSON_BYTES = 64 << 20
MAX_ENTRY_BYTES = 1 << 20
SUGAR_SECTIONS = (
    "recent_decisions",
    "preferences",
    "file_context",
    "error_patterns",
    "decisions",
    "research",
)

_SIGNS: dict[str, frozenset[str]] = {
    "sugar": frozenset({"memory_type", "content", "importance"}),
    "mcp-memory-service": frozenset({"content_hash", "content"}),
    "claude-mem": frozenset({"memory_session_id", "narrative"}),
    "mem0": frozenset({"memory"}),
}


def _load(path: Path) -> object:
    """Return the JSON value of a file; of a file with one object a line, the list of its lines.

    Raises:
        InvalidInput, OSError: it cannot be read, or is no JSON.
    """
    text = read_text(path, MAX_JSON_BYTES)
    try:
        return cast(object, json.loads(text))
    except RecursionError as error:
        raise InvalidInput(f"{path.name} is nested too deep.") from error
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and lines[0].lstrip().startswith("{"):
            return [_line(line) for line in lines]
        raise InvalidInput(f"{path.name} is no JSON: {error}.") from error


@frozen
class _BadLine:
    """Takes the place of a line that could not be read, with the reason."""

    reason: str


def _line(line: str) -> object:
    try:
        if len(line) > MAX_ENTRY_BYTES:
            return _BadLine(reason="longer than a megabyte")
        return cast(object, json.loads(line))
    except (ValueError, RecursionError) as error:
        return _BadLine(reason=f"no JSON: {str(error)[:100]}")


def _tool_of(value: object) -> str:
    """Return the tool that wrote an entry or a whole export; "" = unknown."""
    whole = fields_of(value)
    if "export_metadata" in whole and "memories" in whole:
        return "mcp-memory-service"
    if isinstance(whole.get("observations"), list) and ("summaries" in whole or "prompts" in whole):
        return "claude-mem"
    if any(isinstance(whole.get(section), list) for section in SUGAR_SECTIONS):
        return "sugar"
    entries = _listed(value)
    samples = [fields for fields in map(fields_of, entries[:20]) if fields]
    for tool, signs in _SIGNS.items():
        if samples and any(signs <= fields.keys() for fields in samples):
            return tool
    return ""


def _listed(value: object, *names: str) -> list[object]:
    """Return the entries of an export: the list itself, or the first list under one of `names`, else of the usual ones; [] = it has none."""
    if isinstance(value, list):
        return cast(list[object], value)
    whole = fields_of(value)
    lists = (whole.get(name) for name in names or ("results", "memories", "observations", "entries", "data"))
    return next(
        (cast(list[object], entries) for entries in lists if isinstance(entries, list)), list[object]()
    )


def _knows(tool: str) -> Callable[[Path], bool]:
    def knows(path: Path) -> bool:
        try:
            head = head_of(path, 64).lstrip(b"\xef\xbb\xbf \r\n\t") if path.is_file() else b""
            return head[:1] in (b"{", b"[") and head[:9] != b'{"tacit":' and _tool_of(_load(path)) == tool
        except (InvalidInput, OSError):
            return False

    return knows


def _entries(path: Path, value: object, name: str) -> Iterator[tuple[Row, str] | RefusedEntry]:
    """Yield (object, its place for people, such as `x.json, entry 3`) for each entry of the list `name` of an export ("" = its main list).

    An entry that is no object is yielded as a refusal, and so are, as one, all beyond MAX_ENTRIES.
    """
    entries = _listed(value, *filter(None, (name,)))
    for number, entry in enumerate(entries, start=1):
        where = f"{path.name}, {name or 'entry'} {number}"
        if number > MAX_ENTRIES:
            yield RefusedEntry(
                where=f"{where} to {len(entries)}", reason=f"more than {MAX_ENTRIES} are not read"
            )
            return
        if isinstance(entry, dict):
            yield cast(Row, entry), where
        else:
            reason = entry.reason if isinstance(entry, _BadLine) else "no object"
            yield RefusedEntry(where=where, reason=reason)


def _reading(
    read_row: Callable[[Row, str], ForeignStatement | RefusedEntry], *, lists: tuple[str, ...] = ()
) -> Callable[[Path], Iterator[ForeignStatement | RefusedEntry]]:
    def read(path: Path) -> Iterator[ForeignStatement | RefusedEntry]:
        try:
            value = _load(path)
        except (InvalidInput, OSError) as error:
            yield RefusedEntry(where=path.name, reason=str(error))
            return
        whole = fields_of(value)
        for name in [name for name in lists if isinstance(whole.get(name), list)] or [""]:
            for entry in _entries(path, value, name):
                if isinstance(entry, RefusedEntry):
                    yield entry
                elif name == "summaries":
                    yield from read_claude_mem_summary(*entry)
                else:
                    yield read_row(*entry)

    return read


EXPORTS: tuple[FormatReader, ...] = (
    FormatReader(
        tool="mcp-memory-service",
        about="its `export_to_json`",
        knows=_knows("mcp-memory-service"),
        read=_reading(read_memory_service),
    ),
    FormatReader(
        tool="claude-mem",
        about="its export script's JSON",
        knows=_knows("claude-mem"),
        read=_reading(read_claude_mem, lists=("observations", "summaries")),
    ),
    FormatReader(
        tool="sugar",
        about="`sugar export-context --format json`",
        knows=_knows("sugar"),
        read=_reading(read_sugar, lists=SUGAR_SECTIONS),
    ),
    FormatReader(
        tool="mem0",
        about="`get_all()` as JSON, or the platform's export",
        knows=_knows("mem0"),
        read=_reading(read_mem0),
    ),
)
"""Readers of JSON exports, tried in this order: the last format is recognized by one field alone."""


MAX_BYTES = 400_000
RULE_NAMES = frozenset(
    {"claude.md", "agents.md", "gemini.md", ".cursorrules", ".windsurfrules", "copilot-instructions.md"}
)
MEMORY_NAME = "memory.md"
BANK_FILES = {
    "projectbrief.md": "goal", "productcontext.md": "fact", "activecontext.md": "todo",
    "systempatterns.md": "decision", "techcontext.md": "fact", "progress.md": "outcome", "decisionlog.md": "decision",
}  # fmt: skip
"""Files of a memory bank, and the kind of their statements where the words do not tell."""
_FRONT = re.compile(r"\A---[ \t]*\n(?P<body>.{0,8000}?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(?P<name>[A-Za-z_]{1,30}):[ \t]*(?P<value>.{0,500})$", re.MULTILINE)
_OBSERVATION = re.compile(
    r"^[ \t]*[-*] \[(?P<category>[^\[\]()\n]{2,40})\] (?P<text>\S.{0,4000})$", re.MULTILINE
)
_TAG = re.compile(r"(?<!\S)#(?P<tag>[\w/-]{1,60})")
_CONTEXT = re.compile(r"(?<!\s)\s*\((?P<context>[^()]{1,200})\)\s*$")
_RELATION = re.compile(r"\[\[[^\]\n]{1,300}\]\]")


def _front(text: str) -> dict[str, str]:
    match = _FRONT.match(text.replace("\r\n", "\n"))
    fields = _FIELD.finditer(match["body"]) if match else ()
    return {entry["name"].lower(): entry["value"].strip().strip("\"'") for entry in fields}


def _text(path: Path) -> str:
    return read_text(path, MAX_BYTES)


def _files(path: Path) -> Iterator[Path]:
    yield from markdown_files(path) if path.is_dir() else iter((path,))


# --- rule files and the memory that Claude Code keeps ----------------------------------------------------------------


def _is_rules(path: Path) -> bool:
    return path.is_file() and (path.name.lower() in RULE_NAMES or path.suffix == ".mdc")


def _is_memory(path: Path) -> bool:
    if path.is_dir():
        return (path / "MEMORY.md").is_file() and not (path / "MEMORY.md").is_symlink()
    return path.is_file() and path.name.lower() == MEMORY_NAME


def _lines(
    path: Path, *, tool: str, kind: str = "", root: Path | None = None
) -> Iterator[ForeignStatement | RefusedEntry]:
    name = path.relative_to(root).as_posix() if root else path.name
    try:
        text = _text(path)
        changed_ms = int(path.stat().st_mtime * 1000)
    except (InvalidInput, OSError) as error:
        yield RefusedEntry(where=name, reason=str(error))
        return
    front = _front(text)
    for line in read_rules(text).lines:
        yield ForeignStatement(
            tool=tool,
            original_id=f"{name}#{_short(line.content)}",
            content=line.content,
            kind="fact" if line.command else kind_named(front.get("type")) or kind,
            at_ms=moment_ms(front.get("created")) or changed_ms,
            where=f"{name}, line {line.line}",
        )


def _rules(path: Path) -> Iterator[ForeignStatement | RefusedEntry]:
    yield from _lines(path, tool="rules")


def _memory(path: Path) -> Iterator[ForeignStatement | RefusedEntry]:
    root = path if path.is_dir() else path.parent
    for file in _files(path):
        yield from _lines(file, tool="memory-md", root=root)


# --- memory banks ----------------------------------------------------------------------------------------------------


def _is_bank(path: Path) -> bool:
    if not path.is_dir():
        return False
    names = {entry.name.lower() for entry in path.iterdir() if entry.is_file()}
    return len(names & BANK_FILES.keys()) >= 2


def _bank(path: Path) -> Iterator[ForeignStatement | RefusedEntry]:
    for file in _files(path):
        yield from _lines(file, tool="memory-bank", kind=BANK_FILES.get(file.name.lower(), ""), root=path)


# --- basic-memory ----------------------------------------------------------------------------------------------------


def _is_basic(path: Path) -> bool:
    for number, file in enumerate(_files(path)):
        if number >= 50:
            return False
        try:
            text = _text(file) if file.suffix.lower() == ".md" else ""
        except (InvalidInput, OSError):
            continue
        if "permalink" in _front(text) or (_OBSERVATION.search(text) and _RELATION.search(text)):
            return True
    return False


def _basic(path: Path) -> Iterator[ForeignStatement | RefusedEntry]:
    root = path if path.is_dir() else path.parent
    for file in _files(path):
        name = file.relative_to(root).as_posix()
        try:
            text = _text(file)
            changed_ms = int(file.stat().st_mtime * 1000)
        except (InvalidInput, OSError) as error:
            yield RefusedEntry(where=name, reason=str(error))
            continue
        front = _front(text)
        at_ms = moment_ms(front.get("created") or front.get("date")) or changed_ms
        matches = list(_OBSERVATION.finditer(text))
        if not matches:
            yield RefusedEntry(where=name, reason="no observation in it")
        for match in matches:
            yield _observation(
                match, front, at_ms, where=f"{name}, line {text[: match.start()].count(chr(10)) + 1}"
            )


def _observation(match: re.Match[str], front: dict[str, str], at_ms: int, *, where: str) -> ForeignStatement:
    words = match["text"].strip()
    context = _CONTEXT.search(words)
    words = _CONTEXT.sub("", words) if context else words
    tags = tuple(tag["tag"] for tag in _TAG.finditer(words))
    content = _TAG.sub("", words).strip()
    title = front.get("title", "")
    statement = content if not title or title.lower() in content.lower() else f"{title}: {content}"
    return ForeignStatement(
        tool="basic-memory",
        original_id=f"{front.get('permalink', '') or title or where.split(',', maxsplit=1)[0]}#{_short(match['text'])}",
        content=f"{statement} ({context['context']})" if context else statement,
        kind=kind_named(match["category"]),
        at_ms=at_ms,
        tags=words_of([match["category"].strip(), *tags, *words_of(front.get("tags", "").strip("[]"))]),
        where=where,
    )


def _short(text: str) -> str:
    return sha256(" ".join(text.split()).casefold().encode("utf-8", "replace")).hexdigest()[:12]


NOTES: tuple[FormatReader, ...] = (
    FormatReader(tool="memory-bank", about="a memory-bank folder", knows=_is_bank, read=_bank),
    FormatReader(
        tool="rules", about="CLAUDE.md, AGENTS.md, .cursorrules and their like", knows=_is_rules, read=_rules
    ),
    FormatReader(tool="memory-md", about="MEMORY.md, or its folder", knows=_is_memory, read=_memory),
    FormatReader(
        tool="basic-memory", about="a folder of basic-memory, or a note", knows=_is_basic, read=_basic
    ),
)
"""Readers of Markdown notes, tried in this order, after databases and exports."""


READERS: tuple[FormatReader, ...] = (*DATABASES, *EXPORTS, *NOTES)
TOOLS: tuple[str, ...] = tuple(dict.fromkeys(reader.tool for reader in READERS))
MAX_FOLDER_ENTRIES = 200
_SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3", ".json", ".jsonl", ".md", ".mdc", ""})


def find_readers(path: Path, tool: str = "auto") -> tuple[tuple[Path, FormatReader], ...]:
    """Return (file or folder, its reader) for `path`, or for the files in it that a reader recognizes.

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
        for entry in entries[:MAX_FOLDER_ENTRIES]:
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
