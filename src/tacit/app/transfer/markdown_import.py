"""An edited Markdown export back into the store. In: what it says. Out: edits, new memories, what was deleted.

A text that was changed here since the file was written is left alone and told. What is gone from the file is forgotten only
where the user says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.app.memories import Memories
from tacit.app.transfer.markdown import EditedMarkdown, Entry, mark_of
from tacit.app.transfer.owners import Owners
from tacit.app.transfer.report import Action, ImportLine, ImportOptions, ImportTally
from tacit.errors import TacitError
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.ids import content_hash
from tacit.model.memory import Memory, MemoryStatus, TrustTier
from tacit.model.scope import Scope, ScopeFilter
from tacit.ports.store import MemoryFilter, MemoryStore

LIVE: tuple[MemoryStatus, ...] = ("active", "quarantined")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownImport:
    """One import of one edited file into `store`, for the project around `cwd`; what came of it is counted in `tally`."""

    store: MemoryStore
    memories: Memories
    cwd: str
    wanted: ImportOptions
    tally: ImportTally
    owners: Owners

    def take(self, edited: EditedMarkdown) -> None:
        """Carry out what the file says, entry by entry, or with `wanted.dry_run` only tell it."""
        for one in edited.refused:
            self.tally.add(ImportLine(action="refused", where=one.where, reason=one.reason))
        for entry in edited.entries:
            try:
                self.entry(entry)
            except TacitError as error:
                self.tally.add(
                    ImportLine(action="refused", where=entry.where, text=entry.text, reason=str(error))
                )
        for name in edited.removed:
            self.removed(name)

    def _stored(self, name: str) -> Memory | None:
        found = self.store.get([name], scope=self.store.scopes())
        return found[0] if found else None

    def entry(self, entry: Entry) -> None:
        """Leave, change or add one."""
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
        elif not same_words and mark_of(stored) != entry.hash and stored.content != entry.text:
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
                    stored, content=None if same_words else entry.text, kind=None if same_kind else entry.kind,
                    when=None, scope=None if same_scope else Scope.parse(entry.scope), importance=None, pinned=None,
                )  # fmt: skip
            self._tell("edit", entry, memory=stored)

    def _new(self, entry: Entry) -> None:
        scope = self.owners.scope_of(Scope.parse(entry.scope)) if entry.scope else None
        if self._same(entry, scope):
            self._tell("unchanged", entry)
            return
        if self.wanted.dry_run:
            self._tell("add", entry)
            return
        if scope is not None:
            self.owners.register(scope)
        changes = self.memories.remember(
            entry.text, kind=entry.kind or None, scope=scope, when=None, cwd=self.cwd, tier=TrustTier.USER,
            source="edited", session=None, pinned=False, files=(),
        )  # fmt: skip
        for change in changes:
            self.tally.change(change, entry.where)

    def _same(self, entry: Entry, scope: Scope | None) -> bool:
        """Whether these very words are remembered there: the file was given back before."""
        where = MemoryFilter(statuses=LIVE, text=entry.text)
        seen = self.store.scopes() if scope is None else ScopeFilter.of(scope)
        found = self.store.list_memories(where, scope=seen, limit=50)
        return any(memory.content_hash == content_hash(entry.text) for memory in found)

    def removed(self, name: str) -> None:
        """Forget what is gone from the file, or say that it is."""
        stored = self._stored(name)
        if stored is None or stored.status not in LIVE:
            return
        forget = self.wanted.forget_removed
        if forget and not self.wanted.dry_run:
            self.memories.forget(stored, reason=ChangeReason(cause=ChangeCause.DELETED_FROM_EXPORT))
        self.tally.add(
            ImportLine(
                action="forget" if forget else "removed",
                where="deleted",
                text=stored.content,
                memory_id=name,
                reason="" if forget else "--forget-removed forgets it",
            )
        )

    def _tell(self, action: Action, entry: Entry, *, memory: Memory | None = None, reason: str = "") -> None:
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
