"""What sessions of `scoped` leave for later ones: rules with their scope, how often they were said, codes of the work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.drivers.machine import Machine, wait_for
from e2e.drivers.session import Session
from live.scoped.driving import lines, scoped_machine, speaks
from presets.acceptance import acceptance


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A Python repository and one in Go, in which the user said what holds where."""
    with scoped_machine() as opened:
        speaks(opened.project, "app.py", "test_app.py")
        speaks(opened.root / "relay", "main.go", "relay.go")
        session = Session(opened, "said")
        session.start()
        session.say("In Python, always use f-strings.")
        session.say("In all my projects, answer in short sentences.")
        session.say("We use integers for prices, not floats.")
        session.say("In all my Go projects, wrap errors with %w.")
        wait_for(lambda: len(opened.contents()) == 4)
        session.end()
        yield opened


def elsewhere(machine: Machine, name: str = "relay") -> str:
    """The start pack of a session in another repository."""
    return machine.start(cwd=str(machine.root / name))


@acceptance("scoped", "CAPTURE-scope")
def test_what_was_said_of_a_language_holds_in_the_projects_of_that_language(machine: Machine) -> None:
    here, there = Session(machine, "python").start(), elsewhere(machine)
    assert lines(here, "### Python Preferences") == ["- In Python, always use f-strings"]
    assert "f-strings" not in there
    assert lines(there, "### Go Preferences") == ["- In all my Go projects, wrap errors with %w"]
    assert "%w" not in here


@acceptance("scoped", "CAPTURE-correction", "SCORE-frequency")
def test_a_correction_said_again_counts_more_and_a_remark_on_the_work_at_hand_does_not() -> None:
    with scoped_machine() as machine:
        for number, said in enumerate(
            (
                "No, don't use os.path here, use pathlib instead.",
                "Don't use os.path here, use pathlib instead.",
            )
        ):
            session = Session(machine, f"path-{number}")
            session.start()
            session.say(said)
            session.say("That's not how we do it: every handler returns a Result type.")
            session.say("Before every commit, always run make lint.")
            session.say("No, it should be red, not blue.")
            session.end()
            wait_for(lambda wanted=number + 1: _counts(machine) == {wanted} and len(machine.contents()) == 3)
        start = Session(machine, "later").start()
        assert start.count("pathlib") == start.count("make lint") == start.count("Result type") == 1
        assert "blue" not in start


def _counts(machine: Machine) -> set[int]:
    """How often each statement was made."""
    return {memory["frequency"] for memory in machine.request("GET", "/v1/memories?limit=50")["memories"]}


@acceptance("scoped", "CAPTURE-open", "CODES-finished", "CODES-done")
def test_blockers_come_back_until_what_they_blocked_is_done() -> None:
    with scoped_machine() as machine:
        first = Session(machine, "monday")
        first.start()
        first.say("Let the customers download their bookings.")
        first.edited("src/bookings.py")
        first.say("We're still waiting on the payroll team's sandbox.")
        first.stops(
            "The CSV is in.\n\n```\nBlocked: this is a log line\n```\n\nNext: add the XLSX export and write its manual page."
            " Blocked: the staging bucket has no credentials yet."
        )
        first.end()
        wait_for(lambda: any("next:" in text for text in machine.contents()))
        codes = lines(Session(machine, "tuesday").start(), "### Session Codes")
        assert codes[1:] == [
            "block: We're still waiting on the payroll team's sandbox",
            "block: the staging bucket has no credentials yet",
            "next: add the XLSX export and write its manual page",
        ]
        for name, subject in (("wednesday", "Add the XLSX export"), ("thursday", "Write the manual page")):
            session = Session(machine, name)
            session.start()
            session.say("Go on with what is open.")
            session.edited("src/bookings.py")
            session.ran(f"git commit -am '{subject}'", output=f"[main 1f2e3d4] {subject}\n 1 file changed")
            session.stops("Done.")
            session.end()
            wait_for(lambda subject=subject: any(subject in text for text in machine.contents()))
            after = lines(Session(machine, f"after-{name}").start(), "### Session Codes")
            assert f"done: {subject} (1f2e3d4)" in after
            opened = [line for line in after if line.startswith(("block", "next"))]
            assert opened == (["block: " + text for text in (
                "We're still waiting on the payroll team's sandbox", "the staging bucket has no credentials yet",
            )] + ["next: write its manual page"] if name == "wednesday" else [])  # fmt: skip
