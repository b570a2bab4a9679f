"""What a program that is not the user's could count or find by filters: review, digests, the timeline, the live stream, totals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from e2e.drivers.machine import Machine
from forks import run_tacit
from tacit.client.daemon_client import DaemonClient

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


def cli(machine: Machine, *arguments: str) -> str:
    """What a command prints for a program: no terminal, no token."""
    done = run_tacit(arguments, environ=machine.environ, cwd=machine.project)
    return " ".join((done.stdout + done.stderr).split())


def test_review_neither_shows_nor_counts_what_is_hidden(machine: Machine) -> None:
    agent = Agent(machine)
    here = str(machine.project)
    for content in OPEN:
        agent("POST", "/v1/memories", {"content": content, "kind": "fact", "cwd": here})
    empty = agent("GET", "/v1/review?limit=2")
    for kind, content in (
        ("decision", HIDDEN),
        ("fact", "The vault code of the Porto office is changed in May"),
    ):
        said = {"content": content, "kind": kind, "cwd": here, "sensitivity": "restricted"}
        agent("POST", "/v1/memories", said)

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
