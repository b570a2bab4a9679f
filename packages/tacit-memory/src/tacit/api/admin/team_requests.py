"""The requests that the endpoints about teams on a server accept; see `tacit.api.requests`."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tacit.api.requests import AtFolder, Folder, LongPage, Page, Request
from tacit.model.shared import Decision, Role

_TEAM_NAME = Field(min_length=1, max_length=90, description="`acme`, or `acme/core`")
_A_ROLE = Field(description="reader, writer, reviewer or admin")


class OfTeam(Request):
    """A team on the server."""

    team: str = _TEAM_NAME


class OneMember(OfTeam):
    """A member of a team."""

    principal: str = Field(
        min_length=1, max_length=90, description="account of a person, or a service account"
    )


class NewMember(OneMember):
    """A person to add to a team, or a member whose role or name changes."""

    role: Role | None = Field(
        default=None, description="left out = a member keeps their role, and a new member becomes a writer"
    )
    name: str = Field(
        default="", max_length=40, description="name that teammates see; left out = it stays as it is"
    )


class TeamFolderProject(OfTeam, AtFolder):
    """A team, and the folder of a project whose memories it may share."""


class RemoveTeamProject(OfTeam):
    """A project whose memories may no longer be shared."""

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
    """A service account to make, or to give a new token."""

    name: str = Field(min_length=1, max_length=40, description="name of the account within the organization")
    role: Role = _A_ROLE
    days: int = Field(default=90, ge=1, le=366, description="days until its token expires")


class ListMembers(OfTeam, LongPage):
    """Members of a team."""


class ListAudit(OfTeam, Page):
    """Entries of a team's audit log."""


class ListRequests(LongPage):
    """Requests to share."""

    team: str = Field(default="", max_length=90, description="left out = all teams of the user")
    every: bool = Field(default=False, description="also list those that were decided")


class AskToShare(Request):
    """A memory to share."""

    id: str = Field(min_length=1, max_length=64, description="id, or its beginning or ending")
    team: str = Field(
        default="",
        max_length=90,
        description="left out = the team of its project, or the only team that the user may share with",
    )


class DecideRequest(Request):
    """A decision on a request to share."""

    id: str = Field(min_length=1, max_length=64, description="id of the request, or its beginning or ending")
    decision: Decision = Field(description="accept, refuse or withdraw")
    content: str = Field(default="", max_length=2000, description="other words to share instead")
    replaces: tuple[str, ...] = Field(
        default=(), max_length=20, description="ids of shared memories that it replaces"
    )
    comment: str = Field(default="", max_length=500, description="reason, for its author")


class UnshareMemory(Request):
    """A memory that teams stop sharing."""

    id: str = Field(min_length=1, max_length=64, description="id, or its beginning or ending")
    purge: bool = Field(
        default=False, description="remove it with its history from the server and every device"
    )
