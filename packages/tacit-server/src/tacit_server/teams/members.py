"""Organizations, their teams, members, projects and service accounts, in PostgreSQL. In: requests of principals. Out: views of them.

The members, share requests, audit log and memories of a team lie in the tenant of the team. The tenant of an organization also holds its projects and
service accounts. The tenant of each account lists the teams of the person, so that no request has to look through all teams. That list is only a hint:
the tenant of the team decides who is a member.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

from tacit.errors import InvalidInput, NotFound, NotLoggedIn, NotPermitted
from tacit.model.shared import (
    MAX_REMOTE,
    AddedMember,
    AuditEntry,
    MemberView,
    TeamMembership,
    TeamProject,
    organization_of,
)
from tacit_server.logs import (
    ACCOUNT,
    INVITE_MS,
    Logs,
    Principal,
    check_account_name,
    hash_of,
    new_code,
    not_logged_in,
    removed_account,
    wrong_code,
)
from tacit_server.postgres.connection import Connections, TenantDatabase
from tacit_server.postgres.transaction import Transaction
from tacit_server.postgres_logs import account_tenant
from tacit_server.teams.access import (
    OTHER_DECIDERS,
    ROLE,
    SERVER,
    SERVICE,
    Access,
    decides,
    note,
    team_tenant,
)
from tacit_server.teams.checks import check_name, check_person, check_service_role, checked_role

MOST_DAYS = 366
"""A token of a service account is valid for at most this many days."""
DAY_MS = 86_400_000

_MEMBERS = """
    SELECT principal, name, role, added_by, added_at_ms, joined_at_ms, CASE WHEN service OR token = '' THEN greatest(until_ms, ends_at_ms) ELSE 0 END FROM members
    WHERE tenant = %(tenant)s AND principal <> %(server)s ORDER BY name, principal"""
_MEMBER = """
    SELECT principal, name, role, added_by, added_at_ms, joined_at_ms, CASE WHEN service OR token = '' THEN greatest(until_ms, ends_at_ms) ELSE 0 END FROM members
    WHERE tenant = %(tenant)s AND principal = %(principal)s"""
_PUT_MEMBER = """
    INSERT INTO members (tenant, principal, name, role, service, added_by, added_at_ms)
    VALUES (%(tenant)s, %(principal)s, %(name)s, %(role)s, %(service)s, %(by)s, %(now_ms)s)
    ON CONFLICT (tenant, principal) DO UPDATE SET role = EXCLUDED.role, name = EXCLUDED.name,
        ends_at_ms = CASE WHEN members.principal = %(by)s THEN members.ends_at_ms ELSE 0 END"""
_ASK = """
    UPDATE members SET token = %(token)s, until_ms = %(until_ms)s, ends_at_ms = 1
    WHERE tenant = %(tenant)s AND principal = %(principal)s"""
"""Sets a new code for a member who is asked to join. `ends_at_ms = 1`: the membership counts as ended until they join with the code."""
_ASKED = """
    SELECT role FROM members
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND NOT service AND token <> '' AND ends_at_ms = 1"""
_ACCEPT = """
    UPDATE members SET token = '', until_ms = 0, ends_at_ms = 0
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND NOT service AND ends_at_ms = 1
    AND token = %(token)s AND until_ms >= %(now_ms)s RETURNING principal"""
_GIVE = """
    UPDATE members SET token = %(token)s, until_ms = %(until_ms)s WHERE tenant = %(tenant)s AND principal = %(principal)s"""
_REMOVE_MEMBER = "DELETE FROM members WHERE tenant = %(tenant)s AND principal = %(principal)s"
_OTHER_ADMINS = """
    SELECT count(*) FROM members
    WHERE tenant = %(tenant)s AND role = 'admin' AND NOT service AND ends_at_ms = 0
    AND principal NOT IN (%(principal)s, %(server)s)"""
_JOIN = """
    UPDATE members SET joined_at_ms = %(now_ms)s
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND joined_at_ms IS NULL"""
_SERVICE = """
    SELECT principal FROM members
    WHERE tenant = %(tenant)s AND service AND token = %(token)s AND token <> '' AND until_ms > %(now_ms)s"""
_ADD_MEMBERSHIP = """
    INSERT INTO memberships (tenant, principal, team) VALUES (%(tenant)s, %(principal)s, %(team)s) ON CONFLICT DO NOTHING"""
_DROP_MEMBERSHIP = """
    DELETE FROM memberships WHERE tenant = %(tenant)s AND principal = %(principal)s AND team = %(team)s"""
_MEMBERSHIPS = """
    SELECT team FROM memberships WHERE tenant = %(tenant)s AND principal = %(principal)s ORDER BY team"""
_PROJECTS = "SELECT remote, team FROM team_projects WHERE tenant = %(tenant)s ORDER BY remote"
_PROJECT = "SELECT team FROM team_projects WHERE tenant = %(tenant)s AND remote = %(remote)s"
_PUT_PROJECT = """
    INSERT INTO team_projects (tenant, remote, team) VALUES (%(tenant)s, %(remote)s, %(team)s)
    ON CONFLICT (tenant, remote) DO UPDATE SET team = EXCLUDED.team"""
_REMOVE_PROJECT = "DELETE FROM team_projects WHERE tenant = %(tenant)s AND remote = %(remote)s"
_CHANGE = "SELECT change FROM tenants WHERE tenant = %(tenant)s"
_WAITING = f"""
    SELECT count(*) FROM share_requests
    WHERE tenant = %(tenant)s AND state = 'waiting' AND (author <> %(principal)s OR ({OTHER_DECIDERS}) = 0)"""
_OPERATOR = Principal(account=SERVER, device="")
_AUDITED = """
    SELECT number, at_ms, principal, device, action, subject FROM audit
    WHERE tenant = %(tenant)s AND number < %(before)s ORDER BY number DESC LIMIT %(limit)s"""


class Members:
    """Stores who is a member of which team. Safe to share between threads and processes."""

    def __init__(self, connections: Connections, logs: Logs, *, now_ms: Callable[[], int]) -> None:
        """Store members in the database of `connections`. The people are the accounts of `logs`; `now_ms` returns the current time."""
        self._connections = connections
        self._logs = logs
        self._now_ms = now_ms
        self.access = Access(connections, now_ms=now_ms)

    # --- organizations and teams

    def add_organization(self, organization: str, *, admin: str, name: str, now_ms: int) -> str:
        """Create an organization with its first administrator. Return the code of an invitation if the server has no such account yet, else "".

        Args:
            organization: the name of the organization.
            admin: the account of the administrator.
            name: the name of the administrator that teammates see.
            now_ms: the current time.

        Raises:
            InvalidInput: the organization exists already, or a name has the wrong form.
        """
        check_account_name(organization, what="an organization")
        check_person(admin, name)
        self._refuse_removed(admin)
        if self._logs.has_account(admin):
            self._refuse_second(admin)
        self._add_team(organization, {admin: name}, now_ms=now_ms)
        return self._welcome(admin, organization, now_ms=now_ms)

    def add_team(self, who: Principal, team: str, *, now_ms: int) -> None:
        """Create a team of an organization. `who`, an administrator of the organization, becomes its first member.

        Raises:
            InvalidInput: the team exists already, or the name has the wrong form.
            NotFound, NotPermitted: see `Access.enter`.
        """
        team_tenant(team)
        organization = organization_of(team)
        if team == organization:
            raise InvalidInput(
                f"{team!r} names an organization.",
                hint="Name a team of an organization, such as `acme/core`.",
            )
        entered = self.access.enter(who, organization, "admin")
        self._add_team(team, {who.account: entered.name}, now_ms=now_ms)
        self.remember(who.account, team)
        self._note(team, who, "team added", team, now_ms=now_ms)

    def _add_team(self, team: str, admins: dict[str, str], *, now_ms: int) -> None:
        organization = organization_of(team)
        if team != organization:  # change the list first: a team in no list would never be found again
            values = {"principal": SERVER, "team": team}
            self.access.as_server(organization).writing(
                lambda transaction: transaction.execute(_ADD_MEMBERSHIP, values), alone=False
            )
        added = self._connections.add_team(
            team_tenant(team),
            organization=organization,
            admins={SERVER: "the server", **admins},
            now_ms=now_ms,
        )
        if not added and not any(self._is_unfinished(team, admin) for admin in admins):
            raise InvalidInput(f"There is a team {team!r} already.", hint="Choose another name.")

    def _is_unfinished(self, team: str, admin: str) -> bool:
        """Return whether `admin` created the team in an earlier call that was interrupted before the team was in their list. Then they may finish it."""
        member = self._find(self.access.as_server(team), admin)
        if member is None or member.role != "admin":
            return False
        who = Principal(account=admin, device="")
        return not self._logs.has_account(admin) or team not in self.listed(who)

    def remove_organization(self, organization: str) -> int:
        """Remove all members of an organization and of its teams. Return the number of teams, the organization included.

        Raises:
            NotFound: there is no such organization.
        """
        teams = (*self.teams_of(organization), organization)
        for team in teams:
            try:
                members = self._members(self.access.as_server(team))
            except NotFound:
                continue
            for member in members:
                self._forget(member.principal, team)
        return len(teams)

    def remove_person(self, account: str) -> int:
        """Remove a person from all of their teams, and return the number of teams.

        Call it before the account is removed.

        Raises:
            InvalidInput: the person is the last administrator of an organization; then nothing is changed.
        """
        if not self._logs.has_account(account):
            return 0
        teams = self.listed(Principal(account=account, device=""))
        further = [team for team in teams if team != organization_of(team)]
        organizations = [team for team in teams if team == organization_of(team)]
        for organization in organizations:
            database = self.access.as_server(organization)
            database.reading(lambda t, organization=organization: _keep_an_admin(t, organization, account))
        for team in (*further, *organizations):
            self._forget(account, team)
        return len(teams)

    # --- memberships

    def teams(self, who: Principal) -> tuple[TeamMembership, ...]:
        """Return the teams of a principal, sorted by name. When a device of a member asks for the first time, note that they have joined."""
        found: list[TeamMembership] = []
        for team in self.listed(who):
            try:
                database = self.access.enter(who, team).database
            except NotFound:
                continue  # the list is only a hint
            membership, joined = database.reading(
                lambda t, team=team: _membership(t, who.account, team, now_ms=self._now_ms())
            )
            if not joined:
                self._note_joined(who, team)
            found.append(membership)
        return tuple(found)

    def listed(self, who: Principal) -> tuple[str, ...]:
        """Return the names of the teams in the list of a principal, sorted. The list may name teams that they are not in."""
        values = {"principal": who.account}
        database = self._list_of(who.account)
        rows = database.reading(lambda transaction: transaction.rows(_MEMBERSHIPS, values))
        return tuple(str(row[0]) for row in rows)

    def accept(self, who: Principal, code: str, *, now_ms: int) -> None:
        """Make a person, whose account is older than the invitation, a member of the organization that invited them.

        Raises:
            InvalidInput: the person is in an organization already.
            NotLoggedIn: the code is not theirs, was used, or has expired.
        """
        given = {"principal": who.account, "token": hash_of(code), "now_ms": now_ms}
        organizations = [each for each in self.listed(who) if each == organization_of(each)]
        self._refuse_second(who.account)
        for organization in organizations:
            database = self.access.as_server(organization)
            if database.writing(lambda transaction: transaction.row(_ACCEPT, given), alone=True):
                return
        raise wrong_code()

    def _note_joined(self, who: Principal, team: str) -> None:
        def agree(transaction: Transaction) -> None:
            values = {"principal": who.account, "now_ms": self._now_ms()}
            if transaction.execute(_JOIN, values).rowcount:
                note(transaction, who, "joined", team, now_ms=self._now_ms())

        self.access.as_server(team).writing(agree, alone=False)

    def note_recovery(self, account: str, *, now_ms: int) -> None:
        """Write down in the audit log of a person's organization that the operator lets them begin with a new recovery phrase."""
        if self._logs.has_account(account):
            for team in self.listed(Principal(account=account, device="")):
                self._note(team, _OPERATOR, "new phrase by the operator", account, now_ms=now_ms)

    def appoint(self, organization: str, account: str, *, name: str, now_ms: int) -> str:
        """Make an account an administrator on behalf of the operator, and write it down in the audit log. Return an invitation as `put_member` does.

        Raises:
            NotFound: there is no such organization.
        """
        return self.put_member(_OPERATOR, organization, account, name=name, role="admin", now_ms=now_ms).code

    def members(self, who: Principal, team: str) -> tuple[MemberView, ...]:
        """Return the members of a team, sorted by name."""
        return self._members(self.access.enter(who, team).database)

    def put_member(
        self, who: Principal, team: str, principal: str, *, name: str, role: str, now_ms: int
    ) -> AddedMember:
        """Add a person to a team, or change their role or name.

        A person who is not in the organization yet also becomes a reader of it. Only an administrator of the organization may do that.

        The name of an account says nothing about who has it. So who is new to the organization begins with a code that the administrator gives to the person:
        with it a new account logs in, and an account that was there already accepts. Which of the two it is, the answer does not tell. If the person did not
        come yet, each further call of an administrator of the organization makes another code, and the one before ends.

        Args:
            who: the principal that asks.
            team: a team or an organization.
            principal: an account, or a service account that `put_service` created.
            name: the name that teammates see; "" = the name that the organization knows, else the account.
            role: the role in the team; "" = a member keeps their role, and a new member becomes a writer.
            now_ms: the current time.

        Raises:
            InvalidInput: there is no such role, the name has the wrong form, or the last administrator would lose their role.
            NotFound, NotPermitted: see `Access.manage`.
        """
        database = self.access.manage(who, team)
        member = self._find(database, principal)
        checked = checked_role(role or (member.role if member else "writer"))
        organization = organization_of(team)
        known = self._find(self.access.as_server(organization), principal)
        name = " ".join(name.split()) or (known.name if known else principal)
        if known is not None and SERVICE.fullmatch(principal):
            check_name(name)
            check_service_role(checked)
        else:
            check_person(principal, name)
            self._refuse_removed(principal)
        code = ""
        if team != organization and (known is None or not known.joined):
            if self.access.administers(who, organization):
                place = known.role if known else "reader"
                code = self.put_member(
                    who, organization, principal, name=name, role=place, now_ms=now_ms
                ).code
            elif known is None:
                raise NotPermitted(
                    f"{principal} is not in {organization} yet.",
                    hint=f"An administrator of {organization} can add them.",
                )
        is_stranger = known is None and team == organization and self._logs.has_account(principal)

        def put(transaction: Transaction) -> tuple[MemberView, str]:
            if checked != "admin":
                _keep_an_admin(transaction, team, principal)
            values: dict[str, Any] = {"principal": principal, "name": name, "role": checked}
            values |= {"service": bool(SERVICE.fullmatch(principal)), "by": who.account, "now_ms": now_ms}
            is_asked = is_stranger or transaction.row(_ASKED, values) is not None
            transaction.execute(_PUT_MEMBER, values)
            invitation = new_code(principal) if is_asked else ""
            if is_asked:
                values |= {"token": hash_of(invitation), "until_ms": now_ms + INVITE_MS}
                transaction.execute(_ASK, values)
            by = " by the operator" if who == _OPERATOR else ""
            note(transaction, who, f"member {checked}{by}", principal, now_ms=now_ms)
            return _member(transaction.row(_MEMBER, {"principal": principal})), invitation

        member, invitation = database.writing(put, alone=True)
        if team != organization and self._find(self.access.as_server(organization), principal) is None:
            self._forget(principal, team)  # somebody removed them from the organization in the meantime
            raise NotFound(f"{principal} was removed from {organization}.", hint="Add them there first.")
        # Both are repeated, because an earlier call may have been interrupted.
        # An account that the operator or the provider let in, only they let in again.
        again = (
            team == organization
            and known is not None
            and not known.joined
            and (who == _OPERATOR or known.added_by != SERVER)
        )
        code = code or invitation or self._welcome(principal, organization, again=again, now_ms=now_ms)
        self.remember(principal, team)
        return AddedMember(member=member, code=code)

    def remove_member(self, who: Principal, team: str, principal: str, *, now_ms: int) -> None:
        """Remove a member from a team. A member who is removed from an organization is removed from all of its teams. Members may remove themselves.

        Raises:
            NotFound: `principal` is not a member.
            NotPermitted: `who` may not manage the team.
            InvalidInput: `principal` is the last administrator of an organization.
        """
        if principal == who.account:
            self.access.enter(who, team)
            database = self.access.as_server(team)
        else:
            database = self.access.manage(who, team)

        def check(transaction: Transaction) -> None:
            if transaction.row(_MEMBER, {"principal": principal}) is None or principal == SERVER:
                raise NotFound(
                    f"{principal} is not in {team}.", hint=f"`tacit team members {team}` lists the members."
                )
            _keep_an_admin(transaction, team, principal)

        def remove(transaction: Transaction) -> None:
            check(transaction)
            transaction.execute(_REMOVE_MEMBER, {"principal": principal})
            note(transaction, who, "member removed", principal, now_ms=now_ms)

        try:
            database.reading(check)
        except NotFound:
            if ACCOUNT.fullmatch(principal):
                self.drop(principal, team)  # an earlier call may have been interrupted
            raise
        # Remove the member from the teams first. After an interruption, the member is still in the organization, and the call can be repeated.
        self._forget_in_teams(principal, team)
        database.writing(remove, alone=True)
        self._forget_in_teams(principal, team)  # somebody may have added them to a team in the meantime
        self.drop(principal, team)

    # --- projects

    def put_project(self, who: Principal, team: str, remote: str, *, now_ms: int) -> TeamProject:
        """Assign a project to a team, so that its memories can be shared with the team.

        Only an administrator of the organization may take a project from another team.

        Raises:
            InvalidInput: `remote` is not the canonical name of a repository.
            NotFound, NotPermitted: see `Access.manage`.
        """
        self.access.manage(who, team)
        if not 3 <= len(remote) <= MAX_REMOTE or not remote.isprintable() or " " in remote:
            raise InvalidInput(
                f"{remote[:60]!r} is not the name of a repository.",
                hint="A project needs a git remote; `tacit team members --project` reads it.",
            )
        organization = organization_of(team)
        database = self.access.as_server(organization)
        owner = database.reading(lambda transaction: transaction.row(_PROJECT, {"remote": remote}))
        if owner is not None and owner[0] != team:
            self.access.enter(who, organization, "admin")

        def put(transaction: Transaction) -> None:
            transaction.execute(_PUT_PROJECT, {"remote": remote, "team": team})
            note(transaction, who, f"project of {team}", remote, now_ms=now_ms)

        database.writing(put, alone=True)
        return TeamProject(remote=remote, team=team)

    def remove_project(self, who: Principal, organization: str, remote: str, *, now_ms: int) -> None:
        """Remove a project from an organization. Memories that were shared stay shared until somebody unshares them.

        Raises:
            NotFound: the organization has no such project.
            NotPermitted: see `Access.manage`.
        """
        database = self.access.manage(who, organization)

        def remove(transaction: Transaction) -> None:
            if not transaction.execute(_REMOVE_PROJECT, {"remote": remote}).rowcount:
                raise NotFound(f"{organization} has no project {remote[:80]!r}.")
            note(transaction, who, "project removed", remote, now_ms=now_ms)

        database.writing(remove, alone=True)

    def projects(self, organization: str) -> tuple[TeamProject, ...]:
        """Return the projects of an organization. The caller must have checked the rights of the principal."""
        rows = self.access.as_server(organization).reading(lambda transaction: transaction.rows(_PROJECTS))
        return _projects(rows)

    def team_of(self, organization: str, remote: str) -> str:
        """Return the team that a project belongs to; "" = the organization has no such project."""
        database = self.access.as_server(organization)
        row = database.reading(lambda transaction: transaction.row(_PROJECT, {"remote": remote}))
        return str(row[0]) if row is not None else ""

    # --- service accounts

    def put_service(
        self, who: Principal, organization: str, name: str, *, role: str, days: int, now_ms: int
    ) -> AddedMember:
        """Create a service account of an organization, or give it a new token. The token before ends at once.

        Raises:
            InvalidInput: the name or the role is not allowed, or `days` is not from 1 to `MOST_DAYS`.
            NotFound, NotPermitted: see `Access.manage`.
        """
        database = self.access.manage(who, organization)
        principal = f"{organization}/{name}"
        check_account_name(organization, what="an organization")
        check_account_name(name, what="a service account")
        checked = checked_role(role)
        check_service_role(checked)
        if not 1 <= days <= MOST_DAYS:
            raise InvalidInput(f"A token is valid for 1 to {MOST_DAYS} days, not {days}.")
        token = f"{principal}.{secrets.token_urlsafe(32)}"

        def put(transaction: Transaction) -> MemberView:
            values: dict[str, Any] = {"principal": principal, "name": name, "role": checked}
            values |= {"service": True, "by": who.account, "now_ms": now_ms}
            transaction.execute(_PUT_MEMBER, values)
            until_ms = now_ms + days * DAY_MS
            transaction.execute(
                _GIVE, {"principal": principal, "token": hash_of(token), "until_ms": until_ms}
            )
            transaction.execute(_JOIN, {"principal": principal, "now_ms": now_ms})
            note(transaction, who, f"service account {checked}", principal, now_ms=now_ms)
            return _member(transaction.row(_MEMBER, {"principal": principal}))

        member = database.writing(put, alone=True)
        self.remember(principal, organization)
        return AddedMember(member=member, token=token)

    def service(self, token: str, *, now_ms: int) -> Principal:
        """Return the service account that `token` belongs to.

        Raises:
            NotLoggedIn: there is none, or the token has expired.
        """
        principal = token.rpartition(".")[0]
        if not SERVICE.fullmatch(principal):
            raise not_logged_in()
        try:
            database = self.access.as_server(organization_of(principal))
        except NotFound as error:
            raise not_logged_in() from error
        values = {"token": hash_of(token), "now_ms": now_ms}
        row = database.reading(lambda transaction: transaction.row(_SERVICE, values))
        if row is None or row[0] != principal:
            raise NotLoggedIn(
                "The server does not know this service account, or its token has ended.",
                hint=f"`tacit team members {organization_of(principal)} --service-account NAME` makes another one.",
            )
        return Principal(account=principal, device="")

    # --- audit

    def audit(self, who: Principal, team: str, *, before: int, limit: int) -> tuple[AuditEntry, ...]:
        """Return up to `limit` entries of the audit log with a number below `before`, newest first. `who` must be an administrator."""
        database = self.access.manage(who, team)
        rows = database.reading(
            lambda transaction: transaction.rows(_AUDITED, {"before": before, "limit": limit})
        )
        return tuple(
            AuditEntry(number=row[0], at_ms=row[1], principal=row[2], device=row[3], action=row[4], subject=row[5])
            for row in rows
        )  # fmt: skip

    def changes(self, team: str) -> int:
        """Return a number that rises with every change in a team. The caller must have checked the rights of the principal."""
        return self.access.as_server(team).reading(lambda transaction: transaction.number(_CHANGE))

    # --- helpers

    def _members(self, database: TenantDatabase) -> tuple[MemberView, ...]:
        rows = database.reading(lambda transaction: transaction.rows(_MEMBERS, {"server": SERVER}))
        return tuple(map(_member, rows))

    def _find(self, database: TenantDatabase, principal: str) -> MemberView | None:
        row = database.reading(lambda transaction: transaction.row(_MEMBER, {"principal": principal}))
        return _member(row) if row is not None else None

    def _forget(self, principal: str, team: str) -> None:
        """Remove a member without a check of rights. Does nothing if there is no such team."""
        try:
            database = self.access.as_server(team)
        except NotFound:
            return
        values = {"principal": principal}
        database.writing(lambda transaction: transaction.execute(_REMOVE_MEMBER, values), alone=True)
        self.drop(principal, team)

    def _forget_in_teams(self, principal: str, organization: str) -> None:
        """Remove a member from all teams of an organization. Does nothing if `organization` is only a team."""
        if organization == organization_of(organization):
            for team in self.teams_of(organization):
                self._forget(principal, team)

    def _note(self, team: str, who: Principal, action: str, subject: str, *, now_ms: int) -> None:
        self.access.as_server(team).writing(
            lambda transaction: note(transaction, who, action, subject, now_ms=now_ms),
            alone=False,
        )

    def teams_of(self, organization: str) -> tuple[str, ...]:
        """Return the teams of an organization, without the organization itself."""
        database = self.access.as_server(organization)
        rows = database.reading(lambda transaction: transaction.rows(_MEMBERSHIPS, {"principal": SERVER}))
        return tuple(str(row[0]) for row in rows)

    def _refuse_removed(self, account: str) -> None:
        if self._logs.was_removed(account):
            raise removed_account(account)

    def _refuse_second(self, account: str) -> None:
        """Refuse a person who is in an organization already.

        Raises:
            InvalidInput: they are.
        """
        values = {"principal": account, "now_ms": self._now_ms()}
        for organization in self.listed(Principal(account=account, device="")):
            if organization != organization_of(organization):
                continue
            if self.access.as_server(organization).reading(lambda t: t.row(ROLE, values)):
                raise InvalidInput(
                    f"{account} is in {organization} already, and a person is in one organization.",
                    hint=f"`tacit team leave {organization}` first, or use another account.",
                )

    def _welcome(self, principal: str, team: str, *, again: bool = False, now_ms: int) -> str:
        """Add a team to the list of a principal. Return the code of an invitation for a person who has no account yet, else "".

        `again` = also for an account with which no device has logged in yet.
        """
        code = ""
        is_new = again and self._logs.is_new(principal)
        if not SERVICE.fullmatch(principal) and (is_new or not self._logs.has_account(principal)):
            code = self._logs.add_account(principal, now_ms=now_ms)
        self.remember(principal, team)
        return code

    def _list_of(self, principal: str) -> TenantDatabase:
        """Open the tenant that holds the list of teams of a principal."""
        if SERVICE.fullmatch(principal):
            return self.access.as_server(organization_of(principal))
        return TenantDatabase(self._connections, account_tenant(principal))

    def remember(self, principal: str, team: str) -> None:
        """Add a team to the list of a principal. The caller must have checked that they are a member."""
        self._change_list(principal, team, _ADD_MEMBERSHIP)

    def drop(self, principal: str, team: str) -> None:
        """Remove a team from the list of a principal."""
        if not SERVICE.fullmatch(principal) and not self._logs.has_account(principal):
            return
        self._change_list(principal, team, _DROP_MEMBERSHIP)

    def _change_list(self, principal: str, team: str, statement: str) -> None:
        def change(transaction: Transaction) -> None:
            if transaction.execute(statement, {"principal": principal, "team": team}).rowcount:
                transaction.tell()

        self._list_of(principal).writing(change, alone=False)


def _membership(
    transaction: Transaction, principal: str, team: str, *, now_ms: int
) -> tuple[TeamMembership, bool]:
    """Return a membership, and whether the member has joined."""
    member = _member(transaction.row(_MEMBER, {"principal": principal}))
    own = team == organization_of(team)
    projects = transaction.rows(_PROJECTS) if own else []
    values = {"principal": principal, "server": SERVER, "now_ms": now_ms}
    membership = TeamMembership(
        team=team,
        role=member.role,
        name=member.name,
        change=transaction.number(_CHANGE),
        waiting=transaction.number(_WAITING, values) if decides(member.role, principal) else 0,
        projects=_projects(projects),
        until_ms=member.until_ms,
    )
    return membership, member.joined


def _projects(rows: Sequence[tuple[Any, ...]]) -> tuple[TeamProject, ...]:
    return tuple(TeamProject(remote=row[0], team=row[1]) for row in rows)


def _member(row: tuple[Any, ...] | None) -> MemberView:
    assert row is not None
    return MemberView(
        principal=row[0],
        name=row[1],
        role=row[2],
        added_by=row[3],
        added_at_ms=row[4],
        joined=row[5] is not None,
        until_ms=row[6],
    )


def _keep_an_admin(transaction: Transaction, team: str, principal: str) -> None:
    """Refuse to remove the last administrator of an organization, or to change their role.

    Raises:
        InvalidInput: `principal` is the last administrator of the organization `team`.
    """
    if team != organization_of(team):
        return
    row = transaction.row(_MEMBER, {"principal": principal})
    if row is None or row[2] != "admin":
        return
    if not transaction.number(_OTHER_ADMINS, {"principal": principal, "server": SERVER}):
        raise InvalidInput(
            f"{principal} is the last administrator of {team}.",
            hint=f"Make somebody else an administrator first. The operator of the server can, too: `tacit-server admin {team} ACCOUNT`.",
        )
