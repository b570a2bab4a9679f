"""Given means delivered: what a host did not wait for is not in its context, and what the hook client handed over alone is."""

from __future__ import annotations

import os
import signal
import sqlite3

import pytest

from e2e.drivers.machine import RULE, Machine, injected, wait_for

pytestmark = pytest.mark.slow

COMMIT = "Run ruff before every commit; is that so?"
SHORT = {"TACIT_HOOK_DEADLINE_MS": "300"}


def impatient(machine: Machine, text: str, *, session: str, **environ: str) -> str:
    return injected(
        machine.hook(machine.payload("UserPromptSubmit", prompt=text, session_id=session), **environ)
    )


def exposed(machine: Machine, session: str) -> int:
    """How often the ledger says that something was given."""
    database = sqlite3.connect(f"file:{machine.home.database}?mode=ro", uri=True)
    try:
        return int(
            database.execute("SELECT count(*) FROM exposures WHERE session_id = ?", (session,)).fetchone()[0]
        )
    finally:
        database.close()


def traces(machine: Machine, session: str) -> list[dict[str, object]]:
    return machine.request("GET", f"/v1/traces?whole=true&session=claude-code/{session}&limit=9")["traces"]


def comes_again(machine: Machine, session: str) -> None:
    assert RULE in machine.prompt(COMMIT, session_id=session)
    assert machine.prompt(COMMIT, session_id=session) == ""  # once, for it was taken
    wait_for(lambda: exposed(machine, session) == 1)


def test_a_daemon_that_stood_still_beyond_the_deadline_gave_nothing() -> None:
    with Machine() as machine:
        machine.remember(RULE, kind="guideline", when="commit")
        pid = machine.pid()
        os.kill(pid, signal.SIGSTOP)
        try:
            assert impatient(machine, COMMIT, session="still", **SHORT) == ""
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_for(lambda: machine.counters()["late"] == 1)
        wait_for(lambda: traces(machine, "still"))
        (late,) = traces(machine, "still")
        assert (late["injected"], late["block"], late["cause"]) == ([], "", "late")
        assert "late: the host did not wait" in machine.tacit("why").stdout
        comes_again(machine, "still")
