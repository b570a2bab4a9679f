"""Two people share memories through their repository: hook client, daemon, the shipped model, and git itself."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from e2e.drivers.machine import Machine, wait_for
from repositories import git, make_remote

STATEMENT = "Commit messages begin with the ticket number."
CHANGED = "Commit messages begin with the ticket number in brackets."
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
    ben.machine.tacit("team", "join")
    told = ben.gets()
    day = datetime.now(UTC).date()
    assert STATEMENT in told
    assert f"(teammate Ana Ruiz, {day})" in told


def test_only_what_is_merged_counts_and_only_for_those_who_joined(people):
    ana, ben = people
    memory = ana.machine.remember(STATEMENT, kind="decision", when="")["memory"]
    ana.machine.tacit("share", memory["id"], "--git", "--by", "Ana Ruiz")
    git(ana.folder, "switch", "-q", "-c", "proposal")
    git(ana.folder, "add", "-A")
    git(ana.folder, "commit", "-q", "-m", "Propose")
    git(ana.folder, "push", "-q", "origin", "proposal")
    git(ben.folder, "fetch", "-q")
    git(ben.folder, "switch", "-q", "proposal")
    ben.machine.tacit("team", "join")
    assert [(file["merged"], file["by"]) for file in ben.machine.ask("team")["files"]] == [
        (False, "Ana Ruiz")
    ]
    stored = ben.machine.request("GET", "/v1/memories")["memories"]
    assert [memory["provenance"]["tier"] for memory in stored] == ["import"]
    assert ben.gets() == ""
    git(ana.folder, "push", "-q", "origin", "proposal:main")
    git(ben.folder, "fetch", "-q")  # without a merge into the branch that stands in the folder
    ben.reload()
    wait_for(
        lambda: ben.machine.request("GET", "/v1/memories")["memories"][0]["provenance"]["tier"] == "teammate"
    )
    assert STATEMENT in ben.gets()


def test_a_changed_file_changes_the_memory_and_a_removed_one_ends_it(people):
    ana, ben = people
    path = shares(ana)
    git(ben.folder, "pull", "-q")
    ben.machine.tacit("team", "join")
    file = ana.folder / path
    file.write_text(file.read_text().replace(STATEMENT, CHANGED))
    ana.publish("Be stricter")
    git(ben.folder, "pull", "-q")
    ben.reload()
    wait_for(lambda: ben.has(CHANGED))
    assert not ben.has(STATEMENT)
    memory_id = ana.machine.request("GET", "/v1/memories")["memories"][0]["id"]
    ana.machine.tacit("unshare", memory_id, "--git")
    ana.publish("Take it back")
    git(ben.folder, "pull", "-q")
    ben.reload()
    wait_for(lambda: not ben.has(CHANGED))
    assert ana.machine.contents() == [STATEMENT]


def test_a_teammate_ends_nothing_of_mine_and_leaving_ends_all_of_theirs(people):
    ana, ben = people
    mine = "Commit messages do not begin with the ticket number."
    ben.machine.remember(mine, kind="decision", when="")
    shares(ana)
    git(ben.folder, "pull", "-q")
    ben.machine.tacit("team", "join")
    assert ben.has(mine)
    ben.machine.tacit("team", "leave")
    assert ben.machine.contents() == [mine]


def test_a_rule_of_a_teammate_refuses_no_call_until_it_is_taken_over(people):
    ana, ben = people
    rule = "Never run `terraform apply` from a laptop."
    memory = ana.machine.remember(rule, kind="guideline", when="blocking, cmd:terraform apply")["memory"]
    ana.machine.tacit("share", memory["id"], "--git", "--by", "Ana Ruiz")
    ana.publish("Share a rule")
    git(ben.folder, "pull", "-q")
    ben.machine.tacit("team", "join")
    call = {"tool_name": "Bash", "tool_input": {"command": "terraform apply"}}

    def calls(machine: Machine, session: str) -> bytes:
        machine.hook(machine.payload("SessionStart", source="startup", session_id=session))
        return machine.hook(machine.payload("PreToolUse", session_id=session, **call))

    assert b'"deny"' in calls(ana.machine, "a")
    told = calls(ben.machine, "b")
    assert rule.encode() in told or b"terraform apply" in told
    assert b'"deny"' not in told
    theirs = ben.machine.request("GET", "/v1/memories")["memories"][0]["id"]
    ben.machine.tacit("edit", theirs, "--when", "blocking, cmd:terraform apply")
    assert b'"deny"' in calls(ben.machine, "c")
