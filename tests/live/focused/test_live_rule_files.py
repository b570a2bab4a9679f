"""Rules of CLAUDE.md after `tacit init`: the host has loaded them, so each comes at its call, and at no other."""

from __future__ import annotations

import pytest

from live.focused.work import Told, Work

LINT = "Lint with `flake8` before every commit"
PARSER = "`parser.py` holds the tokenizer; do not use regular expressions outside it"
DATES = "Dates in reports are ISO 8601"
RULES = f"""# Work on this project

- {LINT}.
- {PARSER}.
- {DATES}.
"""


@pytest.fixture
def session(live) -> Work:
    """A session in a project that was set up from its rule file."""
    machine = live("preset: focused")
    (machine.project / "CLAUDE.md").write_text(RULES, encoding="utf-8")
    machine.wake()
    machine.tacit("init", "--yes", "--no-backfill")
    session = Work(machine, "s1")
    session.start()
    return session


def told(given: Told) -> list[str]:
    return [rule for rule in (LINT, PARSER, DATES) if rule in given.starts + given.done]


def test_a_rule_of_a_file_comes_at_its_call_and_at_no_other(session):
    assert told(session.bash("git status --short")) == []
    assert told(session.bash("flake8 src")) == []
    assert told(session.bash("git commit -am 'Read quoted values'")) == [LINT]
    assert told(session.bash("git commit -am 'Again'")) == []
    for call in (session.reads, session.edits):
        for path in ("src/dotenv/main.py", "src/dotenv/parsers.py", "tests/test_parser.py"):
            assert told(call(path)) == [], path
    other = Work(session.machine, "s2")
    other.start()
    for work, call in ((session, session.reads), (other, other.edits)):
        assert told(call("src/dotenv/parser.py")) == [PARSER]
        assert told(work.edits("src/dotenv/parser.py")) == []
