"""Forgetting for good: checked request in, the desk asked, plain values out. See `tacit.api.handlers`."""

from __future__ import annotations

from tacit.api.answering import Answer, Parameters, Service
from tacit.api.desk import requests as ask
from tacit.api.encoding import encode


def purge(engine: Service, at: Parameters, request: ask.Purge) -> Answer:  # noqa: ARG001
    """Remove memories, or all of a project, session or source, from everything that is stored. Cannot be taken back."""
    purging = engine.desk.purging
    if request.ids and request.shown:
        doomed = purging.still_there(request.ids)
    elif request.ids:
        doomed = purging.named(request.ids)
    elif request.project:
        doomed = purging.of_project(engine.project(request.project))
    elif request.session is not None:
        doomed = purging.of_session(request.session.key)
    else:
        scope = engine.visible(request.cwd) if request.cwd else None
        doomed = purging.matching(scope=scope, source=request.source, text=request.text)
    return Answer(body=encode(purging.purge(doomed, dry_run=request.dry_run)))
