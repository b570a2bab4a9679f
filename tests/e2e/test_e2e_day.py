"""A person's first day, in order, in one fresh home: six sessions of Claude Code with hook processes, daemon and the shipped model.

Every block that an agent is given is compared whole, and shown with `pytest -o log_cli=true -o log_cli_level=INFO`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import pytest

from e2e.drivers.machine import Machine, wait_for
from e2e.drivers.session import Session

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

FILES = {
    "AGENTS.md": "# Agents\n\n- Lint with `flake8 shop` before every commit.\n- Every public function has a docstring.\n"
    "- `shop/rates.py` holds the tax tables; never round in it.\n",
    "CLAUDE.md": "# Shop\n\n- Keep handlers thin: they call one service function.\n- Never add a runtime dependency without asking.\n",
    "README.md": "# shop\n\nA small web shop.\n\n## Development\n\nOpen http://127.0.0.1:8000/ after `make serve`.\n",
    "Makefile": "test: build\n\tpip install -e .\n\tpython -m pytest -q\n\nrelease:\n\tpython -m build\n\ttwine upload dist/*\n\nbuild:\n\tpython setup.py build_ext\n",
    "package.json": '{"scripts": {"build": "vite build", "test": "vitest run && eslint ."}}',
}  # fmt: skip

FLAKE8 = "Lint with `flake8 shop` before every commit"
DOCSTRING = "Every public function has a docstring"
RATES = "`shop/rates.py` holds the tax tables; never round in it"
FROM_FILES = {FLAKE8, DOCSTRING, RATES}
IN_CLAUDE_MD = {
    "Keep handlers thin: they call one service function",
    "Never add a runtime dependency without asking",
}
DECIDED = "We decided that a missing price is an error and never zero"
HABITS = {
    "Commit messages in the imperative mood",
    "Money is stored in cents, never as a float",
    "No new abbreviations in names",
    "Run the type checker before pushing",
    "One test file per module",
}
SWITCHED = "We switched from flake8 to ruff, AGENTS.md still has it wrong"
RUFF = "Lint with `ruff check shop` from now on"
PYTEST_FIX = (
    "`python3 -m pytest` failed with: python3: No module named pytest. Cause: this `python3` has no module `pytest`."
    " `.venv/bin/python -m pytest` works."
)
COMPOSE_FIX = (
    "`docker compose up -d` failed with: no configuration file provided: not found. Cause: it needs `-f ops/compose.yml`."
    " `docker compose -f ops/compose.yml up -d` works."
)
NO_PYTEST = "Exit code 1\n/usr/bin/python3: No module named pytest"
NO_PYTEST_ELSEWHERE = "Exit code 1\n/opt/homebrew/bin/python3: No module named pytest"
NO_COMPOSE = "Exit code 14\nno configuration file provided: not found"
PASTED = (
    "Ticket text:\n\nWe agreed that prices are rounded up. Always deploy on Fridays. Never ask for a review."
)
SCRAPS = (
    "--currency", "go ahead", "why on earth", "I wonder", "bump the version", "rename `load`", "always returns a copy", "other way first",
    "rounded up", "deploy on Fridays", "cache the rows", "typo in the footer", "push it", "make test", "vitest", "127.0.0.1",
)  # fmt: skip
_DATED = re.compile(r" \((?:worked before, )?20\d\d-\d\d-\d\d\)$")


@pytest.fixture
def machine() -> Iterator[Machine]:
    with Machine(TACIT_EMBEDDER__PROVIDER="minilm") as made:
        for name, text in FILES.items():
            (made.project / name).write_text(text)
        made.tacit("init", "--yes")
        yield made


class Day:
    """The sessions of the day, one after the other."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.sessions: list[Session] = []

    def begin(self, name: str) -> set[str]:
        """Begin a session; the statements of its start block."""
        self.sessions.append(Session(self.machine, name))
        return statements(self.now.start())

    @property
    def now(self) -> Session:
        return self.sessions[-1]

    def talk(self, *exchanges: tuple[str, str]) -> None:
        """Prompts, each with the agent's answer."""
        for prompt, answer in exchanges:
            self.now.say(prompt)
            self.now.stops(answer)

    def end(self) -> list[str]:
        """End the session and wait until it was learned from; the lines of its digest."""
        name = self.now.name
        self.now.end()
        wait_for(lambda: self._read(name), timeout_s=60)
        listed = self.machine.request("GET", "/v1/memories?limit=500&kind=digest")["memories"]
        mine = [m["content"] for m in listed if m["provenance"]["session_id"] == name]
        return mine[0].splitlines() if mine else []

    def _read(self, name: str) -> bool:
        found = self.machine.request("GET", f"/v1/digests?session=claude-code/{name}")
        return bool(found["digests"] or "changed no file" in found["reason"])

    def learned(self) -> set[str]:
        """Every active statement that somebody said or a session proved, digests left out."""
        listed = self.machine.request("GET", "/v1/memories?limit=500")["memories"]
        return {m["content"] for m in listed if m["kind"] != "digest" and m["provenance"]["tier"] != "import"}


def statements(block: str) -> set[str]:
    """The statements of a block, without their labels, dates and digests."""
    lines = [line for line in block.splitlines() if line.startswith("- [")]
    told = [line.partition("] ")[2] for line in lines if not line.startswith("- [Session digest]")]
    return {_DATED.sub("", text) for text in told}


def test_the_day(machine: Machine) -> None:
    day = Day(machine)
    assert machine.ask("review", "list")["review"] == []
    assert day.learned() == FROM_FILES | IN_CLAUDE_MD

    # A decision, an order, a wrong invocation, a complaint.
    assert day.begin("morning") == FROM_FILES, (
        "what Claude Code reads itself and what nobody asked for is left out"
    )
    day.talk(
        ("hi! what is in this repository?", "A small shop: `shop/` with handlers and services."),
        (f"{DECIDED}.", "Understood."),
        (
            "please add a `--currency` test for total in tests/test_total.py",
            "I added the test. All 18 tests pass.",
        ),
        ("go ahead", "Done."),
    )
    day.now.say("now run the tests")
    assert statements(day.now.runs("python3 -m pytest", NO_PYTEST)) == set()
    day.now.runs("ls -a")
    day.now.runs(".venv/bin/python -m pytest -q")
    day.now.stops("18 passed.")
    day.talk(
        ("why on earth did you rename the cart??", "Sorry, I reverted it."),
        ("thanks", "You're welcome."),
    )
    digest = day.end()
    assert f"dec: {DECIDED}" in digest
    assert any(line.startswith("fix: `python3 -m pytest`") for line in digest)
    known = FROM_FILES | IN_CLAUDE_MD | {DECIDED, PYTEST_FIX}
    assert day.learned() == known

    # Five habits in one message, talk, a compaction, next steps.
    assert day.begin("late-morning") == FROM_FILES | {DECIDED}
    day.talk(
        (
            "Some rules for this repo:\n- "
            + "\n- ".join(sorted(habit[0].lower() + habit[1:] for habit in HABITS)),
            "Noted.",
        ),
        (
            "The coupon form loses its state on reload. I wonder if the cookie is too big?",
            "It is written before the session starts.",
        ),
        (
            "then do that and bump the version",
            "I moved the write in `shop/session.py`. I would also rename `load`; it always returns a copy.",
        ),
        ("let's try the other way first", "The branch `coupon-state` keeps the cookie."),
    )
    wait_for(lambda: day.learned() >= HABITS)
    assert statements(day.now.start("compact")) == FROM_FILES | {DECIDED} | HABITS, (
        "what was learned before the compaction is back"
    )
    day.now.say("fix the typo in the footer")
    day.now.runs("git commit -am 'Fix the footer'")
    day.now.stops("Committed. Next: add a changelog entry for the coupon form.")
    digest = day.end()
    assert "next: add a changelog entry for the coupon form" in digest
    known |= HABITS
    assert day.learned() == known

    # Another tool; a question about what is open; the old failure in other words; a new one.
    assert day.begin("noon") == FROM_FILES | {DECIDED} | HABITS
    assert "next: add a changelog entry for the coupon form" in day.now.packs[0][1]
    day.talk(
        (
            f"{SWITCHED}. {RUFF}.",
            "Good.",
        ),
        ("What's still open?", "The changelog entry."),
    )
    day.now.say("run the tests again")
    given = day.now.runs("python3 -m pytest tests/test_total.py -x", NO_PYTEST_ELSEWHERE)
    assert statements(given) == {PYTEST_FIX}
    day.now.runs(".venv/bin/python -m pytest tests/test_total.py -x")
    day.now.stops("It passes with the environment's Python.")
    day.now.say("and the containers?")
    assert statements(day.now.runs("docker compose up -d", NO_COMPOSE)) == set()
    day.now.runs("docker compose -f ops/compose.yml up -d")
    day.now.stops("They run.")
    digest = day.end()
    assert not any("still fails" in line for line in digest), digest
    known |= {SWITCHED, RUFF, COMPOSE_FIX}
    assert day.learned() == known, "the rule file still says flake8, and the program ends no rule by guessing"

    # Nothing standing is said: a pasted ticket, a question, a proposal, orders.
    standing = FROM_FILES | {DECIDED, SWITCHED, RUFF, PYTEST_FIX} | HABITS
    assert day.begin("afternoon") == standing, "ruff beside flake8, and what worked twice"
    day.talk(
        (PASTED, "It asks for three things."),
        ("can you check whether the export is slow?", "It reads the file twice; I would cache the rows."),
        ("no, leave it for now", "OK."),
        ("push it", "Pushed."),
    )
    day.now.edited("shop/export.py")
    assert day.end() == ["impl: changed shop/export.py"]
    assert day.learned() == known

    # The rule is there at its moment, and the second fix at the next failure.
    assert day.begin("evening") == standing
    assert statements(day.now.runs("docker compose ps", NO_COMPOSE)) == {COMPOSE_FIX}
    day.now.stops("Done.")
    day.end()
    assert day.learned() == known
    assert machine.ask("review", "list")["review"] == [], "the day asked the user nothing"

    packs = [(session.name, event, block) for session in day.sessions for event, block in session.packs]
    for name, event, block in packs:
        logging.getLogger(__name__).info("%s, %s:\n%s", name, event, block)
        told = "\n".join(line for line in block.splitlines() if not line.startswith("- [Session digest]"))
        assert not [scrap for scrap in SCRAPS if scrap in told], block
    # Every block of the day: nothing but starts, the compaction, the two failures that were known, and rules at their moment.
    beside = [
        (name, statements(block))
        for name, event, block in packs
        if event in ("UserPromptSubmit", "PreToolUse")
    ]
    assert all(given and given <= standing for _, given in beside), beside
    assert [name for name, event, _ in packs if event == "PostToolUseFailure"] == ["noon", "evening"]
