"""Sharing memories through the repository: one file a memory below `.tacit/team`, reviewed in pull requests."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.app.values import OpenStore
from tacit.capture.bootstrap.project_import import RuleFile
from tacit.capture.bootstrap.team_files import (
    LATE,
    TEAM_FOLDER,
    TeamStatement,
    Unreadable,
    find_team_files,
    is_name,
    read_team_file,
    reading_deadline,
    write_team_file,
)
from tacit.capture.prepare import secrets_in, trigger_words
from tacit.errors import InvalidInput, InvalidPayload, NotFound, RefusedByRedaction, RefusedByTrust
from tacit.frozen import frozen
from tacit.model.memory import Memory, Sensitivity, TrustTier
from tacit.model.scope import project_scope
from tacit.ports.store import ProjectRecord
from tacit.reading.when import stated_when
from tacit.safety.redact import TextRedactor
from tacit.state.registry import TEAM_FILES, TEAM_JOINED
from tacit.text.tokens import ALPHANUMERIC

if TYPE_CHECKING:
    from tacit.capture.pipeline import CapturePipeline

# Decides whether a memory may be shared with other people, through a server or a repository. In: a memory. Out: nothing, or an error.


def require_shareable(memory: Memory, *, redactor: TextRedactor, in_repository: bool = False) -> None:
    """Raise if a memory may not be shared with other people, whatever its scope, which the caller checks.

    Args:
        memory: the memory to share.
        redactor: finds secrets.
        in_repository: whether it becomes a file of the repository. Such a file is on the same branch as the code, so the memory may be bound to a branch.

    Raises:
        InvalidInput: it is a note that Tacit wrote for one session, belongs to an unmerged branch, or is not active.
        RefusedByTrust: its sensitivity forbids it.
        RefusedByRedaction: it holds a secret.
    """
    if memory.status != "active" or memory.is_session_note:
        what = "belongs to one session" if memory.is_session_note else f"is {memory.status}"
        raise InvalidInput(f"{memory.id} {what} and cannot be shared.", hint="Share an active memory.")
    if memory.branch is not None and not in_repository:
        raise InvalidInput(
            f"{memory.id} was learned on the branch {memory.branch.name}, which is not merged.",
            hint=f"Share it after the merge, or let it hold everywhere: `tacit edit {memory.id} --all-branches`.",
        )
    if memory.sensitivity > Sensitivity.PROJECT:
        raise RefusedByTrust(
            f"{memory.id} has the sensitivity {memory.sensitivity.name.lower()} and never leaves this machine.",
            hint=f"`tacit edit {memory.id} --sensitivity project` lifts that.",
        )
    if secrets := secrets_in((memory.content, *memory.files, *trigger_words(memory.trigger)), redactor):
        raise RefusedByRedaction(
            f"{memory.id} holds a secret ({secrets}) and was not shared.", hint="Edit it first."
        )


# Sharing memories through the repository: one file a memory below `.tacit/team`, reviewed in pull requests.
#
# In: memories, folders. Out: files written or removed, and what was imported. Only the user's act writes a file; nothing is committed, fetched or
# pushed. What may not leave (secrets, a session's own, restricted memories) is refused.

SLUG_WORDS, SLUG_CHARS, ENDING = 6, 50, 6


@frozen
class SharedFile:
    """A file of the team's folder.

    Attributes:
        path: relative to the project root.
        merged: it stands on the default branch.
        kind, by, day: as it says.
        memory_id: the memory that it became, or empty.
        problem: why it cannot be read, or empty.
        waits: it is merged, and its memory waits until the user confirms it.
    """

    path: str
    merged: bool
    kind: str = ""
    by: str = ""
    day: str = ""
    memory_id: str = ""
    problem: str = ""
    waits: bool = False


@frozen
class TeamFolder:
    """The team's folder of a project. `problem` = why it cannot be read, or empty."""

    project: ProjectRecord
    joined: bool
    files: tuple[SharedFile, ...] = ()
    problem: str = ""


class Team:
    """Shares the memories of projects through team files in their repositories, over one open store."""

    def __init__(self, opened: OpenStore, *, capture: CapturePipeline) -> None:
        self._parts, self._projects, self._changed = opened.parts, opened.projects, opened.changed
        self._capture = capture

    def folder(self, cwd: str) -> TeamFolder:
        """Read what the team of the project around `cwd` shares, from its files as they are now."""
        from tacit.capture.prepare import secrets_in  # noqa: PLC0415 - loads the write side

        project = self._project(cwd)
        joined = TEAM_JOINED.find(self._parts.store, project.id) == project.root
        states = TEAM_FILES.read(self._parts.store, project.id)
        try:
            found = find_team_files(Path(project.root), joined=True, known=states)
        except Unreadable:
            return TeamFolder(
                project=project,
                joined=joined,
                problem="its default branch is not here; `git fetch` brings it",
            )
        ids = [state.memory_id for state in states.values() if state.memory_id]
        stored = self._parts.store.get(ids, scope=self._parts.store.scopes())
        waiting = {memory.id for memory in stored if memory.status == "quarantined"}
        rows: list[SharedFile] = []
        in_time = reading_deadline(self._parts.clock)
        for path, file in found.items():
            merged = file.tier is TrustTier.TEAMMATE
            memory_id = states[path].memory_id if path in states else ""
            try:
                said = (file if in_time() else file.left_out(LATE)).statement(self._parts.kinds)
                terms = (said.content, said.by, *said.when, *said.files)
                if secrets := secrets_in(terms, self._parts.redactor.at(project_scope(project.id))):
                    raise InvalidPayload(f"it holds a secret ({secrets}), so it is not imported")
            except InvalidPayload as error:
                rows.append(SharedFile(path=path, merged=merged, memory_id=memory_id, problem=error.message))
                continue
            rows.append(
                SharedFile(
                    path=path,
                    merged=merged,
                    kind=said.kind,
                    by=said.by,
                    day=said.day.isoformat() if said.day else "",
                    memory_id=memory_id,
                    waits=merged and memory_id in waiting,
                )
            )
        return TeamFolder(project=project, joined=joined, files=tuple(rows))

    def join(self, cwd: str) -> tuple[TeamFolder, tuple[RuleFile, ...]]:
        """From now on import the team files of the default branch in this folder, as the word of teammates; return the team's state in this folder and what became of each file."""
        project = self._projects.register(self._project(cwd))
        TEAM_JOINED.write(self._parts.store, project.root, project.id)
        imported = self._capture.import_team(Path(project.root), project, joined=True)
        self._changed()
        return self.folder(cwd), imported.files

    def leave(self, cwd: str) -> tuple[TeamFolder, tuple[RuleFile, ...]]:
        """Stop importing the team's files and end what came from them; what the user made their own stays.

        Return the team's state in this folder and what became of each file.

        Raises:
            InvalidInput: if the user did not join in this folder.
        """
        project = self._project(cwd)
        if TEAM_JOINED.find(self._parts.store, project.id) != project.root:
            raise InvalidInput(
                f"You have not joined the team of {project.name} in {project.root}.",
                hint="`tacit team` shows the state.",
            )
        TEAM_JOINED.write(self._parts.store, None, project.id)
        imported = self._capture.import_team(Path(project.root), project, joined=False, left=True)
        self._changed()
        return self.folder(cwd), imported.files

    def share(self, memory: Memory, cwd: str, *, by: str) -> SharedFile:
        """Write the team file of `memory`, for the user to commit.

        Args:
            memory: of the project around `cwd`.
            cwd: a folder of the project.
            by: the name that teammates are shown.

        Raises:
            InvalidInput: if it cannot be shared from here, or a file says the same already.
            RefusedByTrust: if it is restricted, or limited to one session.
            RefusedByRedaction: if it holds a secret.
        """
        project = self._project(cwd)
        by = " ".join(by.split())
        if not is_name(by):
            raise InvalidInput(
                f"{by[:60]!r} cannot be shown as a name.",
                hint="Use at most 40 letters, digits, spaces and .'-",
            )
        self._require_shareable(memory, project)
        for shared in self.folder(cwd).files:
            if self._holds(project, shared, memory):
                raise InvalidInput(f"{shared.path} says this already.", hint="Edit that file to change it.")
        statement = TeamStatement(
            content=memory.content,
            kind=memory.kind,
            by=by,
            day=datetime.fromtimestamp(memory.validity.valid_from_ms / 1000, tz=UTC).date(),
            when=stated_when(memory.trigger),
            files=memory.files,
        )
        path = f"{TEAM_FOLDER}/{_file_name(memory)}"
        file = Path(project.root) / path
        _write(file, self._text(statement, memory), root=Path(project.root))
        return SharedFile(
            path=path, merged=False, kind=memory.kind, by=by, day=str(statement.day), memory_id=memory.id
        )

    def unshare(self, memory: Memory, cwd: str) -> SharedFile:
        """Delete the team file of `memory` from the folder, for the user to commit, and return what it was.

        Raises:
            NotFound: if no file in the folder holds it.
        """
        project = self._project(cwd)
        for shared in self.folder(cwd).files:
            file = Path(project.root) / shared.path
            if self._holds(project, shared, memory) and file.is_file() and not file.is_symlink():
                _require_inside(file, Path(project.root))
                file.unlink()
                return shared
        raise NotFound(
            f"No file below {Path(project.root) / TEAM_FOLDER} holds {memory.id}.",
            hint="`tacit team` lists the files; one of another branch is removed there.",
        )

    def _text(self, statement: TeamStatement, memory: Memory) -> str:
        """Return the text of a team file; raise `InvalidInput` if it would not be read back as the same statement."""
        text = write_team_file(statement)
        try:
            said = read_team_file(text, kinds=self._parts.kinds)
        except InvalidPayload as error:
            raise InvalidInput(
                f"{memory.id} cannot be written as a team file: {error.message}.", hint="Edit it first."
            ) from error
        if said.content.split() != statement.content.split() or said.kind != statement.kind:
            raise InvalidInput(f"{memory.id} would read otherwise from a team file.", hint="Edit it first.")
        return text

    def _project(self, cwd: str) -> ProjectRecord:
        project = self._projects.of(cwd)
        if project is None:
            raise InvalidInput("No folder was given.", hint="Name the project's folder.")
        return project

    def _holds(self, project: ProjectRecord, shared: SharedFile, memory: Memory) -> bool:
        """Whether the file is that of `memory`: by the id in its name, the memory it became, or its words."""
        return (
            shared.path.endswith(f"-{memory.id[-ENDING:]}.md")
            or shared.memory_id == memory.id
            or self._says(project, shared, memory)
        )

    def _says(self, project: ProjectRecord, shared: SharedFile, memory: Memory) -> bool:
        """Whether the file in the folder holds the words of `memory`."""
        file = Path(project.root) / shared.path
        if shared.problem or not file.is_file():
            return False
        try:
            said = read_team_file(file.read_text("utf-8", "replace"), kinds=self._parts.kinds)
        except InvalidPayload:
            return False
        return said.content.split() == memory.content.split()

    def _require_shareable(self, memory: Memory, project: ProjectRecord) -> None:
        require_shareable(memory, redactor=self._parts.redactor.at(memory.scope), in_repository=True)
        if memory.scope != project_scope(project.id):
            raise InvalidInput(
                f"{memory.id} has the scope {memory.scope}; a repository shares memories of its own project.",
                hint=f"`tacit edit {memory.id} --scope project` moves it into {project.name} first.",
            )


def _require_inside(file: Path, root: Path) -> None:
    if file.parent.resolve() != root.resolve() / TEAM_FOLDER:
        raise InvalidInput(f"{TEAM_FOLDER} leads out of the project.", hint="Remove the link.")


def _write(file: Path, text: str, *, root: Path) -> None:
    """Write a new file in the team's folder; raise if it exists, or if the folder leads out of the project."""
    for folder in (root / ".tacit", root / TEAM_FOLDER):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise InvalidInput(f"{folder} is no folder of the project.", hint="Remove it, or move it away.")
    file.parent.mkdir(parents=True, exist_ok=True)
    _require_inside(file, root)
    try:
        with file.open("x", encoding="utf-8", newline="\n") as opened:
            opened.write(text)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror or error}.") from error


def _file_name(memory: Memory) -> str:
    words = ALPHANUMERIC.findall(memory.content.lower())[:SLUG_WORDS]
    slug = "-".join(words)[:SLUG_CHARS].rstrip("-") or memory.kind
    return f"{slug}-{memory.id[-ENDING:]}.md"
