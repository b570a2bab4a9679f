"""The way into a team: names, roles, tenants. In: a principal and a team. Out: the team's part of the database, or a refusal.

A team is a tenant. Its row is shown only to transactions of a principal who is a member, so that a mistake in this code opens nothing. Whoever is
not a member cannot tell a team that they may not see from one that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tacit.backends.postgres.connection import SERVER, Connections, Database, TenantUnseen
from tacit.backends.postgres.transaction import Transaction
from tacit.errors import InvalidInput, NotFound, NotPermitted
from tacit.model.shared import TEAM, Role, may, organization_of
from tacit.server.logs import ACCOUNT, Principal

_PART = ACCOUNT.pattern
SERVICE = re.compile(rf"{_PART}/{_PART}")
"""The principal of a service account: no person's account has a slash in its name."""

_ROLE = """
    SELECT role, name FROM members
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND (ends_at_ms = 0 OR ends_at_ms > %(now_ms)s)"""
_ENDED = """
    SELECT principal FROM members
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND ends_at_ms > 0 AND ends_at_ms <= %(now_ms)s"""
_AUDIT = """
    INSERT INTO audit (tenant, at_ms, principal, device, action, subject)
    VALUES (%(tenant)s, %(now_ms)s, %(principal)s, %(device)s, %(action)s, %(subject)s)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """A team that a principal has entered, with the role and the name that they have in it."""

    team: str
    database: Database
    role: str
    name: str


class Access:
    """Opens teams. Safe to share between threads."""

    def __init__(self, connections: Connections, *, now_ms: Callable[[], int]) -> None:
        """Open teams of the database of `connections`; `now_ms` tells which memberships have ended."""
        self.connections = connections
        self._now_ms = now_ms

    def enter(self, who: Principal, team: str, least: Role = "reader") -> Entered:
        """The team as `who`.

        Raises:
            NotFound: if there is no such team, or `who` is no member, or no longer.
            NotPermitted: if the role of `who` has not the rights of `least`.
        """
        database = self._open(team, who.account)
        try:
            values = {"principal": who.account, "now_ms": self._now_ms()}
            row = database.reading(lambda transaction: transaction.row(_ROLE, values))
        except TenantUnseen as error:
            raise unknown_team(team) from error
        if row is None or (team != organization_of(team) and self._has_left(who, organization_of(team))):
            raise unknown_team(team)
        role, name = str(row[0]), str(row[1])
        if not may(role, least):
            raise NotPermitted(
                f"This needs the role {least} in {team}; yours is {role}.",
                hint=f"An administrator of {team} can change that.",
            )
        return Entered(team=team, database=database, role=role, name=name)

    def _has_left(self, who: Principal, organization: str) -> bool:
        """Whether a membership in the organization has ended: then its teams are closed, too, whoever gave those."""
        values = {"principal": who.account, "now_ms": self._now_ms()}
        database = self.as_server(organization)
        return database.reading(lambda transaction: transaction.row(_ENDED, values)) is not None

    def manage(self, who: Principal, team: str) -> Database:
        """The team as the server itself, for an administrator of the team or of its organization.

        Raises:
            NotFound, NotPermitted: as `enter`.
        """
        try:
            self.enter(who, team, "admin")
        except (NotFound, NotPermitted):
            if not self.administers(who, organization_of(team)):
                raise
        return self.as_server(team)

    def administers(self, who: Principal, organization: str) -> bool:
        """Whether `who` is an administrator of an organization."""
        try:
            return may(self.enter(who, organization).role, "admin")
        except NotFound:
            return False

    def as_server(self, team: str) -> Database:
        """The team as the server itself. Only for whoever has checked who asks.

        Raises:
            NotFound: if there is no such team.
        """
        return self._open(team, SERVER)

    def _open(self, team: str, principal: str) -> Database:
        try:
            return Database(self.connections, team_tenant(team), principal=principal)
        except TenantUnseen as error:
            raise unknown_team(team) from error


def team_tenant(team: str) -> str:
    """The name of a team's tenant.

    Raises:
        InvalidInput: if it names no team.
    """
    if not TEAM.fullmatch(team):
        raise InvalidInput(f"{team[:90]!r} names no team.", hint="Expected `acme` or `acme/core`.")
    return f"team:{team}"


def unknown_team(team: str) -> NotFound:
    """The error for a team that is not there or not shown to who asks."""
    return NotFound(f"You are in no team {team!r}.", hint="`tacit team` lists yours.")


def note(transaction: Transaction, who: Principal, action: str, subject: str, *, now_ms: int) -> None:
    """Write down in the team of `transaction` that `who` did something. `subject` holds no words of memories."""
    values = {
        "now_ms": now_ms,
        "principal": who.account,
        "device": who.device,
        "action": action,
        "subject": subject,
    }
    transaction.execute(_AUDIT, values)
