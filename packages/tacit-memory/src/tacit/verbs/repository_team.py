"""Share memories with a team through its repository."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.sharing.team import TeamFolder
from tacit.app.values import Caller
from tacit.capture.bootstrap.project_import import RuleFile
from tacit.verbs.answers import SharedView, TeamView
from tacit.verbs.requests import AtFolder


class Unshare(AtFolder):
    """A request to remove the file of a memory from the team's folder."""

    id: str = Field(min_length=1, max_length=64, description="id, or its beginning or ending")


class Share(Unshare):
    """A request to write a memory into the team's folder."""

    by: str = Field(min_length=1, max_length=80, description="the name that teammates are shown")


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


def share_in_repository(engine: Engine, caller: Caller, request: Share) -> SharedView:
    """Write a memory into the team's folder of its repository, for the user to commit.

    It writes one file; nothing is committed or sent.

    Raises:
        NotFound: no memory has this id, or several have it.
        RefusedByTrust: the memory is restricted, or belongs to one session.
        RefusedByRedaction: the memory holds a secret.
    """
    memory = engine.show(request.id)
    return SharedView(file=engine.team.share(memory, request.cwd, by=request.by))


def unshare_in_repository(engine: Engine, caller: Caller, request: Unshare) -> SharedView:
    """Remove the file of a memory from the team's folder, for the user to commit.

    Teammates keep the memory until the removal is on the default branch.

    Raises:
        NotFound: no memory has this id, or it has no file in the team's folder.
    """
    return SharedView(file=engine.team.unshare(engine.show(request.id), request.cwd))


def _team_view(folder: TeamFolder, files: Sequence[RuleFile] = ()) -> TeamView:
    return TeamView(
        project=folder.project,
        joined=folder.joined,
        files=folder.files,
        problem=folder.problem,
        changed=sum(file.status in ("imported", "changed", "gone") for file in files),
    )
