"""Two people share memories through their repository: hook client, daemon, the shipped model, and git itself."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from e2e.drivers.machine import Machine
from repositories import git, make_remote

STATEMENT = "Commit messages begin with the ticket number."
PROMPT = "Write the commit for the booking page."
EAGER = "recall: {level: eager, budgets: {start: 0}, blocking: true}"


class Person:
    """A machine with a clone of the team's repository."""

    def __init__(self, machine: Machine, repository: Path) -> None:
        self.machine = machine
        self._sessions = 0
        shutil.rmtree(machine.project)
        git(machine.root, "clone", "-q", str(repository), str(machine.project))

    @property
    def folder(self) -> Path:
        return self.machine.project

    def publish(self, message: str) -> None:
        """Commit everything and push it to the default branch, as a merged pull request does."""
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "-m", message)
        git(self.folder, "push", "-q", "origin", "HEAD:main")

    def gets(self, text: str = PROMPT) -> str:
        """What a new session is given before a prompt."""
        self._sessions += 1
        name = f"session-{self._sessions}"
        self.machine.start(session_id=name)
        return self.machine.prompt(text, session_id=name)

    def reload(self) -> None:
        """A session begins: the team's files are read again."""
        self.machine.start()

    def has(self, content: str) -> bool:
        return content in self.machine.contents()


@pytest.fixture
def people(live, tmp_path: Path) -> tuple[Person, Person]:
    repository = make_remote(tmp_path)
    ana, ben = Person(live(EAGER), repository), Person(live(EAGER), repository)
    ana.machine.wake()
    ben.machine.wake()
    return ana, ben


def shares(ana: Person) -> str:
    """Ana states it, shares it, and has it merged; the path of its file."""
    memory = ana.machine.remember(STATEMENT, kind="decision", when="")["memory"]
    path: str = ana.machine.ask("share", memory["id"], "--git", "--by", "Ana Ruiz")["file"]["path"]
    ana.publish("Share a decision")
    return path


def test_what_one_person_shares_reaches_the_session_of_another_with_name_and_date(people):
    ana, ben = people
    shares(ana)
    git(ben.folder, "pull", "-q")
    assert ben.gets() == ""
    ben.machine.tacit("team", "join", "--yes")
    told = ben.gets()
    day = datetime.now(UTC).date()
    assert STATEMENT in told
    assert f"(teammate Ana Ruiz, {day})" in told


def test_a_teammate_ends_nothing_of_mine_and_leaving_ends_all_of_theirs(people):
    ana, ben = people
    mine = "Commit messages do not begin with the ticket number."
    ben.machine.remember(mine, kind="decision", when="")
    shares(ana)
    git(ben.folder, "pull", "-q")
    ben.machine.tacit("team", "join", "--yes")
    assert ben.has(mine)
    ben.machine.tacit("team", "leave")
    assert ben.machine.contents() == [mine]
