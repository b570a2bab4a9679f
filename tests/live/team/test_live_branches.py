"""Memories that are bound to an unmerged branch, through hook client, daemon, the shipped model and git itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.drivers.machine import Machine, injected, wait_for
from repositories import commit_file, git, make_remote

BEFORE = "We use RabbitMQ for the job queue"
HERE = "On the payments-redis branch we use Redis for the job queue"
BRANCH = "payments-redis"
STATEMENT = "On this branch we keep the login sessions in Postgres"
PROMPT = "Where should I save who is signed in? Write it."
SETTINGS = "recall: {level: eager, thresholds: {prompt: 0.04}}"
NO_START = "recall: {level: eager, thresholds: {prompt: 0.04}, budgets: {start: 0}}"


class Developer:
    """A machine with a clone of a repository, whose user works on branches."""

    def __init__(self, machine: Machine, repository: Path) -> None:
        self.machine = machine
        self.sessions = 0
        shutil.rmtree(machine.project)
        git(machine.root, "clone", "-q", str(repository), str(machine.project))
        machine.wake()

    @property
    def folder(self) -> Path:
        return self.machine.project

    def git(self, *words: str) -> None:
        git(self.folder, *words)

    def starts(self, folder: Path | None = None) -> str:
        """Begin a session; return its start block."""
        self.sessions += 1
        name = f"session-{self.sessions}"
        return self.machine.start(session_id=name, cwd=str(folder or self.folder))

    def says(self, text: str) -> str:
        """Begin a session and send a prompt; return the text that is injected for it."""
        self.starts()
        return self.machine.prompt(text, session_id=f"session-{self.sessions}", cwd=str(self.folder))

    def calls(self, command: str) -> str:
        """Begin a session and run a command; return the text that is injected for the call."""
        self.starts()
        name = f"session-{self.sessions}"
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        return injected(self.machine.hook(self.machine.payload("PreToolUse", session_id=name, **call)))

    def states(self, content: str) -> dict:
        """Run `tacit remember`; return the memory."""
        self.machine.remember(content)
        return self.memory(content)

    def memory(self, content: str, *, status: str = "active") -> dict:
        """The memory with exactly this content; {} = there is none."""
        path = f"/v1/memories?limit=500&status={status}"
        memories = self.machine.request("GET", path)["memories"]
        return next((memory for memory in memories if memory["content"] == content), {})

    def settles(self, held: Callable[[], object]) -> None:
        """Begin a session, so that the branches are checked, and wait until `held` is true."""
        self.starts()
        wait_for(held)


@pytest.fixture
def developer(live, tmp_path: Path) -> Developer:
    return Developer(live(SETTINGS), make_remote(tmp_path))


def on_branch(developer: Developer) -> dict:
    """State RabbitMQ on `main`, then Redis on a branch that has a commit of its own; return the memory about Redis."""
    developer.states(BEFORE)
    developer.git("switch", "-q", "-c", BRANCH)
    commit_file(developer.folder, "queue.py", "redis = 1\n")
    return developer.states(HERE)


def test_it_is_marked_and_holds_on_its_branch_alone(developer):
    memory = on_branch(developer)
    assert memory["branch"]["name"] == BRANCH
    told = developer.starts()
    assert HERE in told
    assert BEFORE in told
    developer.git("switch", "-q", "main")
    told = developer.starts()
    assert HERE not in told
    assert BEFORE in told


def test_a_prompt_in_other_words_gets_it_on_its_branch_and_nowhere_else(live, tmp_path):
    developer = Developer(live(NO_START), make_remote(tmp_path))
    developer.git("switch", "-q", "-c", "sessions")
    developer.states(STATEMENT)
    assert STATEMENT in developer.says(PROMPT)
    developer.git("switch", "-q", "main")
    assert STATEMENT not in developer.says(PROMPT)
    developer.git("switch", "-q", "-c", "another")
    assert STATEMENT not in developer.says(PROMPT)


def test_once_merged_it_holds_for_the_project_and_ends_what_it_replaced(developer):
    memory = on_branch(developer)
    developer.git("push", "-q", "origin", BRANCH)
    developer.git("switch", "-q", "main")
    commit_file(developer.folder, "elsewhere.py", "a = 1\n")
    developer.starts()
    assert developer.memory(HERE)["branch"]
    developer.git("merge", "-q", "--no-ff", "-m", f"Merge branch '{BRANCH}'", BRANCH)
    developer.git("push", "-q", "origin", "main")
    developer.settles(lambda: developer.memory(HERE) and developer.memory(HERE)["branch"] is None)
    told = developer.starts()
    assert HERE in told
    assert BEFORE in told
    history = developer.machine.ask("show", memory["id"])["versions"]
    assert [version["branch"] is None for version in history] == [False, True]
    changes = developer.machine.tacit("list", "--changes").stdout
    assert f"the branch {BRANCH} was merged" in changes
