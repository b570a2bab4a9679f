"""Imports a project's rule files and follows their changes. In: a folder. Out: what was imported, and the changes made.

Each file is one transaction with its state (content hash, which statement became which memory). A statement that is
removed from its file retires the memory, a changed one supersedes it; memories that the user also stated stay. Reads
only the files named in `RULE_FILES`; never follows links out of the project, never writes into it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal, cast

from tacit.capture.markdown import RuleLine, read_rules
from tacit.capture.prepare import Preparer
from tacit.capture.reconcile.compare import overlap, take_apart
from tacit.capture.store import Item, Keeper
from tacit.capture.wording import kind_of
from tacit.model.changes import Change, Draft, Retire, Skip, Supersede
from tacit.model.ids import content_hash
from tacit.model.memory import Memory, Provenance, TrustTier
from tacit.model.scope import ScopeFilter, project_scope
from tacit.ports.store import ProjectRecord, Store
from tacit.reading.trigger import make_trigger

RULE_FILES = (
    "CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules",
    ".github/copilot-instructions.md", "CONTRIBUTING.md", ".github/CONTRIBUTING.md",
)  # fmt: skip
RULE_FOLDERS = (
    (".cursor/rules", "**/*.mdc"),
    (".claude/rules", "**/*.md"),
    (".github/instructions", "*.instructions.md"),
)
_PROSE = ("CONTRIBUTING.md", ".github/CONTRIBUTING.md")
MAX_BYTES = 400_000
MAX_FILES = 200
"""Most rule files of one project; what lies behind them is not looked at."""
CHANGED_OVERLAP = 0.4
"""Least overlap of content words at which a removed and an added statement are one that changed."""

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


def find_rule_files(root: Path) -> tuple[Path, ...]:
    """The rule files under `root`, in a fixed order; a file linked under two names, or from outside, counts once or not."""
    base = root.resolve()
    found: dict[Path, Path] = {}
    for path in (*(root / name for name in RULE_FILES), *_in_folders(root, base)):
        if len(found) >= MAX_FILES:
            break
        if path.is_file():
            target = path.resolve()
            if target.is_relative_to(base):
                found.setdefault(target, path)
    return tuple(found.values())


def _in_folders(root: Path, base: Path) -> Iterator[Path]:
    """Files of the rule folders, each folder in order. Never enters a link: it may lead to the whole disk."""
    for name, pattern in RULE_FOLDERS:
        folder = root / name
        if folder.is_dir() and folder.resolve().is_relative_to(base):
            # glob does not descend into links below its start; the bound holds for what one folder may yield.
            yield from sorted(islice(folder.glob(pattern), MAX_FILES))


def read_drafts(text: str, path: str, *, project_id: str, at_ms: int) -> tuple[Draft, ...]:
    """The statements of a rule file as drafts of the user's trust: it is the user's own project."""
    rules = read_rules(text, rules_only=path in _PROSE)
    return tuple(_draft(line, rules.paths, path, project_id, at_ms) for line in rules.lines)


def import_rule_files(
    root: Path, project: ProjectRecord, *, store: Store, preparer: Preparer, keeper: Keeper, now_ms: int
) -> RulesImport:
    """Import every rule file under `root` that changed since the last import.

    Raises:
        StoreError: as the store; files imported before it stay imported.
    """
    index_name = f"rules/{project.id}"
    known = _read_index(store.get_value(index_name))
    states = {path: _read_state(store.get_value(_state_name(project.id, path))) for path in known}
    files: list[RuleFile] = []
    changes: list[Change] = []
    present: list[str] = []
    run = _Run(project=project, store=store, preparer=preparer, keeper=keeper, now_ms=now_ms, states=states)
    for file in find_rule_files(root):
        path = file.relative_to(root).as_posix()
        present.append(path)
        try:
            with file.open("rb") as opened:
                raw = opened.read(MAX_BYTES)
        except OSError:
            files.append(RuleFile(path=path, memories=len(run.ids(path)), status="unreadable"))
            continue
        status, made = run.follow(path, raw)
        changes.extend(made)
        left_out = tuple(change.reason for change in made if isinstance(change, Skip))
        files.append(RuleFile(path=path, memories=len(run.ids(path)), status=status, left_out=left_out))
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

    def follow(self, path: str, raw: bytes) -> tuple[FileStatus, tuple[Change, ...]]:
        """Bring the memories of one file up to date."""
        digest = hashlib.sha256(raw).hexdigest()[:16]
        before = self.states.get(path)
        if before and before.digest == digest:
            return "unchanged", ()
        drafts = read_drafts(
            raw.decode("utf-8", "replace"), path, project_id=self.project.id, at_ms=self.now_ms
        )
        wanted = {content_hash(draft.content): draft for draft in drafts}
        old = dict(before.items) if before else {}
        removed = self._owned([memory_id for key, memory_id in old.items() if key not in wanted], path)
        added = {key: self.preparer.prepare(draft) for key, draft in wanted.items() if key not in old}
        items, keys = _plan(added, removed, path=path, at_ms=self.now_ms)
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

    def _owned(self, ids: Sequence[str], path: str) -> tuple[Memory, ...]:
        """Those of `ids` that are still active, come from this file, and stand in no other rule file."""
        elsewhere = {key for other in self.states if other != path for key in self.ids(other)}
        scope = ScopeFilter.of(project_scope(self.project.id))
        stored = self.store.get([key for key in ids if key and key not in elsewhere], scope=scope)
        return tuple(m for m in stored if m.status == "active" and m.provenance.source == path)


def _plan(
    added: Mapping[str, Memory | Skip], removed: Sequence[Memory], *, path: str, at_ms: int
) -> tuple[list[Item], list[str]]:
    """What to do, with the content hash of the statement each item is for ("" = none)."""
    left = {memory.id: memory for memory in removed}
    items: list[Item] = []
    keys: list[str] = []
    for key, prepared in added.items():
        old = _changed_from(prepared, left.values()) if isinstance(prepared, Memory) else None
        if isinstance(prepared, Memory) and old is not None:
            del left[old.id]
            items.append(Supersede(memory=prepared, old_id=old.id, at_ms=at_ms, reason=f"changed in {path}"))
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


def _draft(line: RuleLine, paths: tuple[str, ...], path: str, project_id: str, at_ms: int) -> Draft:
    kind = "fact" if line.command else kind_of(line.content, rule=True)
    trigger = make_trigger(line.content, kind=kind)
    if paths:
        trigger = replace(trigger, paths=tuple(dict.fromkeys((*paths, *trigger.paths))))
    return Draft(
        content=line.content,
        kind=kind,
        scope=project_scope(project_id),
        provenance=Provenance(tier=TrustTier.USER, source=path, span=line.span),
        at_ms=at_ms,
        explicit=True,
        trigger=trigger,
    )


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
