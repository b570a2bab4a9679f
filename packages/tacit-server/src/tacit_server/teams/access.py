"""Opening a team for a principal. In: a principal, the name of a team. Out: the team's database, or a refusal.

A team is a tenant. No transaction begins in it for somebody who is not a member (`TenantDatabase`), so a mistake in this code opens no team. A principal who is
not a member gets the same answer for a team that exists and for one that does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tacit.errors import InvalidInput, NotFound, NotPermitted
from tacit.model.shared import TEAM, Role, may, organization_of
from tacit_server.logs import ACCOUNT, Principal
from tacit_server.postgres.connection import SERVER, Connections, TenantDatabase, TenantUnseen
from tacit_server.postgres.transaction import Transaction

_PART = ACCOUNT.pattern
SERVICE = re.compile(rf"{_PART}/{_PART}")
"""The principal of a service account, such as `acme/ci`. The name of a person's account has no slash."""
OTHER_DECIDERS = """
    SELECT count(*) FROM members WHERE tenant = %(tenant)s AND role IN ('writer', 'admin') AND NOT service
    AND joined_at_ms IS NOT NULL AND (ends_at_ms = 0 OR ends_at_ms > %(now_ms)s)
    AND principal NOT IN (%(principal)s, %(server)s)"""
"""Counts the other members who may decide on requests and have come in. If there are none, a member may decide on their own requests."""

ROLE = """
    SELECT role, name FROM members
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND (ends_at_ms = 0 OR ends_at_ms > %(now_ms)s)"""
"""The role and the name of a principal whose membership has not ended."""
_ENDED = """
    SELECT principal FROM members
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND ends_at_ms > 0 AND ends_at_ms <= %(now_ms)s"""
_AUDIT = """
    INSERT INTO audit (tenant, at_ms, principal, device, action, subject)
    VALUES (%(tenant)s, %(now_ms)s, %(principal)s, %(device)s, %(action)s, %(subject)s)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """A team that was opened for a principal, with the role and the name of the principal in it."""

    team: str
    database: TenantDatabase
    role: str
    name: str


def decides(role: str, account: str) -> bool:
    """Return whether a member with `role` may decide on requests of others: people who may write, and no service account."""
    return may(role, "writer") and not SERVICE.fullmatch(account)


class Access:
    """Opens teams for principals. Safe to share between threads."""

    def __init__(self, connections: Connections, *, now_ms: Callable[[], int]) -> None:
        """Open the teams in the database of `connections`. `now_ms` returns the time that decides whether a membership has ended."""
        self.connections = connections
        self._now_ms = now_ms

    def enter(self, who: Principal, team: str, least: Role = "reader") -> Entered:
        """Open a team for `who`.

        Raises:
            NotFound: there is no such team, or `who` is not a member, or their membership has ended.
            NotPermitted: the role of `who` has fewer rights than the role `least`.
        """
        database = self._open(team, who.account)
        try:
            values = {"principal": who.account, "now_ms": self._now_ms()}
            row = database.reading(lambda transaction: transaction.row(ROLE, values))
        except TenantUnseen as error:
            raise unknown_team(team) from error
        if row is None or (team != organization_of(team) and self._has_left(who, organization_of(team))):
            raise unknown_team(team)
        role, name = str(row[0]), str(row[1])
        if not may(role, least):
            raise NotPermitted(
                f"This needs the role {least} in {team}; yours is {role}.",
                hint=f"An administrator of {team} can change your role.",
            )
        return Entered(team=team, database=database, role=role, name=name)

    def _has_left(self, who: Principal, organization: str) -> bool:
        """Return whether the membership of `who` in the organization has ended. Then the teams of the organization are closed to them as well."""
        values = {"principal": who.account, "now_ms": self._now_ms()}
        database = self.as_server(organization)
        return database.reading(lambda transaction: transaction.row(_ENDED, values)) is not None

    def manage(self, who: Principal, team: str) -> TenantDatabase:
        """Open a team as the server itself, on behalf of an administrator of the team or of its organization.

        Raises:
            NotFound, NotPermitted: as `enter` does for the role `admin`.
        """
        try:
            self.enter(who, team, "admin")
        except (NotFound, NotPermitted):
            if not self.administers(who, organization_of(team)):
                raise
        return self.as_server(team)

    def administers(self, who: Principal, organization: str) -> bool:
        """Return whether `who` is an administrator of the organization."""
        try:
            return may(self.enter(who, organization).role, "admin")
        except NotFound:
            return False

    def as_server(self, team: str) -> TenantDatabase:
        """Open a team as the server itself. The caller must have checked the rights of the principal.

        Raises:
            NotFound: there is no such team.
        """
        return self._open(team, SERVER)

    def _open(self, team: str, principal: str) -> TenantDatabase:
        try:
            return TenantDatabase(self.connections, team_tenant(team), principal=principal)
        except TenantUnseen as error:
            raise unknown_team(team) from error


def team_tenant(team: str) -> str:
    """Return the name of the tenant of a team.

    Raises:
        InvalidInput: `team` does not have the form of a team's name.
    """
    if not TEAM.fullmatch(team):
        raise InvalidInput(f"{team[:90]!r} does not name a team.", hint="Expected `acme` or `acme/core`.")
    return f"team:{team}"


def unknown_team(team: str) -> NotFound:
    """Return the error for a team that does not exist, or that the principal may not see."""
    return NotFound(f"You are in no team {team!r}.", hint="`tacit team` lists yours.")


def note(transaction: Transaction, who: Principal, action: str, subject: str, *, now_ms: int) -> None:
    """Add a line to the audit log of the team of `transaction`: `who` did `action` to `subject`, which holds no words of memories."""
    values = {
        "now_ms": now_ms,
        "principal": who.account,
        "device": who.device,
        "action": action,
        "subject": subject,
    }
    transaction.execute(_AUDIT, values)
