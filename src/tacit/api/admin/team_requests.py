"""What the endpoints about teams on a server accept; see `tacit.api.requests`."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tacit.api.requests import AtFolder, Folder, Request
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
    """A person to add to a team, or whose role or name is to change."""

    role: Role = _A_ROLE
    name: str = Field(
        default="", max_length=40, description="name that teammates are shown; left out = as it is known"
    )


class TeamFolderProject(OfTeam, AtFolder):
    """The project of a folder, and a team."""


class RemoveTeamProject(OfTeam):
    """A project whose memories are to be shared no longer."""

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

    name: str = Field(min_length=1, max_length=40, description="of the account, within the organization")
    role: Role = _A_ROLE
    days: int = Field(default=90, ge=1, le=366, description="for how many days its token holds")


class ListAudit(OfTeam):
    """What was done in a team."""

    limit: int = Field(default=50, ge=1, le=500, description="at most so many entries")
    before: int | None = Field(default=None, ge=1, description="only entries before that number")


class ListRequests(Request):
    """The requests to share."""

    team: str = Field(default="", max_length=90, description="left out = all teams of the user")
    every: bool = Field(default=False, description="those that were decided, too")


class AskToShare(Request):
    """A memory to share."""

    id: str = Field(min_length=1, max_length=64, description="id, or its beginning or ending")
    team: str = Field(
        default="", max_length=90, description="left out = the team of its project, or the only one"
    )


class DecideRequest(Request):
    """A decision on a request to share."""

    id: str = Field(min_length=1, max_length=64, description="of the request, or its beginning or ending")
    decision: Decision = Field(description="accept, refuse or withdraw")
    content: str = Field(default="", max_length=2000, description="other words to share")
    replaces: tuple[str, ...] = Field(
        default=(), max_length=20, description="ids of shared memories that it replaces"
    )
    comment: str = Field(default="", max_length=500, description="why, for its author")


class UnshareMemory(Request):
    """A memory that a team is to share no longer."""

    id: str = Field(min_length=1, max_length=64, description="id, or its beginning or ending")
    purge: bool = Field(default=False, description="remove it for good, with all its versions, everywhere")
