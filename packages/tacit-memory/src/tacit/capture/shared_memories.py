"""Takes over what a team shares through a server. In: a page of changes. Out: the changes that were made, in one transaction with the cursor.

The server has decided how statements about one matter are reconciled; nothing is reconciled here. A memory has the same id on every device.

- If a memory of the user's own says the same, it stays and no second one is stored.
- If the user asked to share a memory, on any of their devices, and it was accepted with other words, the team's wording takes its place here. It comes back if the
  team stops sharing, and stays if the user changed it meanwhile or it refuses calls.
- What the server no longer names (it was restored from a backup) stays and is marked as lost. Only what the server says has ended ends.
- A memory that the user made their own no longer follows the team.
- A memory that the user forgot comes back only if the team changes its words; one that they purged never comes back.
- Secrets are redacted, and harmful instructions wait for the user, as with every import.

The server is not trusted further: it can only change memories of its own teams, it can only state what a teammate may state, and data in the wrong form is
skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Protocol

from tacit.capture.bootstrap.team_files import is_name, teammate_trigger
from tacit.capture.prepare import Preparer
from tacit.capture.store import Reconciler
from tacit.errors import InvalidInput, InvalidScope, UnknownKind
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Change, Draft, Retire, Rewrite, Skip, Supersede
from tacit.model.kinds import SESSION_NOTES
from tacit.model.memory import Memory, Provenance, TrustTier, team_source
from tacit.model.scope import Scope, ScopeFilter, ScopeKind, project_scope
from tacit.model.shared import SharedMemory, SharedStatement, TeamChanges, why_too_long
from tacit.ports.store import MemoryFilter
from tacit.session.projects import project_id
from tacit.state.captured import TeamState
from tacit.state.registry import TEAMS
from tacit.statements.same import canonical_text, same_statement

PAGE = 500
_ID = re.compile(r"mem_[0-9a-hjkmnp-tv-z]{16}")


class Author(Protocol):
    """The person whose devices share this memory, as a server of teams knows them."""

    def is_mine(self, shared: SharedMemory) -> bool:
        """Return whether `shared` goes back to a request of this person."""
        ...

    def mark(self, memory: Memory) -> str:
        """Return the mark (`SharedMemory.mark`) by which the server knows a request of theirs to share `memory` with its present words."""
        ...


@dataclass(slots=True, kw_only=True)
class _Taken:
    """The result of a page: changes, and {id of a shared memory: id of the user's memory that says the same, or that it replaced}.

    `marks` = of each scope that was looked at, {mark of a request: id of the user's memory that it would share}.
    """

    changes: list[Change] = field(default_factory=list[Change])
    own: dict[str, str] = field(default_factory=dict[str, str])
    marks: dict[Scope, dict[str, str]] = field(default_factory=dict[Scope, dict[str, str]])


class SharedMemories:
    """Brings the store up to date with what teams share through a server."""

    def __init__(self, *, preparer: Preparer, reconciler: Reconciler) -> None:
        """Keep the parts: `preparer` redacts, `reconciler` makes vectors and writes to its store."""
        self._store = reconciler.store
        self._preparer = preparer
        self._reconciler = reconciler

    def take_over(
        self,
        team: str,
        page: TeamChanges,
        before: TeamState,
        *,
        author: Author,
        now_ms: int,
    ) -> tuple[Change, ...]:
        """Store one page of a team's changes and the new cursor in one transaction; returns the changes.

        Args:
            team: the name of the team.
            page: the page, as the server sent it.
            before: what was known about the team before.
            author: the user.
            now_ms: the time, in milliseconds since the epoch.

        Raises:
            StoreError: the store failed; nothing is changed.
        """
        known = TEAMS.read(self._store)
        taken = _Taken(own=dict(before.own))
        unseen = {*self._held(team), *before.own.values()} if page.anew else set(before.unseen)
        lost = set[str]() if page.anew else set(before.lost)
        newest = {memory.id: memory for memory in page.memories}
        gone = {*page.purged, *self._store.purged_memories()} if newest else set(page.purged)
        for memory in sorted(newest.values(), key=lambda memory: not memory.holds):
            self._follow(team, memory, taken, gone, author=author, now_ms=now_ms)
        for memory_id in page.purged:
            self._give_back(team, memory_id, taken)
        named = newest.keys() | set(page.purged)
        behind = {own for shared, own in (*before.own.items(), *taken.own.items()) if shared in named}
        unseen -= named | behind
        lost -= named | behind
        if not page.more:
            lost |= unseen
            unseen.clear()
            lost -= self._shared_again(team, lost, taken, now_ms)
        after = replace(
            before,
            cursor=page.cursor,
            own=taken.own,
            unseen=tuple(sorted(unseen)),
            lost=tuple(sorted(lost)),
        )
        if not taken.changes and after == known.get(team):
            return ()
        values = dict(TEAMS.change({**known, team: after}))
        return self._reconciler.keep(taken.changes, values=values)

    def _held(self, team: str) -> tuple[str, ...]:
        """Return the ids of the memories that this store has from the team, active or waiting for the user."""
        where = MemoryFilter(statuses=("active", "quarantined"), source=team_source(team))
        return tuple(
            memory.id for memory in self._every(where, self._store.scopes()) if memory.provenance.team
        )

    def _every(self, where: MemoryFilter, scope: ScopeFilter) -> Iterator[Memory]:
        """Yield all memories that match, read page by page."""
        offset = 0
        while found := self._store.list_memories(where, scope=scope, limit=PAGE, offset=offset):
            offset += len(found)
            yield from found

    def leave(self, team: str, *, cause: ChangeCause, now_ms: int) -> int:
        """Retire all memories that came from the team and forget its cursor; returns how many were retired."""
        reason = ChangeReason(cause=cause, terms=(team,))
        held, known = self._held(team), dict(TEAMS.read(self._store))
        taken = _Taken(own=dict(known[team].own) if team in known else {})
        for shared_id in tuple(taken.own):
            self._give_back(team, shared_id, taken)
        self._store.apply(taken.changes)
        for start in range(0, len(held), PAGE):
            ids = held[start : start + PAGE]
            self._store.apply([Retire(memory_id=each, at_ms=now_ms, reason=reason) for each in ids])
        if known.pop(team, None) is not None:
            self._store.apply([], values=TEAMS.change(known))
        return len(held)

    def _follow(
        self,
        team: str,
        shared: SharedMemory,
        taken: _Taken,
        gone: AbstractSet[str],
        *,
        author: Author,
        now_ms: int,
    ) -> None:
        """Add the changes that follow from one memory of a page to `taken`. `gone` = ids of memories that were purged."""
        if not _ID.fullmatch(shared.id) or shared.id in gone:
            return
        stored = next(iter(self._store.get((shared.id,), scope=self._store.scopes())), None)
        if stored is not None and stored.provenance.team != team:
            return  # the user made it their own, or another team shares it
        reason = ChangeReason(
            cause=ChangeCause.CHANGED_BY_TEAM if stored else ChangeCause.SHARED, terms=(team,)
        )
        if not shared.holds:
            if shared.replaced_by and shared.id in taken.own:
                taken.own[shared.replaced_by] = taken.own.pop(shared.id)
            self._give_back(team, shared.id, taken)
            if stored is not None and stored.status in ("active", "quarantined"):
                ended = ChangeReason(cause=ChangeCause.UNSHARED, terms=(team,))
                taken.changes.append(Retire(memory_id=stored.id, at_ms=now_ms, reason=ended))
            return
        prepared = self._prepared(team, shared, now_ms)
        if prepared is None:
            return
        if stored is None:
            taken.own.pop(shared.id, None)
            if own := self._said_by_user(prepared):
                taken.own[shared.id] = own
            elif own := self._reworded(shared, prepared, taken, author):
                taken.own[shared.id] = own
                taken.changes.append(Supersede(memory=prepared, old_id=own, at_ms=now_ms, reason=reason))
            else:
                taken.changes.append(Add(memory=prepared, reason=reason))
            return
        if stored.content == prepared.content and self._forgotten(stored):
            return
        same = replace(
            prepared,
            created_at_ms=stored.created_at_ms,
            use_count=stored.use_count,
            shown_count=stored.shown_count,
            frequency=stored.frequency,
            pinned=stored.pinned,
        )
        if replace(same, updated_at_ms=0) != replace(stored, updated_at_ms=0):
            taken.changes.append(Rewrite(memory=same, reason=reason))

    def _forgotten(self, stored: Memory) -> bool:
        """Whether the memory was ended by the user, and not by the team."""
        if stored.status not in ("retired", "superseded"):
            return False
        newest = self._store.recorded(scope=self._store.scopes(), limit=1, memory_id=stored.id)
        by_team = (ChangeCause.UNSHARED, ChangeCause.TEAM_LEFT)
        return not newest or newest[0].reason.cause not in by_team

    def _reworded(self, shared: SharedMemory, prepared: Memory, taken: _Taken, author: Author) -> str:
        """Return the id of the user's memory that they asked to share, and that the team shares in other words; "" = none.

        It is none that the user changed since, or that refuses calls, which a teammate's word cannot do.
        """
        if prepared.status != "active" or not author.is_mine(shared):
            return ""
        marks = taken.marks.get(prepared.scope)
        if marks is None:
            marks = taken.marks[prepared.scope] = {
                author.mark(memory): memory.id
                for memory in self._every(MemoryFilter(), ScopeFilter.of(prepared.scope))
                if not (memory.provenance.team or memory.trigger.blocking)
            }
        return marks.get(shared.mark, "")

    def _shared_again(
        self, team: str, lost: AbstractSet[str], taken: _Taken, now_ms: int
    ) -> AbstractSet[str]:
        """Return the ids of lost memories that the team shares again under another id; the changes that end them are added to `taken`."""
        again: set[str] = set()
        new = [change.memory for change in taken.changes if isinstance(change, Add | Supersede)]
        for memory in self._store.get(sorted(lost), scope=self._store.scopes()) if lost else ():
            where = MemoryFilter(begins=canonical_text(memory.content), source=team_source(team))
            stored = self._store.list_memories(where, scope=ScopeFilter.of(memory.scope), limit=20)
            for other in (*stored, *new):
                if other.id not in lost and same_statement(other.content, memory.content):
                    ended = memory.ended_by(other.id, at_ms=now_ms)
                    reason = ChangeReason(cause=ChangeCause.CHANGED_BY_TEAM, terms=(team,))
                    if memory.provenance.team == team and memory.status == "active":
                        taken.changes.append(Rewrite(memory=ended, reason=reason))
                    again.add(memory.id)
                    break
        return again

    def _give_back(self, team: str, shared_id: str, taken: _Taken) -> None:
        """Add to `taken` the change by which the user's own memory holds again that the team's wording `shared_id`, now no longer shared, had replaced."""
        own = taken.own.pop(shared_id, "")
        for memory in self._store.get((own,), scope=self._store.scopes()) if own else ():
            successor = memory.validity.superseded_by or ""
            theirs = self._store.get((successor,), scope=self._store.scopes()) if successor else ()
            by_team = successor == shared_id or any(each.provenance.team == team for each in theirs)
            if memory.status == "superseded" and by_team:
                validity = replace(memory.validity, valid_to_ms=None, superseded_by=None)
                taken.changes.append(
                    Rewrite(
                        memory=replace(memory, status="active", validity=validity),
                        reason=ChangeReason(cause=ChangeCause.UNSHARED, terms=(team,)),
                    )
                )

    def _said_by_user(self, memory: Memory) -> str:
        """Return the id of the user's own memory with the same words and scope; "" = none."""
        where = MemoryFilter(begins=canonical_text(memory.content), tiers=(TrustTier.USER,))
        alike = self._store.list_memories(where, scope=ScopeFilter.of(memory.scope), limit=20)
        return next((other.id for other in alike if same_statement(other.content, memory.content)), "")

    def _prepared(self, team: str, shared: SharedMemory, now_ms: int) -> Memory | None:
        """Return the memory to store for a shared one: redacted, with the id that it has in the team; None = it is not stored here (too long, a note of a session, invalid, or skipped by the preparer)."""
        statement = shared.statement
        if why_too_long(statement) or statement.kind in SESSION_NOTES:
            return None
        said_ms = statement.said_at_ms if 0 < statement.said_at_ms <= now_ms else now_ms
        try:
            draft = Draft(
                content=statement.content,
                kind=statement.kind,
                scope=_scope_of(statement),
                provenance=Provenance(
                    tier=_tier_of(statement),
                    source=team_source(team),
                    span=statement.content[:500],
                    author=shared.name if is_name(shared.name) else "",
                ),
                at_ms=said_ms,
                trigger=teammate_trigger(
                    statement.content, kind=statement.kind, files=statement.files, when=statement.when
                ),
                files=statement.files,
                explicit=True,
            )
            prepared = self._preparer.prepare(draft)
        except (InvalidInput, InvalidScope, UnknownKind):
            return None
        if isinstance(prepared, Skip):
            return None
        # Redaction may change the name of the team. The source must stay exact: the memories of a team are found by it.
        provenance = replace(prepared.provenance, source=team_source(team))
        return replace(prepared, id=shared.id, provenance=provenance)


def _tier_of(statement: SharedStatement) -> TrustTier:
    """Return the trust tier that a shared statement gets here: its own, but at most teammate.

    `import` if its tier has a name that this version does not know.
    """
    try:
        return min(TrustTier[statement.tier.upper()], TrustTier.TEAMMATE)
    except KeyError:
        return TrustTier.IMPORT


def _scope_of(statement: SharedStatement) -> Scope:
    """Return the scope of a shared statement on this device.

    Raises:
        InvalidScope: if teams do not share memories of that scope.
    """
    if statement.scope == "project" and statement.remote:
        return project_scope(project_id(f"remote:{statement.remote}"))
    scope = Scope.parse(statement.scope)
    if scope.kind not in (ScopeKind.UNIVERSAL, ScopeKind.LANGUAGE):
        raise InvalidScope(f"Memories of the scope {scope} are not shared.")
    return scope


def shared_memory_like(states: Sequence[TeamState], memory_id: str) -> str:
    """Return the id of the shared memory that says the same as the user's memory `memory_id`, or took its place, in one of `states`; "" = none."""
    return next((shared for state in states for shared, own in state.own.items() if own == memory_id), "")
