"""Forgetting for good: memories, or all of a project, session or source, with everything that quotes them.

In: what is to go. Out: what went, and what could not be reached. One transaction for the store; then derived files, logs, start
blocks, and the backups and exports that this home knows of, by what a rescan for secrets cleans with. What stays are numbers: that
something was handed over, when, and how many tokens it took. Cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import partial

from tacit.app.maintenance.maintenance import JobRunner
from tacit.app.transfer.markdown import markdown_without
from tacit.app.transfer.records import Signer, line_without, versions_of
from tacit.app.values import OpenStore
from tacit.errors import NotFound
from tacit.frozen import frozen
from tacit.model.changes import Removal
from tacit.model.memory import Memory
from tacit.model.scope import ScopeFilter
from tacit.model.session import SessionKey
from tacit.ports.store import MemoryFilter, ProjectRecord
from tacit.safety.forgotten_words import ForgottenWords, words_to_forget
from tacit.session.transitions import with_descendants
from tacit.state.registry import names_of_project, names_of_sessions
from tacit.upkeep.reindex import reindex
from tacit.upkeep.rescan import Rescan, rescan

NO_LIMIT = 1_000_000
MOST_ALIKE = 20
_ROUNDS = 3


@frozen
class PurgeTarget:
    """The memories, sessions or projects that a purge removes.

    Attributes:
        memories: these, in any state.
        sessions: their records, traces and transcripts that wait.
        project: its record, what was noted of it, and what was asked there.
        shown: chosen from what was shown before; that all of it is gone meanwhile is no error.
    """

    memories: tuple[Memory, ...] = ()
    sessions: tuple[SessionKey, ...] = ()
    project: ProjectRecord | None = None
    shown: bool = False


@frozen
class PurgedMemory:
    """One purged memory. `content` is empty after the purge."""

    id: str
    kind: str
    scope: str
    status: str
    content: str


@frozen
class Purged:
    """The result of a purge, or with `dry_run` its preview.

    Attributes:
        memories: what goes.
        sessions: `host/id` of the sessions of which everything goes.
        rows: rows removed or cleaned, by table.
        files: files cleaned, by place: `log`, `start`, `spool`, `index`, and the paths of backups and exports.
        left: files that may still hold it, with what to do about each.
        alike: ids of other memories that hold the same words, and stay.
        dry_run: nothing was changed.
    """

    memories: tuple[PurgedMemory, ...]
    sessions: tuple[str, ...] = ()
    rows: dict[str, int] = field(default_factory=dict[str, int])
    files: dict[str, int] = field(default_factory=dict[str, int])
    left: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    dry_run: bool = False


class Purger:
    """Removes memories, sessions and projects for good from one open store, with everything that quotes them."""

    def __init__(self, opened: OpenStore, *, jobs: JobRunner) -> None:
        """`jobs` lists the removal while it runs."""
        self._parts, self._store = opened.parts, opened.parts.store
        self._sessions, self._settle, self._changed = opened.sessions, opened.settle, opened.changed
        self._jobs = jobs

    # --- what is meant

    def named(self, names: Sequence[str]) -> PurgeTarget:
        """Return as a target the memories of these ids, or of these beginnings of ids.

        Raises:
            NotFound: if there is none, or several, of a name.
        """
        everything = self._store.scopes()
        memories = {
            memory.id: memory for memory in (self._store.resolve(name, scope=everything) for name in names)
        }
        return PurgeTarget(memories=tuple(memories.values()))

    def still_there(self, ids: Sequence[str]) -> PurgeTarget:
        """Return as a target the memories among `ids` (whole ids) that still exist; it may be empty."""
        return PurgeTarget(memories=self._store.get(ids, scope=self._store.scopes()), shown=True)

    def matching(self, *, scope: ScopeFilter | None, source: str | None, text: str | None) -> PurgeTarget:
        """Return as a target all memories of this source and with these words, whatever their state; None = any."""
        where = MemoryFilter(statuses=None, source=source, text=text)
        return PurgeTarget(memories=self._list(where, scope or self._store.scopes()))

    def of_project(self, project: ProjectRecord) -> PurgeTarget:
        """Return a project as a target: its memories, including those of its paths and tasks, its sessions, and its record.

        Raises:
            NotFound: if nothing is known of it.
        """
        self._settle()
        states = self._store.list_sessions(limit=NO_LIMIT)
        purge_target = PurgeTarget(
            memories=self._list(MemoryFilter(statuses=None), self._scopes_of(project)),
            sessions=with_descendants(
                (state.key for state in states if state.project_id == project.id),
                {state.key: state.parent for state in states},
            ),
            project=project,
        )
        if not (purge_target.memories or purge_target.sessions or self._knows(project)):
            raise NotFound(
                f"There is no project at {project.root}.",
                hint="`tacit status` names the projects; --cwd selects a folder.",
            )
        return purge_target

    def _knows(self, project: ProjectRecord) -> bool:
        return (
            any(stored.id == project.id for stored in self._store.projects())
            or bool(names_of_project(self._store, project.id))
            or any(trace.project_id == project.id for trace in self._store.list_traces(limit=NO_LIMIT))
        )

    def of_session(self, key: SessionKey) -> PurgeTarget:
        """Return a session and those of its subagents as a target: the memories learned in them, and their records.

        Raises:
            NotFound: if nothing is known of it.
        """
        self._settle()
        memories = self._list(MemoryFilter(statuses=None), self._store.scopes())
        states = {state.key: state.parent for state in self._store.list_sessions(limit=NO_LIMIT)}
        taught = {_session_of(memory): None for memory in memories if memory.provenance.session_id}
        family = with_descendants((key,), {**taught, **states})
        inside = set(family)
        learned = tuple(memory for memory in memories if _session_of(memory) in inside)
        exists = not states.keys().isdisjoint(family) or bool(names_of_sessions(self._store, family))
        if not (learned or exists):
            raise NotFound(f"There is no session {key}.", hint="`tacit sessions --project` names sessions.")
        return PurgeTarget(memories=learned, sessions=family)

    def _list(self, where: MemoryFilter, scope: ScopeFilter) -> tuple[Memory, ...]:
        return self._store.list_memories(where, scope=scope, limit=NO_LIMIT)

    def _scopes_of(self, project: ProjectRecord) -> ScopeFilter:
        return ScopeFilter.of(
            *(scope for scope in self._store.scopes().scopes if scope.project_id == project.id)
        )

    # --- doing it

    def purge(self, purge_target: PurgeTarget, *, dry_run: bool) -> Purged:
        """Remove the target from everything stored and report what went; with `dry_run` only report what would go.

        Raises:
            NotFound: if nothing is meant.
            StoreError: if the store cannot be written; nothing of it is changed then.
        """
        if not (purge_target.memories or purge_target.sessions or purge_target.project or purge_target.shown):
            raise NotFound(
                "Nothing matches; nothing was changed.",
                hint="`tacit list --all --status all` shows all memories.",
            )
        self._settle()
        words = ForgottenWords(self._texts_to_forget(purge_target.memories))
        removal = self._gone(purge_target)
        alike = self._alike(words, removal) if purge_target.memories else ()
        report = self._remove(words, removal, dry_run=dry_run)
        return Purged(
            memories=tuple(
                PurgedMemory(
                    id=memory.id,
                    kind=memory.kind,
                    scope=str(memory.scope),
                    status=memory.status,
                    content=memory.content if dry_run else "",
                )
                for memory in purge_target.memories
            ),
            sessions=tuple(map(str, purge_target.sessions)),
            rows=dict(report.rows),
            files=dict(report.files),
            left=report.left,
            alike=alike,
            dry_run=dry_run,
        )

    def _texts_to_forget(self, memories: Iterable[Memory]) -> list[str]:
        """Return the texts that a purge searches for; see `words_to_forget`.

        They are the contents of all versions of the memories, and their sources if distinctive.
        """
        return words_to_forget(
            version
            for memory in memories
            for version in (memory, *(version.memory for version in versions_of(self._store, memory.id)))
        )

    def _gone(self, purge_target: PurgeTarget) -> Removal:
        values: list[str] = [*names_of_sessions(self._store, purge_target.sessions)]
        if purge_target.project is not None:
            values += names_of_project(self._store, purge_target.project.id)
        return Removal(
            memories=tuple(memory.id for memory in purge_target.memories),
            sessions=purge_target.sessions,
            projects=(purge_target.project.id,) if purge_target.project else (),
            values=tuple(sorted(values)),
        )

    def _alike(self, words: ForgottenWords, removal: Removal) -> tuple[str, ...]:
        """Return ids of other memories that hold the same words and stay, at most `MOST_ALIKE`. Notes are not named, because they are cleaned."""
        going = set(removal.memories)
        matches = [
            memory.id
            for memory in self._list(MemoryFilter(statuses=None), self._store.scopes())
            if memory.id not in going
            and memory.kind not in removal.notes
            and any(
                words.held_by(text) for text in (memory.content, memory.provenance.span, *memory.evidence)
            )
        ]
        return tuple(sorted(matches)[:MOST_ALIKE])

    def _remove(self, words: ForgottenWords, removal: Removal, *, dry_run: bool) -> Rescan:
        def clean(text: str, _scope: str) -> str:
            return words.without(text)

        def once(*, only_look: bool) -> Rescan:
            with self._jobs.listed("purge") as tell:
                return rescan(
                    self._store,
                    self._parts.home,
                    clean,
                    dry_run=only_look,
                    gone=removal,
                    records=partial(without_records, signer=Signer(self._parts.home.export_key)),
                    progress=tell,
                )

        report = once(only_look=dry_run)
        if dry_run:
            return report
        for _ in range(_ROUNDS):
            # What a running session had in memory is let go; what it wrote meanwhile goes in another round.
            self._sessions.drop_written()
            self._settle()
            if not self._store.rewrite_texts(clean, dry_run=True, gone=removal):
                break
            again = once(only_look=False)
            report = replace(report, left=again.left)
        self._changed()
        reindex(self._store, self._parts.embedder)
        return report


def _session_of(memory: Memory) -> SessionKey:
    return SessionKey(host=memory.provenance.host, session_id=memory.provenance.session_id)


def without_records(
    text: str, clean: Callable[[str, str], str], gone: Removal, *, signer: Signer | None = None
) -> str:
    """Return the text of an export without the records of `gone`; the same text if it holds none of them.

    Other memories keep their words, even equal ones. Notes that quote a removed memory, and reasons, are cleaned as in the store. `signer`
    signs the lines again that this home had signed.
    """
    ids, notes = frozenset(gone.memories), frozenset(gone.notes)

    def cleaned(words: str) -> str:
        return clean(words, "")

    if not text.lstrip("\ufeff \r\n\t").startswith("{"):
        return markdown_without(text, cleaned, ids=ids, notes=notes)
    projects = frozenset(gone.projects)
    lines = (
        line_without(line, cleaned, ids=ids, projects=projects, notes=notes, signer=signer)
        for line in text.split("\n")
    )
    return "\n".join(line for line in lines if line is not None)
