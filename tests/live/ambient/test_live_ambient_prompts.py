"""The `ambient` preset through hook client and daemon: what a prompt gets, and what the owner is told of it."""

from __future__ import annotations

import pytest

from e2e.drivers.machine import Machine
from e2e.drivers.session import Session
from live.ambient.office import ASKED, UNRELATED
from presets.acceptance import acceptance


def last_trace(machine: Machine) -> dict:
    """The newest recall."""
    [row] = machine.request("GET", "/v1/traces?limit=1")["recalls"]
    return machine.request("GET", f"/v1/traces/{row['id']}")["trace"]


@pytest.fixture
def office(live):
    """A machine that knows what the office knows, with `settings`."""

    def open_office(settings: str) -> Machine:
        machine = live(settings)
        for memory, _ in ASKED:
            machine.remember(memory, kind="fact", when="")
        return machine

    return open_office


@acceptance("ambient", "P7", "S9-pinned-empty", "CFG-score", "TRACE-skip", "P1")
def test_a_prompt_gets_what_it_asks_for_and_nothing_else(office):
    machine = office("preset: ambient")
    machine.remember("Paper is kept in the cellar.", kind="fact", when="")  # like the first prompt, but less
    session = Session(machine, "s1")
    assert session.start() == ""
    for memory, prompt in ASKED:
        given = session.say(prompt)
        assert [line for line in given.splitlines() if line.startswith("[Fact]")] == [
            line for line in given.splitlines() if memory in line
        ]
        assert memory in given, prompt
    assert session.say(UNRELATED) == ""
    assert last_trace(machine)["silence"] == "no memory was relevant enough"
    log = machine.home.log_file.read_text()
    assert log.count("injection: 1 memory") == len(ASKED)


@acceptance("ambient", "ADMIT", "SEARCH-seed", "P8")
def test_a_rare_name_admits_what_the_cosine_does_not(office):
    machine = office("preset: ambient")
    machine.remember("Ticket QX9040 asks for idempotency keys", kind="todo", when="")
    machine.remember("Ship version 2 by February", kind="goal", when="")
    given = Session(machine, "s1").say(
        "Implement the retry logic of the payment client with a growing pause between attempts, see QX9040"
    )
    assert "[Todo] Ticket QX9040 asks for idempotency keys" in given
    assert "Ship version 2" not in given, "importance alone relates nothing"
    [found] = [one for one in last_trace(machine)["candidates"] if "QX9040" in one["content"]]
    assert dict(found["scores"])["semantic"] < 0.3
    assert "name: qx9040" in found["reasons"]


OWN_KIND = """
preset: ambient
kinds:
  runbook: {label: Runbook, prefix: RUN, importance: 0.6}
"""
STEP = "When invoices hang, restart the billing queue with `make requeue`."


@acceptance("ambient", "KINDS-own")
def test_a_kind_of_the_users_own_comes_unless_the_user_lists_others(live):
    machine = live(OWN_KIND)
    machine.remember(STEP, kind="runbook", when="")
    asked = "No bill went out since noon, what do we do about the stuck billing?"
    assert STEP.rstrip(".") in Session(machine, "s1").say(asked)
    with machine.setting("recall.kinds", ["fact"]):
        assert Session(machine, "s2").say(asked) == ""
