"""The endpoints about teams on a server. In: a checked request. Out: a model of the answer. All but `known` ask the server; see `tacit.api.handlers`."""

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
    """List the teams that the user joined, with the number of their memories in this home. Does not ask the server."""
    return Answer(shapes.KnownTeamsView(teams=engine.shared_teams.known()))


def add_team(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """Make a team in an organization. Administrators of the organization can do this."""
    engine.shared_teams.asking(lambda server: server.add_team(request.team))
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def join(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """Join an organization: all devices of the user receive what it and its teams share with them."""
    engine.shared_teams.asking(lambda server: server.join(request.team))
    engine.sync.run()
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def leave(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """Leave a team, or an organization with all its teams. Memories from there end; what the user made their own stays."""
    account = engine.sync.status().account
    engine.shared_teams.asking(lambda server: server.remove_member(request.team, account))
    engine.sync.run()
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def members(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.MembersView]:  # noqa: ARG001
    """List the members of a team."""
    found = engine.shared_teams.asking(lambda server: server.members(request.team))
    return Answer(shapes.MembersView(members=found))


def put_member(engine: Service, at: Parameters, request: NewMember) -> Answer[shapes.AddedMemberView]:  # noqa: ARG001
    """Add a person to a team, or change their role or name. Administrators can do this."""
    added = engine.shared_teams.asking(
        lambda server: server.put_member(
            request.team, request.principal, role=request.role or "", name=request.name
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
    """Allow the memories of a folder's project to be shared with a team. Administrators can do this."""
    remote = engine.shared_teams.remote_of(request.cwd)
    project = engine.shared_teams.asking(lambda server: server.put_project(request.team, remote))
    return Answer(shapes.TeamProjectView(project=project))


def remove_project(engine: Service, at: Parameters, request: RemoveTeamProject) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """No longer allow the memories of a project to be shared; name it by a folder or its remote. Administrators of the organization can do this."""
    remote = request.remote or engine.shared_teams.remote_of(request.cwd)
    organization = organization_of(request.team)
    engine.shared_teams.asking(lambda server: server.remove_project(organization, remote))
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def put_service(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: NewServiceAccount,
) -> Answer[shapes.AddedMemberView]:
    """Make a service account in an organization, or give it a new token, which is shown only once. Administrators can do this."""
    added = engine.shared_teams.asking(
        lambda server: server.put_service(request.team, request.name, role=request.role, days=request.days)
    )
    return Answer(shapes.AddedMemberView(added=added))


def owned(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.OwnedView]:  # noqa: ARG001
    """Get everything that the server holds about the user in their teams: memberships, shared memories, requests."""
    return Answer(shapes.OwnedView(owned=engine.shared_teams.asking(lambda server: server.owned())))


def audit(engine: Service, at: Parameters, request: ListAudit) -> Answer[shapes.AuditView]:  # noqa: ARG001
    """List the audit log of a team, newest first. Administrators can see it."""
    entries = engine.shared_teams.asking(
        lambda server: server.audit(request.team, limit=request.limit, before=request.before)
    )
    return Answer(shapes.AuditView(entries=entries))


def requests(engine: Service, at: Parameters, request: ListRequests) -> Answer[shapes.ShareRequestsView]:  # noqa: ARG001
    """List the waiting requests to share: the user's own, and those that they may decide."""
    found = engine.shared_teams.requests(request.team, every=request.every)
    return Answer(shapes.ShareRequestsView(requests=found))


def ask(engine: Service, at: Parameters, request: AskToShare) -> Answer[shapes.ShareRequestView]:  # noqa: ARG001
    """Ask a team to share a memory. Teammates get it when a reviewer has accepted it."""
    made = engine.shared_teams.ask(engine.show(request.id), team=request.team)
    return Answer(shapes.ShareRequestView(request=made))


def decide(engine: Service, at: Parameters, request: DecideRequest) -> Answer[shapes.ShareRequestView]:  # noqa: ARG001
    """Accept a request to share, optionally with other words or as a replacement of shared memories; or refuse or withdraw it."""
    decided = engine.shared_teams.decide(
        request.id,
        request.decision,
        content=request.content,
        replaces=request.replaces,
        comment=request.comment,
    )
    return Answer(shapes.ShareRequestView(request=decided))


def unshare(engine: Service, at: Parameters, request: UnshareMemory) -> Answer[shapes.SharedMemoryView]:  # noqa: ARG001
    """Stop sharing a memory with teams. Each device ends it at its next sync."""
    ended = engine.shared_teams.unshare(engine.show(request.id), purge=request.purge)
    engine.sync.run()
    return Answer(shapes.SharedMemoryView(memory=ended))
