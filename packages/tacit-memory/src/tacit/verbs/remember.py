"""Remember a statement: the user's, or an agent's, which waits unless the user's words vouch for it."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.model.memory import BY_TOOL, Sensitivity, SensitivityName
from tacit.verbs.answers import Changed
from tacit.verbs.requests import MAX_CONTENT_CHARS, NewScope, Place, Request, SessionName, UserWords, Whens


class Remember(Request):
    """A request to store a statement."""

    content: str = Field(min_length=1, max_length=MAX_CONTENT_CHARS, description="the statement")
    headline: str = Field(
        default="",
        max_length=200,
        description="what an index shows of it, 60 characters; default: made from the words",
    )
    kind: str | None = Field(default=None, max_length=100, description="its kind; default: detected")
    scope: NewScope | None = Field(
        default=None,
        description="`universal`, `language:python`, `project` (that of `cwd`), `project:...`; default: the project of `cwd`, else `universal`",
    )
    when: Whens | None = Field(
        default=None,
        description="when it applies, in words; a list of terms and phrases, any of which is enough",
    )
    cwd: Place = Field(
        default="",
        description="working folder, for the project; or `user:NAME`: for this user of your program alone",
    )
    user_words: UserWords = ""
    source: str = Field(default="api", min_length=1, max_length=200, description="where it came from")
    session: SessionName | None = Field(default=None, description="the session it was said in")
    pinned: bool = Field(default=False, description="packed first in presets that pin")
    files: tuple[str, ...] = Field(default=(), max_length=200, description="files that it is about")
    sensitivity: SensitivityName | None = Field(
        default=None, description="where it may appear; default: `project`"
    )
    replaces: tuple[Annotated[str, Field(max_length=2000)], ...] = Field(
        default=(), max_length=20, description="ids of memories that it replaces"
    )
    all_branches: bool = Field(
        default=False,
        description="whether it holds on all branches, even if an unmerged one is checked out in the folder",
    )

    @property
    def wanted_sensitivity(self) -> Sensitivity | None:
        """Return the sensitivity to store it with; None = the default."""
        return Sensitivity.parse(self.sensitivity) if self.sensitivity else None


def remember(engine: Engine, caller: Caller, request: Remember) -> Changed:
    """Store a statement: 201 with the changes, 200 when nothing was stored.

    The scope is the project of `cwd` unless `scope` names another one. A statement that is known already is
    merged with the memory that holds it, and one that replaces another supersedes it. `change_id` of the
    answer takes the change back with `POST /v1/undo`. In the preset `refresh`, sentences that each stand alone are
    stored one by one, unless a headline or `replaces` says that they are one statement; `change_id` is then the last one's.

    A statement counts as the user's if it comes with a personal token, from the page, or from a terminal. Any
    other statement counts as an agent's. It waits for review, unless `user_words` quotes the user saying it.

    Raises:
        RefusedByRedaction: the statement holds a secret; nothing was stored.
        RefusedByTrust: an agent asks where `privacy.incognito` is on.
        NotFound: a memory of `replaces` does not exist.
        Ambiguous: several memories have an id of `replaces`.
    """
    cwd = request.cwd or caller.cwd
    one = request.headline or request.replaces
    statements = (request.content,) if one else engine.facts_in(request.content, cwd)
    store = partial(
        engine.remember,
        kind=request.kind,
        scope=None if request.scope is None else engine.scope_called(request.scope, cwd),
        when=request.when,
        cwd=cwd,
        speaker=caller.speaker,
        user_words=request.user_words,
        source=BY_TOOL if caller.by_tool else request.source,
        session=request.session.key if request.session is not None else caller.session,
        pinned=request.pinned,
        files=request.files,
        sensitivity=request.wanted_sensitivity,
        replaces=request.replaces,
        all_branches=request.all_branches,
        headline=request.headline,
    )
    return Changed(changes=[change for statement in statements for change in store(statement)])
