"""Imports what a project says of itself and follows its changes. In: a folder. Out: what was imported, and the changes made.

Each file is one transaction with its state (what it was, which statement became which memory). A statement that is removed
from its file retires the memory, a changed one supersedes it; memories that the user also stated stay. A file that makes no
sense for the moment changes nothing.

The lines of a project's file that the user wrote. In: a work tree, a file's path and text. Out: lines.

The user's are: lines that are in no commit yet, and lines that a commit brought which was made in this very clone. The clone's
own record of movements (the reflog) says which commits these are; nobody who pushes can write into it, while the author
that a commit names is free to choose. Where anything cannot be read, no line is the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from tacit.capture.bootstrap.sources import (
    HISTORY,
    MAX_FILES,
    Source,
    file_source,
    find_project_files,
    find_rule_files,
    history_source,
    read_bytes,
)
from tacit.capture.prepare import Preparer
from tacit.capture.store import Item, Reconciler
from tacit.errors import InvalidPayload
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Change, Contradict, Draft, Retire, Rewrite, Skip, Supersede
from tacit.model.ids import content_hash
from tacit.model.memory import Memory, TrustTier
from tacit.model.scope import Scope, ScopeFilter, project_scope
from tacit.ports.store import MemoryFilter, ProjectRecord, ValueChanges
from tacit.session.projects import find_checkout, git_at
from tacit.state.captured import RuleFileState
from tacit.state.registry import RULE_FILE, RULE_FILES, RULES_CONFIRMED
from tacit.statements.same import word_overlap
from tacit.system.git import Repository
from tacit.text.decoding import decode_text
from tacit.text.lazy_regex import lazy_regex

MAX_COMMITS = 200
"""Most commits of the user's that are read, newest first."""
MAX_LOGGED = 5_000
MAX_FILE_BYTES = 200_000
_MADE_HERE = lazy_regex(
    r"(?:commit\b|cherry-pick\b|revert\b|(?:rebase|pull)\b[^:]*\((?:pick|continue|reword|squash|fixup|edit)\))"
)


@frozen
class AuthoredLines:
    """The lines that the user added to a file, and those that they removed, in the form of `line_key`."""

    added: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    whole: bool = False
    """All of the file is the user's, and so is every removal."""

    def took_out(self, key: str) -> bool:
        """Whether a line that is gone from the file was removed by the user, and not by somebody else.

        `key` = `line_key` of the line; with `whole` this is always True.
        """
        return self.whole or key in self.removed


def line_key(line: str) -> str:
    """Return a line with its white space collapsed, the form in which lines are compared."""
    return " ".join(line.split())


def lines_of(text: str) -> frozenset[str]:
    """Return the non-empty lines of a text, in the form of `line_key`."""
    return frozenset(key for line in text.splitlines() if (key := line_key(line)))


class Authorship:
    """Tells which lines of a work tree's files the user wrote, from git; reads git's log once."""

    def __init__(self, root: Path) -> None:
        """Keep the root of the work tree; git is first asked by `of`."""
        self._root = root

    def of(self, path: str, text: str) -> AuthoredLines:
        """Return the lines of the file at `path` that the user added or removed; `text` = its content now.

        `whole` is set outside of git and in a repository without commits. Where git cannot be read, nothing
        counts as the user's.
        """
        if find_checkout(self._root) is None:
            return AuthoredLines(whole=True)
        git = self._git
        if git is None or git.commits("HEAD", most=1) is None:
            # Without HEAD it is no repository, whatever its name; without a commit, nobody else wrote anything.
            new = git is not None and (not (git.folder / "HEAD").exists() or git.refs("--count=1") == {})
            return AuthoredLines(whole=new)
        changes = self._changes(git, path)
        blobs = _lines_of_blobs(git, {blob for change in changes for blob in change}) if changes else None
        if blobs is None:
            return AuthoredLines()
        current_lines = lines_of(text)
        (head,), *own = changes
        added, removed = set(current_lines - blobs[head]), set(blobs[head] - current_lines)
        for *parents, blob in own:
            before = [blobs[parent] for parent in parents]
            added |= blobs[blob].difference(*before)
            removed |= before[0] - blobs[blob] if len(before) == 1 else set()
        return AuthoredLines(added=frozenset(added), removed=frozenset(removed))

    def _changes(self, git: Repository, path: str) -> list[tuple[str, ...]]:
        """Return the blob ids of the file: first that in HEAD, then one tuple per commit of the user's that changed it.

        The tuple holds the blobs in the commit's parents, then its own. Empty = git cannot be read.
        """
        listed = git.ask("ls-tree", "-z", "HEAD", "--", path)
        diffs = git.ask(
            "diff-tree", "--stdin", "-c", "-r", "--root", "--raw", "--no-renames", "--no-abbrev", "-z", "--", path,
            stdin="".join(f"{commit}\n" for commit in self._own).encode(),
        )  # fmt: skip
        if listed is None or diffs is None:
            return []
        changes: list[tuple[str, ...]] = [
            (listed.partition(b"\t")[0].split()[-1].decode() if listed else "",)
        ]
        for entry in diffs.decode("utf-8", "replace").split("\0"):
            words = entry.lstrip(":").split(" ")
            # `:` for each parent, a mode for each parent and for the commit, their blobs, what was done
            if parents := len(entry) - len(entry.lstrip(":")):
                changes.append(
                    tuple(blob.strip("0") and blob for blob in words[parents + 1 : 2 * parents + 2])
                )
        return changes

    @cached_property
    def _git(self) -> Repository | None:
        return git_at(self._root)

    @cached_property
    def _own(self) -> tuple[str, ...]:
        """Return the ids of the user's newest commits: made in this clone, by an identity that the clone used."""
        git = self._git
        checkout = find_checkout(self._root)
        if git is None or checkout is None:
            return ()
        logs = ("HEAD",) if checkout.own == checkout.common else ("HEAD", "main-worktree/HEAD")
        entries = [
            entry
            for log in logs
            for entry in git.log_of(log, most=MAX_LOGGED)
            if _MADE_HERE.match(entry.action)
        ]
        known = git.objects(entry.commit.encode() for entry in entries) or {}
        own = (
            entry.commit for entry in entries if _author_of(known.get(entry.commit.encode())) == entry.email
        )
        return tuple(dict.fromkeys(own))[:MAX_COMMITS]


def _author_of(commit: bytes | None) -> str:
    """Return the author's e-mail address of a raw commit object; "" = there is none."""
    head = (commit or b"").partition(b"\n\n")[0].decode("utf-8", "replace")
    line = next((line for line in head.split("\n") if line.startswith("author ")), "")
    return line.rpartition("<")[2].partition(">")[0]


def _lines_of_blobs(git: Repository, blobs: set[str]) -> dict[str, frozenset[str]] | None:
    """Return the set of lines of each blob, by its id ("" = no file); None instead of the whole mapping if any blob cannot be read or is too large."""
    found = git.objects(blob.encode() for blob in sorted(blobs) if blob)
    lines: dict[str, frozenset[str]] = {"": frozenset()}
    for blob, raw in (found or {}).items():
        if raw is None or len(raw) > MAX_FILE_BYTES:
            return None
        lines[blob.decode()] = lines_of(decode_text(raw))
    return lines if found is not None else None


_STARTS_ANEW = lazy_regex(r"\s*(?:[-*+#|>]|\d{1,3}[.)]\s|```|~~~|@)")
"""Matches a line that begins a new statement and does not continue the line above."""
CHANGED_OVERLAP = 0.4
"""Least word overlap from which a removed and an added statement count as one changed statement."""
_MOST = 100_000

FileStatus = Literal["imported", "unchanged", "changed", "gone", "unreadable"]


@frozen
class RuleFile:
    """What an import did with one file: its path relative to the project root, its memories now, and its status.

    `left_out` = why statements of it were not stored, one reason each; only where the file was read anew.
    """

    path: str
    memories: int
    status: FileStatus
    left_out: tuple[ChangeReason, ...] = ()


@frozen
class RulesImport:
    """The result of an import: what happened to each file, and all changes made (planned ones in a dry run)."""

    files: tuple[RuleFile, ...]
    changes: tuple[Change, ...]


def import_rule_files(
    root: Path,
    project: ProjectRecord,
    *,
    preparer: Preparer,
    reconciler: Reconciler,
    project_files: bool = False,
    confirmed: bool = False,
    dry_run: bool = False,
) -> RulesImport:
    """Import every rule file under `root` that changed since the last import.

    Statements of a rule file are the user's where they confirmed them or wrote their lines; all else waits for the user.

    Args:
        root: the project root.
        project: whose memories these become.
        preparer: redacts them.
        reconciler: reconciles and writes.
        confirmed: the user was shown what the rule files hold and takes all of it for their own.
        dry_run: only tell what the rule files would add.
        project_files: also README, decision records, manifests and the commits; else what was imported of them goes.

    Raises:
        StoreError: as the store; files imported before it stay imported.
    """
    store = reconciler.store
    earlier_paths = RULE_FILES.read(store, project.id)
    states = {path: RULE_FILE.read(store, project.id, path) for path in earlier_paths}
    files: list[RuleFile] = []
    changes: list[Change] = []
    present: list[str] = []
    run = FileImport(
        project_id=project.id,
        scope=project_scope(project.id),
        stored_as=lambda state, path: RULE_FILE.change(state, project.id, path),
        preparer=preparer,
        reconciler=reconciler,
        states=states,
        confirmed=confirmed,
        followed=RULES_CONFIRMED.find(store, project.id) == root.as_posix(),
        authors=Authorship(root),
    )
    if dry_run:
        return run.preview(root, find_rule_files(root))
    if confirmed:
        RULES_CONFIRMED.write(store, root.as_posix(), project.id)
    rule_files = find_rule_files(root)
    further = [file for file in find_project_files(root) if file not in rule_files] if project_files else []
    for file in (*rule_files, *further):
        path = file.relative_to(root).as_posix()
        present.append(path)
        raw = read_bytes(file)
        if raw is None:
            files.append(RuleFile(path=path, memories=len(run.ids(path)), status="unreadable"))
            continue
        rule_file, file_changes = run.import_source(file_source(path, raw, project_id=project.id))
        changes.extend(file_changes)
        files.append(rule_file)
    history = history_source(root, project_id=project.id) if project_files else None
    if history is not None:
        present.append(HISTORY)
        rule_file, file_changes = run.import_source(history)
        changes.extend(file_changes)
        if rule_file.memories or rule_file.status == "changed":
            files.append(rule_file)
    full = len(rule_files) >= MAX_FILES or len(further) >= MAX_FILES
    for path in earlier_paths:
        if path not in present and full and (root / path).is_file():
            present.append(path)  # left out because there are too many: that ends nothing
        elif path not in present:
            changes.extend(run.end_file(path))
            files.append(RuleFile(path=path, memories=0, status="gone"))
    if sorted(present) != sorted(earlier_paths):
        RULE_FILES.write(store, tuple(sorted(present)), project.id)
    return RulesImport(files=tuple(files), changes=tuple(changes))


@dataclass(slots=True, kw_only=True)
class FileImport:
    """Imports files one by one and keeps the state of each.

    Attributes:
        scope: the scope of the statements.
        stored_as: returns the stored values for the state of a file (None = it is not imported any more) and its path.
        states: the state of each file at its last import, by path; changed in place.
        confirmed: the user takes the rule files for their own in this import.
        followed: the user confirmed this project in this folder before, so lines that git says are theirs count as theirs.
    """

    project_id: str
    scope: Scope
    stored_as: Callable[[RuleFileState | None, str], ValueChanges]
    preparer: Preparer
    reconciler: Reconciler
    states: dict[str, RuleFileState]
    confirmed: bool
    followed: bool
    authors: Authorship
    now_ms: int = field(init=False)

    def __post_init__(self) -> None:
        self.now_ms = self.reconciler.clock.now_ms()

    def preview(self, root: Path, files: Sequence[Path]) -> RulesImport:
        """Return what importing the rule files would add if the user confirmed them. Writes nothing."""
        rule_files: list[RuleFile] = []
        changes: list[Change] = []
        for file in files:
            path = file.relative_to(root).as_posix()
            raw = read_bytes(file)
            try:
                source = file_source(path, raw, project_id=self.project_id) if raw is not None else None
                drafts = source.drafts(self.now_ms) if source and source.rules else ()
            except InvalidPayload:
                continue
            if source is None:
                continue
            stored_hashes = {memory.content_hash for memory in self._active(path)}
            prepared = [self.preparer.prepare(_as_users(draft, confirmed=True)) for draft in drafts]
            added = [
                item
                for item in prepared
                if isinstance(item, Memory) and item.content_hash not in stored_hashes
            ]
            changes.extend(
                Add(memory=memory, reason=ChangeReason(cause=ChangeCause.READ_OFF, terms=(path,)))
                for memory in added
            )
            rule_files.append(
                RuleFile(path=path, memories=len(added), status="imported" if added else "unchanged")
            )
        return RulesImport(files=tuple(rule_files), changes=tuple(changes))

    def _active(self, path: str) -> tuple[Memory, ...]:
        scope = ScopeFilter.of(self.scope)
        users_own = MemoryFilter(source=path, tiers=(TrustTier.USER,))
        return self.reconciler.store.list_memories(users_own, scope=scope, limit=_MOST)

    def ids(self, path: str) -> frozenset[str]:
        """Return the ids of the memories that were made from the file at `path` at its last import."""
        return frozenset(filter(None, self.states.get(path, RuleFileState()).items.values()))

    def import_source(self, source: Source) -> tuple[RuleFile, tuple[Change, ...]]:
        """Update the memories of one source; return what happened to the file, and the changes made."""
        try:
            status, changes = self.follow(source)
        except InvalidPayload as error:
            count = len(self.ids(source.path))
            return RuleFile(
                path=source.path,
                memories=count,
                status="unreadable",
                left_out=(ChangeReason(cause=ChangeCause.UNREADABLE_FILE, detail=str(error)),),
            ), ()
        left_out = tuple(change.reason for change in changes if isinstance(change, Skip))
        rule_file = RuleFile(
            path=source.path, memories=len(self.ids(source.path)), status=status, left_out=left_out
        )
        return rule_file, changes

    def follow(self, source: Source) -> tuple[FileStatus, tuple[Change, ...]]:
        """Update the memories of one source; return its status and the changes made.

        Raises:
            InvalidPayload: if it makes no sense; nothing is changed.
        """
        path, digest = source.path, source.digest
        before = self.states.get(path)
        confirmed = self.confirmed and source.rules
        if before and before.digest == digest and not (confirmed and before.open):
            return "unchanged", ()
        users = self._user_share(source, before, confirmed=confirmed)
        drafts = [users.judged(draft) for draft in source.drafts(self.now_ms)]
        drafts_by_hash = {content_hash(draft.content): draft for draft in drafts}
        old = dict(before.items) if before else self._stored(path, drafts_by_hash)
        still_there = [memory_id for key, memory_id in old.items() if key in drafts_by_hash and confirmed]
        accepted = [m for m in self._owned(still_there, path) if m.status == "quarantined"]
        gone = self._owned([memory_id for key, memory_id in old.items() if key not in drafts_by_hash], path)
        # What the user confirmed does not end because somebody else took it out of the file.
        removed = [
            memory for memory in gone if memory.provenance.tier < TrustTier.USER or users.removed(memory)
        ]
        remaining = [memory for memory in gone if memory not in removed]
        added = {
            key: _within(source.breadth, self.preparer.prepare(draft))
            for key, draft in drafts_by_hash.items()
            if key not in old
        }
        items, keys = _plan_file_changes(added, removed, remaining, source=source, at_ms=self.now_ms)
        items.extend(
            Rewrite(
                memory=_accepted(memory, self.now_ms),
                reason=ChangeReason(cause=ChangeCause.CONFIRMED_IN_FILE, terms=(path,)),
            )
            for memory in accepted
        )
        keys.extend("" for _ in accepted)
        after = RuleFileState(digest=digest)
        unsettled = bool(remaining) or any(draft.provenance.tier < TrustTier.USER for draft in drafts)

        def finish(changes: Sequence[Change]) -> ValueChanges:
            nonlocal after
            stay = {memory.id for memory in remaining}
            ids = {
                key: memory_id for key, memory_id in old.items() if key in drafts_by_hash or memory_id in stay
            }
            for key, change in zip(keys, changes, strict=True):
                if key:
                    ids[key] = "" if isinstance(change, Skip | Retire) else change.memory.id
            after = RuleFileState(
                digest=digest,
                items=dict(sorted(ids.items())),
                lines=tuple(sorted(users.lines)),
                open=source.rules and unsettled,
            )
            return self.stored_as(after, path)

        file_changes = self.reconciler.keep(items, finish=finish)
        self.states[path] = after
        return "changed" if before else "imported", file_changes

    def _user_share(self, source: Source, before: RuleFileState | None, *, confirmed: bool) -> _UserShare:
        """Return which lines of the source count as written by the user."""
        if not source.rules:
            return _UserShare(text="", rules=False)
        text, current_lines = source.text, lines_of(source.text)
        if confirmed:
            return _UserShare(text=text, confirmed=True, lines=frozenset(map(_short, current_lines)))
        users_lines = frozenset(before.lines) if before else frozenset[str]()
        if (
            not self.followed
        ):  # nobody confirmed this project in this folder: nothing in it is taken for the user's
            return _UserShare(text=text, lines=users_lines)
        changed = self.authors.of(source.path, text)
        mine = current_lines if changed.whole else changed.added & current_lines
        lines = (users_lines & frozenset(map(_short, current_lines))) | frozenset(map(_short, mine))
        return _UserShare(text=text, lines=lines, changed=changed)

    def end_file(self, path: str) -> tuple[Change, ...]:
        """Retire the memories that only this deleted file stated, forget its state, and return the changes."""
        owned = self._owned(sorted(self.ids(path)), path)
        items = [
            Retire(
                memory_id=m.id,
                at_ms=self.now_ms,
                reason=ChangeReason(cause=ChangeCause.FILE_REMOVED, terms=(path,)),
            )
            for m in owned
        ]
        values = self.stored_as(None, path)
        changes = self.reconciler.keep(items, values=values)
        self.states.pop(path, None)
        return changes

    def _stored(self, path: str, hashes: Collection[str]) -> dict[str, str]:
        """Return {content hash: memory id} of stored statements from this file, for when its import state is lost."""
        from_file = MemoryFilter(source=path)
        memories = self.reconciler.store.list_memories(
            from_file, scope=ScopeFilter.of(self.scope), limit=_MOST
        )
        return {memory.content_hash: memory.id for memory in memories if memory.content_hash in hashes}

    def _owned(self, ids: Sequence[str], path: str) -> tuple[Memory, ...]:
        """Return those of the memories `ids` that still hold, come from this file and from no other rule file."""
        elsewhere = {key for other_path in self.states if other_path != path for key in self.ids(other_path)}
        scope = ScopeFilter.of(self.scope)
        stored = self.reconciler.store.get([key for key in ids if key and key not in elsewhere], scope=scope)
        live = ("active", "quarantined")
        return tuple(m for m in stored if m.status in live and m.provenance.source == path)


_NOTHING = AuthoredLines()


@frozen
class _UserShare:
    """The part of a file that the user wrote.

    Attributes:
        text: the file.
        confirmed: the user was shown the file and takes all of it for their own.
        lines: hashes (`_short`) of the lines that are the user's.
        changed: what they changed since the last commit, and with commits of their own.
        rules: whether it is a rule file; nothing of another file is the user's.
    """

    text: str
    confirmed: bool = False
    lines: frozenset[str] = frozenset()
    changed: AuthoredLines = _NOTHING
    rules: bool = True

    def judged(self, draft: Draft) -> Draft:
        """Return the draft as the user's own statement where they wrote or confirmed its lines, else unchanged."""
        if self.rules and (self.confirmed or self._wrote(draft.line)):
            return _as_users(draft, confirmed=self.confirmed)
        return draft

    def removed(self, memory: Memory) -> bool:
        """Whether a statement that is gone from the file ends: the user took it out or confirmed the file as it is now, or it is no rule file."""
        return self.confirmed or not self.rules or self.changed.took_out(line_key(memory.provenance.span))

    def _wrote(self, line: int) -> bool:
        """Whether the user wrote all lines of the statement at `line`, with its heading and lead-in."""
        lines = self.text.splitlines()
        if not 0 < line <= len(lines):
            return False
        last = line
        while last < len(lines) and lines[last].strip() and not _STARTS_ANEW.match(lines[last]):
            last += 1
        read = lines[line - 1 : last]
        above = lines[: line - 1]
        heading = next((text for text in reversed(above) if text.lstrip().startswith("#")), "")
        lead = next((text for text in reversed(above) if text.rstrip().endswith(":")), "")
        keys = {_short(key) for text in (*read, heading, lead) if (key := line_key(text))}
        return keys <= self.lines


def _short(key: str) -> str:
    """Return the short hash by which a line is remembered."""
    return content_hash(key)[:12]


def _accepted(memory: Memory, now_ms: int) -> Memory:
    """Return a memory that waited for review, as an active statement of the user's."""
    provenance = replace(memory.provenance, tier=TrustTier.USER)
    return replace(memory, provenance=provenance, status="active", updated_at_ms=now_ms)


def _as_users(draft: Draft, *, confirmed: bool) -> Draft:
    """Return the draft as the user's own statement; `confirmed` = they were shown it and agreed."""
    provenance = replace(draft.provenance, tier=TrustTier.USER)
    return replace(draft, provenance=provenance, explicit=True, confirmed=confirmed)


def _within(breadth: float, prepared: Memory | Skip) -> Memory | Skip:
    if isinstance(prepared, Skip) or prepared.trigger.breadth <= breadth:
        return prepared
    return replace(prepared, trigger=replace(prepared.trigger, breadth=breadth))


def _plan_file_changes(
    added: Mapping[str, Memory | Skip],
    removed: Sequence[Memory],
    remaining: Sequence[Memory],
    *,
    source: Source,
    at_ms: int,
) -> tuple[list[Item], list[str]]:
    """Return the items to write for a changed rule file, and for each the content hash of the statement that it stores.

    New statements add, replace or contradict; those in `removed` without a successor retire, with "" as their
    hash. `remaining` = memories whose statement is gone from the file, but which still hold.
    """
    path = source.path
    by_id = {memory.id: memory for memory in removed}
    items: list[Item] = []
    keys: list[str] = []
    for key, prepared in added.items():
        old = _changed_from(prepared, by_id.values()) if isinstance(prepared, Memory) else None
        if (
            isinstance(prepared, Memory)
            and old is not None
            and prepared.provenance.tier < old.provenance.tier
        ):
            old = None  # the user took the old one out; what others wrote in its place waits by itself
        against = _changed_from(prepared, remaining) if isinstance(prepared, Memory) and old is None else None
        if isinstance(prepared, Memory) and against is not None:
            reason = ChangeReason(cause=ChangeCause.CHANGED_BY_OTHERS, terms=(path,))
            items.append(Contradict(memory=prepared, other_id=against.id, reason=reason))
        elif isinstance(prepared, Memory) and old is not None:
            del by_id[old.id]
            items.append(
                Supersede(
                    memory=prepared,
                    old_id=old.id,
                    at_ms=at_ms,
                    reason=ChangeReason(cause=ChangeCause.CHANGED_IN_FILE, terms=(path,)),
                )
            )
        elif isinstance(prepared, Memory) and source.read_off:
            items.append(Add(memory=prepared, reason=ChangeReason(cause=ChangeCause.READ_OFF, terms=(path,))))
        else:
            items.append(prepared)
        keys.append(key)
    for memory in by_id.values():
        items.append(
            Retire(
                memory_id=memory.id,
                at_ms=at_ms,
                reason=ChangeReason(cause=ChangeCause.REMOVED_FROM_FILE, terms=(path,)),
            )
        )
        keys.append("")
    return items, keys


def _changed_from(memory: Memory, removed: Iterable[Memory]) -> Memory | None:
    scored = [(word_overlap(memory.content, old.content), old.id, old) for old in removed]
    best = max(scored, default=None, key=lambda entry: entry[:2])
    return best[2] if best and best[0] >= CHANGED_OVERLAP else None
