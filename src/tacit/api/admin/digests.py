"""What sessions did and taught: a checked request in, a model of the answer out. See `tacit.api.handlers`."""

from __future__ import annotations

from tacit.api.admin import requests as ask
from tacit.api.answering import Answer, Parameters, Service
from tacit.api.answers import SessionLearned
from tacit.app.admin.digests import Digests


def digests(engine: Service, at: Parameters, request: ask.ListDigests) -> Answer[Digests]:
    """List digests of sessions, newest first; `reason` says why there is none, or why the newest session has none."""
    reader, visibility = engine.admin.digests, engine.visibility(at.speaker)
    if request.session is not None:
        one = reader.of_session(request.session, visibility=visibility)
        there = (one,) if one.memory_id else ()
        return Answer(Digests(digests=there, reason=one.reason and f"{one.session} has none: {one.reason}"))
    project = engine.project(request.cwd) if request.cwd else None
    found = reader.newest(project, limit=request.limit, visibility=visibility)
    return Answer(found)


def learned(engine: Service, at: Parameters, request: ask.AskLearned) -> Answer[SessionLearned]:
    """Get what was learned from a session: statements with evidence and fate, reminders, requests to a language model, what waits.

    A program without the user's authority gets neither the requests nor the counts of dropped statements.
    """
    reader, visibility = engine.admin.learned, engine.visibility(at.speaker)
    if request.session is not None:
        found = reader.of_session(request.session, visibility=visibility)
    else:
        project = engine.project(request.cwd) if request.cwd else None
        found = reader.newest(project, visibility=visibility)
    return Answer(SessionLearned(learned=found))
