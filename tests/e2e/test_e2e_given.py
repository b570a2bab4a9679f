"""Given means delivered: what a host did not wait for is not in its context, and what the hook client handed over alone is."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path

import pytest

from e2e.drivers.machine import RULE, Machine, injected, wait_for
from e2e.test_e2e_bad_input import transcript_of

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


def test_a_busy_daemon_gives_each_session_its_memory_once_however_impatient_its_client() -> None:
    with Machine() as machine:
        machine.remember(RULE, kind="guideline", when="commit")
        names = [f"busy{number}" for number in range(12)]
        running = {name: machine.popen(TACIT_HOOK_DEADLINE_MS="250") for name in names}
        for name, process in running.items():
            assert process.stdin is not None
            process.stdin.write(machine.payload("UserPromptSubmit", prompt=COMMIT, session_id=name))
            process.stdin.close()
            process.stdin = None
        printed = {name: RULE in injected(process.communicate()[0]) for name, process in running.items()}
        for name in names:
            assert (RULE in machine.prompt(COMMIT, session_id=name)) is not printed[name], name
        wait_for(lambda: [exposed(machine, name) for name in names] == [1] * len(names))


def test_twenty_ends_at_once_without_a_daemon_are_all_learned_once() -> None:
    with Machine() as machine:
        machine.remember()
        machine.kill()
        ends: list[tuple[str, Path]] = [
            (f"Always end export number {number} with a newline", machine.root / f"{number}.jsonl")
            for number in range(20)
        ]
        running = []
        for number, (text, _) in enumerate(ends):
            transcript = transcript_of(machine, f"end{number}", text)
            given = machine.payload(
                "SessionEnd", session_id=f"end{number}", transcript_path=str(transcript), reason="other"
            )
            process = machine.popen(TACIT_HOOK_DEADLINE_MS="400")
            assert process.stdin is not None
            process.stdin.write(given)
            process.stdin.close()
            process.stdin = None
            running.append(process)
        for process in running:
            assert process.communicate() == (b"", b"")
        wait_for(lambda: {text for text, _ in ends} <= set(machine.contents()), timeout_s=150)
        wait_for(lambda: not list(machine.home.spool_dir.iterdir()))
        assert len(machine.contents()) == len(set(machine.contents()))
