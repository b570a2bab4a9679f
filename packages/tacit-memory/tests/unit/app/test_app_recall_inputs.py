"""A recall by hand in the situation of a hook gives the pack of the hook; a trace holds what it takes."""

from __future__ import annotations

import json
import random

import pytest

from tacit.app.wiring import open_engine
from tacit.providers.clock import FakeClock

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow]
TRACES = 100
LEAST = 0.99

RULES = (
    ("Run `make lint` before every commit and push.", "commit"),
    ("Commit messages are in the imperative and name the ticket.", "commit"),
    ("Every change of the schema comes with a migration in db/migrations.", "path:db/**"),
    ("Tests live beside the module they test, named test_*.py.", "path:src/**"),
    ("Never edit files below vendor; change the upstream and pull.", "path:vendor/**"),
    ("pytest is run with -x first, then whole.", "cmd:pytest"),
    ("The billing service listens on port 9090.", None),
    ("ECONNREFUSED from the queue means the compose stack is down: run docker compose up -d.", None),
    ("Releases are tagged by the pipeline, never by hand.", "cmd:git tag"),
    ("User-visible texts go through the translation table in i18n/.", "path:i18n/**"),
)
PROPOSALS = (
    "All tests pass. Want me to run the linter, commit and push?",
    "I would change the schema of orders next and add the migration. Shall I?",
    "Should I implement the translation of the error messages now?",
    "Done. The billing port is set in the config now.",
    "I can write the tests for the queue first, if you like.",
)
PROMPTS = (
    "yup", "yes, go on", "ok do it", "thanks, looks good", "commit this please", "sure",
    "which port does billing use?", "add a column for the vat number to the orders table",
    "write the tests for it", "now tag the release", "translate the new error message",
)  # fmt: skip
CALLS = (
    {"tool": "bash", "command": "git commit -m 'Add vat number'"},
    {"tool": "bash", "command": "pytest tests/test_orders.py"},
    {"tool": "edit", "paths": ["db/schema.sql"]},
    {"tool": "edit", "paths": ["vendor/lib/queue.py"]},
    {"tool": "read", "paths": ["src/orders.py"]},
    {"tool": "bash", "command": "git tag v1.2.0"},
)
ERRORS = (
    "Error: connect ECONNREFUSED 127.0.0.1:5672",
    "FAILED tests/test_orders.py::test_vat - AssertionError: 1 != 2",
)


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


def work(engine, chance: random.Random, number: int) -> None:
    """One turn of a session: a prompt after a message, then calls of tools."""
    session = f"s{number}"
    event(engine, session, "message_end", text=chance.choice(PROPOSALS), key=f"m{number}")
    event(engine, session, "prompt", text=chance.choice(PROMPTS), key=f"p{number}")
    call = {**chance.choice(CALLS), "call_id": f"c{number}"}
    event(engine, session, "tool_start", **call, key=f"t{number}")
    if chance.random() < 0.5:
        event(engine, session, "tool_failed", **call, error=chance.choice(ERRORS), key=f"f{number}")


def asked_again(client, trace: dict, cwd: str) -> dict:
    """What the page's playground sends for a trace."""
    host, _, session_id = trace["session"].partition("/")
    held = [
        drop["memory_id"]
        for stage in trace["stages"]
        if stage["stage"] == "dedupe"
        for drop in stage["drops"]
    ]
    body = {
        **trace["asked"], "surface": trace["surface"], "cwd": cwd, "store_trace": False, "held": held,
        "session": {"host": host, "session_id": session_id},
    }  # fmt: skip
    answer = client.post("/v1/recall", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_traces_of_hooks_asked_again_give_the_same_pack(engine, client):
    chance = random.Random(11)
    number = 0
    traces: list[dict] = []
    while len(traces) < TRACES:
        for _ in range(20):
            number += 1
            work(engine, chance, number)
        engine.flush()
        rows = client.get("/v1/traces?whole=true&limit=200").json()["traces"]
        traces = [one for one in rows if one["asked"] and one["surface"] != "start"]
    same = [
        asked_again(client, trace, engine.cwd)["trace"]["injected"] == trace["injected"]
        for trace in traces[:TRACES]
    ]
    assert (
        sum(bool(trace["injected"]) for trace in traces[:TRACES]) > TRACES / 4
    )  # silence alone proves nothing
    assert {trace["surface"] for trace in traces[:TRACES]} == {"prompt", "action", "failure"}
    assert sum(same) >= LEAST * TRACES


def test_an_accepted_proposal_can_be_tried_by_hand(engine, client):
    event(engine, "a", "message_end", text=PROPOSALS[0])
    by_hook = event(engine, "a", "prompt", text="yup")
    assert by_hook
    body = {"text": "yup", "surface": "prompt", "cwd": engine.cwd, "store_trace": False}
    alone = client.post("/v1/recall", json=body).json()
    assert alone["trace"]["injected"] == []
    with_it = client.post("/v1/recall", json={**body, "previous": PROPOSALS[0]}).json()
    assert with_it["trace"]["injected"] == by_hook
    event(engine, "b", "message_end", text=PROPOSALS[0])
    session = {"host": "plain", "session_id": "b"}
    in_session = client.post("/v1/recall", json={**body, "session": session}).json()
    assert in_session["trace"]["injected"] == by_hook


@pytest.mark.parametrize(
    ("surface", "given", "words"),
    [
        ("action", {"tool": "bash", "command": "git tag v2.0.0"}, "tagged by the pipeline"),
        ("action", {"tool": "edit", "paths": ["db/schema.sql"]}, "migration in db/migrations"),
        ("failure", {"tool": "bash", "command": "make up", "error": ERRORS[0]}, ""),
    ],
)
def test_a_call_and_a_failure_can_be_tried_with_a_file_and_a_command(engine, client, surface, given, words):
    body = {"surface": surface, "cwd": engine.cwd, "store_trace": False, **given}
    answer = client.post("/v1/recall", json=body).json()
    assert words in answer["block"]["text"]
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
