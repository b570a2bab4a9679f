"""A session that goes on is told what changed, and what a compaction took from it: real launcher, real daemon, a large store."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from e2e.drivers.machine import Machine, injected

pytestmark = pytest.mark.e2e

MEMORIES = 130
KINDS = ("decision", "fact", "file_context", "error_pattern", "research")
STARTING = (
    "focused",
    *(pytest.param(one, marks=pytest.mark.long) for one in ("typed", "scoped", "refresh")),
)
"""Presets that have a start pack."""
NEW = "Every amount of money is stored in cents as an integer."
CHANGED = "Release notes are written in the imperative mood by the author of the change."


@pytest.fixture(scope="module", params=STARTING)
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A store that is full of statements; every test has a session of its own."""
    with Machine(TACIT_PRESET=request.param) as made:
        fill(made)
        yield made


def statement(number: int) -> str:
    """A statement that shares hardly a word with any other, so that each is kept."""
    chance = Random(number)
    made = [
        "".join(chance.choice("bdfgklmnprstvz") + chance.choice("aeiou") for _ in range(4)) for _ in range(8)
    ]
    return f"The {made[0]} {' '.join(made[1:])} holds (statement {number})."


def fill(machine: Machine) -> None:
    machine.wake()
    for number in range(MEMORIES):
        body = {
            "content": statement(number), "kind": KINDS[number % len(KINDS)], "when": "always",
            "cwd": str(machine.project),
        }  # fmt: skip
        machine.request("POST", "/v1/memories", body)
    assert len(machine.contents()) >= 100


def start(machine: Machine, source: str, session: str) -> str:
    # A host names its prompts, so that two resumes within some seconds are told apart.
    start.count = getattr(start, "count", 0) + 1
    fields = {"source": source, "session_id": session, "prompt_id": f"p{start.count}"}
    return injected(machine.hook(machine.payload("SessionStart", **fields)))


def told(text: str) -> set[int]:
    """Numbers of the statements in `text`."""
    return {number for number in range(MEMORIES) if f"(statement {number})" in text}


def test_a_resume_tells_what_changed_and_never_pages_through_the_store(machine: Machine) -> None:
    first = start(machine, "startup", "changes")
    seen = told(first)
    assert 5 <= len(seen) < MEMORIES
    assert start(machine, "resume", "changes") == ""
    machine.remember(NEW)
    again = start(machine, "resume", "changes")
    assert NEW in again
    assert not told(again)
    assert start(machine, "resume", "changes") == ""
    known = machine.request("GET", "/v1/memories?limit=500")["memories"]
    shown = next(one for one in known if told(one["content"]) & seen)
    machine.request("PATCH", f"/v1/memories/{shown['id']}", {"content": CHANGED})
    again = start(machine, "resume", "changes")
    assert CHANGED in again
    assert not told(again)
    assert NEW not in again
    assert start(machine, "resume", "changes") == ""
