"""Forgetting for good: a checked request in, a value of the admin service out. See `tacit.api.handlers`."""

from __future__ import annotations

from tacit.api.admin import requests as ask
from tacit.api.answering import Answer, Parameters, Service
from tacit.app.admin.purging import Purged


def purge(engine: Service, at: Parameters, request: ask.Purge) -> Answer[Purged]:  # noqa: ARG001
    """Remove memories, or all of a project, session or source, from all stored data. This cannot be undone."""
    purging = engine.admin.purging
    if request.ids and request.shown:
        purge_target = purging.still_there(request.ids)
    elif request.ids:
        purge_target = purging.named(request.ids)
    elif request.project:
        purge_target = purging.of_project(engine.project(request.project))
    elif request.session is not None:
        purge_target = purging.of_session(request.session.key)
    else:
        scope = engine.visible(request.cwd) if request.cwd else None
        purge_target = purging.matching(scope=scope, source=request.source, text=request.text)
    return Answer(purging.purge(purge_target, dry_run=request.dry_run))
