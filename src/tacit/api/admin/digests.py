"""What sessions did and taught: a checked request in, plain values of the admin service out. See `tacit.api.handlers`."""

from __future__ import annotations

from tacit.api.admin import requests as ask
from tacit.api.answering import Answer, Parameters, Service
from tacit.api.encoding import Json, encode, memory_json
from tacit.app.admin.digests import Digests
from tacit.app.admin.learned import Learned, LearnedStatement


def digests(engine: Service, at: Parameters, request: ask.ListDigests) -> Answer:
    """What sessions did and left open, newest first; `reason` says why there is none, or why the newest session has none."""
    reader, visibility = engine.admin.digests, engine.visibility(at.speaker)
    if request.session is not None:
        one = reader.of_session(request.session, visibility=visibility)
        there = (one,) if one.memory_id else ()
        return Answer(
            body=encode(Digests(digests=there, reason=one.reason and f"{one.session} has none: {one.reason}"))
        )
    project = engine.project(request.cwd) if request.cwd else None
    found = reader.newest(project, limit=request.limit, visibility=visibility)
    return Answer(body=encode(found))


def learned(engine: Service, at: Parameters, request: ask.AskLearned) -> Answer:
    """What a session taught: its statements with evidence and fate, reminders, requests to a language model, what waits.

    A program that is not the user's gets neither the requests nor the counts of what was dropped.
    """
    reader, visibility = engine.admin.learned, engine.visibility(at.speaker)
    if request.session is not None:
        found = reader.of_session(request.session, visibility=visibility)
    else:
        project = engine.project(request.cwd) if request.cwd else None
        found = reader.newest(project, visibility=visibility)
    return Answer(body={"learned": _learned_json(found) if found is not None else None})


def _learned_json(found: Learned) -> Json:
    parts = ("dropped", "nudges", "requests", "waiting")
    return {
        "session": found.session,
        "at_ms": found.at_ms,
        "running": found.running,
        "statements": [_statement_json(one) for one in found.statements],
        **{name: encode(getattr(found, name)) for name in parts},
    }


def _statement_json(one: LearnedStatement) -> Json:
    return {
        "memory": memory_json(one.memory),
        "fate": one.fate,
        "believed": one.believed,
        "waits": one.waits,
        "evidence": encode(one.evidence),
        "replaced": [memory_json(memory) for memory in one.replaced],
        "questions": [memory_json(memory) for memory in one.questions],
    }
