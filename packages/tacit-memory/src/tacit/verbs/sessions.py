"""Sessions: lists, turns, digests, what was learned, and muting."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from tacit.app.engine import Engine
from tacit.app.values import Caller
from tacit.model.session import SessionKey
from tacit.verbs.answers import DigestPage, Muted, OneSession, SessionPage
from tacit.verbs.requests import Folder, Page, SessionName, part_of, rows_before, to_cursor


class Mute(SessionName):
    """A request to stop or resume injecting into a session."""

    muted: bool = Field(default=True, description="false = resume")


class ListSessions(Page):
    """A request for a page of sessions."""

    cwd: Folder = Field(default="", description="only sessions of this folder's project")
    text: str = Field(
        default="",
        max_length=1000,
        description="only with all of these words in the first prompt, project, agent or name",
    )


class ListDigests(Page):
    """A request for the digests of a session, a project, or all projects."""

    session: str | None = Field(
        default=None,
        min_length=1,
        max_length=700,
        description="of one session: `host/id`, its id or the beginning of it",
    )
    cwd: Folder = Field(default="", description="of this folder's project; without it of every project")
    learned: bool = Field(
        default=False, description="also what was learned from the session or the newest one"
    )
    limit: int = Field(default=1, ge=1, le=200, description="most digests, the newest")


def mute_session(engine: Engine, caller: Caller, request: Mute) -> Muted:
    """Stop or resume injecting into one session.

    A muted session gets no text, but Tacit still learns from it.

    Raises:
        NotFound: no session has this name.
    """
    key = request.key
    state = engine.live.mute(key, muted=request.muted)
    return Muted(session=str(state.key), muted=state.muted)


def list_sessions(engine: Engine, caller: Caller, request: ListSessions) -> SessionPage:
    """List sessions, newest first: those whose events were recorded, and those imported from transcripts.

    Each row has the first prompt, the host, the folder, the number of turns, what was injected, and how many
    statements it taught.
    """
    skip = rows_before(request.cursor) if request.cursor else 0
    visibility = engine.visibility(caller.speaker)
    fetched = engine.admin.recalls.sessions(
        root=engine.project(request.cwd).root if request.cwd else "",
        text=request.text,
        limit=request.limit + 1,
        offset=skip,
        visibility=visibility,
    )
    more = to_cursor((skip + request.limit, "")) if len(fetched) > request.limit else None
    rows = [
        replace(
            row,
            taught=engine.admin.learned.count(
                SessionKey(host=row.host, session_id=row.session_id), visibility=visibility
            ),
        )
        for row in fetched[: request.limit]
    ]
    return SessionPage(sessions=rows, next_cursor=more)


def get_session(engine: Engine, caller: Caller, request: SessionName) -> OneSession:
    """Get one session turn by turn: prompts, injected and dropped memories.

    Of an imported session no turns are known, only what it was about and what it taught. Each turn has its prompt, its recalls with injected and dropped memories, and the tools that ran.

    Raises:
        NotFound: no session has this name.
    """
    key = request.key
    session_view = engine.admin.recalls.session(key, visibility=engine.visibility(caller.speaker))
    return OneSession(session=session_view)


def list_digests(engine: Engine, caller: Caller, request: ListDigests) -> DigestPage:
    """List digests of sessions, newest first; `reason` says why there is none, or why the newest session has none.

    A digest tells in a few lines what a session was about. Without `session` and `cwd` those of every project
    are listed. With `learned` the answer also says what was learned from the session, or from the newest one:
    statements with evidence and fate, reminders, requests to a language model, what waits. It explains why a
    statement became a memory, waits, or was dropped. A program without the user's authority gets neither the
    requests nor the counts of dropped statements.

    Raises:
        NotFound: no session begins with this name.
        Ambiguous: several sessions do.
    """
    reader, visibility = engine.admin.digests, engine.visibility(caller.speaker)
    if request.session is not None:
        digest = reader.of_session(request.session, visibility=visibility)
        return DigestPage(
            digests=(digest,) if digest.memory_id else (),
            reason=digest.reason and f"{digest.session} has none: {digest.reason}",
            learned=engine.admin.learned.of_session(request.session, visibility=visibility)
            if request.learned
            else None,
            next_cursor=None,
        )
    project = engine.project(request.cwd) if request.cwd else None
    reason = reader.newest(project, limit=1, visibility=visibility).reason
    rows, following = part_of(
        lambda most: reader.newest(project, limit=most, visibility=visibility).digests,
        request,
        lambda digest: digest.memory_id,
    )
    learned = engine.admin.learned.newest(project, visibility=visibility) if request.learned else None
    return DigestPage(digests=rows, reason=reason, learned=learned, next_cursor=following)
