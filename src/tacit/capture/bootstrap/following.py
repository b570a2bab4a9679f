"""Imports what a project says of itself and follows its changes. In: a folder. Out: what was imported, and the changes made.

Each file is one transaction with its state (what it was, which statement became which memory). A statement that is removed
from its file retires the memory, a changed one supersedes it; memories that the user also stated stay. A file that makes no
sense for the moment changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from tacit.capture.bootstrap.sources import (
    HISTORY,
    MAX_BYTES,
    Source,
    file_source,
    find_project_files,
    find_rule_files,
    history_source,
)
from tacit.capture.prepare import Preparer
from tacit.capture.reconcile.compare import overlap, take_apart
from tacit.capture.store import Item, Keeper
from tacit.errors import InvalidPayload
from tacit.model.changes import Add, Change, Retire, Skip, Supersede
from tacit.model.ids import content_hash
from tacit.model.memory import Memory
from tacit.model.scope import ScopeFilter, project_scope
from tacit.ports.store import MemoryFilter, ProjectRecord, Store

CHANGED_OVERLAP = 0.4
"""Least overlap of content words at which a removed and an added statement are one that changed."""
_MOST = 100_000

FileStatus = Literal["imported", "unchanged", "changed", "gone", "unreadable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFile:
    """One rule file: path relative to the project root, memories it stands for now, and what happened to it.

    `left_out` = why statements of it were not stored, one reason each; only where the file was read anew.
    """

    path: str
    memories: int
    status: FileStatus
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesImport:
    """What an import did."""

    files: tuple[RuleFile, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What is known of a file from its last import: hash of its bytes, and (content hash, memory id) per statement."""

    digest: str = ""
    items: tuple[tuple[str, str], ...] = ()


def import_rule_files(
    root: Path,
    project: ProjectRecord,
    *,
    store: Store,
    preparer: Preparer,
    keeper: Keeper,
    now_ms: int,
    project_files: bool = False,
) -> RulesImport:
    """Import every rule file under `root` that changed since the last import.

    Args:
        root: the project root.
        project: whose memories these become.
        store: where they go.
        preparer: redacts them.
        keeper: reconciles and writes.
        now_ms: the time.
        project_files: also README, decision records, manifests and the commits; else what was imported of them goes.

    Raises:
        StoreError: as the store; files imported before it stay imported.
    """
    index_name = _index_name(project.id)
    known = _read_index(store.get_value(index_name))
    states = {path: _read_state(store.get_value(_state_name(project.id, path))) for path in known}
    files: list[RuleFile] = []
    changes: list[Change] = []
    present: list[str] = []
    run = _Run(project=project, store=store, preparer=preparer, keeper=keeper, now_ms=now_ms, states=states)
    found = find_rule_files(root)
    further = [file for file in find_project_files(root) if file not in found] if project_files else []
    for file in (*found, *further):
        path = file.relative_to(root).as_posix()
        present.append(path)
        try:
            with file.open("rb") as opened:
                raw = opened.read(MAX_BYTES)
        except OSError:
            files.append(RuleFile(path=path, memories=len(run.ids(path)), status="unreadable"))
            continue
        told, made = run.file(file_source(path, raw, project_id=project.id))
        changes.extend(made)
        files.append(told)
    history = history_source(root, project_id=project.id) if project_files else None
    if history is not None:
        present.append(HISTORY)
        told, made = run.file(history)
        changes.extend(made)
        if told.memories or told.status == "changed":
            files.append(told)
    for path in known:
        if path not in present:
            changes.extend(run.forget(path))
            files.append(RuleFile(path=path, memories=0, status="gone"))
    if sorted(present) != sorted(known):
        store.put_value(index_name, json.dumps(sorted(present)))
    return RulesImport(files=tuple(files), changes=tuple(changes))


@dataclass(slots=True, kw_only=True)
class _Run:
    """One import: what it works with, and the states as they become."""

    project: ProjectRecord
    store: Store
    preparer: Preparer
    keeper: Keeper
    now_ms: int
    states: dict[str, _State]

    def ids(self, path: str) -> frozenset[str]:
        """Memories that the file at `path` stands for."""
        return frozenset(memory_id for _, memory_id in self.states.get(path, _State()).items if memory_id)

    def file(self, source: Source) -> tuple[RuleFile, tuple[Change, ...]]:
        """Bring the memories of one source up to date, and tell of it."""
        try:
            status, made = self.follow(source)
        except InvalidPayload as error:
            count = len(self.ids(source.path))
            return RuleFile(path=source.path, memories=count, status="unreadable", left_out=(str(error),)), ()
        left_out = tuple(change.reason for change in made if isinstance(change, Skip))
        told = RuleFile(
            path=source.path, memories=len(self.ids(source.path)), status=status, left_out=left_out
        )
        return told, made

    def follow(self, source: Source) -> tuple[FileStatus, tuple[Change, ...]]:
        """Bring the memories of one source up to date.

        Raises:
            InvalidPayload: if it makes no sense; nothing is changed.
        """
        path, digest = source.path, source.digest
        before = self.states.get(path)
        if before and before.digest == digest:
            return "unchanged", ()
        drafts = source.drafts(self.now_ms)
        wanted = {content_hash(draft.content): draft for draft in drafts}
        old = dict(before.items) if before else self._stored(path, wanted)
        removed = self._owned([memory_id for key, memory_id in old.items() if key not in wanted], path)
        added = {
            key: _within(source.breadth, self.preparer.prepare(draft))
            for key, draft in wanted.items()
            if key not in old
        }
        items, keys = _plan(added, removed, source=source, at_ms=self.now_ms)
        after = _State(digest=digest)

        def finish(changes: Sequence[Change]) -> Mapping[str, str | None]:
            nonlocal after
            ids = {key: old[key] for key in wanted if key in old}
            for key, change in zip(keys, changes, strict=True):
                if key:
                    ids[key] = "" if isinstance(change, Skip | Retire) else change.memory.id
            after = _State(digest=digest, items=tuple(sorted(ids.items())))
            return {_state_name(self.project.id, path): _write_state(after)}

        made = self.keeper.keep(items, write=self.keeper.apply, finish=finish)
        self.states[path] = after
        return "changed" if before else "imported", made

    def forget(self, path: str) -> tuple[Change, ...]:
        """The file is gone: so is what only it said."""
        owned = self._owned(sorted(self.ids(path)), path)
        items = [Retire(memory_id=m.id, at_ms=self.now_ms, reason=f"{path} was removed") for m in owned]
        values = {_state_name(self.project.id, path): None}
        made = self.keeper.keep(items, write=self.keeper.apply, values=values)
        self.states.pop(path, None)
        return made

    def _stored(self, path: str, wanted: Collection[str]) -> dict[str, str]:
        """What the store has of the file's statements where the state of its last import is lost: reading is not stating."""
        where = MemoryFilter(source=path)
        held = self.store.list_memories(
            where, scope=ScopeFilter.of(project_scope(self.project.id)), limit=_MOST
        )
        return {memory.content_hash: memory.id for memory in held if memory.content_hash in wanted}

    def _owned(self, ids: Sequence[str], path: str) -> tuple[Memory, ...]:
        """Those of `ids` that are still active, come from this file, and stand in no other rule file."""
        elsewhere = {key for other in self.states if other != path for key in self.ids(other)}
        scope = ScopeFilter.of(project_scope(self.project.id))
        stored = self.store.get([key for key in ids if key and key not in elsewhere], scope=scope)
        return tuple(m for m in stored if m.status == "active" and m.provenance.source == path)


def _within(breadth: float, prepared: Memory | Skip) -> Memory | Skip:
    if isinstance(prepared, Skip) or prepared.trigger.breadth <= breadth:
        return prepared
    return replace(prepared, trigger=replace(prepared.trigger, breadth=breadth))


def _plan(
    added: Mapping[str, Memory | Skip], removed: Sequence[Memory], *, source: Source, at_ms: int
) -> tuple[list[Item], list[str]]:
    """What to do, with the content hash of the statement each item is for ("" = none)."""
    path = source.path
    left = {memory.id: memory for memory in removed}
    items: list[Item] = []
    keys: list[str] = []
    for key, prepared in added.items():
        old = _changed_from(prepared, left.values()) if isinstance(prepared, Memory) else None
        if isinstance(prepared, Memory) and old is not None:
            del left[old.id]
            items.append(Supersede(memory=prepared, old_id=old.id, at_ms=at_ms, reason=f"changed in {path}"))
        elif isinstance(prepared, Memory) and source.as_they_are:
            items.append(Add(memory=prepared, reason=f"read off {path}"))
        else:
            items.append(prepared)
        keys.append(key)
    for memory in left.values():
        items.append(Retire(memory_id=memory.id, at_ms=at_ms, reason=f"removed from {path}"))
        keys.append("")
    return items, keys


def _changed_from(memory: Memory, removed: Iterable[Memory]) -> Memory | None:
    scored = [(_likeness(memory.content, old.content), old.id, old) for old in removed]
    best = max(scored, default=None, key=lambda entry: entry[:2])
    return best[2] if best and best[0] >= CHANGED_OVERLAP else None


def _likeness(new: str, old: str) -> float:
    """Overlap of the content words, with or without numbers, whichever is more."""
    mine, theirs = take_apart(new), take_apart(old)
    return max(overlap(frozenset(mine.order), frozenset(theirs.order)), overlap(mine.words, theirs.words))


def followed_names(store: Store, project_id: str) -> tuple[str, ...]:
    """Names of the values that hold what was imported from a project's rule files."""
    index = _index_name(project_id)
    return (index, *(_state_name(project_id, path) for path in _read_index(store.get_value(index))))


def _index_name(project_id: str) -> str:
    return f"rules/{project_id}"


def _state_name(project_id: str, path: str) -> str:
    return f"rules/{project_id}/{path}"


def _read_index(text: str | None) -> tuple[str, ...]:
    raw = _json(text)
    return tuple(str(path) for path in cast("list[object]", raw)) if isinstance(raw, list) else ()


def _read_state(text: str | None) -> _State:
    raw = _json(text)
    if not isinstance(raw, dict):
        return _State()
    fields = cast("dict[str, object]", raw)
    items = fields.get("items")
    if not isinstance(items, dict):
        return _State()
    pairs = cast("dict[object, object]", items).items()
    return _State(
        digest=str(fields.get("digest", "")),
        items=tuple(sorted((str(key), str(value)) for key, value in pairs)),
    )


def _write_state(state: _State) -> str:
    return json.dumps(
        {"digest": state.digest, "items": dict(state.items)}, separators=(",", ":"), sort_keys=True
    )


def _json(text: str | None) -> object:
    try:
        return cast("object", json.loads(text or "null"))
    except ValueError:
        return None
