"""The team of a repository: what it shares, and whether it is believed."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.sharing.team import TeamFolder
from tacit.app.values import Caller
from tacit.capture.bootstrap.project_import import RuleFile
from tacit.verbs.answers import TeamView
from tacit.verbs.requests import AtFolder


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
