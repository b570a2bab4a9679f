"""Export and import over one open store. In: paths, or nothing. Out: lines, text, reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Literal

from tacit.app.memories import Memories
from tacit.app.transfer.markdown import LIVE, MarkdownImport, is_markdown, read_markdown, write_markdown
from tacit.app.transfer.records import (
    MAX_LINE_BYTES,
    Line,
    MemoryHistory,
    Signer,
    head_line,
    is_export,
    read_signed_lines,
    stated_memories,
    versions_of,
    write_line,
)
from tacit.app.transfer.report import Action, ImportLine, ImportOptions, ImportReport, ImportTally, Owners
from tacit.app.values import OpenStore, Parts
from tacit.app.visibility import Visibility
from tacit.capture.importing.items import ForeignStatement, RefusedEntry, draft_of
from tacit.capture.importing.readers import find_readers
from tacit.capture.importing.safe_files import head_of, read_lines, read_text
from tacit.capture.pipeline import CapturePipeline
from tacit.capture.prepare import clean_terms, clean_trigger, refuse_long
from tacit.errors import InvalidInput, RefusedByRedaction, TacitError, UnknownKind
from tacit.frozen import frozen
from tacit.model.ids import content_hash
from tacit.model.memory import Memory, Relation, Speaker
from tacit.model.scope import UNIVERSAL, Scope, ScopeFilter, project_scope
from tacit.ports.store import MemoryFilter, ProjectRecord, Recorded, ValueChanges, ValueStore
from tacit.safety.authority import LEFT_OUT
from tacit.safety.redact import TextRedactor
from tacit.state.counted import Mark
from tacit.state.registry import IMPORTED, KEY_CHARS, MARKS
from tacit.system.files import open_handle
from tacit.upkeep.reindex import reindex
from tacit.upkeep.rescan import note_copy

# Our own export back into a store, with every version. In: its lines. Out: what was stored, counted.
#
# Only for lines that the user vouches for or that this home signed: they say themselves who said what. Secrets are taken out as
# everywhere; a memory that has gone its own way here since, or was purged here, is left alone.

WRITTEN_AT_ONCE = 200
PURGED_REASON = "it was purged here; --again imports it"


class LosslessImport:
    """Restores the memories of one lossless export, with all their versions."""

    def __init__(
        self, parts: Parts, *, dry_run: bool, again: bool, tally: ImportTally, name: str, owners: Owners
    ) -> None:
        """Count into `tally`. `name` = the file's name; `owners` say where memories belong; `again` = also restore what was purged here."""
        self._purged = frozenset[str]() if again else parts.store.purged_memories()
        self._owners = owners
        self._parts = parts
        self._store = parts.store
        self._dry_run = dry_run
        self._tally = tally
        self._name = name
        self._coming: set[str] = set()

    def take(self, lines: Iterable[Line], *, progress: Callable[[int], None] | None) -> None:
        """Store what the lines hold, in batches, and count it in the tally; `progress` is called with the memories looked at.

        Raises:
            StoreError: as the store; batches before it are kept.
        """
        waiting: list[MemoryHistory] = []
        relations: list[Relation] = []
        looked_at = 0
        for line in lines:
            if isinstance(line, RefusedEntry):
                self._refuse(line.where, line.reason)
            elif isinstance(line, MemoryHistory):
                looked_at += 1
                waiting.append(line)
                if len(waiting) >= WRITTEN_AT_ONCE:
                    self._put(waiting)
                    waiting = []
                    if progress:
                        progress(looked_at)
            elif isinstance(line, Relation):
                relations.append(line)
            else:
                self._owners.note_project(line)
        self._put(waiting)
        self._relate(relations)
        if progress:
            progress(looked_at)

    def _put(self, histories: Sequence[MemoryHistory]) -> None:
        versions: list[Recorded] = []
        uses: dict[str, int] = {}
        for history in histories:
            name = history.newest.id
            if name in self._purged:
                self._line("skip", history.newest, PURGED_REASON)
                continue
            try:
                cleaned = tuple(self._cleaned(version) for version in history.versions)
            except TacitError as error:
                self._refuse(name, str(error))
                continue
            missing = self._missing(cleaned)
            if missing is None:
                self._line("skip", history.newest, "it was changed here since")
            elif not missing:
                self._line("unchanged", history.newest, "")
            else:
                kind = history.newest.kind
                reason = "" if kind in self._parts.kinds else f"the settings define no kind {kind!r}"
                self._line("add" if len(missing) == len(cleaned) else "edit", history.newest, reason)
                versions += missing
                uses[name] = history.uses
            self._coming.add(name)
            self._owners.register(cleaned[-1].memory.scope)
        if not self._dry_run:
            self._store.restore(versions, uses=uses)

    def _missing(self, versions: Sequence[Recorded]) -> Sequence[Recorded] | None:
        """Return the versions that are not stored yet; None = the stored ones differ from these, so the memory changed here."""
        stored = [
            (version.at_ms, version.memory) for version in versions_of(self._store, versions[0].memory.id)
        ]
        imported = [(version.at_ms, version.memory) for version in versions]
        shorter = min(len(stored), len(imported))
        return versions[len(stored) :] if stored[:shorter] == imported[:shorter] else None

    def _cleaned(self, version: Recorded) -> Recorded:
        memory = replace(version.memory, scope=self._owners.scope_here(version.memory.scope))
        redactor = self._parts.redactor.at(memory.scope)
        redacted = redactor.redact(memory.content)
        if redacted.has_secret:
            raise RefusedByRedaction("It holds a secret; nothing of it was stored.")
        refuse_long(redacted.text)
        return replace(
            version,
            memory=_clean(memory, redacted.text, redactor),
            before=None,
            reason=version.reason.cleaned(lambda text: redactor.redact(text).text),
        )

    def _relate(self, relations: Sequence[Relation]) -> None:
        # The memory at the other end was skipped because it was purged here, and that line says so.
        relations = [r for r in relations if self._purged.isdisjoint((r.source_id, r.target_id))]
        everything = self._store.scopes()
        ends = sorted({end for relation in relations for end in (relation.source_id, relation.target_id)})
        stored_ids = {memory.id for memory in self._store.get(ends, scope=everything)}
        stored_ids |= self._coming if self._dry_run else set()
        good = [
            relation
            for relation in relations
            if {relation.source_id, relation.target_id} <= stored_ids and 0 <= relation.weight <= 1
        ]
        if len(good) < len(relations):
            self._refuse("relations", f"{len(relations) - len(good)} of them name a memory that is not here")
        if good and not self._dry_run:
            self._store.relate(good)

    def _line(self, action: Action, memory: Memory, reason: str) -> None:
        where = f"{self._name}, {memory.id}"
        self._tally.add(
            ImportLine(action=action, where=where, text=memory.content, memory_id=memory.id, reason=reason)
        )

    def _refuse(self, where: str, reason: str) -> None:
        self._tally.add(ImportLine(action="refused", where=f"{self._name}, {where}", reason=reason))


def _clean(memory: Memory, content: str, redactor: TextRedactor) -> Memory:
    """Return the memory with `content`, which must be redacted already, as its statement and with secrets removed from its other texts."""
    origin = memory.provenance
    provenance = replace(
        origin, source=redactor.redact(origin.source).text, span=redactor.redact(origin.span).text
    )
    return replace(
        memory,
        content=content,
        provenance=provenance,
        trigger=clean_trigger(memory.trigger, redactor),
        files=clean_terms(memory.files, redactor),
        error_signature=redactor.redact(memory.error_signature).text,
        headline=redactor.redact(memory.headline).text,
        evidence=tuple(redactor.redact(span).text for span in memory.evidence),
    )


# Export and import over one open store. In: paths, or nothing. Out: lines, text, reports.
#
# Our own exports come back without loss where the user vouches for them; what other tools remember becomes statements that
# wait for the user. A second run adds nothing: what was read once is known by tool, id and words. Never follows a link, never
# stores a secret, never stops at a line that cannot be read.

BATCH = 16
"""Statements of one transaction: within one, every pair is compared; across them, only the nearest."""
LISTED = 1_000_000
OWN_FORMAT = "tacit"
"""The tool name of a line of our own export that nobody vouches for."""
TOLD_EVERY = 50
"""After so many memories the progress of an export is reported."""
Progress = Callable[[str, int, int], None]
"""Called with a part of the work ("" = the import itself), how many statements are done, and of how many (0 = not known)."""


MOST_KEYS = 1024
"""Most keys of one named value."""


class ImportedKeys:
    """Keys of the statements that one tool brought into one scope, so that a second import adds nothing.

    They are stored in several named values of bounded length. A batch rewrites only one of them, however many statements were imported before.
    """

    def __init__(self, store: ValueStore, name: str) -> None:
        """Load the keys stored under `name`, a tool and a scope, and under its numbered continuations."""
        self._name = name
        self._last: list[str] = []
        self._number = 0
        self._known: set[str] = set()
        for number, keys in enumerate(_stored(store, name)):
            self._number = number
            self._last = list(keys)
            self._known.update(self._last)

    def __contains__(self, key: str) -> bool:
        """Whether the statement with this key was imported."""
        return key in self._known

    def values_with(self, keys: Collection[str]) -> ValueChanges:
        """Return the change to store that records `keys` as imported; call `add` once it is stored."""
        number, stored_keys = self._value_with_room()
        new = (key for key in keys if key not in self._known)
        return IMPORTED.change((*stored_keys, *new), _part(self._name, number))

    def add(self, keys: Collection[str]) -> None:
        """Add `keys` to the known ones; in memory only."""
        self._number, stored_keys = self._value_with_room()
        self._last = [*stored_keys, *(key for key in keys if key not in self._known)]
        self._known.update(keys)

    def _value_with_room(self) -> tuple[int, list[str]]:
        """Return the number of the named value that takes the next keys, and the keys that it holds."""
        return (self._number + 1, []) if len(self._last) >= MOST_KEYS else (self._number, self._last)


def _part(name: str, number: int) -> str:
    return f"{name}/{number}" if number else name


def _stored(store: ValueStore, name: str) -> Iterator[tuple[str, ...]]:
    number = 0
    while (keys := IMPORTED.find(store, _part(name, number))) is not None:
        yield keys
        number += 1


@frozen
class _ImportRun:
    """One import: its owner, its options, and its result so far; `known` = hashes of the earlier memories of each scope."""

    cwd: str
    project: ProjectRecord | None
    scope: Scope
    wanted: ImportOptions
    tally: ImportTally
    progress: Progress
    owners: Owners
    imported: dict[str, ImportedKeys] = field(default_factory=dict[str, ImportedKeys])
    known: dict[Scope, frozenset[str]] = field(default_factory=dict[Scope, frozenset[str]])


class Transfer:
    """Exports and imports memories, over one open store. Safe to use from several threads."""

    def __init__(self, opened: OpenStore, *, capture: CapturePipeline, memories: Memories) -> None:
        self._parts, self._store = opened.parts, opened.parts.store
        self._projects, self._settle, self._changed = opened.projects, opened.settle, opened.changed
        self._capture = capture
        self._memories = memories
        self._signer = Signer(opened.parts.home.export_key)

    # --- out

    def export(self, *, scope: ScopeFilter | None = None, speaker: Speaker = Speaker.USER) -> Iterator[bytes]:
        """Yield the lines of a lossless export, each signed and with its line end; see `records`.

        Args:
            scope: what is written; None = everything.
            speaker: who exports; what they may not see is left out.
        """
        self._settle()
        scopes = scope or self._store.scopes()
        visibility = Visibility(self._store, speaker=speaker)
        where = MemoryFilter(statuses=None, sensitivities=visibility.levels)
        memories = self._store.list_memories(where, scope=scopes, limit=LISTED)
        memories = tuple(sorted(memories, key=lambda m: (m.created_at_ms, m.id)))
        partial = speaker is not Speaker.USER
        yield head_line(len(memories), at_ms=self._parts.clock.now_ms(), partial=partial) + b"\n"
        owners = {memory.scope.project_id for memory in memories}
        for project in self._store.projects():
            if project.id in owners:
                yield self._signed(project)
        for memory in memories:
            versions = tuple(
                replace(version, reason=visibility.reason(version.reason))
                for version in visibility.changes(versions_of(self._store, memory.id))
            )
            yield self._signed(MemoryHistory(versions=versions, uses=memory.use_count))
        ids = [memory.id for memory in memories]
        exported = set(ids)
        for start in range(0, len(ids), 1000):
            batch = set(ids[start : start + 1000])
            for edge in self._store.relations(sorted(batch), scope=scopes):
                if edge.source_id in batch and edge.target_id in exported:
                    yield self._signed(edge)

    def _signed(self, value: MemoryHistory | Relation | ProjectRecord) -> bytes:
        return self._signer.sign(write_line(value)) + b"\n"

    def export_markdown(self, *, scope: ScopeFilter | None = None, speaker: Speaker = Speaker.USER) -> str:
        """Return the live memories that `speaker` may see as Markdown to read and edit; see `markdown`."""
        self._settle()
        levels = Visibility(self._store, speaker=speaker).levels
        live = MemoryFilter(statuses=("active", "quarantined"), sensitivities=levels)
        memories = self._store.list_memories(live, scope=scope or self._store.scopes(), limit=LISTED)
        return write_markdown(
            memories, at_ms=self._parts.clock.now_ms(), note="" if speaker is Speaker.USER else LEFT_OUT
        )

    def export_to(
        self,
        target: Path,
        *,
        form: Literal["jsonl", "markdown"],
        scope: ScopeFilter | None = None,
        speaker: Speaker = Speaker.USER,
        progress: Callable[[int, int], None] = lambda _done, _whole: None,
    ) -> int:
        """Write an export to the new file `target`, which only the user can read, and return its size in bytes.

        A rescan for secrets looks there, too. `progress` is told how many memories of how many are written, now and then.

        Raises:
            InvalidInput: if it exists or cannot be written.
        """
        try:
            handle = open_handle(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, follow=False)
        except OSError as error:
            raise InvalidInput(
                f"{target} cannot be written: {error.strerror}.", hint="Name a file that does not exist yet."
            ) from error
        size = 0
        with os.fdopen(handle, "wb") as opened:
            if form == "markdown":
                text = self.export_markdown(scope=scope, speaker=speaker)
                size = opened.write(text.encode("utf-8", "replace"))
            else:
                whole = self._store.stats().memories_total
                for done, line in enumerate(self.export(scope=scope, speaker=speaker), start=1):
                    size += opened.write(line)
                    if not done % TOLD_EVERY:
                        progress(min(done, whole), whole)
        note_copy(self._store, target)
        return size

    # --- in

    def take(
        self, path: Path, *, cwd: str, wanted: ImportOptions, progress: Progress | None = None
    ) -> ImportReport:
        """Import the file or folder at `path` and return the report; with `wanted.dry_run` nothing is stored.

        Args:
            path: a file or folder.
            cwd: folder whose project it is for.
            wanted: how.
            progress: told how far it is; see `Progress`.

        Raises:
            NotFound, InvalidInput: there is nothing, or nothing that is known; see `find_readers`.
            StoreError: as the store; batches before it are kept.
        """
        self._settle()
        onto = self._projects.of(wanted.project)
        project = onto or self._projects.of(cwd)
        cwd = wanted.project or cwd
        run = _ImportRun(
            cwd=cwd,
            project=project,
            scope=UNIVERSAL if wanted.universal or project is None else project_scope(project.id),
            wanted=wanted,
            tally=ImportTally(),
            progress=progress or _no_progress,
            owners=Owners(
                self._store,
                onto=onto,
                dry_run=wanted.dry_run,
                now_ms=self._parts.clock.now_ms(),
            ),
        )
        own_format = self._ours(path)
        if own_format:
            self._take_ours(path, own_format, run)
            formats = ((str(path), f"tacit {own_format}"),)
        else:
            readers = find_readers(path, wanted.tool)
            for file, reader in readers:
                self._take_foreign(reader.read(file), run)
            formats = tuple((str(file), reader.tool) for file, reader in readers)
        counts = run.tally.counts
        if not wanted.dry_run:
            self._changed()
            if counts["add"]:
                tools = tuple(dict.fromkeys(tool for _, tool in formats))
                mark = Mark(at_ms=self._parts.clock.now_ms(), what="import", about=tools, count=counts["add"])
                MARKS.write(self._store, MARKS.read(self._store).noted(mark))
        return ImportReport(
            formats=formats,
            counts=tuple(sorted(counts.items())),
            lines=tuple(run.tally.lines),
            dry_run=wanted.dry_run,
            unconfirmed=0 if wanted.vouched else run.tally.stated - run.tally.confirmed,
        )

    def speaks_for_user(self, path: Path) -> bool:
        """Whether `path` holds statements in the user's name that this home has not signed.

        Raises:
            InvalidInput: it cannot be read.
        """
        own_format = self._ours(path)
        if own_format != "export":
            return bool(own_format)
        lines = read_signed_lines(read_lines(path, MAX_LINE_BYTES), verified=self._signer.verified)
        return any(isinstance(line, MemoryHistory) and not signed for line, signed in lines)

    def _ours(self, path: Path) -> str:
        if path.is_symlink() or not path.is_file():
            return ""
        head = head_of(path)
        return "export" if is_export(head) else "markdown" if is_markdown(head) else ""

    def _take_ours(self, path: Path, own_format: str, run: _ImportRun) -> None:
        options = run.wanted
        if own_format == "markdown":
            if not options.vouched:
                raise InvalidInput(
                    "An edited file counts as your words only with your confirmation.",
                    hint="Confirm it with --mine.",
                )
            edited = read_markdown(read_text(path))
            work = MarkdownImport(
                store=self._store,
                memories=self._memories,
                cwd=run.cwd,
                wanted=options,
                tally=run.tally,
                owners=run.owners,
            )
            work.take(edited)
            return
        total = stated_memories(head_of(path))
        purged = frozenset[str]() if options.again else self._store.purged_memories()
        stated: list[ForeignStatement | RefusedEntry] = []

        def believed() -> Iterator[Line]:
            lines = read_signed_lines(read_lines(path, MAX_LINE_BYTES), verified=self._signer.verified)
            for line, signed in lines:
                if options.vouched or signed or isinstance(line, RefusedEntry):
                    yield line
                elif (statement := self._statement(line, path.name, run, purged)) is not None:
                    stated.append(statement)

        restoring = LosslessImport(
            self._parts,
            dry_run=options.dry_run,
            again=options.again,
            tally=run.tally,
            name=path.name,
            owners=run.owners,
        )
        restoring.take(believed(), progress=lambda done: run.progress("", done, total))
        run.tally.confirmed = run.tally.stated
        self._take_foreign(stated, run, whole=len(stated))
        if not options.dry_run:
            reindex(
                self._store,
                self._parts.embedder,
                progress=lambda done, missing: run.progress("making vectors", done, missing),
            )

    def _take_foreign(
        self, statements: Iterable[ForeignStatement | RefusedEntry], run: _ImportRun, *, whole: int = 0
    ) -> None:
        if run.project is not None and not run.wanted.universal and not run.wanted.dry_run:
            self._projects.register(run.project)
        rows, looked_at = iter(statements), 0
        while batch := list(islice(rows, BATCH)):
            looked_at += len(batch)
            self._batch(batch, run)
            run.progress("", looked_at, whole)

    def _batch(self, batch: Sequence[ForeignStatement | RefusedEntry], run: _ImportRun) -> None:
        items: list[ForeignStatement] = []
        for statement in batch:
            if isinstance(statement, RefusedEntry):
                action: Action = "skip" if statement.meant else "refused"
                run.tally.add(ImportLine(action=action, where=statement.where, reason=statement.reason))
            elif (
                statement.project
                and not run.wanted.any_project
                and not _same_project(statement.project, run.project)
            ):
                reason = f"of the project {statement.project[:80]}; --any-project imports it"
                run.tally.add(
                    ImportLine(action="skip", where=statement.where, text=statement.content, reason=reason)
                )
            else:
                items.append(statement)
        for tool, scope in dict.fromkeys((item.tool, item.scope) for item in items):
            group = [item for item in items if (item.tool, item.scope) == (tool, scope)]
            self._of_tool(group, tool, run, run.scope if scope is None or run.wanted.universal else scope)

    def _of_tool(self, items: Sequence[ForeignStatement], tool: str, run: _ImportRun, scope: Scope) -> None:
        options, tally = run.wanted, run.tally
        name = f"{tool}/{_short(str(scope))}"
        if name not in run.imported:
            run.imported[name] = ImportedKeys(self._store, name)
        imported_keys = run.imported[name]
        present_ids = self._stored_ids(items, scope, run) if tool == OWN_FORMAT else set[str]()
        fresh: dict[str, ForeignStatement] = {}
        for item in items:
            key = _key(item)
            if (
                key in fresh
                or (key in imported_keys and not options.again)
                or item.original_id in present_ids
            ):
                tally.add(ImportLine(action="unchanged", where=item.where, text=item.content))
            else:
                fresh[key] = item
        if not fresh:
            return
        now = self._parts.clock.now_ms()
        drafts = [
            draft_of(statement, scope=scope, vouched=options.vouched, now_ms=now)
            for statement in fresh.values()
        ]
        if scope != run.scope:
            run.owners.register(scope)
        values = imported_keys.values_with(fresh)
        try:
            changes = (
                self._capture.judge_drafts(drafts)
                if options.dry_run
                else self._capture.store_drafts(drafts, values=values)
            )
        except UnknownKind as error:
            for item in fresh.values():
                tally.add(
                    ImportLine(action="refused", where=item.where, text=item.content, reason=str(error))
                )
            return
        if not options.dry_run:
            imported_keys.add(fresh)
        for item, change in zip(fresh.values(), changes, strict=True):
            tally.change(change, item.where)

    def _statement(
        self, line: Line, name: str, run: _ImportRun, purged: frozenset[str]
    ) -> ForeignStatement | RefusedEntry | None:
        """Read one line of a file that nobody vouches for: its statement and scope, without what it claims of who said it.

        Returns:
            The statement, or why it is not imported; None = the line holds no live memory.
        """
        if not isinstance(line, MemoryHistory) or line.newest.status not in LIVE:
            return None
        memory = line.newest
        where = f"{name}, {memory.id}"
        if memory.id in purged:
            return RefusedEntry(where=where, reason=PURGED_REASON, meant=True)
        if memory.kind not in self._parts.kinds:
            return RefusedEntry(where=where, reason=f"the settings define no kind {memory.kind[:40]!r}")
        return ForeignStatement(
            tool=OWN_FORMAT,
            original_id=memory.id,
            content=memory.content,
            kind=memory.kind,
            at_ms=memory.validity.valid_from_ms,
            files=memory.files,
            importance=memory.importance,
            where=where,
            scope=run.owners.scope_here(memory.scope),
            sensitivity=memory.sensitivity,
            original=memory,
        )

    def _stored_ids(self, items: Sequence[ForeignStatement], scope: Scope, run: _ImportRun) -> set[str]:
        """Return the original ids of those `items` that are stored already in the same words: under their own id, or as a memory of `scope`."""
        hashes = {item.original_id: content_hash(item.content) for item in items}
        again = run.wanted.again
        present_ids = {
            memory.id
            for memory in self._store.get(list(hashes), scope=self._store.scopes())
            if memory.content_hash == hashes[memory.id] and not (again and memory.status not in LIVE)
        }
        if scope not in run.known:
            live = MemoryFilter(statuses=LIVE)
            memories = self._store.list_memories(live, scope=ScopeFilter.of(scope), limit=LISTED)
            run.known[scope] = frozenset(memory.content_hash for memory in memories)
        return present_ids | {name for name, words in hashes.items() if words in run.known[scope]}


def _no_progress(what: str, done: int, whole: int) -> None:
    """Ignore the progress."""


def _same_project(name: str, project: ProjectRecord | None) -> bool:
    if project is None:
        return False
    folder_name = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].casefold()
    return folder_name in (project.name.casefold(), Path(project.root).name.casefold(), project.id.casefold())


def _key(item: ForeignStatement) -> str:
    return _short(f"{item.original_id}\0{' '.join(item.content.split()).casefold()}")


def _short(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:KEY_CHARS]
