"""JSON exports of other tools. In: a file. Out: its statements, entry by entry; known by their fields, whatever the name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tacit.capture.importing import statements
from tacit.capture.importing.fields import fields_of
from tacit.capture.importing.items import ForeignStatement, FormatReader, RefusedHook
from tacit.capture.importing.safe_files import head_of, read_text
from tacit.errors import InvalidInput

Row = Mapping[str, Any]
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
    """The JSON value of a file; of one with an object a line, the list of those that can be read.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _BadLine:
    """Stands in the list for a line that cannot be read."""

    reason: str


def _line(line: str) -> object:
    try:
        if len(line) > MAX_ENTRY_BYTES:
            return _BadLine(reason="longer than a megabyte")
        return cast(object, json.loads(line))
    except (ValueError, RecursionError) as error:
        return _BadLine(reason=f"no JSON: {str(error)[:100]}")


def _tool_of(value: object) -> str:
    """Name the tool that wrote an entry or a whole export; "" = none that is known."""
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


def _as_list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []


def _listed(value: object) -> list[object]:
    if isinstance(value, list):
        return cast(list[object], value)
    whole = fields_of(value)
    for name in ("results", "memories", "observations", "entries", "data"):
        if isinstance(whole.get(name), list):
            return cast(list[object], whole[name])
    return []


def _knows(tool: str) -> Callable[[Path], bool]:
    def knows(path: Path) -> bool:
        try:
            head = head_of(path, 64).lstrip(b"\xef\xbb\xbf \r\n\t") if path.is_file() else b""
            return head[:1] in (b"{", b"[") and head[:9] != b'{"tacit":' and _tool_of(_load(path)) == tool
        except (InvalidInput, OSError):
            return False

    return knows


def _entries(path: Path, value: object, name: str) -> Iterator[tuple[Row, str] | RefusedHook]:
    """The objects of a list of the export, each with where it stands."""
    entries = _as_list(fields_of(value).get(name)) if name else _listed(value)
    for number, entry in enumerate(entries, start=1):
        where = f"{path.name}, {name or 'entry'} {number}"
        if number > MAX_ENTRIES:
            yield RefusedHook(
                where=f"{where} to {len(entries)}", reason=f"more than {MAX_ENTRIES} are not read"
            )
            return
        if isinstance(entry, dict):
            yield cast(Row, entry), where
        else:
            reason = entry.reason if isinstance(entry, _BadLine) else "no object"
            yield RefusedHook(where=where, reason=reason)


def _reading(
    read_row: Callable[[Row, str], ForeignStatement | RefusedHook], *, lists: tuple[str, ...] = ()
) -> Callable[[Path], Iterator[ForeignStatement | RefusedHook]]:
    def read(path: Path) -> Iterator[ForeignStatement | RefusedHook]:
        try:
            value = _load(path)
        except (InvalidInput, OSError) as error:
            yield RefusedHook(where=path.name, reason=str(error))
            return
        whole = fields_of(value)
        for name in [name for name in lists if isinstance(whole.get(name), list)] or [""]:
            for entry in _entries(path, value, name):
                if isinstance(entry, RefusedHook):
                    yield entry
                elif name == "summaries":
                    yield from statements.read_claude_mem_summary(*entry)
                else:
                    yield read_row(*entry)

    return read


EXPORTS: tuple[FormatReader, ...] = (
    FormatReader(
        tool="mcp-memory-service",
        about="its `export_to_json`",
        knows=_knows("mcp-memory-service"),
        read=_reading(statements.read_memory_service),
    ),
    FormatReader(
        tool="claude-mem",
        about="its export script's JSON",
        knows=_knows("claude-mem"),
        read=_reading(statements.read_claude_mem, lists=("observations", "summaries")),
    ),
    FormatReader(
        tool="sugar",
        about="`sugar export-context --format json`",
        knows=_knows("sugar"),
        read=_reading(statements.read_sugar, lists=SUGAR_SECTIONS),
    ),
    FormatReader(
        tool="mem0",
        about="`get_all()` as JSON, or the platform's export",
        knows=_knows("mem0"),
        read=_reading(statements.read_mem0),
    ),
)
"""Tried in this order: the last one is known by one field alone."""
