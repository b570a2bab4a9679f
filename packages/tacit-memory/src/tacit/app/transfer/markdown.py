"""Memories as Markdown that a person can read, edit and import again. In: memories or a text. Out: a text, edits.

    <!-- tacit memories, 2026-11-21: change a text, delete an entry, move it under another heading, add "- ..." of your own -->
    ## project:shop-0123456789
    ### decision
    - Amounts are integer cents. <!-- mem_1m80... 4f2a9c01d3e5 -->

The comment after an entry holds the memory's id and a hash of its text. The hash tells an edit from a memory that has changed here
meanwhile. The last line names every entry, so that a deleted one is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from itertools import pairwise

from tacit.app.memories import Memories
from tacit.app.transfer.report import Action, ImportLine, ImportOptions, ImportTally, Owners
from tacit.capture.importing.items import RefusedEntry
from tacit.errors import TacitError
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.ids import content_hash
from tacit.model.memory import Memory, MemoryStatus, TrustTier
from tacit.model.scope import Scope, ScopeFilter
from tacit.ports.store import MemoryFilter, MemoryStore
from tacit.statements.same import same_statement

HEAD = "<!-- tacit memories"
_FOOT = re.compile(r"^<!-- tacit entries:(?P<ids>[ \w]*)-->[ \t]*$", re.MULTILINE)
_MARK = re.compile(r"(?<![ \t])[ \t]*<!-- (?P<id>mem_\w{1,60}) (?P<hash>[0-9a-f]{12}) -->[ \t]*$")
_MARKS = re.compile(r"<!-- (mem_\w{1,60}) [0-9a-f]{12} -->")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ENTRY = re.compile(r"^[-*+] (?P<text>.*)$")
_HEADING = re.compile(r"^(?P<level>#{1,3})[ \t]+(?P<name>\S(?:.*\S)?)[ \t]*$")
HASH_CHARS = 12
MAX_ENTRIES = 50_000
LIVE: tuple[MemoryStatus, ...] = ("active", "quarantined")


@frozen
class EditedEntry:
    """One entry of an edited file.

    Attributes:
        text: its words.
        kind, scope: the headings it stands under; "" = none.
        memory_id: the memory it was, or "" for a new one.
        hash: what that memory said when it was written out.
        where: its line.
    """

    text: str
    kind: str
    scope: str
    memory_id: str = ""
    hash: str = ""
    where: str = ""


@frozen
class EditedMarkdown:
    """The contents of an edited file: its entries, the ids of deleted ones, and what is refused, with its line."""

    entries: tuple[EditedEntry, ...]
    removed: tuple[str, ...]
    refused: tuple[RefusedEntry, ...] = ()


def short_hash_of(memory: Memory) -> str:
    """Return the short content hash that an export writes beside a memory, to see on import whether its words were changed."""
    return memory.content_hash[:HASH_CHARS]


def write_markdown(memories: Iterable[Memory], *, at_ms: int, note: str = "") -> str:
    """Return the export as Markdown, by scope and kind, the most important first; equal memories give equal bytes.

    `note` stands in the first line.
    """
    day = datetime.fromtimestamp(at_ms / 1000, tz=UTC).strftime("%Y-%m-%d")
    source_text = (
        'change a text, delete an entry, move it under another heading, or add "- ..." of your own; `tacit import` takes it'
        " back. Leave the comments behind the entries as they are."
    )
    said = f" Note: {note}." if note else ""
    lines = [f"{HEAD}, {day}: {source_text}{said} -->", "# What Tacit remembers"]
    ordered = sorted(memories, key=lambda m: (str(m.scope), m.kind, -m.importance, -m.created_at_ms, m.id))
    scope = kind = ""
    for memory in ordered:
        if str(memory.scope) != scope:
            scope, kind = str(memory.scope), ""
            lines += ["", f"## {scope}"]
        if memory.kind != kind:
            kind = memory.kind
            lines += ["", f"### {kind}", ""]
        words = _escaped(memory.content).split("\n")
        words[-1] += f" <!-- {memory.id} {short_hash_of(memory)} -->"
        lines += [f"- {words[0]}", *(f"  {line}" for line in words[1:])]
    ids = " ".join(memory.id for memory in ordered)
    return "\n".join([*lines, "", f"<!-- tacit entries: {ids} -->", ""])


def _escaped(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("<!--", "<\\!--")


def is_markdown(head: bytes) -> bool:
    """Whether a file that begins with `head` is an export in Markdown."""
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(HEAD.encode())


def read_markdown(text: str) -> EditedMarkdown:
    """Parse an edited file into entries, the ids of deleted entries, and what is refused: entries that cannot be read, and lines below a heading that belong to no entry. Never raises."""
    foot = _FOOT.search(text)
    entries: list[EditedEntry] = []
    refused: list[RefusedEntry] = []
    scope = kind = ""
    open_lines: list[str] = []
    started = 0

    def close() -> None:
        if open_lines:
            entry = _entry(open_lines, kind, scope, f"line {started}")
            if isinstance(entry, EditedEntry):
                entries.append(entry)
            else:
                refused.append(entry)
            open_lines.clear()

    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        heading, first = _HEADING.match(line), _ENTRY.match(line)
        if heading:
            close()
            level, name = len(heading["level"]), heading["name"]
            scope, kind = (name, "") if level == 2 else (scope, name) if level == 3 else (scope, kind)
        elif first:
            close()
            if len(entries) >= MAX_ENTRIES:
                refused.append(
                    RefusedEntry(where=f"line {number}", reason=f"more than {MAX_ENTRIES} entries")
                )
                break
            open_lines.append(first["text"])
            started = number
        elif open_lines and (line.startswith("  ") or (line.strip() and not line.startswith("<!--"))):
            open_lines.append(line.strip() if not line.startswith("  ") else line[2:])
        elif line.strip() or (open_lines and _MARK.search(open_lines[-1])):
            close()
            if scope and line.strip() and not line.startswith("<!--"):
                refused.append(
                    RefusedEntry(where=f"line {number}", reason='no entry; an entry begins with "- "')
                )
    close()
    listed_ids = foot["ids"].split() if foot else []
    kept_ids = {entry.memory_id for entry in entries}
    return EditedMarkdown(
        entries=tuple(entries),
        removed=tuple(name for name in dict.fromkeys(listed_ids) if name not in kept_ids),
        refused=tuple(refused),
    )


def _entry(lines: list[str], kind: str, scope: str, where: str) -> EditedEntry | RefusedEntry:
    while lines and not lines[-1].strip():
        lines.pop()
    entry_text = "\n".join(lines)
    mark = _MARK.search(entry_text)
    text = (entry_text[: mark.start()] if mark else entry_text).replace("<\\!--", "<!--").strip()
    if not text:
        return RefusedEntry(where=where, reason="an entry without text; delete it, or add text")
    if scope:
        try:
            Scope.parse(scope)
        except TacitError as error:
            return RefusedEntry(where=where, reason=str(error))
    return EditedEntry(
        text=text,
        kind=kind,
        scope=scope,
        memory_id=mark["id"] if mark else "",
        hash=mark["hash"] if mark else "",
        where=where,
    )


def markdown_without(
    text: str, clean: Callable[[str], str], *, ids: frozenset[str], notes: Collection[str]
) -> str:
    """Return `text` without the entries of the memories `ids`; in sections of the kinds `notes`, `clean` removes what quotes them.

    Every other byte stays.
    """
    kept_lines: list[str] = []
    sections: list[tuple[int, str]] = [(0, "")]
    entry_start = 0
    for line in _LINE.findall(text):
        bare = line.rstrip("\r\n")
        if heading := _HEADING.match(bare):
            sections.append((len(kept_lines), heading["name"] if len(heading["level"]) == 3 else ""))
            kept_lines.append(line)
            entry_start = len(kept_lines)
            continue
        if _ENTRY.match(bare):
            entry_start = len(kept_lines)
        marks = _MARKS.findall(line)
        kept_lines.append(_foot_without(line, ids))
        if not ids.isdisjoint(marks):
            del kept_lines[entry_start:]
        if marks:
            entry_start = len(kept_lines)
    cleaned: list[str] = []
    for (start, kind), (end, _) in pairwise([*sections, (len(kept_lines), "")]):
        section = "".join(kept_lines[start:end])
        cleaned.append(clean(section) if kind in notes else section)
    return "".join(cleaned)


def _foot_without(line: str, ids: Collection[str]) -> str:
    foot = _FOOT.match(line.rstrip("\r\n"))
    if not foot or not any(name in ids for name in foot["ids"].split()):
        return line
    remaining_ids = " ".join(name for name in foot["ids"].split() if name not in ids)
    return f"{line[: foot.start('ids')]} {remaining_ids} {line[foot.end('ids') :]}"


@frozen
class MarkdownImport:
    """Imports one edited file into `store`, for the project around `cwd`; `tally` counts the results.

    A memory that was changed here since the file was written is left alone and reported. A deleted entry is forgotten only if the user asks
    for it.
    """

    store: MemoryStore
    memories: Memories
    cwd: str
    wanted: ImportOptions
    tally: ImportTally
    owners: Owners

    def take(self, edited: EditedMarkdown) -> None:
        """Apply all entries and deletions of the file and count them; with `wanted.dry_run` only count."""
        for refused in edited.refused:
            self.tally.add(ImportLine(action="refused", where=refused.where, reason=refused.reason))
        for entry in edited.entries:
            try:
                self.take_entry(entry)
            except TacitError as error:
                self.tally.add(
                    ImportLine(action="refused", where=entry.where, text=entry.text, reason=str(error))
                )
        for name in edited.removed:
            self.take_removed(name)

    def _stored(self, name: str) -> Memory | None:
        memories = self.store.get([name], scope=self.store.scopes())
        return memories[0] if memories else None

    def take_entry(self, entry: EditedEntry) -> None:
        """Add one entry, apply its edit, or leave it alone; count the result."""
        if not entry.memory_id:
            self._new(entry)
            return
        stored = self._stored(entry.memory_id)
        if stored is None:
            self._new(entry)  # written elsewhere: it is new here, and of the project that it stands under
            return
        if stored.status not in LIVE:
            self._tell("skip", entry, reason="it is no longer active here")
            return
        same_words = content_hash(entry.text)[: len(entry.hash)] == entry.hash
        same_kind = entry.kind in ("", stored.kind)
        same_scope = entry.scope in ("", str(stored.scope))
        if same_words and same_kind and same_scope:
            self._tell("unchanged", entry, memory=stored)
        elif not same_words and short_hash_of(stored) != entry.hash and stored.content != entry.text:
            self._tell(
                "skip",
                entry,
                memory=stored,
                reason="it was also changed here; the memory here stays",
            )
        elif stored.content == entry.text and same_kind and same_scope:
            self._tell("unchanged", entry, memory=stored)
        else:
            if not self.wanted.dry_run:
                self.memories.edit(
                    stored,
                    content=None if same_words else entry.text,
                    kind=None if same_kind else entry.kind,
                    scope=None if same_scope else Scope.parse(entry.scope),
                )
            self._tell("edit", entry, memory=stored)

    def _new(self, entry: EditedEntry) -> None:
        scope = self.owners.scope_here(Scope.parse(entry.scope)) if entry.scope else None
        if self._same(entry, scope):
            self._tell("unchanged", entry)
            return
        if self.wanted.dry_run:
            self._tell("add", entry)
            return
        if scope is not None:
            self.owners.register(scope)
        changes = self.memories.remember(
            entry.text,
            kind=entry.kind or None,
            scope=scope,
            cwd=self.cwd,
            tier=TrustTier.USER,
            source="edited",
            all_branches=True,
        )
        for change in changes:
            self.tally.change(change, entry.where)

    def _same(self, entry: EditedEntry, scope: Scope | None) -> bool:
        """Whether a memory of this scope says these very words already, because the file was imported before."""
        where = MemoryFilter(statuses=LIVE, text=entry.text)
        scopes = self.store.scopes() if scope is None else ScopeFilter.of(scope)
        memories = self.store.list_memories(where, scope=scopes, limit=50)
        return any(same_statement(memory.content, entry.text) for memory in memories)

    def take_removed(self, name: str) -> None:
        """Count the live memory with the id `name`, whose entry was deleted from the file.

        With `forget_removed` also retire it, except in a dry run.
        """
        stored = self._stored(name)
        if stored is None or stored.status not in LIVE:
            return
        forget = self.wanted.forget_removed
        if forget and not self.wanted.dry_run:
            self.memories.retire(stored, reason=ChangeReason(cause=ChangeCause.DELETED_FROM_EXPORT))
        self.tally.add(
            ImportLine(
                action="forget" if forget else "removed",
                where="deleted",
                text=stored.content,
                memory_id=name,
                reason="" if forget else "--forget-removed forgets it",
            )
        )

    def _tell(
        self, action: Action, entry: EditedEntry, *, memory: Memory | None = None, reason: str = ""
    ) -> None:
        before = memory.content if memory is not None and action == "edit" else ""
        self.tally.add(
            ImportLine(
                action=action,
                where=entry.where,
                text=entry.text,
                before=before,
                memory_id=memory.id if memory else "",
                reason=reason,
            )
        )
