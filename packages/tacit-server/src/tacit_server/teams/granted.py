"""Memberships that the groups of an OpenID Connect provider give. In: a principal, their roles by team. Out: changed memberships, and lines in the audit log.

Such a membership ends unless the person logs in with the provider again. A membership that an administrator gave by hand stays as it is, with one
exception: a person who is in an organization only through a group loses all of its teams when the group's membership ends.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from tacit.errors import NotFound
from tacit.model.shared import Role, organization_of
from tacit_server.logs import Principal
from tacit_server.postgres.transaction import Transaction
from tacit_server.teams.access import SERVER, note
from tacit_server.teams.members import Members

_LOG = logging.getLogger(__name__)
_SIGN_ON = Principal(account=SERVER, device="")
_GRANTED = "SELECT role, ends_at_ms FROM members WHERE tenant = %(tenant)s AND principal = %(principal)s"
_GIVE = """
    INSERT INTO members (tenant, principal, name, role, added_by, added_at_ms, ends_at_ms)
    VALUES (%(tenant)s, %(principal)s, %(name)s, %(role)s, %(by)s, %(now_ms)s, %(ends_at_ms)s)
    ON CONFLICT (tenant, principal) DO UPDATE SET role = EXCLUDED.role, name = EXCLUDED.name, ends_at_ms = EXCLUDED.ends_at_ms"""
_REMOVE = "DELETE FROM members WHERE tenant = %(tenant)s AND principal = %(principal)s"


class GrantedMemberships:
    """Gives and ends the memberships that follow from groups. Safe to share between threads and processes."""

    def __init__(self, members: Members) -> None:
        """Change memberships in the teams of `members`."""
        self._members = members

    def follow(
        self, principal: str, granted: Mapping[str, Role], *, name: str, ends_at_ms: int, now_ms: int
    ) -> None:
        """Give a person the roles in `granted` until `ends_at_ms`, and end the other memberships that their groups gave them before.

        A person with a role in a team becomes at least a reader of its organization. Teams that do not exist are skipped.

        Args:
            principal: the account of the person.
            granted: roles by team.
            name: the name that teammates see.
            ends_at_ms: when the memberships end, in milliseconds since the epoch.
            now_ms: the current time.
        """
        wanted: dict[str, Role] = dict(granted)
        for team in granted:
            wanted.setdefault(organization_of(team), "reader")
        for team in sorted(wanted):  # an organization comes before its teams
            self._give(principal, team, wanted[team], name=name, ends_at_ms=ends_at_ms, now_ms=now_ms)
        listed = self._members.listed(Principal(account=principal, device=""))
        for team in sorted(set(listed) - wanted.keys(), reverse=True):
            self._end(principal, team, now_ms=now_ms)

    def missing(self, teams: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of `teams` that do not exist."""
        return tuple(team for team in teams if not self._is_there(team))

    def _is_there(self, team: str) -> bool:
        try:
            self._members.access.as_server(team)
        except NotFound:
            return False
        return True

    def _give(
        self, principal: str, team: str, role: Role, *, name: str, ends_at_ms: int, now_ms: int
    ) -> None:
        if not self._is_there(team):
            _LOG.warning("a group gives a role in %s, which does not exist", team)
            return

        def give(transaction: Transaction) -> None:
            row = transaction.row(_GRANTED, {"principal": principal})
            if row is not None and not row[1]:
                return  # an administrator gave this membership by hand
            values: dict[str, Any] = {"principal": principal, "name": name, "role": role, "by": SERVER}
            transaction.execute(_GIVE, values | {"now_ms": now_ms, "ends_at_ms": ends_at_ms})
            if row is None or row[0] != role:
                note(transaction, _SIGN_ON, f"member {role} by single sign-on", principal, now_ms=now_ms)

        self._members.access.as_server(team).writing(give, alone=True)
        self._members.remember(principal, team)

    def _end(self, principal: str, team: str, *, now_ms: int) -> None:
        def end(transaction: Transaction, *, by_hand: bool) -> bool:
            row = transaction.row(_GRANTED, {"principal": principal})
            if row is not None and not row[1] and not by_hand:
                return False
            if row is not None:
                transaction.execute(_REMOVE, {"principal": principal})
                note(transaction, _SIGN_ON, "member removed by single sign-on", principal, now_ms=now_ms)
            return True

        def remove(where: str, *, by_hand: bool) -> None:
            if self._is_there(where):
                database = self._members.access.as_server(where)
                ended = database.writing(lambda t: end(t, by_hand=by_hand), alone=True)
                if not ended:
                    return
            self._members.drop(principal, where)

        if team == organization_of(team) and self._is_granted(principal, team):
            # End the memberships in teams first. After an interruption, the membership in the organization shows that this is not finished.
            for each in self._members.teams_of(team):
                remove(each, by_hand=True)
        remove(team, by_hand=False)

    def _is_granted(self, principal: str, team: str) -> bool:
        try:
            database = self._members.access.as_server(team)
        except NotFound:
            return False
        row = database.reading(lambda transaction: transaction.row(_GRANTED, {"principal": principal}))
        return row is not None and bool(row[1])
