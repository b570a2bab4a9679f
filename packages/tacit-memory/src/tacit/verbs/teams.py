"""Share memories with teams through a server."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.model.shared import Decision, Role, organization_of
from tacit.verbs.answers import (
    AddedMemberView,
    AuditView,
    KnownTeamsView,
    MembersView,
    OwnedView,
    SharedMemoryView,
    ShareRequestsView,
    ShareRequestView,
    TeamsView,
)
from tacit.verbs.cursors import part_of, rows_before, to_cursor
from tacit.verbs.requests import Folder, LongPage, NoBody, Page, Request

_TEAM_NAME = Field(min_length=1, max_length=90, description="`acme`, or `acme/core`")


_A_ROLE = Field(description="reader, writer, reviewer or admin")


class OfTeam(Request):
    """A request about a team on the server."""

    team: str = _TEAM_NAME


class OneMember(OfTeam):
    """A request about a member of a team."""

    principal: str = Field(
        min_length=1, max_length=90, description="account of a person, or a service account"
    )


class NewMember(OneMember):
    """A request to add a person to a team, or to change their role or name."""

    role: Role | None = Field(
        default=None, description="left out = a member keeps their role, and a new member becomes a writer"
    )
    name: str = Field(
        default="", max_length=40, description="name that teammates see; left out = it stays as it is"
    )


class Membership(OfTeam):
    """A request to join or leave a team."""

    joined: bool = Field(description="false: leave it")


class PutTeamProject(OfTeam):
    """A request to allow that memories of a project are shared with a team, or to end that. The project is named by its folder or its remote."""

    allowed: bool = Field(default=True, description="false: no longer")
    cwd: Folder = Field(default="", description="folder of the project")
    remote: str = Field(
        default="", max_length=300, description="its remote as `GET /v1/teams` names it, instead of a folder"
    )

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if bool(self.cwd) == bool(self.remote):
            raise ValueError("either cwd or remote")
        return self


class NewServiceAccount(OfTeam):
    """A request to create a service account, or to give it a new token."""

    name: str = Field(min_length=1, max_length=40, description="name of the account within the organization")
    role: Role = _A_ROLE
    days: int = Field(default=90, ge=1, le=366, description="days until its token expires")


class ListMembers(OfTeam, LongPage):
    """A request for a page of the members of a team."""


class ListAudit(OfTeam, Page):
    """A request for a page of a team's audit log."""


class ListRequests(LongPage):
    """A request for a page of share requests."""

    team: str = Field(default="", max_length=90, description="left out = all teams of the user")
    every: bool = Field(default=False, description="also list those that were decided")


class AskToShare(Request):
    """A request to ask a team to share a memory."""

    id: str = Field(min_length=1, max_length=64, description="id, or its beginning or ending")
    team: str = Field(
        default="",
        max_length=90,
        description="left out = the team of its project, or the only team that the user may share with",
    )


class DecideRequest(Request):
    """A request to accept, refuse or withdraw a share request."""

    id: str = Field(min_length=1, max_length=64, description="id of the request, or its beginning or ending")
    decision: Decision = Field(description="accept, refuse or withdraw")
    content: str = Field(default="", max_length=2000, description="other words to share instead")
    replaces: tuple[str, ...] = Field(
        default=(), max_length=20, description="ids of shared memories that it replaces"
    )
    comment: str = Field(default="", max_length=500, description="reason, for its author")


class UnshareMemory(Request):
    """A request that teams stop sharing a memory."""

    id: str = Field(min_length=1, max_length=64, description="id, or its beginning or ending")
    purge: bool = Field(
        default=False, description="remove it with its history from the server and every device"
    )


def list_teams(engine: Engine, caller: Caller, request: NoBody) -> TeamsView:
    """List the teams of the user on the server.

    Each team has the user's role; an organization also lists its projects, whose memories may be shared.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    return TeamsView(teams=engine.shared_teams.teams())


def list_known_teams(engine: Engine, caller: Caller, request: NoBody) -> KnownTeamsView:
    """List the teams that the user joined, with the number of their memories in this home. Does not ask the server.

    It answers from this home and works without a connection.
    """
    return KnownTeamsView(teams=engine.shared_teams.known())


def add_team(engine: Engine, caller: Caller, request: OfTeam) -> TeamsView:
    """Make a team in an organization. Administrators of the organization can do this.

    The name has the form `organization/team`.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: the server has no such organization for the user.
        Conflict: the team exists already.
    """
    engine.shared_teams.asking(lambda server: server.add_team(request.team))
    return TeamsView(teams=engine.shared_teams.teams())


def put_membership(engine: Engine, caller: Caller, request: Membership) -> TeamsView:
    """Join an organization: all devices of the user receive what it and its teams share with them. Or leave a team, or an organization with all its teams.

    To join, the user must have been added before; see `POST /v1/teams/members`. When they leave, memories from
    there end on all their devices; what they made their own stays.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotFound: the server has no such team for the user.
        Conflict: the last administrator cannot leave.
    """
    shared = engine.shared_teams
    if request.joined:
        shared.asking(lambda server: server.join(request.team))
    else:
        account = engine.sync.status().account
        shared.asking(lambda server: server.remove_member(request.team, account))
    engine.sync.run()
    return TeamsView(teams=shared.teams())


def list_members(engine: Engine, caller: Caller, request: ListMembers) -> MembersView:
    """List the members of a team.

    Each member has a name, a role, and whether they have joined.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotFound: the server has no such team for the user.
    """
    found = engine.shared_teams.asking(lambda server: server.members(request.team))
    rows, following = part_of(lambda _: found, request, lambda member: member.principal)
    return MembersView(members=rows, next_cursor=following)


def put_member(engine: Engine, caller: Caller, request: NewMember) -> AddedMemberView:
    """Add a person to a team, or change their role or name. Administrators can do this.

    A new member becomes a writer unless `role` says otherwise.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: the server has no such team for the user.
    """
    added = engine.shared_teams.asking(
        lambda server: server.put_member(
            request.team, request.principal, role=request.role or "", name=request.name
        )
    )
    return AddedMemberView(added=added)


def remove_member(engine: Engine, caller: Caller, request: OneMember) -> MembersView:
    """Remove a member from a team, or from an organization with all of its teams. Administrators can do this.

    Their devices end the shared memories at the next sync.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: the server has no such team or member.
        Conflict: the last administrator cannot be removed.
    """
    engine.shared_teams.asking(lambda server: server.remove_member(request.team, request.principal))
    found = engine.shared_teams.asking(lambda server: server.members(request.team))
    return MembersView(members=found)


def put_team_project(engine: Engine, caller: Caller, request: PutTeamProject) -> TeamsView:
    """Allow the memories of a project to be shared with a team, or no longer. Administrators can do this.

    The project is known by its git remote, so that it is the same in every clone. Memories that are shared
    already stay shared.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: the server has no such team for the user, or no team of the organization has the project.
        Conflict: another team of the organization has the project.
    """
    shared = engine.shared_teams
    remote = request.remote or shared.remote_of(request.cwd)
    if request.allowed:
        shared.asking(lambda server: server.put_project(request.team, remote))
    else:
        organization = organization_of(request.team)
        shared.asking(lambda server: server.remove_project(organization, remote))
    return TeamsView(teams=shared.teams())


def put_service_account(
    engine: Engine,
    caller: Caller,
    request: NewServiceAccount,
) -> AddedMemberView:
    """Make a service account in an organization, or give it a new token, which is shown only once. Administrators can do this.

    A service account lets a program, such as CI, search what the team shares. Its token is in the answer and
    cannot be shown again.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: the server has no such team for the user.
    """
    added = engine.shared_teams.asking(
        lambda server: server.put_service(request.team, request.name, role=request.role, days=request.days)
    )
    return AddedMemberView(added=added)


def get_owned(engine: Engine, caller: Caller, request: NoBody) -> OwnedView:
    """Get everything that the server holds about the user in their teams: memberships, shared memories, requests.

    It serves requests for one's own data.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    return OwnedView(owned=engine.shared_teams.asking(lambda server: server.owned()))


def list_audit(engine: Engine, caller: Caller, request: ListAudit) -> AuditView:
    """List the audit log of a team, newest first. Administrators can see it.

    Each entry has a number that counts up; send the smallest as `before` for older ones.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: the server has no such team for the user.
    """
    before = rows_before(request.cursor) if request.cursor else None
    entries = engine.shared_teams.asking(
        lambda server: server.audit(request.team, limit=request.limit, before=before)
    )
    following = to_cursor((entries[-1].number, "")) if len(entries) == request.limit else None
    return AuditView(entries=entries, next_cursor=following)


def list_share_requests(
    engine: Engine,
    caller: Caller,
    request: ListRequests,
) -> ShareRequestsView:
    """List the waiting requests to share: the user's own, and those that they may decide.

    With `every` those that were decided are listed, too.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotFound: the server has no such team for the user.
    """
    found = engine.shared_teams.requests(request.team, every=request.every)
    rows, following = part_of(lambda _: found, request, lambda one: one.id)
    return ShareRequestsView(requests=rows, next_cursor=following)


def request_sharing(engine: Engine, caller: Caller, request: AskToShare) -> ShareRequestView:
    """Ask a team to share a memory. Teammates get it when a reviewer has accepted it.

    The words, kind and trigger of the memory are sent to the server. A request that waits already is not made
    again.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: no memory has this id.
        RefusedByTrust: the memory is restricted, or belongs to one session.
        RefusedByRedaction: the memory holds a secret.
    """
    made = engine.shared_teams.ask(engine.show(request.id), team=request.team)
    return ShareRequestView(request=made)


def decide_share_request(
    engine: Engine,
    caller: Caller,
    request: DecideRequest,
) -> ShareRequestView:
    """Accept a request to share, optionally with other words or as a replacement of shared memories; or refuse or withdraw it.

    Reviewers accept or refuse; the author withdraws.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: no request has this id.
        Conflict: it was decided already.
    """
    decided = engine.shared_teams.decide(
        request.id,
        request.decision,
        content=request.content,
        replaces=request.replaces,
        comment=request.comment,
    )
    return ShareRequestView(request=decided)


def unshare_memory(
    engine: Engine,
    caller: Caller,
    request: UnshareMemory,
) -> SharedMemoryView:
    """Stop sharing a memory with teams. Each device ends it at its next sync.

    With `purge` it is removed with its history from the server and every device.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: no memory has this id, or no team shares it.
    """
    ended = engine.shared_teams.unshare(engine.show(request.id), purge=request.purge)
    engine.sync.run()
    return SharedMemoryView(memory=ended)
