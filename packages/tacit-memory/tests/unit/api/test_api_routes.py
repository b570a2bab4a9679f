"""What the API refuses and how errors look, over a real engine and over one that breaks."""

from __future__ import annotations

import json
import logging

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from tacit.api.answering import Parameters
from tacit.api.endpoints import ENDPOINTS
from tacit.api.operations import Inject, inject
from tacit.api.routes import build_routes
from tacit.errors import InvalidInput, RefusedByRedaction, StoreBusy, TacitError
from tacit.verbs import requests as ask
from user_voice import client_of


class Broken:
    """An engine that fails at whatever it is asked for."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, _name: str) -> object:
        raise self.error


def problem(response, status: int, code: str) -> dict:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["code"] == code
    assert body["status"] == status
    assert set(body) == {"type", "title", "status", "detail", "code", "hint"}
    return body


def stored(client) -> int:
    return client.get("/v1/memories?status=all").json()["total"]


def test_what_is_remembered_has_everything_that_was_said_of_it(client, place):
    said = {
        "content": "Always run make lint.", "kind": "guideline", "headline": "before a commit: make lint", "pinned": True,
        "files": ["Makefile"], "sensitivity": "restricted",
    }  # fmt: skip
    session = {"host": "opencode", "session_id": "s1"}
    body = {
        **said,
        "scope": "universal",
        "when": "commit",
        "cwd": str(place),
        "source": "my tool",
        "session": session,
    }
    answer = client.post("/v1/memories", json=body)
    assert answer.status_code == 201
    (change,) = answer.json()["changes"]
    memory = change["memory"]
    assert {name: memory[name] for name in said} == said
    assert (change["change"], memory["scope"], memory["trigger"]["actions"]) == (
        "add",
        "universal",
        [["commit", 1.0]],
    )
    origin = memory["provenance"]
    assert (origin["tier"], origin["source"], origin["host"], origin["session_id"]) == (
        "user",
        "my tool",
        *session.values(),
    )
    problem(client.patch(f"/v1/memories/{memory['id']}", json={"cwd": str(place)}), 422, "invalid_input")


def test_only_listed_transcripts_are_read(client, place):
    asked = {"cwd": str(place), "paths": ["/etc/passwd"]}
    body = problem(client.post("/v1/transcripts", json=asked), 404, "not_found")
    assert "/etc/passwd" in body["detail"]


def test_a_name_in_a_path_that_is_too_long_is_told_by_its_own_name(engine):
    below = Starlette(routes=[Route("/v1/{rest:path}", Starlette(routes=build_routes(engine)))])
    with TestClient(below) as made:
        told = problem(made.get(f"/v1/memories/{'m' * 3000}"), 422, "invalid_input")
    assert told["detail"].startswith("`id` has 3000 characters")


@pytest.mark.parametrize(
    ("body", "parts"),
    [
        ({}, ["`content`", "missing"]),
        ({"content": ""}, ["`content`", "expected some words"]),
        ({"content": 5}, ["`content`", "5", "a text"]),
        ({"content": "x", "knd": "fact"}, ["`knd`", "kind"]),
        ({"content": "x", "scope": "planet"}, ["`scope`", "'planet'", "universal"]),
        ({"content": "x", "scope": "language"}, ["`scope`", "language:python"]),
        ({"content": "x", "cwd": "relative/path"}, ["`cwd`", "absolute path"]),
        ({"content": "x", "cwd": "/home\0/ana"}, ["`cwd`", "NUL"]),
        ({"content": "x", "cwd": "user: "}, ["`cwd`", "name of a user"]),
        ({"content": "x", "cwd": "user:a\0"}, ["`cwd`", "name of a user"]),
        ({"content": "x", "tier": "owner"}, ["`tier`"]),
        ({"content": "x", "session": {"host": "h"}}, ["`session.session_id`", "missing"]),
        (
            {"content": "x" * (ask.MAX_CONTENT_CHARS + 1)},
            ["`content`", "expected at most 1000000 characters"],
        ),
    ],
)
def test_a_wrong_request_says_what_is_wrong_and_stores_nothing(client, body, parts):
    told = problem(client.post("/v1/memories", json=body), 422, "invalid_input")
    for part in parts:
        assert part in told["detail"] + told["hint"], told
    assert len(told["detail"]) < 300
    assert stored(client) == 0


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"[1]",
        b'"x"',
        b"null",
        b'{"content": "\xff"}',
        b'{"content": "\\ud800"}',
        b"[" * 5000,
        b'{"content": "one", "content": "other"}',
    ],
)
def test_a_body_that_is_no_json_object_is_refused(client, raw):
    answer = client.post("/v1/memories", content=raw, headers={"content-type": "application/json"})
    assert answer.status_code in {400, 422}
    assert answer.json()["code"] in {"invalid_payload", "invalid_input"}
    assert stored(client) == 0


def test_a_name_that_stands_twice_is_refused_however_many_there_are(client):
    names = ",".join(f'"n{number}":1' for number in range(60_000))
    raw = f'{{{names},"n59999":2}}'
    reply = client.post("/v1/recall", content=raw, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["detail"]) == (422, "`n59999` is given 2 times.")


def test_a_field_that_may_be_of_two_types_is_refused_in_one_sentence(client):
    told = problem(client.post("/v1/memories", json={"content": "x", "when": {"a": 1}}), 422, "invalid_input")
    assert told["detail"] == "`when` is {'a': 1}; expected a text or a list."
    told = problem(client.get("/v1/memories?status=dead"), 422, "invalid_input")
    assert told["detail"].startswith("`status.0` is 'dead'; expected 'active', ")
    assert "'all'" in told["detail"]


def test_a_body_where_the_query_string_is_read_is_refused(client):
    for method, path in (("GET", "/v1/memories"), ("DELETE", "/v1/memories/mem_1")):
        told = problem(client.request(method, path, json={"limit": 1}), 422, "invalid_input")
        assert "query string" in told["hint"]


def test_another_media_type_is_refused(client):
    answer = client.post("/v1/memories", content=b'{"content": "x"}', headers={"content-type": "text/plain"})
    assert "application/json" in problem(answer, 415, "unsupported_media_type")["hint"]


@pytest.mark.parametrize(
    ("query", "part"),
    [("limit=0", "`limit`"), ("limit=999", "500"), ("offset=-1", "`offset`"), ("limit=1&limit=2", "2 times"),
     ("colour=red", "`colour`"), ("status=lost", "`status"), ("as_of_ms=soon", "'soon'")],
)  # fmt: skip
def test_a_wrong_query_is_told(client, query, part):
    assert part in problem(client.get(f"/v1/memories?{query}"), 422, "invalid_input")["detail"]


def test_a_query_where_a_body_is_expected_is_told(client):
    assert "`content`" in problem(client.post("/v1/memories?content=x"), 422, "invalid_input")["detail"]


def test_what_is_not_there(client):
    told = problem(client.get("/v1/memories/mem_9"), 404, "not_found")
    assert told["hint"].startswith("`tacit list` shows ids")
    problem(client.get("/v1/nothing/here"), 404, "no_such_path")
    wrong = client.delete("/v1/status")
    assert "GET" in problem(wrong, 405, "method_not_allowed")["hint"]
    assert wrong.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (StoreBusy("Another writer holds the lock.", hint="Try again."), 503, "store_busy"),
        (RefusedByRedaction("A secret was found.", hint="Leave it out."), 403, "refused_by_redaction"),
        (type("OddInput", (InvalidInput,), {"code": "odd_input"})("Odd."), 422, "odd_input"),
        (TacitError("Broken."), 500, "error"),
    ],
    ids=lambda value: getattr(value, "code", value),
)
def test_an_error_of_the_engine_has_its_status_or_that_of_its_parent(error, status, code):
    with client_of(Broken(error)) as client:
        answer = client.get("/v1/status")
    told = problem(answer, status, code)
    assert (told["detail"], told["hint"]) == (error.message, error.hint)
    assert answer.headers.get("retry-after") == ("1" if status == 503 else None)


def test_an_unexpected_error_shows_nothing_of_what_was_said(caplog):
    with (
        caplog.at_level(logging.INFO),
        client_of(Broken(RuntimeError("the secret text of a memory"))) as client,
    ):
        told = problem(client.post("/v1/recall", json={"text": "private words"}), 500, "internal")
    assert "RuntimeError" in told["detail"]
    assert "secret" not in json.dumps(told)
    assert "POST /v1/recall failed: RuntimeError" in caplog.text
    assert "secret text" not in caplog.text
    assert "private words" not in caplog.text


def test_every_endpoint_has_a_route_and_another_method_does_not(client):
    served = {(e.method, e.path) for e in ENDPOINTS}
    assert len(served) == len(ENDPOINTS)
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace("{id}", "x").replace("{host}", "h").replace("{session_id}", "s")
        problem(client.request("OPTIONS", path), 405, "method_not_allowed")


def test_an_injection_nobody_waited_for_is_not_given_and_the_next_one_brings_it(engine, place):
    (change,) = engine.remember("Never push to main without asking first.", when="always", cwd=str(place))
    for waits in (False, True):
        asked = Inject(text="push the branch to main now", session_id="p1", cwd=str(place))
        inject(engine, Parameters(waits=lambda waits=waits: waits), asked)
        (session,) = engine.sessions()
        assert (change.memory.id in [entry.memory_id for entry in session.ledger]) is waits
