"""What sessions did: checked request in, the desk asked, plain values out. See `tacit.api.handlers`."""

from __future__ import annotations

from tacit.api.answering import Answer, Parameters, Service
from tacit.api.desk import requests as ask
from tacit.api.encoding import encode
from tacit.app.desk.digests import Digests


def digests(engine: Service, at: Parameters, request: ask.ListDigests) -> Answer:
    """What sessions did and left open, newest first; `reason` says why there is none, or why the newest session has none."""
    reader, visibility = engine.desk.digests, engine.visibility(at.speaker)
    if request.session is not None:
        one = reader.of_session(request.session, visibility=visibility)
        there = (one,) if one.memory_id else ()
        return Answer(
            body=encode(Digests(digests=there, reason=one.reason and f"{one.session} has none: {one.reason}"))
        )
    project = engine.project(request.cwd) if request.cwd else None
    found = reader.newest(project, limit=request.limit, visibility=visibility)
    return Answer(body=encode(found))
