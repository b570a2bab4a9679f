"""What a session proves comes back where it is needed: hook processes, daemon and the shipped model, as on a newcomer's first days.

Every command fails once in a way of its own and passes when it is called otherwise; then it fails again in a fresh session, in other
words. The transcripts are those that the host writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from e2e.drivers.machine import Machine, injected, wait_for
from e2e.drivers.session import Session

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """A wrong invocation: what failed how, what ran then, what fails the next time, and what must come back."""

    failed: str
    error: str
    ran: str
    again: str
    said: str
    wanted: str
    between: str = "ls -a"
    ran_error: str = ""


WRONG = (
    Wrong(
        failed="python3 -m pytest",
        error="Exit code 1\n/usr/bin/python3: No module named pytest",
        ran=".venv/bin/python -m pytest -q",
        ran_error="Exit code 1\nFAILED tests/test_get.py::test_empty - AssertionError: expected '' got None\n1 failed, 41 passed",
        again="python -m pytest tests/test_cli.py -x",
        said="Exit code 1\n/opt/homebrew/bin/python: No module named pytest",
        wanted="`.venv/bin/python -m pytest`",
    ),
    Wrong(
        failed="flake8 src tests",
        error="Exit code 127\n/bin/bash: line 1: flake8: command not found",
        ran="uv run flake8 src tests",
        again="cd src && flake8 --max-line-length 100 dotenv",
        said="Exit code 127\n/bin/bash: line 3: flake8: command not found",
        wanted="`uv run flake8`",
    ),
    Wrong(
        failed="sh scripts/index.sh",
        error="Exit code 2\nscripts/index.sh: 3: DOCS_DIR: parameter not set",
        ran="DOCS_DIR=docs sh scripts/index.sh",
        again="bash ./scripts/index.sh --force",
        said="Exit code 1\n./scripts/index.sh: line 3: DOCS_DIR: parameter not set",
        wanted="`DOCS_DIR=docs sh scripts/index.sh`",
    ),
    Wrong(
        failed="python manage.py migrate",
        error='Exit code 1\nTraceback (most recent call last):\n  File "manage.py", line 22\ndjango.core.exceptions.ImproperlyConfigured: DATABASE_URL is not set',
        ran="export DATABASE_URL=sqlite:///db.sqlite3 && python manage.py migrate",
        again="python3 manage.py showmigrations",
        said='Exit code 1\nTraceback (most recent call last):\n  File "/w/manage.py", line 9\ndjango.core.exceptions.ImproperlyConfigured: DATABASE_URL is not set',
        wanted="`DATABASE_URL=sqlite:///db.sqlite3 python manage.py migrate`",
    ),
    Wrong(
        failed="python -m shop.report",
        error="Exit code 1\n/usr/bin/python: No module named shop",
        ran="PYTHONPATH=src python -m shop.report",
        again="python -m shop.report --month 3",
        said="Exit code 1\n/usr/bin/python: No module named shop",
        wanted="`PYTHONPATH=src python -m shop.report`",
    ),
    Wrong(
        failed="make docs",
        error="Exit code 2\nmake: *** No rule to make target 'docs'.  Stop.",
        ran="make doc",
        between="grep -n '^[a-z]*:' Makefile",
        again="make docs SPHINXOPTS=-W",
        said="Exit code 2\nmake: *** No rule to make target 'docs'.  Stop.",
        wanted="`make doc`",
    ),
    Wrong(
        failed="docker compose up -d",
        error="Exit code 14\nno configuration file provided: not found",
        ran="docker compose -f deploy/compose.yml up -d",
        between="find . -name '*compose*'",
        again="docker compose up",
        said="Exit code 14\nno configuration file provided: not found",
        wanted="`docker compose -f deploy/compose.yml up -d`",
    ),
)  # fmt: skip


@pytest.fixture
def machine() -> Iterator[Machine]:
    with Machine(TACIT_EMBEDDER__PROVIDER="minilm") as made:
        yield made


def fails(machine: Machine, session: str, command: str, error: str) -> str:
    """What the agent is given when `command` fails in a fresh session."""
    machine.hook(machine.payload("SessionStart", session_id=session, source="startup"))
    call = {"tool_name": "Bash", "tool_input": {"command": command}, "error": error}
    return injected(machine.hook(machine.payload("PostToolUseFailure", session_id=session, **call)))


def fixes_of(machine: Machine) -> list[str]:
    listed = machine.request("GET", "/v1/memories?limit=500")["memories"]
    return [one["content"] for one in listed if one["kind"] == "error_pattern"]


def test_what_worked_twice_is_given_at_the_start(machine: Machine) -> None:
    wrong = WRONG[1]
    for name, command in (("first", wrong.failed), ("second", "flake8 src/dotenv/main.py")):
        session = Session(machine, name)
        session.user("lint it")
        session.ran(command, wrong.error)
        session.ran(f"uv run {command}")
        session.end()
        digest = f"/v1/digests?session=claude-code/{name}"
        wait_for(lambda digest=digest: machine.request("GET", digest)["digests"])
        assert len(fixes_of(machine)) == 1
        if name == "first":
            assert "`flake8` failed with" not in machine.start(), "once is not enough"
    given = machine.start()
    assert "`flake8` failed with: flake8: command not found." in given
    assert "unconfirmed" not in given
