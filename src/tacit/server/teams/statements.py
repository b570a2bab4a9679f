"""Statements that somebody asks to share, as the server reads them. In: a statement, who asks. Out: a memory, or a refusal.

The author and the highest tier follow from who asks, never from what they send. What holds a secret is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.capture.bootstrap.team_files import teammate_trigger
from tacit.capture.prepare import Preparer, secrets_in
from tacit.errors import InvalidInput, InvalidPayload, InvalidScope, RefusedByRedaction
from tacit.model.changes import Draft, Skip
from tacit.model.kinds import SESSION_NOTES
from tacit.model.memory import Memory, Provenance, TrustTier
from tacit.model.scope import Scope, ScopeKind, project_scope
from tacit.model.shared import SharedMemory, SharedStatement, too_long
from tacit.ports.clock import Clock
from tacit.ports.models import Embedder
from tacit.reading.when import stated_when
from tacit.server.logs import Principal
from tacit.server.teams.access import SERVICE
from tacit.session.projects import project_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What statements are read with: redaction and kinds, and an embedder for vectors."""

    preparer: Preparer
    embedder: Embedder
    clock: Clock

    def read(self, statement: SharedStatement, *, author: str, name: str) -> Memory:
        """The memory that a statement makes.

        Raises:
            InvalidInput: if it makes none.
            RefusedByRedaction: if it holds a secret.
        """
        check_lengths(statement)
        if statement.kind in SESSION_NOTES:
            raise InvalidInput(f"A {statement.kind} belongs to one session and is not shared.")
        scope = scope_of(statement)
        redactor = self.preparer.redactor
        if secrets := secrets_in((statement.content, *statement.when, *statement.files), redactor):
            raise RefusedByRedaction(
                f"The statement holds a secret ({secrets}); nothing was stored.", hint="Edit it first."
            )
        tier = TrustTier[statement.tier.upper()]
        now_ms = self.clock.now_ms()
        prepared = self.preparer.prepare(
            Draft(
                content=statement.content,
                kind=statement.kind,
                scope=scope,
                provenance=Provenance(tier=tier, source=author, author=name),
                at_ms=min(statement.said_at_ms, now_ms) or now_ms,
                trigger=teammate_trigger(
                    statement.content, kind=statement.kind, files=statement.files, when=statement.when
                ),
                files=statement.files,
                explicit=True,
                confirmed=True,
            )
        )
        if isinstance(prepared, Skip):
            raise InvalidInput(
                "The statement cannot be shared: it is empty, too long, or of a kind that its source may not state."
            )
        return prepared


def tier_of(who: Principal, statement: SharedStatement) -> TrustTier:
    """Who vouches for a statement: what its author's device says, but no more than the author's token allows."""
    try:
        said = TrustTier[statement.tier.upper()]
    except KeyError as error:
        raise InvalidPayload(f"There is no trust tier {statement.tier[:40]!r}.") from error
    most = TrustTier.ASSISTANT if SERVICE.fullmatch(who.account) else TrustTier.TEAMMATE
    return min(said, most)


def scope_of(statement: SharedStatement) -> Scope:
    """Where a statement belongs.

    Raises:
        InvalidInput: if that is no place that teams share memories of.
    """
    if statement.scope == "project":
        return project_scope(project_id(f"remote:{statement.remote}"))
    try:
        scope = Scope.parse(statement.scope)
    except InvalidScope as error:
        raise InvalidInput(error.message, hint=error.hint) from error
    if scope.kind not in (ScopeKind.UNIVERSAL, ScopeKind.LANGUAGE):
        raise InvalidInput(
            f"Memories of the scope {scope} are not shared.",
            hint="Share memories of a project, of a language, or universal ones.",
        )
    return scope


def check_lengths(statement: SharedStatement) -> None:
    """Refuse what is too long, before anything reads it.

    Raises:
        InvalidInput: then.
        InvalidPayload: for a time that is none.
    """
    if why := too_long(statement):
        raise InvalidInput(why, hint="Share what one sentence can say.")
    if not 0 <= statement.said_at_ms < 2**53:
        raise InvalidPayload("`said_at_ms` is no time.")


def shared_form(memory: Memory, remotes: Mapping[str, str]) -> SharedMemory:
    """A memory of a team as it is handed out; `remotes` are canonical names of repositories by the id of their project."""
    project = memory.scope.project_id
    return SharedMemory(
        id=memory.id,
        statement=SharedStatement(
            content=memory.content,
            kind=memory.kind,
            scope="project" if project else str(memory.scope),
            remote=remotes.get(project, "") if project else "",
            when=stated_when(memory.trigger),
            files=memory.files,
            tier=memory.provenance.tier.name.lower(),
            said_at_ms=memory.validity.valid_from_ms,
        ),
        name=memory.provenance.author,
        author=memory.provenance.source,
        holds=memory.status == "active",
        replaced_by=memory.validity.superseded_by or "",
    )
