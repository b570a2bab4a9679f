"""The endpoints about teams on a server. In: a checked request. Out: a model of the answer. All but `known` ask the server; see `tacit.api.handlers`."""

from __future__ import annotations

from tacit.api import answers as shapes
from tacit.api.admin.team_requests import (
    AskToShare,
    DecideRequest,
    ListAudit,
    ListMembers,
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
from tacit.api.cursors import part_of, rows_before, to_cursor
from tacit.api.requests import NoBody
from tacit.model.shared import organization_of


def list_teams(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """List the teams of the user on the server.

    Each team has the user's role; an organization also lists its projects, whose memories may be shared.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def list_known_teams(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.KnownTeamsView]:  # noqa: ARG001
    """List the teams that the user joined, with the number of their memories in this home. Does not ask the server.

    It answers from this home and works without a connection.
    """
    return Answer(shapes.KnownTeamsView(teams=engine.shared_teams.known()))


def add_team(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """Make a team in an organization. Administrators of the organization can do this.

    The name has the form `organization/team`.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: the server has no such organization for the user.
        Conflict: the team exists already.
    """
    engine.shared_teams.asking(lambda server: server.add_team(request.team))
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def join_team(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """Join an organization: all devices of the user receive what it and its teams share with them.

    The user must have been added to it before; see `POST /v1/teams/members`.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotFound: the server has no such team for the user.
    """
    engine.shared_teams.asking(lambda server: server.join(request.team))
    engine.sync.run()
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def leave_team(engine: Service, at: Parameters, request: OfTeam) -> Answer[shapes.TeamsView]:  # noqa: ARG001
    """Leave a team, or an organization with all its teams. Memories from there end; what the user made their own stays.

    Shared memories are ended on all devices of the user.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotFound: the server has no such team for the user.
        Conflict: the last administrator cannot leave.
    """
    account = engine.sync.status().account
    engine.shared_teams.asking(lambda server: server.remove_member(request.team, account))
    engine.sync.run()
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def list_members(engine: Service, at: Parameters, request: ListMembers) -> Answer[shapes.MembersView]:  # noqa: ARG001
    """List the members of a team.

    Each member has a name, a role, and whether they have joined.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotFound: the server has no such team for the user.
    """
    found = engine.shared_teams.asking(lambda server: server.members(request.team))
    rows, following = part_of(lambda _: found, request, lambda member: member.principal)
    return Answer(shapes.MembersView(members=rows, next_cursor=following))


def put_member(engine: Service, at: Parameters, request: NewMember) -> Answer[shapes.AddedMemberView]:  # noqa: ARG001
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
    return Answer(shapes.AddedMemberView(added=added))


def remove_member(engine: Service, at: Parameters, request: OneMember) -> Answer[shapes.MembersView]:  # noqa: ARG001
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
    return Answer(shapes.MembersView(members=found))


def put_team_project(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: TeamFolderProject,
) -> Answer[shapes.TeamProjectView]:
    """Allow the memories of a folder's project to be shared with a team. Administrators can do this.

    The project is known by its git remote, so that it is the same in every clone.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: the server has no such team for the user.
        Conflict: another team of the organization has the project.
    """
    remote = engine.shared_teams.remote_of(request.cwd)
    project = engine.shared_teams.asking(lambda server: server.put_project(request.team, remote))
    return Answer(shapes.TeamProjectView(project=project))


def remove_team_project(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: RemoveTeamProject,
) -> Answer[shapes.TeamsView]:
    """No longer allow the memories of a project to be shared; name it by a folder or its remote. Administrators of the organization can do this.

    Memories that are shared already stay shared.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: no team of the organization has the project.
    """
    remote = request.remote or engine.shared_teams.remote_of(request.cwd)
    organization = organization_of(request.team)
    engine.shared_teams.asking(lambda server: server.remove_project(organization, remote))
    return Answer(shapes.TeamsView(teams=engine.shared_teams.teams()))


def put_service_account(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: NewServiceAccount,
) -> Answer[shapes.AddedMemberView]:
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
    return Answer(shapes.AddedMemberView(added=added))


def get_owned(engine: Service, at: Parameters, request: NoBody) -> Answer[shapes.OwnedView]:  # noqa: ARG001
    """Get everything that the server holds about the user in their teams: memberships, shared memories, requests.

    It serves requests for one's own data.

    Raises:
        NotLoggedIn: the server does not know this device.
    """
    return Answer(shapes.OwnedView(owned=engine.shared_teams.asking(lambda server: server.owned())))


def list_audit(engine: Service, at: Parameters, request: ListAudit) -> Answer[shapes.AuditView]:  # noqa: ARG001
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
    return Answer(shapes.AuditView(entries=entries, next_cursor=following))


def list_share_requests(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: ListRequests,
) -> Answer[shapes.ShareRequestsView]:
    """List the waiting requests to share: the user's own, and those that they may decide.

    With `every` those that were decided are listed, too.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotFound: the server has no such team for the user.
    """
    found = engine.shared_teams.requests(request.team, every=request.every)
    rows, following = part_of(lambda _: found, request, lambda one: one.id)
    return Answer(shapes.ShareRequestsView(requests=rows, next_cursor=following))


def request_sharing(engine: Service, at: Parameters, request: AskToShare) -> Answer[shapes.ShareRequestView]:  # noqa: ARG001
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
    return Answer(shapes.ShareRequestView(request=made))


def decide_share_request(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: DecideRequest,
) -> Answer[shapes.ShareRequestView]:
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
    return Answer(shapes.ShareRequestView(request=decided))


def unshare_memory(
    engine: Service,
    at: Parameters,  # noqa: ARG001
    request: UnshareMemory,
) -> Answer[shapes.SharedMemoryView]:
    """Stop sharing a memory with teams. Each device ends it at its next sync.

    With `purge` it is removed with its history from the server and every device.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: no memory has this id, or no team shares it.
    """
    ended = engine.shared_teams.unshare(engine.show(request.id), purge=request.purge)
    engine.sync.run()
    return Answer(shapes.SharedMemoryView(memory=ended))
