"""Teams: on a server their members, projects and requests to share; in a repository what its team shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.sharing.team import TeamFolder
from tacit.app.values import Caller
from tacit.capture.bootstrap.project_import import RuleFile
from tacit.model.shared import Decision, Role, organization_of
from tacit.verbs.answers import (
    AuditView,
    MemberPut,
    MembersView,
    ShareRequestsView,
    ShareRequestView,
    TeamsView,
    TeamView,
)
from tacit.verbs.requests import AtFolder, Folder, LongPage, Page, Request, part_of, rows_before, to_cursor

_TEAM_NAME = Field(min_length=1, max_length=90, description="`acme`, or `acme/core`")


class OfTeam(Request):
    """A request about a team on the server."""

    team: str = _TEAM_NAME


class ListTeams(Request):
    """A request for the teams of the user."""

    view: Literal["server", "home", "data"] = Field(
        default="server",
        description="`server` = as the server has them; `home` = as this home knows them, without asking the server;"
        " `data` = everything that the server holds about the user in them",
    )


class PutMember(OfTeam):
    """A request to add, change or remove a member of a team: a person, or a service account."""

    principal: str = Field(
        min_length=1,
        max_length=90,
        description="account of a person, or a service account; for a new one its name within the organization",
    )
    member: bool = Field(default=True, description="false: remove it")
    service: bool = Field(
        default=False, description="make a service account of this name, or give it a new token"
    )
    role: Role | None = Field(
        default=None,
        description="reader, writer or admin; left out = a member keeps their role, and a new member becomes a"
        " writer",
    )
    name: str = Field(
        default="", max_length=40, description="name that teammates see; left out = it stays as it is"
    )
    days: int = Field(
        default=90, ge=1, le=366, description="of a service account: days until its token expires"
    )

    @model_validator(mode="after")
    def _service_has_a_role(self) -> Self:
        if self.service and (self.role is None or self.name or not self.member):
            raise ValueError("role, and no name, for a service account")
        return self


class AllowedProject(Request):
    """A project of a team. It is named by its folder or its remote."""

    allowed: bool = Field(default=True, description="false: its memories may be shared no longer")
    cwd: Folder = Field(default="", description="folder of the project")
    remote: str = Field(
        default="", max_length=300, description="its remote as `GET /v1/teams` names it, instead of a folder"
    )

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if bool(self.cwd) == bool(self.remote):
            raise ValueError("either cwd or remote")
        return self


class ChangeTeam(OfTeam):
    """A request to leave a team, or to allow that memories of a project are shared with it."""

    left: bool = Field(default=False, description="true: leave it")
    project: AllowedProject | None = Field(
        default=None, description="a project whose memories may be shared, or no longer"
    )

    @model_validator(mode="after")
    def _says_one(self) -> Self:
        if self.left == (self.project is not None):
            raise ValueError("either left or project")
        return self


class ListMembers(OfTeam, LongPage):
    """A request for a page of the members of a team."""


class ListAudit(OfTeam, Page):
    """A request for a page of a team's audit log."""


class ListRequests(LongPage):
    """A request for a page of share requests."""

    team: str = Field(default="", max_length=90, description="left out = all teams of the user")
    every: bool = Field(default=False, description="also list those that were decided")


class DecideRequest(Request):
    """A request to accept, refuse or withdraw a share request."""

    id: str = Field(min_length=1, max_length=64, description="id of the request, or its beginning or ending")
    decision: Decision = Field(description="accept, refuse or withdraw")
    content: str = Field(default="", max_length=2000, description="other words to share instead")
    replaces: tuple[str, ...] = Field(
        default=(), max_length=20, description="ids of shared memories that it replaces"
    )
    comment: str = Field(default="", max_length=500, description="reason, for its author")


def list_teams(engine: Engine, caller: Caller, request: ListTeams) -> TeamsView:
    """List the teams of the user: as the server has them, as this home knows them, or with all data of the user.

    On the server each team has the user's role; an organization also lists its projects, whose memories may be
    shared. In this home each team has the number of its memories here, without a connection. `owned` has
    memberships, shared memories and requests; it serves requests for one's own data.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    shared = engine.shared_teams
    if request.view == "home":
        return TeamsView(known=shared.known())
    if request.view == "data":
        return TeamsView(owned=shared.asking(lambda server: server.owned()))
    return TeamsView(teams=shared.teams())


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


def change_team(engine: Engine, caller: Caller, request: ChangeTeam) -> TeamsView:
    """Leave a team, or allow the memories of a project to be shared with it.

    Members of an organization receive on all devices what it and their teams of it share. When they leave a team, or an organization with all
    its teams, memories from there end on all their devices; what they made their own stays. Administrators allow
    projects. A project is known by its git remote, so that it is the same in every clone. Memories that are shared
    already stay shared.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: the server has no such team for the user, or no team of the organization has the project.
        Conflict: the last administrator cannot leave; or another team of the organization has the project.
    """
    shared, project = engine.shared_teams, request.project
    if project is not None:
        remote = project.remote or shared.remote_of(project.cwd)
        if project.allowed:
            shared.asking(lambda server: server.put_project(request.team, remote))
        else:
            organization = organization_of(request.team)
            shared.asking(lambda server: server.remove_project(organization, remote))
        return TeamsView(teams=shared.teams())
    account = engine.sync.status().account
    shared.asking(lambda server: server.remove_member(request.team, account))
    engine.sync.run()
    return TeamsView(teams=shared.teams())


def list_members(engine: Engine, caller: Caller, request: ListMembers) -> MembersView:
    """List the members of a team.

    Each member has a name, a role, and whether a device of theirs has come in.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotFound: the server has no such team for the user.
    """
    found = engine.shared_teams.asking(lambda server: server.members(request.team))
    rows, following = part_of(lambda _: found, request, lambda member: member.principal)
    return MembersView(members=rows, next_cursor=following)


def put_member(engine: Engine, caller: Caller, request: PutMember) -> MemberPut:
    """Add a person or a service account to a team, change or remove them. Administrators can do this.

    A new member becomes a writer unless `role` says otherwise. Whoever is removed from an organization leaves all
    of its teams, and their devices end the shared memories at the next sync. A service account lets a program,
    such as CI, search what the team shares. Its token is in the answer and cannot be shown again.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: the server has no such team or member.
        Conflict: the last administrator cannot be removed.
    """
    asking, team, principal = engine.shared_teams.asking, request.team, request.principal
    if not request.member:
        asking(lambda server: server.remove_member(team, principal))
        return MemberPut(members=asking(lambda server: server.members(team)))
    if request.service:
        role = request.role or "reader"
        return MemberPut(
            added=asking(lambda server: server.put_service(team, principal, role=role, days=request.days))
        )
    return MemberPut(
        added=asking(
            lambda server: server.put_member(team, principal, role=request.role or "", name=request.name)
        )
    )


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


def decide_share_request(
    engine: Engine,
    caller: Caller,
    request: DecideRequest,
) -> ShareRequestView:
    """Accept a request to share, optionally with other words or as a replacement of shared memories; or refuse or withdraw it.

    Members who may write accept or refuse what others ask; the author withdraws.

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


# --- the team of a repository


class PutRepositoryTeam(AtFolder):
    """A request to believe the team's files in this repository, or to stop believing them."""

    joined: bool = Field(description="false: leave the team")


def get_repository_team(engine: Engine, caller: Caller, request: AtFolder) -> TeamView:
    """List the memories that the team of a project shares in its repository.

    The files stand below `.tacit/team` of the repository. `joined` says whether this home takes them for the
    word of teammates.
    """
    return _team_view(engine.team.folder(request.cwd))


def put_repository_team(engine: Engine, caller: Caller, request: PutRepositoryTeam) -> TeamView:
    """Believe the memories on the team's default branch as the word of teammates; or stop that, and end those that came from there.

    With `joined` the files of the default branch are imported now and after each later change of that branch.
    Without it the memories that came from them end; those that the user made their own stay.
    """
    change = engine.team.join if request.joined else engine.team.leave
    folder, files = change(request.cwd)
    return _team_view(folder, files)


def _team_view(folder: TeamFolder, files: Sequence[RuleFile] = ()) -> TeamView:
    return TeamView(
        project=folder.project,
        joined=folder.joined,
        files=folder.files,
        problem=folder.problem,
        changed=sum(file.status in ("imported", "changed", "gone") for file in files),
    )
