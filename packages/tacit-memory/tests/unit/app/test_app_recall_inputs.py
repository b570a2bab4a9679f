"""A recall by hand in the situation of a hook gives the pack of the hook; a trace holds what it takes."""

from __future__ import annotations

import json

import pytest

from tacit.app.wiring import open_engine
from tacit.providers.clock import FakeClock

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow]

RULES = (
    ("Run `make lint` before every commit and push.", "commit"),
    ("Every change of the schema comes with a migration in db/migrations.", "path:db/**"),
    ("The billing service listens on port 9090.", None),
    ("ECONNREFUSED from the queue means the compose stack is down: run docker compose up -d.", None),
    ("Releases are tagged by the pipeline, never by hand.", "cmd:git tag"),
)
PROPOSAL = "All tests pass. Want me to run the linter, commit and push?"
ERROR = "Error: connect ECONNREFUSED 127.0.0.1:5672"


@pytest.fixture
def engine(tmp_path):
    made = open_engine(tmp_path / "home", clock=FakeClock(1_780_000_000_000))
    folder = tmp_path / "shop"
    folder.mkdir()
    for content, when in RULES:
        made.remember(content, when=when, cwd=str(folder))
    made.cwd = str(folder)
    yield made
    made.close()


def event(engine, session: str, name: str, **fields):
    payload = {"event": name, "session": session, "cwd": engine.cwd, **fields}
    answer = engine.hook("plain", payload, deadline_ms=60_000.0)
    return json.loads(answer).get("memory_ids", []) if answer else []


def test_an_accepted_proposal_can_be_tried_by_hand(engine, client):
    event(engine, "a", "message_end", text=PROPOSAL)
    by_hook = event(engine, "a", "prompt", text="yup")
    assert by_hook
    body = {"text": "yup", "surface": "prompt", "cwd": engine.cwd, "store_trace": False}
    alone = client.post("/v1/recall", json=body).json()
    assert alone["trace"]["injected"] == []
    with_it = client.post("/v1/recall", json={**body, "previous": PROPOSAL}).json()
    assert with_it["trace"]["injected"] == by_hook
    event(engine, "b", "message_end", text=PROPOSAL)
    session = {"host": "plain", "session_id": "b"}
    in_session = client.post("/v1/recall", json={**body, "session": session}).json()
    assert in_session["trace"]["injected"] == by_hook


@pytest.mark.parametrize(
    ("surface", "given", "words"),
    [
        ("action", {"tool": "bash", "command": "git tag v2.0.0"}, "tagged by the pipeline"),
        ("action", {"tool": "edit", "paths": ["db/schema.sql"]}, "migration in db/migrations"),
        ("failure", {"tool": "bash", "command": "make up", "error": ERROR}, ""),
    ],
)
def test_a_call_and_a_failure_can_be_tried_with_a_file_and_a_command(engine, client, surface, given, words):
    body = {"surface": surface, "cwd": engine.cwd, "store_trace": False, **given}
    answer = client.post("/v1/recall", json=body).json()
    assert words in answer["block"]["text"]
    again = client.post("/v1/recall", json={**body, "held": answer["trace"]["injected"]}).json()
    assert again["trace"]["injected"] == []
    name = {"action": "tool_start", "failure": "tool_failed"}[surface]
    assert event(engine, "c", name, **given) == answer["trace"]["injected"]
    engine.flush()
    trace = client.get("/v1/traces?whole=true&session=plain/c&limit=1").json()["traces"][0]
    assert trace["asked"]["command"] == given.get("command", "")
    assert trace["asked"]["paths"] == given.get("paths", [])


def test_what_a_trace_holds_of_the_situation_is_redacted(engine, client):
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    event(engine, "d", "message_end", text=f"The token is {secret}. Shall I commit and push?")
    event(engine, "d", "prompt", text="yes, do it")
    event(engine, "d", "tool_start", tool="bash", command=f"git push https://{secret}@example.com/a.git")
    engine.flush()
    told = client.get("/v1/traces?whole=true&session=plain/d&limit=9").text
    assert "Shall I commit and push?" in told
    assert secret not in told


def test_nothing_to_ask_with_is_refused(client):
    assert client.post("/v1/recall", json={"surface": "prompt"}).status_code == 422
    assert client.post("/v1/recall", json={"surface": "action"}).status_code == 422
    assert client.post("/v1/recall", json={"surface": "prompt", "command": "ls"}).status_code == 422
