"""What a program that is not the user's could count or find by filters: review, digests, the timeline, the live stream, totals."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from e2e.drivers.machine import Machine, wait_for
from forks import run_tacit
from loopback import connect
from tacit.client.daemon_client import DaemonClient
from tacit.errors import NotFound
from user_voice import user_token

pytestmark = pytest.mark.slow

HIDDEN = "Always escalate pager incidents to the Lisbon office first"
QUESTION = "to which office are pager incidents escalated"
OPEN = [f"The report of team {name} is due on {day}." for name, day in zip("abc", ("Monday", "Tuesday", "Friday"), strict=True)]  # fmt: skip


@pytest.fixture
def machine(machine: Machine) -> Machine:
    machine.wake()
    return machine


class Agent:
    """A program without the user's token at the daemon's socket."""

    def __init__(self, machine: Machine) -> None:
        self._client = DaemonClient(machine.home)

    def __call__(self, method: str, path: str, body: object = None) -> Any:
        return self._client.request(method, path, body)[1]


def ask_memory(machine: Machine, text: str = QUESTION) -> str:
    """The user asks by hand; the id of the trace, whose block holds what is restricted."""
    found = machine.request("POST", "/v1/recall", {"text": text, "cwd": str(machine.project)})
    assert "Lisbon" in found["block"]["text"]
    return found["trace"]["id"]


def cli(machine: Machine, *arguments: str) -> str:
    """What a command prints for a program: no terminal, no token."""
    done = run_tacit(arguments, environ=machine.environ, cwd=machine.project)
    return " ".join((done.stdout + done.stderr).split())


def test_review_neither_shows_nor_counts_what_is_hidden(machine: Machine) -> None:
    agent = Agent(machine)
    here = str(machine.project)
    for content in OPEN:
        agent("POST", "/v1/remember", {"content": content, "kind": "fact", "cwd": here})
    empty = agent("GET", "/v1/review?limit=2")
    for kind, content in (
        ("decision", HIDDEN),
        ("fact", "The vault code of the Porto office is changed in May"),
    ):
        said = {"content": content, "kind": kind, "cwd": here, "sensitivity": "restricted"}
        agent("POST", "/v1/remember", said)

    users = machine.request("GET", "/v1/review?limit=2")
    assert (users["total"], users["waiting"]) == (len(OPEN) + 2, len(OPEN) + 2)
    assert agent("GET", "/v1/review?limit=2") == empty  # also its groups and its cursor
    assert (empty["total"], empty["waiting"], len(empty["review"])) == (len(OPEN), len(OPEN), 2)
    following = agent("GET", f"/v1/review?limit=2&cursor={empty['next_cursor']}")
    assert (len(following["review"]), following["next_cursor"]) == (1, None)
    for where in ("text=Lisbon", "kind=decision", f"kind=decision&cwd={here}"):
        page = agent("GET", f"/v1/review?{where}")
        assert (page["review"], page["total"], page["waiting"]) == ([], 0, len(OPEN))
        assert not any(page["groups"].values())
    shown = cli(machine, "review")
    assert "Lisbon" not in shown
    assert "decision" not in shown
    assert f"by cause: agent {len(OPEN)}" in shown
    assert "Lisbon" in machine.tacit("review").stdout.replace("\n", " ")


def test_totals_and_changes_leave_out_what_is_hidden(machine: Machine) -> None:
    agent = Agent(machine)
    for content in (OPEN[0], "Deploys run on the staging cluster before noon"):
        machine.remember(content, kind="fact")

    def numbers() -> list[object]:
        status, stats = agent("GET", "/v1/status")["store"], agent("GET", "/v1/stats")["store"]
        health = agent("GET", "/v1/health")["store"]
        projects = [one["active"] for one in agent("GET", "/v1/projects")["projects"]]
        counts = [
            [store[name] for name in ("memories_active", "memories_total", "vectors", "exposures")]
            for store in (status, health)
        ]
        return [counts, stats, projects, agent("GET", "/v1/memories?limit=1")["total"]]

    before, changes = numbers(), agent("GET", "/v1/changes?limit=2")["changes"]
    name = machine.remember(HIDDEN)["memory"]["id"]  # everybody's, before the user restricts it
    (added,) = machine.request("GET", f"/v1/changes?id={name}")["changes"]
    machine.request("PATCH", f"/v1/memories/{name}", {"sensitivity": "restricted"})
    assert numbers() == before
    assert machine.request("GET", "/v1/status")["store"]["memories_active"] == 3
    assert agent("GET", "/v1/changes?limit=2")["changes"] == changes
    with pytest.raises(NotFound):
        agent("GET", f"/v1/changes?id={name}")
    past = f"as_of_ms={added['at_ms']}&limit=50"
    assert "Lisbon" in json.dumps(machine.request("GET", f"/v1/memories?{past}"))
    assert "Lisbon" not in json.dumps(agent("GET", f"/v1/memories?{past}"))
    asked = {"text": QUESTION, "cwd": str(machine.project), "as_of_ms": added["at_ms"]}
    assert "Lisbon" in json.dumps(machine.request("POST", "/v1/recall", asked))
    assert "Lisbon" not in json.dumps(agent("POST", "/v1/recall", asked))
    with pytest.raises(NotFound) as several:
        agent("GET", "/v1/memories/mem_")
    assert name not in str(several.value)


def test_a_statement_of_a_program_does_not_tell_what_hidden_memory_it_meets(machine: Machine) -> None:
    agent = Agent(machine)
    name = machine.remember(HIDDEN, sensitivity="restricted")["memory"]["id"]
    for content in (HIDDEN, HIDDEN.replace("Lisbon", "Madrid"), f"{HIDDEN}, always"):
        answer = agent("POST", "/v1/remember", {"content": content, "kind": "preference", "cwd": str(machine.project)})  # fmt: skip
        assert name not in json.dumps(answer)
        assert "Lisbon" not in json.dumps(answer).replace(content, "")


def test_a_digest_shows_a_program_nothing_restricted(machine: Machine) -> None:
    agent, here = Agent(machine), str(machine.project)
    machine.start(session_id="s1")
    said = {"host": "claude-code", "session_id": "s1"}
    machine.remember(HIDDEN, kind="decision", session=said)
    story = f"impl: moved the pager schedule\ndec: {HIDDEN}\ndone: wrote the runbook"
    digest = machine.remember(story, kind="digest", session=said)["memory"]["id"]
    paths = ("/v1/digests", f"/v1/digests?cwd={here}", "/v1/digests?session=s1")
    for path in paths:
        assert "Lisbon" in json.dumps(agent("GET", path)), path  # nothing is restricted yet

    decision = machine.request("GET", "/v1/memories?kind=decision")["memories"][0]["id"]
    machine.request("PATCH", f"/v1/memories/{decision}", {"sensitivity": "restricted"})
    for path in paths:
        shown = json.dumps(agent("GET", path))
        assert "Lisbon" not in shown, path
        assert "runbook" in shown, path
    assert "Lisbon" not in machine.start(session_id="s2")
    assert "Lisbon" not in cli(machine, "digest")

    machine.request("PATCH", f"/v1/memories/{digest}", {"sensitivity": "restricted"})
    for path in paths:
        shown = agent("GET", path)
        assert shown["digests"] == [], path
        assert "runbook" not in json.dumps(shown)
        assert digest not in json.dumps(shown)
        assert "runbook" in json.dumps(machine.request("GET", path)), path
    assert "runbook" not in cli(machine, "digest")


def test_the_timeline_reveals_no_hidden_memory_by_its_rows_or_its_filters(machine: Machine) -> None:
    agent = Agent(machine)
    name = machine.remember(HIDDEN, sensitivity="restricted")["memory"]["id"]
    quoting = f"is it true: {HIDDEN}?"
    traces = [ask_memory(machine), ask_memory(machine, quoting)]
    machine.start(session_id="s1")
    machine.prompt("Change the pager schedule of the office", session_id="s1")
    rows = agent("GET", "/v1/timeline?limit=50")["recalls"]
    assert {one["id"] for one in rows} >= set(traces)
    assert name not in json.dumps(rows)
    assert "Lisbon" not in json.dumps(rows)
    for words in ("Lisbon", quoting, QUESTION, "escalated"):
        path = f"/v1/timeline?text={quote(words)}"
        assert machine.request("GET", path)["recalls"] or words == "Lisbon", words
        found = agent("GET", path)
        assert (found["recalls"], found["next_cursor"]) == ([], None), words
    given = agent("GET", "/v1/timeline?outcome=injected&limit=50")["recalls"]
    silent = agent("GET", "/v1/timeline?outcome=silent&limit=50")["recalls"]
    assert not {one["id"] for one in given} & set(traces)
    assert {one["id"] for one in silent} >= set(traces)
    assert sorted(one["id"] for one in (*given, *silent)) == sorted(one["id"] for one in rows)
    pages: list[str] = []
    cursor = ""
    while cursor is not None:
        page = agent("GET", f"/v1/timeline?limit=1{cursor and '&cursor=' + cursor}")
        pages += [one["id"] for one in page["recalls"]]
        cursor = page["next_cursor"]
    assert pages == [one["id"] for one in rows]
    for path in (
        "/v1/traces?limit=50",
        *(f"/v1/traces/{one}" for one in traces),
        "/v1/exposures",
        "/v1/feedback",
    ):
        shown = json.dumps(agent("GET", path))
        assert name not in shown, path
        assert "Lisbon" not in shown, path
    assert name in json.dumps(machine.request("GET", "/v1/timeline?limit=50"))


def test_a_session_counts_no_hidden_memory_that_it_was_given(machine: Machine) -> None:
    agent = Agent(machine)
    machine.start(session_id="s1")
    said = {"host": "claude-code", "session_id": "s1"}
    name = machine.remember(HIDDEN, sensitivity="session", session=said)["memory"]["id"]
    assert "Lisbon" in machine.start(session_id="s1", source="compact")
    path = "/v1/sessions/claude-code/s1"
    wait_for(lambda: name in json.dumps(machine.request("GET", path)))
    for one in (path, "/v1/sessions", "/v1/exposures", "/v1/exposures?host=claude-code&session_id=s1"):
        shown = agent("GET", one)
        assert name not in json.dumps(shown), one
        assert "Lisbon" not in json.dumps(shown), one
    assert machine.request("GET", path)["session"]["session"]["exposures"] == 1
    assert agent("GET", path)["session"]["session"]["exposures"] == 0


def test_the_live_stream_shows_a_program_no_hidden_memory(machine: Machine) -> None:
    name = machine.remember(HIDDEN, sensitivity="restricted")["memory"]["id"]
    quoting = f"is it true: {HIDDEN}?"
    with listening(machine, "") as program, listening(machine, user_token(machine.home)) as users:
        trace = ask_memory(machine, quoting)
        program_heard, user_heard = heard(program, trace), heard(users, trace)
    assert name in user_heard
    assert "Lisbon" in user_heard
    assert name not in program_heard
    assert "Lisbon" not in program_heard
    row = json.loads(program_heard.rpartition("data: ")[2])
    assert (row["injected"], row["tokens"], row["candidates"]) == ([], 0, 0)


def test_an_answer_and_an_export_name_no_hidden_memory(machine: Machine) -> None:
    agent = Agent(machine)
    machine.remember(OPEN[0], kind="fact")
    name = machine.remember(HIDDEN, sensitivity="restricted")["memory"]["id"]
    for more in ({}, {"surface": "prompt"}):
        asked = {"text": QUESTION, "cwd": str(machine.project), **more}
        assert name in json.dumps(machine.request("POST", "/v1/recall", asked)), more
        assert name not in json.dumps(agent("POST", "/v1/recall", asked)), more
    for form in ("jsonl", "markdown"):
        shown = cli(machine, "export", "--format", form)
        assert OPEN[0] in shown
        assert name not in shown
        assert "Lisbon" not in shown
        assert "is left out" in shown
        users = machine.tacit("export", "--format", form)
        assert "Lisbon" in users.stdout
        assert "left out" not in users.stderr


@contextlib.contextmanager
def listening(machine: Machine, token: str) -> Iterator[socket.socket]:
    """An open stream of recalls, as the page's live view has it."""
    with connect(machine.home, timeout_s=60) as made:
        authority = f"Authorization: Bearer {token}\r\n" if token else ""
        made.sendall(
            f"GET /v1/traces/stream HTTP/1.1\r\nHost: tacit\r\nAccept: text/event-stream\r\n{authority}\r\n".encode()
        )
        begun = b""
        while b": tacit" not in begun:
            begun += made.recv(65_536)
        assert begun.startswith(b"HTTP/1.1 200")
        yield made


def heard(stream: socket.socket, trace: str) -> str:
    """What the stream says up to the whole event of `trace`."""
    text = b""
    while b"id: " + trace.encode() not in text or b"}\n\n" not in text:
        part = stream.recv(65_536)
        assert part, text
        text += part
    return text.decode().partition(f"id: {trace}\n")[2].partition("\n\n")[0]
