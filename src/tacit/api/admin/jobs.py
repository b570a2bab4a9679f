"""Long work: checked request in, jobs begun or listed, models of the answers out. See `tacit.api.handlers`."""

from __future__ import annotations

from tacit.api.admin import requests as ask
from tacit.api.answering import Answer, Parameters, Service
from tacit.api.answers import Jobs, OneJob
from tacit.api.requests import NoBody


def begin(engine: Service, at: Parameters, request: ask.BeginJob) -> Answer[OneJob]:  # noqa: ARG001
    """Begin long work, or join what goes on under that name already; `GET /v1/jobs` tells how far it is."""
    return Answer(OneJob(job=engine.maintenance.jobs.begin(request.name)))


def jobs(engine: Service, at: Parameters, request: NoBody) -> Answer[Jobs]:  # noqa: ARG001
    """Long work that was begun since the store was opened, the last of every name: how far it is, or how it ended."""
    return Answer(Jobs(jobs=engine.maintenance.jobs.all()))
