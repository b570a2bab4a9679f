"""The requests about teams that a device sends to the server. In: a connection. Out: values of `tacit.model.shared`."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.frozen import frozen
from tacit.model.memory import Memory
from tacit.model.shared import (
    AddedMember,
    AuditEntry,
    Decision,
    MemberView,
    Owned,
    SharedMemory,
    SharedStatement,
    ShareRequest,
    TeamChanges,
    TeamMembership,
    TeamProject,
)
from tacit.sync.connection import NoContent, ServerConnection
from tacit.sync.keys import AccountKey

PREFIX = "/team/v1"


@frozen
class _Teams:
    teams: tuple[TeamMembership, ...] | None


@frozen
class _Members:
    members: tuple[MemberView, ...]


@frozen
class _Requests:
    requests: tuple[ShareRequest, ...]


@frozen
class _Audit:
    entries: tuple[AuditEntry, ...]


class TeamServer:
    """The client of a server's requests about teams, on behalf of the logged-in principal; each method sends one request and blocks.

    Every method raises `SyncError` if the server cannot be reached. If the server refuses, the error is the one that it names, such as `NotPermitted`.
    """

    def __init__(
        self, connection: ServerConnection, *, account: str = "", key: AccountKey | None = None
    ) -> None:
        """Ask over `connection`, which its owner closes, as the person `account` whose devices have `key`; None = a service account."""
        self._connection = connection
        self._account = account
        self._key = key

    def mark(self, memory: Memory) -> str:
        """Return the mark of a request to share `memory` as it is now, see `AccountKey.mark`; "" without a key."""
        return self._key.mark(memory.id, memory.content_hash) if self._key else ""

    def is_mine(self, shared: SharedMemory) -> bool:
        """Return whether this account asked to share the memory."""
        return self._key is not None and shared.author == self._account

    def teams(self) -> tuple[TeamMembership, ...]:
        """Return the caller's teams; empty also if the server does not support teams."""
        return self.teams_if_any() or ()

    def teams_if_any(self) -> tuple[TeamMembership, ...] | None:
        """Return the caller's teams; None = this server does not support teams."""
        return self._connection.ask(_Teams, "GET", f"{PREFIX}/teams", unknown=_Teams(teams=None)).teams

    def add_team(self, team: str) -> None:
        """Create the team `team`, such as `acme/core`, in its organization."""
        self._do("/teams", {"team": team})

    def accept(self, code: str) -> None:
        """Accept the invitation of an organization: from now on the caller is a member and receives what it and their teams of it share."""
        self._do("/accept", {"code": code})

    def members(self, team: str) -> tuple[MemberView, ...]:
        """Return the members of a team."""
        return self._connection.ask(_Members, "GET", f"{PREFIX}/members", params={"team": team}).members

    def put_member(self, team: str, principal: str, *, role: str, name: str = "") -> AddedMember:
        """Add a person to a team, or change the role or name of a member; return the member.

        "" keeps what a member has, and makes somebody new a writer. Who did not come yet gets a login code with it; the code before ends.
        """
        body = {"team": team, "principal": principal, "role": role, "name": name}
        return self._connection.ask(AddedMember, "POST", f"{PREFIX}/members", body)

    def remove_member(self, team: str, principal: str) -> None:
        """Remove a member from a team; with the caller's own principal, leave it."""
        self._do("/members/remove", {"team": team, "principal": principal})

    def put_project(self, team: str, remote: str) -> TeamProject:
        """Allow the memories of a project to be shared with a team."""
        body = {"team": team, "remote": remote}
        return self._connection.ask(TeamProject, "POST", f"{PREFIX}/projects", body)

    def remove_project(self, organization: str, remote: str) -> None:
        """Stop allowing the memories of a project to be shared."""
        self._do("/projects/remove", {"team": organization, "remote": remote})

    def put_service(self, organization: str, name: str, *, role: str, days: int) -> AddedMember:
        """Create a service account, or give an existing one a new token, valid for `days`; return it with the token, which is shown only once."""
        body = {"organization": organization, "name": name, "role": role, "days": days}
        return self._connection.ask(AddedMember, "POST", f"{PREFIX}/service-accounts", body)

    def audit(self, team: str, *, limit: int, before: int | None = None) -> tuple[AuditEntry, ...]:
        """Return the newest `limit` entries of a team's audit log, newest first; with `before`, only entries with a smaller number."""
        params: dict[str, str | float] = {"team": team, "limit": limit}
        if before is not None:
            params["before"] = before
        return self._connection.ask(_Audit, "GET", f"{PREFIX}/audit", params=params).entries

    def requests(self, team: str, *, every: bool = False) -> tuple[ShareRequest, ...]:
        """Return the waiting requests to share; with `every` also the decided ones."""
        params: dict[str, str | float] = {"team": team, "every": "true" if every else ""}
        return self._connection.ask(_Requests, "GET", f"{PREFIX}/requests", params=params).requests

    def ask_to_share(self, team: str, statement: SharedStatement, *, mark: str = "") -> ShareRequest:
        """Ask a team to share a statement; return the request that waits for another member. `mark` begins its id."""
        body = {"team": team, "statement": statement, "mark": mark}
        return self._connection.ask(ShareRequest, "POST", f"{PREFIX}/requests", body)

    def decide(
        self,
        team: str,
        request_id: str,
        decision: Decision,
        *,
        content: str = "",
        replaces: Sequence[str] = (),
        comment: str = "",
    ) -> ShareRequest:
        """Accept, refuse or withdraw a request to share, and return it.

        On accepting, `content` = the wording to share, "" = as asked; `replaces` = ids of shared memories that it replaces. `comment` = why.
        """
        body = {
            "team": team,
            "id": request_id,
            "decision": decision,
            "content": content,
            "replaces": tuple(replaces),
            "comment": comment,
        }
        return self._connection.ask(ShareRequest, "POST", f"{PREFIX}/requests/decide", body)

    def unshare(self, team: str, memory_id: str, *, purge: bool = False) -> SharedMemory:
        """Stop sharing a memory and return it; with `purge`, remove it completely, also from all devices."""
        body = {"team": team, "id": memory_id, "purge": purge}
        return self._connection.ask(SharedMemory, "POST", f"{PREFIX}/unshare", body)

    def changes(self, team: str, *, after: str, limit: int) -> TeamChanges:
        """Return the next page of changes after a cursor; "" = from the beginning."""
        params: dict[str, str | float] = {"team": team, "after": after, "limit": limit}
        return self._connection.ask(TeamChanges, "GET", f"{PREFIX}/changes", params=params)

    def owned(self) -> Owned:
        """Return everything that the server holds about the caller in their teams, see `Owned`."""
        return self._connection.ask(Owned, "GET", f"{PREFIX}/mine")

    def _do(self, path: str, body: object) -> None:
        self._connection.ask(NoContent, "POST", f"{PREFIX}{path}", body)
