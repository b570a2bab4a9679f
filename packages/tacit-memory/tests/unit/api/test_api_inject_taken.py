"""What a program asked for with `POST /v1/injections` counts as given only where it was still there for the answer."""

from __future__ import annotations

import pytest

from tacit.api.answering import Parameters
from tacit.api.operations import Inject, inject
from unit.mcp.desk import opened

RULE = "Never push to main without asking first."


@pytest.fixture
def desk(tmp_path):
    yield from opened(tmp_path)


def given(desk, *, waits):
    asked = Inject(text="push the branch to main now", session_id="p1", cwd=str(desk.folder))
    inject(desk.engine, Parameters(waits=lambda: waits), asked)
    (session,) = (state for state in desk.engine.sessions() if state.key.session_id == "p1")
    return [entry.memory_id for entry in session.ledger]


def test_an_answer_nobody_waited_for_is_not_given_and_the_next_one_brings_it(desk):
    name = desk.know(RULE, "guideline", when="always")
    assert name not in given(desk, waits=False)
    assert name in given(desk, waits=True)
