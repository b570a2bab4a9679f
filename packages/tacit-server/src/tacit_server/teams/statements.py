"""Reads the statements of share requests. In: a statement, the principal. Out: a memory, or an error.

The author and the highest trust tier follow from the principal, never from the request. A statement that holds a secret is refused.
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
from tacit.model.shared import SharedMemory, SharedStatement, why_too_long
from tacit.ports.clock import Clock
from tacit.ports.models import Embedder
from tacit.reading.when import stated_when
from tacit.session.projects import project_id
from tacit_server.logs import Principal
from tacit_server.teams.access import SERVICE


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Reads statements: `preparer` checks and redacts them, `embedder` makes vectors."""

    preparer: Preparer
    embedder: Embedder
    clock: Clock

    def read(self, statement: SharedStatement, *, author: str, name: str) -> Memory:
        """Return the memory that a statement becomes, stated by the principal `author`, who is shown as `name`.

        Raises:
            InvalidInput: the statement cannot be shared; the message says why.
            RefusedByRedaction: the statement holds a secret.
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
    """Return the trust tier of a statement: the tier that the device says, limited by the tier that the principal `who` may give.

    Raises:
        InvalidPayload: the device names an unknown tier.
    """
    try:
        said = TrustTier[statement.tier.upper()]
    except KeyError as error:
        raise InvalidPayload(f"There is no trust tier {statement.tier[:40]!r}.") from error
    most = TrustTier.ASSISTANT if SERVICE.fullmatch(who.account) else TrustTier.TEAMMATE
    return min(said, most)


def scope_of(statement: SharedStatement) -> Scope:
    """Return the scope of a statement.

    Raises:
        InvalidInput: memories of that scope cannot be shared.
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
    """Refuse a statement that is too long, before anything else reads it.

    Raises:
        InvalidInput: a part of the statement is too long.
        InvalidPayload: `said_at_ms` is not a time.
    """
    if why := why_too_long(statement):
        raise InvalidInput(why, hint="Share what one sentence can say.")
    if not 0 <= statement.said_at_ms < 2**53:
        raise InvalidPayload("`said_at_ms` is not a time.")


def shared_form(memory: Memory, remotes: Mapping[str, str]) -> SharedMemory:
    """Return a memory of a team in the form that devices get. `remotes` = canonical names of repositories by project id."""
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
