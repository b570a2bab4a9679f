"""Status says whether anything is connected: a check that fails while no agent can be heard."""

from __future__ import annotations

from dataclasses import replace

from tacit.api import documents
from tacit.api.answering import Parameters
from tacit.hosts.install import HostStatus
from tacit.verbs.requests import NoBody


def status_of(engine, **states):
    installed = {host: HostStatus(host=host, state=state) for host, state in states.items()}
    at = replace(Parameters(), installed=lambda: installed)
    answer = documents.get_status(engine, at, NoBody()).body
    assert answer is not None
    (check,) = [check for check in answer.checks if check.name == "agents"]
    return answer, check


def test_a_home_that_no_agent_knows_is_not_well(engine):
    status, check = status_of(engine)
    assert not status.ok
    assert (check.ok, check.hint) == (False, "`tacit install` connects yours.")
    status, check = status_of(engine, codex="absent")
    assert not check.ok
    assert [(one.host, one.state, one.heard_ms) for one in status.agents] == [("codex", "absent", 0)]


def test_an_installed_agent_is_enough(engine):
    status, check = status_of(engine, **{"claude-code": "installed", "codex": "absent"})
    assert check.ok
    assert [one.host for one in status.agents] == ["claude-code", "codex"]


def test_so_is_a_program_that_was_heard_of_lately_and_a_long_silence_is_not(engine, clock):
    event = {"event": "prompt", "session": "s1", "cwd": "/", "key": "k1", "text": "Tidy the door."}
    engine.hook("plain", event, deadline_ms=5_000)
    engine.flush()
    status, check = status_of(engine)
    assert check.ok
    assert [(one.host, one.state) for one in status.agents] == [("plain", "unknown")]
    clock.advance(documents.LATELY_MS + 1)
    assert not status_of(engine)[1].ok
