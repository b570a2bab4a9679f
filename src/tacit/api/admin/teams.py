"""The endpoints about teams on a server: a checked request in, a model of the answer out. Each asks the server; see `tacit.api.handlers`."""

from __future__ import annotations

from tacit.api import answers as shapes
from tacit.api.admin.team_requests import (
    AskToShare,
    DecideRequest,
    ListAudit,
    ListRequests,
    NewMember,
    NewServiceAccount,
    OfTeam,
    OneMember,
    RemoveTeamProject,
    TeamFolderProject,
    UnshareMemory,
)
from tacit.api.answering import Answer, Parameters, Service
from tacit.api.requests import NoBody
from tacit.model.shared import organization_of


def teams(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """List the teams of the user on the server."""
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def known(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.KnownTeamsView]:  # noqa: ARG001
    """List the teams that the user joined with the number of shared memories here, without asking the server."""
    return Answer(shapes.KnownTeamsView(teams=engine.shared_teams.known()))


def add_team(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """Make a team of an organization. Its administrators can do this."""
    engine.shared_teams.asking(lambda server: server.add_team(request.team))
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def join(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """Take what an organization and its teams share, on all devices of the user."""
    engine.shared_teams.asking(lambda server: server.join(request.team))
    engine.sync.run()
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def leave(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """Leave a team, or an organization with all of its teams. What came from there ends; what the user made their own stays."""
    account = engine.sync.status().account
    engine.shared_teams.asking(lambda server: server.remove_member(request.team, account))
    engine.sync.run()
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def members(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.MembersView]:  # noqa: ARG001
    """List the members of a team."""
    found = engine.shared_teams.asking(lambda server: server.members(request.team))
    return Answer(shapes.MembersView(members=found))


def put_member(engine: Service, at: Parameters, request: NewMember) -> Answer[shapes.AddedMemberView]:  # noqa: ARG001
    """Add a person to a team, or give them another role or name. Administrators can do this."""
    added = engine.shared_teams.asking(
        lambda server: server.put_member(
            request.team, request.principal, role=request.role, name=request.name
        )
    )
    return Answer(shapes.AddedMemberView(added=added))


def remove_member(engine: Service, at: Parameters, request: OneMember) -> Answer[shapes.MembersView]:  # noqa: ARG001
    """Remove a member from a team, or from an organization with all of its teams. Administrators can do this."""
    engine.shared_teams.asking(lambda server: server.remove_member(request.team, request.principal))
    found = engine.shared_teams.asking(lambda server: server.members(request.team))
    return Answer(shapes.MembersView(members=found))


def put_project(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: TeamFolderProject,
) -> Answer[shapes.TeamProjectView]:
    """Let the memories of the project of a folder be shared with a team. Administrators can do this."""
    remote = engine.shared_teams.remote_of(request.cwd)
    project = engine.shared_teams.asking(lambda server: server.put_project(request.team, remote))
    return Answer(shapes.TeamProjectView(project=project))


def remove_project(engine: Service, at: Parameters, request: RemoveTeamProject) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """No longer let the memories of a project be shared, known by its folder or its remote. Administrators of the organization can do this."""
    remote = request.remote or engine.shared_teams.remote_of(request.cwd)
    organization = organization_of(request.team)
    engine.shared_teams.asking(lambda server: server.remove_project(organization, remote))
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def put_service(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: NewServiceAccount,
) -> Answer[shapes.AddedMemberView]:
    """Make a service account of an organization, or give it a new token, which is shown once. Administrators can do this."""
    added = engine.shared_teams.asking(
        lambda server: server.put_service(request.team, request.name, role=request.role, days=request.days)
    )
    return Answer(shapes.AddedMemberView(added=added))


def owned(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.OwnedView]:  # noqa: ARG001
    """Get everything of the user in their teams: memberships, what they shared, what they asked to share."""
    return Answer(shapes.OwnedView(owned=engine.shared_teams.asking(lambda server: server.owned())))


def audit(engine: Service, at: Parameters, request: ListAudit) -> Answer[shapes.AuditView]:  # noqa: ARG001
    """List what was done in a team, newest first. Administrators can see it."""
    entries = engine.shared_teams.asking(
        lambda server: server.audit(request.team, limit=request.limit, before=request.before)
    )
    return Answer(shapes.AuditView(entries=entries))


def requests(engine: Service, at: Parameters, request: ListRequests) -> Answer[shapes.ShareRequestsView]:  # noqa: ARG001
    """List the requests to share that wait: the user's own, and those of others that they may decide."""
    found = engine.shared_teams.requests(request.team, every=request.every)
    return Answer(shapes.ShareRequestsView(requests=found))


def ask(engine: Service, at: Parameters, request: AskToShare) -> Answer[shapes.ShareRequestView]:  # noqa: ARG001
    """Ask that a team shares a memory. Teammates get it once a reviewer has accepted it."""
    made = engine.shared_teams.ask(engine.show(request.id), team=request.team)
    return Answer(shapes.ShareRequestView(request=made))


def decide(engine: Service, at: Parameters, request: DecideRequest) -> Answer[shapes.ShareRequestView]:  # noqa: ARG001
    """Accept a request to share, with other words or in the place of shared memories where that is better; or refuse or withdraw it."""
    decided = engine.shared_teams.decide(
        request.id,
        request.decision,
        content=request.content,
        replaces=request.replaces,
        comment=request.comment,
    )
    return Answer(shapes.ShareRequestView(request=decided))


def unshare(engine: Service, at: Parameters, request: UnshareMemory) -> Answer[shapes.SharedMemoryView]:  # noqa: ARG001
    """Let a team share a memory no longer; each device ends it at its next sync."""
    ended = engine.shared_teams.unshare(engine.show(request.id), purge=request.purge)
    engine.sync.run()
    return Answer(shapes.SharedMemoryView(memory=ended))
