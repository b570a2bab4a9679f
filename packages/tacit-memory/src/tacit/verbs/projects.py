"""Projects, and which folders share one."""

from __future__ import annotations

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.projects import FolderProjects
from tacit.app.values import Caller
from tacit.model.memory import Speaker
from tacit.model.scope import project_scope
from tacit.verbs.answers import FolderProject, Imported, ProjectRow, Projects
from tacit.verbs.requests import AtFolder, Folder, LongPage, part_of


class InitProject(AtFolder):
    """A request to import the rule files of a folder's project."""

    dry_run: bool = Field(default=False, description="only list what the rule files would add")
    confirmed: bool = Field(
        default=True, description="false: the statements of the rule files wait in review"
    )


class ListProjects(LongPage):
    """A request for a page of the projects."""

    cwd: Folder = Field(default="", description="also the project of this folder")


class PutFolderProject(AtFolder):
    """A request to decide whether a folder shares the memories of related projects (`joined`) or is a project of its own."""

    joined: bool = Field(description="false: the folder is a project of its own")


def list_projects(engine: Engine, caller: Caller, request: ListProjects) -> Projects:
    """List projects by name, and the project of a folder with other projects that may belong to it.

    A project is a repository or a folder that sessions ran in. `active` counts its active memories. With `cwd`
    the answer has that folder's project in `here`: `related` lists projects whose memories may belong to this
    folder, such as another clone with the same git remote; `notice` is the question that the user has not answered.
    """
    rows = [
        ProjectRow(project=row.project, scope=str(project_scope(row.project.id)), active=row.active)
        for row in engine.admin.projects(levels=engine.visibility(caller.speaker).levels)
    ]
    part, following = part_of(lambda _: rows, request, lambda row: row.project.id)
    here = _folder_project(engine.admin.membership(request.cwd)) if request.cwd else None
    return Projects(projects=part, here=here, next_cursor=following)


def put_folder_project(engine: Engine, caller: Caller, request: PutFolderProject) -> FolderProject:
    """Share the memories of the projects that a folder may belong to, or keep it apart from them.

    With `joined` the folder and the related projects see the same memories from then on. Without it the folder
    becomes a project of its own; memories stay with the project that they were learned in. Each takes the
    other back.

    Raises:
        InvalidInput: with `joined`, no other project is known that the folder could belong to; without it, it shares with none.
    """
    return _folder_project(engine.admin.share_project(request.cwd, joined=request.joined))


def _folder_project(membership: FolderProjects) -> FolderProject:
    return FolderProject(project=membership.project, related=membership.related, notice=membership.notice)


def import_project_rules(engine: Engine, caller: Caller, request: InitProject) -> Imported:
    """Import the rule files of the folder's project.

    It reads CLAUDE.md, AGENTS.md and the other rule files of the project, and stores each rule as a memory. A
    second import stores only what has changed.

    The statements count as the user's own, unless `confirmed` is false. For any other caller they wait in
    review.

    Raises:
        RefusedByTrust: an agent asks where `privacy.incognito` is on.
    """
    speaker = caller.speaker if request.confirmed else Speaker.AGENT
    imported = engine.init_project(request.cwd, speaker=speaker, dry_run=request.dry_run)
    return Imported(files=imported.files, changes=imported.changes)
