"""Long work: checked request in, jobs begun or listed, plain values out. See `tacit.api.handlers`."""

from __future__ import annotations

from tacit.api.admin import requests as ask
from tacit.api.answering import Answer, Parameters, Service
from tacit.api.encoding import encode
from tacit.api.requests import NoBody


def begin(engine: Service, at: Parameters, request: ask.BeginJob) -> Answer:  # noqa: ARG001
    """Begin long work, or join what goes on under that name already; `GET /v1/jobs` tells how far it is."""
    return Answer(body={"job": encode(engine.maintenance.jobs.begin(request.name))}, status=202)


def jobs(engine: Service, at: Parameters, request: NoBody) -> Answer:  # noqa: ARG001
    """Long work that was begun since the store was opened, the last of every name: how far it is, or how it ended."""
    return Answer(body={"jobs": encode(engine.maintenance.jobs.all())})
