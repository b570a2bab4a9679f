"""Memories that a team keeps in its repository: `.tacit/team/*.md`, one a file. In: a folder. Out: changes made; a memory as a file.

What stands on the default branch was reviewed when it was merged: in a folder whose user joined the team it is a teammate's word. All else
(other branches, uncommitted files, folders whose user did not join) is found on demand only. A file that changes supersedes its memory, and
one that is removed ends it. What the user made their own stays. Conflicts are git's: a file that cannot be read changes nothing, and neither does one that is
left out because there are too many, or reading them took too long.

    ---
    kind: decision
    by: Ana Ruiz
    date: 2026-11-02
    when: commit, path:src/**
    files: [src/app.py]
    ---
    Commit messages begin with the ticket number.

Never follows links, never writes into the project; `tacit.app.sharing.team` writes the files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import cast

from tacit.capture.bootstrap.project_import import RuleFile, RulesImport
from tacit.capture.bootstrap.sources import read_bytes
from tacit.capture.prepare import Preparer, secrets_in
from tacit.capture.store import Item, Reconciler
from tacit.config.yaml_file import parse_settings
from tacit.errors import InvalidInput, InvalidPayload, InvalidSetting
from tacit.frozen import frozen
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Change, Draft, Retire, Rewrite, Skip, Supersede
from tacit.model.kinds import SESSION_NOTES, KindRegistry
from tacit.model.memory import Memory, Provenance, TrustTier
from tacit.model.scope import ScopeFilter, project_scope
from tacit.model.trigger import Trigger
from tacit.ports.clock import Clock
from tacit.ports.store import ProjectRecord, ValueChanges
from tacit.reading.trigger import make_trigger
from tacit.reading.when import parse_when
from tacit.session.projects import default_tip, find_checkout, work_tree_of
from tacit.state.captured import TeamFileState
from tacit.state.registry import TEAM_FILES

TEAM_FOLDER = ".tacit/team"
MAX_FILES = 500
MAX_BYTES = 20_000
MAX_FRONT = 4_000
READING_MS = 10_000
"""Time for reading a team's files; the rest waits for the next look. All of them together need about 2 s."""
MAX_NAME = 80
FIELDS = ("kind", "by", "date", "when", "files")
_FORM = re.compile(r"\A---[ \t]*\r?\n(?P<front>.*?)\r?\n---[ \t]*\r?\n(?P<content>.*)\Z", re.DOTALL)
_CONFLICT_BEGINS, _CONFLICT_ENDS = (
    re.compile(r"^<{7}(?!\S)", re.MULTILINE),
    re.compile(r"^>{7}(?!\S)", re.MULTILINE),
)
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,116}\.md")
"""Allowed names of team files: one path segment, without characters that lead elsewhere or control a terminal."""
NAME = re.compile(r"[^\W_][\w .'\u2019-]{0,39}")
"""Allowed names of persons, which agents are shown: no punctuation that could end the name and begin an order."""


@frozen
class TeamStatement:
    """The statement of a team file, with its front matter.

    Attributes:
        content: the statement.
        kind: its kind.
        by: who shared it.
        day: since when it holds; None = nobody says.
        when: when it applies, as `--when` reads it.
        files: files that it is about, relative to the project root.
    """

    content: str
    kind: str
    by: str
    day: date | None = None
    when: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


_SENTENCE = re.compile(
    r"(?<!\b[^\W\d_])(?<!\b(?:dr|jr|sr|st|mr|ms))(?<!\b(?:mrs))(?<!\b(?:prof))\.(?!\S)", re.IGNORECASE
)
"""A period that ends a sentence, and does not follow an initial or a title such as `Dr.`."""
_PHRASE = re.compile(r"[A-Z]\w*(?: [\w-]+)+ [a-z][\w-]*$")
"""A phrase that begins with a capital and ends in small letters, like "Disable certificate checks": an order, not a person's name."""


def read_team_file(text: str, *, kinds: KindRegistry) -> TeamStatement:
    """Return the statement in the text of a team file.

    Raises:
        InvalidPayload: naming what is wrong with it.
    """
    begins = _CONFLICT_BEGINS.search(text)
    if begins and _CONFLICT_ENDS.search(text, begins.end()):
        raise InvalidPayload("it holds the marks of a merge conflict")
    form = _FORM.match(text.removeprefix("\ufeff"))
    if form is None:
        raise InvalidPayload("it does not begin with a front matter between two lines of `---`")
    if len(form["front"]) > MAX_FRONT:
        raise InvalidPayload(f"its front matter has more than {MAX_FRONT} characters")
    try:  # the line above it is counted, so that a message names the line of the file
        fields = parse_settings("\n" + form["front"], place="its front matter").values
    except InvalidSetting as error:
        raise InvalidPayload(error.message.rstrip(".")) from error
    if unknown := sorted(name for name in fields if name not in FIELDS):
        raise InvalidPayload(f"there is no field `{unknown[0]}`; known: {', '.join(FIELDS)}")
    kind = _kind(fields, kinds)
    content = form["content"].strip()
    if not content:
        raise InvalidPayload("it says nothing below the front matter")
    by = _line(fields, "by") or ""
    if by and not is_name(by):
        raise InvalidPayload("`by` must be a name of at most 40 letters")
    return TeamStatement(
        content=content,
        kind=kind,
        by=by,
        day=_day(fields),
        when=_list(fields, "when"),
        files=_list(fields, "files"),
    )


def is_name(text: str) -> bool:
    """Whether a text is safe to show to agents as a person's name: no sentence, nothing like an order."""
    return bool(NAME.fullmatch(text)) and not _SENTENCE.search(text) and not _PHRASE.match(text)


def write_team_file(statement: TeamStatement) -> str:
    """Return the text of a team file that holds `statement`. `read_team_file` reads the same statement back."""
    rows: list[tuple[str, str]] = [("kind", statement.kind)]
    if statement.by:
        rows.append(("by", _quoted(statement.by)))
    if statement.day is not None:
        rows.append(("date", statement.day.isoformat()))
    rows += [
        (name, f"[{', '.join(map(_quoted, values))}]")
        for name, values in (("when", statement.when), ("files", statement.files))
        if values
    ]
    front = "\n".join(f"{name}: {value}" for name, value in rows)
    return f"---\n{front}\n---\n{statement.content.strip()}\n"


def _quoted(text: str) -> str:
    """Return a text as a single-quoted YAML scalar on one line."""
    return "'" + " ".join(text.split()).replace("'", "''") + "'"


def _kind(fields: Mapping[str, object], kinds: KindRegistry) -> str:
    name = _line(fields, "kind")
    if not name:
        raise InvalidPayload("the field `kind` is missing")
    try:
        kind = kinds.get(name).name
    except InvalidInput as error:
        raise InvalidPayload(str(error).rstrip(".")) from error
    if kind in SESSION_NOTES:
        raise InvalidPayload(f"a {kind} belongs to one session and is not shared")
    return kind


def _line(fields: Mapping[str, object], name: str) -> str | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_NAME:
        raise InvalidPayload(f"`{name}` must be a text of at most {MAX_NAME} characters")
    return " ".join(value.split())


def _list(fields: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    if value is None:
        return ()
    listed: list[object] = cast("list[object]", value) if isinstance(value, list) else [value]
    if len(listed) > 20 or not all(isinstance(entry, str) and len(entry) <= 200 for entry in listed):
        raise InvalidPayload(f"`{name}` must be a text or a list of at most 20 texts")
    return tuple(text for entry in listed if (text := " ".join(str(entry).split())))


def _day(fields: Mapping[str, object]) -> date | None:
    value = fields.get("date")
    if value is None:
        return None
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise InvalidPayload("`date` must be a day, as in 2026-11-02") from None


def import_team_files(
    root: Path,
    project: ProjectRecord,
    *,
    preparer: Preparer,
    reconciler: Reconciler,
    joined: bool,
    left: bool = False,
) -> RulesImport:
    """Import the team's files below `root`: add, supersede and retire memories, all in one transaction. If the default branch cannot be read, nothing changes and the result is empty.

    Args:
        root: the project root.
        project: whose memories these become.
        preparer: redacts them.
        reconciler: reconciles and writes.
        joined: the user joined the team in this folder: files of the default branch get the tier of a teammate; else all get that of an import.
        left: the user left it: all of them end.

    Raises:
        StoreError: as the store; nothing is changed.
    """
    states = dict(TEAM_FILES.read(reconciler.store, project.id))
    try:
        found = {} if left else find_team_files(root, joined=joined, known=states)
    except Unreadable:
        return RulesImport(files=(), changes=())  # nobody knows what the team says: all stays as it is
    run = _TeamImport(project, preparer, reconciler)
    in_time = reading_deadline(reconciler.clock)
    for path, file in found.items():
        before = states.get(path)
        new = before is None or before.digest != file.digest
        run.follow(path, file.left_out(LATE) if new and not in_time() else file, before)
    for path, state in states.items():
        if path not in found:
            run.end_file(path, state)
    if run.after == states:
        return RulesImport(files=tuple(run.files), changes=())

    def finish(changes: Sequence[Change]) -> ValueChanges:
        after = dict(run.after)
        for path, change in zip(run.paths, changes, strict=True):
            if path in after:
                memory_id = "" if isinstance(change, Skip | Retire) else change.memory.id
                if isinstance(change, Skip) and change.memory_id:
                    memory_id = change.memory_id
                after[path] = replace(after[path], memory_id=memory_id)
        return TEAM_FILES.change(after, project.id)

    changes = reconciler.keep(run.items, finish=finish)
    return RulesImport(files=tuple(run.files), changes=changes)


@frozen
class TeamFile:
    """A team file as found: its bytes, the tier of its statement, and why it cannot be used ("" = it can)."""

    raw: bytes
    tier: TrustTier
    problem: str = ""

    @property
    def digest(self) -> str:
        """Return a short hash of the bytes and the trust tier: a file is imported anew when either changes."""
        return hashlib.sha256(self.tier.name.encode() + b"\0" + self.raw).hexdigest()[:16]

    def left_out(self, problem: str) -> TeamFile:
        """Return this file marked as not read, for the reason `problem`."""
        return replace(self, problem=problem)

    def statement(self, kinds: KindRegistry) -> TeamStatement:
        """Return the statement of the file.

        Raises:
            InvalidPayload: naming why it cannot be read.
        """
        if self.problem:
            raise InvalidPayload(self.problem)
        return read_team_file(self.raw.decode("utf-8", "replace"), kinds=kinds)


_FILE_MODES = (b"100644", b"100755")
LATE = f"it is left out for now: reading the team's files took more than {READING_MS // 1000} s"
_LARGE = f"it is too large: more than {MAX_BYTES // 1000} kB"
_TOO_MANY = f"it is left out: a repository shares at most {MAX_FILES} memories"
_UNREADABLE = "it is too large, or git's object cannot be read"


def reading_deadline(clock: Clock) -> Callable[[], bool]:
    """Return a function that is true until `READING_MS` have passed since this call."""
    until_ms = clock.monotonic_ms() + READING_MS
    return lambda: clock.monotonic_ms() <= until_ms


class Unreadable(Exception):
    """Raised when git cannot read the default branch or the team's folder in it, so the team's files are unknown."""


def _merged_files(root: Path, *, joined: bool) -> dict[str, bytes | None]:
    """Return the team's files on the default branch as {name: bytes}; None = the file is too large.

    Left out are links and files with a name that no team file can have: a tree can hold any bytes as a name,
    even a path that leads elsewhere.

    Raises:
        Unreadable: if git cannot tell.
    """
    tree = work_tree_of(root)
    if tree is None or tree.checkout.root != root:
        if joined and (checkout := find_checkout(root)) is not None and checkout.own is None:
            raise Unreadable("a link that leads nowhere")
        return {}
    commit = default_tip(tree)
    if not commit:
        if joined and tree.git.refs("--count=1") != {}:
            raise Unreadable("the default branch")
        return {}
    listed = tree.git.ask("ls-tree", "-l", "-z", commit, "--", f"{TEAM_FOLDER}/")
    if listed is None:
        raise Unreadable("the team's folder")
    names: dict[str, bytes] = {}
    for entry in listed.split(b"\0")[:-1]:
        what, _, path = entry.partition(b"\t")
        mode, _, blob, size = what.split()
        name = path.decode("utf-8", "replace").removeprefix(f"{TEAM_FOLDER}/")
        if mode in _FILE_MODES and FILE_NAME.fullmatch(name):
            names[name] = blob if size.isdigit() and int(size) <= 2 * MAX_BYTES else b""
    found = tree.git.objects(blob for blob in names.values() if blob)
    if found is None:
        raise Unreadable("the team's files")
    return {name: found.get(blob) for name, blob in names.items()}


def find_team_files(root: Path, *, joined: bool, known: Collection[str] = ()) -> dict[str, TeamFile]:
    """Return the team's files by path: those of the default branch, then those that only the work tree has.

    At most `MAX_FILES` are read: first those in `known`, then merged ones, by name. Each of the others
    carries a problem instead.

    Raises:
        Unreadable: if the default branch cannot be read.
    """
    merged = _merged_files(root, joined=joined)
    tier = TrustTier.TEAMMATE if joined else TrustTier.IMPORT
    found = {
        f"{TEAM_FOLDER}/{name}": _sized(raw, tier, unreadable=_UNREADABLE)
        for name, raw in sorted(merged.items())
    }
    alone: dict[str, Path] = {}
    folder = root / TEAM_FOLDER
    if folder.is_dir() and folder.resolve() == root.resolve() / TEAM_FOLDER:
        for file in sorted(folder.glob("*.md")):
            path = f"{TEAM_FOLDER}/{file.name}"
            if (
                path not in found
                and FILE_NAME.fullmatch(file.name)
                and not file.is_symlink()
                and file.is_file()
            ):
                alone[path] = file
    read = sorted((*found, *alone), key=lambda path: (path not in known, path in alone, path))[:MAX_FILES]
    kept = set(read)
    found = {path: file if path in kept else file.left_out(_TOO_MANY) for path, file in found.items()}
    for path, file in alone.items():
        if path in kept:
            found[path] = _sized(
                read_bytes(file, MAX_BYTES), TrustTier.IMPORT, unreadable="it cannot be read"
            )
        else:
            found[path] = TeamFile(raw=b"", tier=TrustTier.IMPORT, problem=_TOO_MANY)
    return found


def _sized(raw: bytes | None, tier: TrustTier, *, unreadable: str) -> TeamFile:
    if raw is None:
        return TeamFile(raw=b"", tier=tier, problem=unreadable)
    return TeamFile(raw=raw, tier=tier, problem=_LARGE if len(raw) > MAX_BYTES else "")


class _TeamImport:
    """Collects the changes of one import, and the new state of each file."""

    def __init__(self, project: ProjectRecord, preparer: Preparer, reconciler: Reconciler) -> None:
        self._scope = project_scope(project.id)
        self._store = reconciler.store
        self._preparer = preparer
        self._now_ms = reconciler.clock.now_ms()
        self.items: list[Item] = []
        self.paths: list[str] = []
        """The file of each item."""
        self.after: dict[str, TeamFileState] = {}
        self.files: list[RuleFile] = []

    def follow(self, path: str, file: TeamFile, before: TeamFileState | None) -> None:
        """Plan the change for one file; nothing is written yet.

        Its memory is added, superseded or edited; retired where its new statement is refused; kept where the file is unchanged or cannot be read.
        """
        if before is not None and before.digest == file.digest and not file.problem:
            self.after[path] = before
            self.files.append(RuleFile(path=path, memories=int(bool(before.memory_id)), status="unchanged"))
            return
        try:
            prepared = self._preparer.prepare(self._draft(path, file))
        except InvalidPayload as error:
            if before is not None:
                self.after[path] = before
            reason = ChangeReason(cause=ChangeCause.UNREADABLE_FILE, detail=str(error))
            self.files.append(RuleFile(path=path, memories=0, status="unreadable", left_out=(reason,)))
            return
        old = self._owned(path, before)
        if isinstance(prepared, Skip):
            if old is not None:
                self._add(self._retired(old, ChangeCause.REMOVED_FROM_FILE, path), path)
            self.files.append(
                RuleFile(path=path, memories=0, status="unreadable", left_out=(prepared.reason,))
            )
        else:
            self._add(self._change(path, prepared, old), path)
            self.files.append(RuleFile(path=path, memories=1, status="changed" if before else "imported"))
        self.after[path] = TeamFileState(digest=file.digest)

    def end_file(self, path: str, state: TeamFileState) -> None:
        """Plan the retirement of the memory of a file that is gone."""
        old = self._owned(path, state)
        if old is not None:
            self._add(self._retired(old, ChangeCause.FILE_REMOVED, path), path)
        self.files.append(RuleFile(path=path, memories=0, status="gone"))

    def _add(self, item: Item, path: str) -> None:
        self.items.append(item)
        self.paths.append(path)

    def _change(self, path: str, prepared: Memory, old: Memory | None) -> Item:
        reason = ChangeReason(cause=ChangeCause.CHANGED_IN_FILE, terms=(path,))
        if old is None:
            return prepared
        if old.content != prepared.content:
            return Supersede(memory=prepared, old_id=old.id, at_ms=self._now_ms, reason=reason)
        same = replace(
            old,
            kind=prepared.kind,
            provenance=prepared.provenance,
            trigger=prepared.trigger,
            files=prepared.files,
            entities=prepared.entities,
            status=prepared.status,
            validity=replace(old.validity, valid_from_ms=prepared.validity.valid_from_ms),
            updated_at_ms=self._now_ms,
        )
        return Rewrite(memory=same, reason=reason)

    def _owned(self, path: str, state: TeamFileState | None) -> Memory | None:
        """Return the memory of the file; None = it no longer holds, or the user made it their own."""
        if state is None or not state.memory_id:
            return None
        scope = ScopeFilter.of(self._scope)
        stored = next(iter(self._store.get((state.memory_id,), scope=scope)), None)
        if stored is None or stored.status not in ("active", "quarantined"):
            return None
        provenance = stored.provenance
        return stored if provenance.source == path and provenance.tier is not TrustTier.USER else None

    def _retired(self, memory: Memory, cause: ChangeCause, path: str) -> Retire:
        return Retire(
            memory_id=memory.id, at_ms=self._now_ms, reason=ChangeReason(cause=cause, terms=(path,))
        )

    def _draft(self, path: str, file: TeamFile) -> Draft:
        statement = file.statement(self._preparer.kinds)
        terms = (statement.by, *statement.when, *statement.files)
        if secrets := secrets_in(terms, self._preparer.redactor.at(self._scope)):
            raise InvalidPayload(f"its front matter holds a secret ({secrets})")
        day = statement.day
        at = datetime(day.year, day.month, day.day, tzinfo=UTC) if day else None
        return Draft(
            content=statement.content,
            kind=statement.kind,
            scope=self._scope,
            provenance=Provenance(
                tier=file.tier, source=path, span=statement.content[:500], author=statement.by
            ),
            at_ms=min(int(at.timestamp() * 1000), self._now_ms) if at else self._now_ms,
            trigger=self._trigger(statement),
            files=statement.files,
            read_off=file.tier is TrustTier.IMPORT,
        )

    def _trigger(self, statement: TeamStatement) -> Trigger:
        try:
            return teammate_trigger(
                statement.content, kind=statement.kind, files=statement.files, when=statement.when
            )
        except InvalidInput as error:
            raise InvalidPayload(f"`when`: {error}".rstrip(".")) from error


def teammate_trigger(content: str, *, kind: str, files: Sequence[str], when: Sequence[str]) -> Trigger:
    """Return the trigger of a teammate's statement, read from `when`, else made from its words; it never blocks a call.

    Raises:
        InvalidInput: if `when` cannot be read.
    """
    if not when:
        return make_trigger(content, kind=kind, files=tuple(files))
    first, *more = when
    read = parse_when((first, *more) if more else first)
    return replace(read, maker="agent", blocking=False)
