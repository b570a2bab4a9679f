"""Our own export back into a store, with every version. In: its lines. Out: what was stored, counted.

Only for lines that the user vouches for or that this home signed: they say themselves who said what. Secrets are taken out as
everywhere; a memory that has gone its own way here since, or was purged here, is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tacit.app.parts import Parts
from tacit.app.transfer.owners import Owners
from tacit.app.transfer.records import History, Line, versions_of
from tacit.app.transfer.report import Action, ImportLine, ImportTally
from tacit.capture.importing.items import RefusedHook
from tacit.capture.prepare import clean_terms, clean_trigger, refuse_long
from tacit.errors import RefusedByRedaction, TacitError
from tacit.model.memory import Memory, Relation
from tacit.ports.store import Recorded
from tacit.safety.redact import TextRedactor

BATCH = 200
PURGED_REASON = "it was purged here; --again imports it"


class LosslessImport:
    """One import of one file."""

    def __init__(
        self, parts: Parts, *, dry_run: bool, again: bool, tally: ImportTally, name: str, owners: Owners
    ) -> None:
        """Count into `tally`; `name` is the file's; `owners` say whose the memories are; `again` = also what was purged."""
        self._purged = frozenset[str]() if again else parts.store.purged_memories()
        self._owners = owners
        self._parts = parts
        self._store = parts.store
        self._dry_run = dry_run
        self._tally = tally
        self._name = name
        self._coming: set[str] = set()

    def take(self, lines: Iterable[Line], *, progress: Callable[[int], None] | None) -> None:
        """Store what the lines hold, in batches.

        Raises:
            StoreError: as the store; batches before it are kept.
        """
        waiting: list[History] = []
        relations: list[Relation] = []
        looked_at = 0
        for line in lines:
            if isinstance(line, RefusedHook):
                self._refuse(line.where, line.reason)
            elif isinstance(line, History):
                looked_at += 1
                waiting.append(line)
                if len(waiting) >= BATCH:
                    self._put(waiting)
                    waiting = []
                    if progress:
                        progress(looked_at)
            elif isinstance(line, Relation):
                relations.append(line)
            else:
                self._owners.meet(line)
        self._put(waiting)
        self._relate(relations)
        if progress:
            progress(looked_at)

    def _put(self, histories: Sequence[History]) -> None:
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
        """The versions that are not stored; None where the store's do not begin like these."""
        stored = [
            (version.at_ms, version.memory) for version in versions_of(self._store, versions[0].memory.id)
        ]
        imported = [(version.at_ms, version.memory) for version in versions]
        shorter = min(len(stored), len(imported))
        return versions[len(stored) :] if stored[:shorter] == imported[:shorter] else None

    def _cleaned(self, version: Recorded) -> Recorded:
        memory = replace(version.memory, scope=self._owners.scope_of(version.memory.scope))
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
    """The memory as it may be stored; equal to what was given where nothing had to go."""
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
