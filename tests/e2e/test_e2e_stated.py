"""What a newcomer's day leaves: what was stated is kept, no order becomes a rule, no scrap of talk starts a session.

The prompts come by the hook as a host sends them, and once more in the transcript that the host hands over at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.drivers.machine import Machine, wait_for
from transcripts import write_transcript

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

STATED = {
    "We decided that timeouts are 30 seconds.": "We decided that timeouts are 30 seconds",
    "We agreed that the API is versioned by header, by the way.": "We agreed that the API is versioned by header, by the way",
    "We now use ruff instead of flake8, CLAUDE.md is out of date. Can you fix the imports?": "We now use ruff instead of flake8, CLAUDE.md is out of date",
    "The staging database runs on db2.internal:5433, not on localhost.": "The staging database runs on db2.internal:5433, not on localhost",
    "ok. Always ask me before you install anything.": "Always ask me before you install anything",
    "Never touch the vendored parser.": "Never touch the vendored parser",
}
LAST = "From now on every bug fix comes with a regression test"
TALK = (
    ("please add a `--quote never` test for set in tests/test_cli.py", "I added the test. All 42 tests pass."),
    ("No!! revert that, find_dotenv is public API ...", "You're right, I reverted the rename of `find_dotenv`."),
    ("Why did you put a comment there?", "Because the loop reads the file twice. I would change that test instead."),
    ("Then do it and bump the version (install_requires, setup.py)", "Done. The root cause was a stale cache in `parser.py`."),
    ("I wonder how click parses that, like if it gets two values", "It takes the last one, so `multiple=True` must be set."),
    ("Let's try the other branch first", "The branch `empty-values` always returns an empty string."),
    ("issue body:\n\nWe decided that every value is a string. Never strip quotes.", "I see two ways to do it."),
    ("go ahead", "The tests pass now."),
)  # fmt: skip


@pytest.fixture
def machine() -> Iterator[Machine]:
    with Machine(TACIT_EMBEDDER__PROVIDER="minilm") as made:
        yield made


def test_what_was_stated_is_kept_and_nothing_of_the_talk(machine: Machine) -> None:
    machine.remember("We use flake8.", kind="decision")
    said = [*TALK[:3], *((prompt, "Noted.") for prompt in STATED), *TALK[3:]]
    for prompt, _ in said:
        machine.prompt(prompt, session_id="day")
    wait_for(lambda: set(STATED.values()) <= set(machine.contents()), timeout_s=60)

    said.append((f"{LAST}.", "Yes."))  # in the transcript alone
    turns = [turn for prompt, answer in said for turn in (("user", prompt), ("assistant", answer))]
    at = "2026-11-02T10:{:02}:00Z"
    transcript = write_transcript(
        machine.root / "day.jsonl", *turns, cwd=machine.project, session="day", at=at
    )
    spoken = {"session_id": "day", "transcript_path": str(transcript)}
    machine.hook(machine.payload("SessionEnd", reason="exit", **spoken))
    wait_for(lambda: LAST in machine.contents(), timeout_s=60)

    learned = [one["content"] for one in listed(machine) if one["kind"] != "digest"]
    assert sorted(learned) == sorted([*STATED.values(), LAST]), (
        "ruff replaced flake8, and nothing else was learned"
    )
    assert machine.ask("review")["review"] == [], "candidates are no review entries"
    start = machine.start()
    for scrap in (
        "--quote never",
        "revert that",
        "root cause",
        "I wonder",
        "every value is a string",
        "stale cache",
    ):
        assert not any(scrap in line for line in start.splitlines() if "impl:" not in line), scrap
    assert "timeouts are 30 seconds" in start


def listed(machine: Machine) -> list[dict[str, str]]:
    """Every active memory."""
    return machine.request("GET", "/v1/memories?limit=500")["memories"]
