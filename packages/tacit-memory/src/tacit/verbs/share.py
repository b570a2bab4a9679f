"""Share a memory with a team, through its repository or a server, or stop sharing it."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.verbs.answers import SharedView
from tacit.verbs.requests import Folder, Request


class Share(Request):
    """A request to share a memory with a team, or to stop that."""

    id: str = Field(min_length=1, max_length=64, description="id of the memory, or its beginning or ending")
    shared: bool = Field(default=True, description="false: stop sharing it")
    cwd: Folder = Field(
        default="", description="share through the repository of this folder; left out = through a server"
    )
    by: str = Field(default="", max_length=80, description="with `cwd`: the name that teammates are shown")
    team: str = Field(
        default="",
        max_length=90,
        description="on the server; left out = the team of its project, or the only team that the user may share with",
    )
    purge: bool = Field(
        default=False,
        description="with `shared` false: remove it with its history from the server and every device",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if bool(self.by) != bool(self.cwd and self.shared):
            raise ValueError("by together with cwd, to share a memory")
        if self.team and (self.cwd or not self.shared):
            raise ValueError("team without cwd, to share a memory")
        if self.purge and (self.cwd or self.shared):
            raise ValueError("purge without cwd, where shared is false")
        return self


def share_memory(engine: Engine, caller: Caller, request: Share) -> SharedView:
    """Share a memory with a team, or stop sharing it: through a repository, or through a server.

    With `cwd` one file in the team's folder of the repository is written or removed, for the user to commit;
    nothing is committed or sent, and teammates follow the default branch. Without it a team on the server is asked
    to share the memory, and teammates get it when another member has accepted; its words, kind and trigger are sent. While
    nobody else could accept it, it is accepted at once, unless its words need a look. A request that waits already is not
    made again. When teams stop sharing a memory, each device ends it at its next
    sync.

    Raises:
        NotLoggedIn: the server does not know this device.
        NotPermitted: the role of the user in the team does not allow it.
        NotFound: no memory has this id; or no team shares it.
        Ambiguous: several memories have it.
        RefusedByTrust: the memory is restricted, or belongs to one session.
        RefusedByRedaction: the memory holds a secret.
    """
    memory = engine.show(request.id)
    if request.cwd:
        if request.shared:
            return SharedView(file=engine.team.share(memory, request.cwd, by=request.by))
        return SharedView(file=engine.team.unshare(memory, request.cwd))
    if request.shared:
        return SharedView(request=engine.shared_teams.ask(memory, team=request.team))
    ended = engine.shared_teams.unshare(memory, purge=request.purge)
    engine.sync.run()
    return SharedView(memory=ended)
