"""Import of the notes in a host's own memory. In: a file of the host. Out: the changes made.

The notes count as statements of the agent (tier `assistant`): rules among them wait for the user's review, and a statement of the user
replaces them. If a note is removed from the file, its memory is retired; if it is changed, its memory is superseded. Never writes the file.

Codex keeps its memory in `memories/MEMORY.md`, which consists of groups (`# Task Group: ...`). Each has the folder that it applies to
(`applies_to: cwd=...`), a list of tasks with sources and keywords, and sections of what Codex learned from them. Only these sections
are kept; the lines keep their numbers.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import cast

from tacit.capture.bootstrap.markdown import RuleLine, blocks_of, read_rules
from tacit.capture.bootstrap.project_import import Authorship, FileImport
from tacit.capture.bootstrap.sources import MAX_BYTES, Source, kind_of_rule, read_bytes
from tacit.capture.prepare import Preparer
from tacit.capture.store import Reconciler
from tacit.model.changes import Change, Draft
from tacit.model.memory import Provenance, TrustTier
from tacit.model.scope import Scope
from tacit.ports.host import MemoryForm
from tacit.reading.trigger import make_trigger
from tacit.state.registry import HOST_MEMORY, file_key
from tacit.text.lazy_regex import lazy_regex, wording

_RULES = wording("rules")

MIN_WORDS = 3


def import_host_memory(
    file: Path,
    *,
    key: str,
    host: str,
    scope: Scope,
    form: MemoryForm,
    root: str,
    preparer: Preparer,
    reconciler: Reconciler,
) -> tuple[Change, ...]:
    """Import the notes of one host file: add, supersede and retire memories.

    A file that was deleted since the last import retires its memories; an unreadable one changes nothing.

    Args:
        file: the file of the host, absolute.
        key: names these notes (`MemoryFile.key`).
        host: its name.
        scope: where its statements hold.
        form: the form of the file (`MemoryFile.form`).
        root: root of the project whose notes are read, if the file has those of all projects.
        preparer: redacts them.
        reconciler: reconciles and writes.

    Raises:
        StoreError: as the store.
    """
    stored_key = file_key(key)
    name = f"{host}:{file.name}"
    before = HOST_MEMORY.find(reconciler.store, host, stored_key)
    run = FileImport(
        project_id="",
        scope=scope,
        stored_as=lambda state, _path: HOST_MEMORY.change(state, host, stored_key),
        preparer=preparer,
        reconciler=reconciler,
        states={} if before is None else {name: before},
        confirmed=False,
        followed=False,
        authors=Authorship(file.parent),
    )
    try:
        if not file.exists():
            return run.end_file(name) if before is not None else ()
        raw = read_bytes(file) if file.is_file() else None
    except OSError:
        return ()
    if raw is None or len(raw) > MAX_BYTES:  # a part of it would end what the rest says
        return ()
    if form == "codex":
        if not memory_is_on(file.parent.parent / "config.toml"):
            return run.end_file(name) if before is not None else ()
        raw = codex_notes_on(raw.decode("utf-8", "replace"), root).encode()
        if before is None and not raw.strip():
            return ()
    return run.import_source(_source(name, raw, host=host, scope=scope))[1]


def read_notes(text: str) -> tuple[RuleLine, ...]:
    """Return the notes in a file, in order: all rules, and all other items of lists."""
    notes = {line.line: line for line in read_rules(text).lines}
    for block in blocks_of(text):
        told = block.kind == "item" and not block.quote and block.line not in notes
        if told and len(block.text.split()) >= MIN_WORDS and not block.text.endswith(":"):
            notes[block.line] = RuleLine(content=block.text, line=block.line, span=block.span)
    return tuple(notes[line] for line in sorted(notes))


def _source(name: str, raw: bytes, *, host: str, scope: Scope) -> Source:
    def drafts(at_ms: int) -> tuple[Draft, ...]:
        lines = read_notes(raw.decode("utf-8", "replace"))
        return tuple(_draft(line, name, host=host, scope=scope, at_ms=at_ms) for line in lines)

    return Source(path=name, digest=hashlib.sha256(raw).hexdigest()[:16], drafts=drafts)


def _draft(line: RuleLine, name: str, *, host: str, scope: Scope, at_ms: int) -> Draft:
    kind = "fact" if line.command else kind_of_rule(line.content)
    return Draft(
        content=line.content,
        kind=kind,
        scope=scope,
        provenance=Provenance(tier=TrustTier.ASSISTANT, source=name, host=host, span=line.span),
        at_ms=at_ms,
        line=line.line,
        trigger=make_trigger(line.content, kind=kind),
    )


# --- the memory of Codex

_FOLDER = lazy_regex(r"\bcwd=([^;]+)")
_TASKS = lazy_regex(r"(?<!\s)(?:\s*+\[Tasks? [\d, ]+\]){1,100}\s*$")


def memory_is_on(config: Path) -> bool:
    """Whether the memory of Codex is on. It is off unless its `config.toml` switches it on."""
    try:
        settings: dict[str, object] = tomllib.loads(config.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return False
    features, memories = settings.get("features"), settings.get("memories")
    used = cast("dict[str, object]", memories).get("use_memories") if isinstance(memories, dict) else True
    on = isinstance(features, dict) and cast("dict[str, object]", features).get("memories") is True
    return on and used is not False


def codex_notes_on(text: str, root: str) -> str:
    """Return Codex's memory file with only the sections of learned things, of the parts that apply to the folder `root` or one below it; marks such as `[Task 3]` are cut off.

    All other lines, headings too, become empty, so that line numbers stay. "" as `root` keeps nothing.
    """
    kept: list[str] = []
    ours = learned = False
    for line in text.splitlines():
        if line.startswith("# "):
            ours = learned = False
        elif line.startswith("applies_to:"):
            ours = any(_is_in(folder, root) for folder in _FOLDER.findall(line))
        elif line.startswith("## "):
            learned = _RULES.learned.match(line) is not None
        keeps = ours and learned and not line.startswith("#")
        kept.append(_TASKS.sub("", line) if keeps else "")
    return "\n".join(kept)


def _is_in(folder: str, root: str) -> bool:
    folder = folder.strip().strip("`").rstrip("/")
    return bool(root) and (folder == root or folder.startswith(f"{root}/"))
