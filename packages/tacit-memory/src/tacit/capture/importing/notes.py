"""Markdown of other tools and rule files. In: a file or folder. Out: its statements, each with the line it stands in.

Rule files and memory banks are read like a project's own rules, line by line; basic-memory's notes by their observations
(`- [category] words #tag (context)`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from tacit.capture.bootstrap.markdown import read_rules
from tacit.capture.importing.fields import kind_named, moment_ms, words_of
from tacit.capture.importing.items import ForeignStatement, FormatReader, RefusedHook
from tacit.capture.importing.safe_files import markdown_files, read_text
from tacit.errors import InvalidInput

MAX_BYTES = 400_000
RULE_NAMES = frozenset(
    {"claude.md", "agents.md", "gemini.md", ".cursorrules", ".windsurfrules", "copilot-instructions.md"}
)
MEMORY_NAME = "memory.md"
BANK_FILES = {
    "projectbrief.md": "goal", "productcontext.md": "fact", "activecontext.md": "todo",
    "systempatterns.md": "decision", "techcontext.md": "fact", "progress.md": "outcome", "decisionlog.md": "decision",
}  # fmt: skip
"""Files of a memory bank, and the kind of what they say where its words do not tell."""
_FRONT = re.compile(r"\A---[ \t]*\n(?P<body>.{0,8000}?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(?P<name>[A-Za-z_]{1,30}):[ \t]*(?P<value>.{0,500})$", re.MULTILINE)
_OBSERVATION = re.compile(
    r"^[ \t]*[-*] \[(?P<category>[^\[\]()\n]{2,40})\] (?P<text>\S.{0,4000})$", re.MULTILINE
)
_TAG = re.compile(r"(?<!\S)#(?P<tag>[\w/-]{1,60})")
_CONTEXT = re.compile(r"\s*\((?P<context>[^()]{1,200})\)\s*$")
_RELATION = re.compile(r"\[\[[^\]\n]+\]\]")


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
) -> Iterator[ForeignStatement | RefusedHook]:
    name = path.relative_to(root).as_posix() if root else path.name
    try:
        text = _text(path)
        changed_ms = int(path.stat().st_mtime * 1000)
    except (InvalidInput, OSError) as error:
        yield RefusedHook(where=name, reason=str(error))
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


def _rules(path: Path) -> Iterator[ForeignStatement | RefusedHook]:
    yield from _lines(path, tool="rules")


def _memory(path: Path) -> Iterator[ForeignStatement | RefusedHook]:
    root = path if path.is_dir() else path.parent
    for file in _files(path):
        yield from _lines(file, tool="memory-md", root=root)


# --- memory banks ----------------------------------------------------------------------------------------------------


def _is_bank(path: Path) -> bool:
    if not path.is_dir():
        return False
    names = {entry.name.lower() for entry in path.iterdir() if entry.is_file()}
    return len(names & BANK_FILES.keys()) >= 2


def _bank(path: Path) -> Iterator[ForeignStatement | RefusedHook]:
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


def _basic(path: Path) -> Iterator[ForeignStatement | RefusedHook]:
    root = path if path.is_dir() else path.parent
    for file in _files(path):
        name = file.relative_to(root).as_posix()
        try:
            text = _text(file)
            changed_ms = int(file.stat().st_mtime * 1000)
        except (InvalidInput, OSError) as error:
            yield RefusedHook(where=name, reason=str(error))
            continue
        front = _front(text)
        at_ms = moment_ms(front.get("created") or front.get("date")) or changed_ms
        matches = list(_OBSERVATION.finditer(text))
        if not matches:
            yield RefusedHook(where=name, reason="no observation in it")
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
"""Tried in this order, after databases and exports."""
