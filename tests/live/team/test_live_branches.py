"""Memories that are bound to an unmerged branch, through hook client, daemon, the shipped model and git itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from e2e.drivers.machine import Machine, injected, wait_for
from e2e.drivers.session import Session
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


def test_its_author_still_finds_it_with_its_branch(developer):
    memory = on_branch(developer)
    developer.git("switch", "-q", "main")
    found = developer.machine.request(
        "POST", "/v1/recall", {"text": "which broker carries our tasks", "cwd": str(developer.folder)}
    )
    assert f"{HERE} (on branch {BRANCH}, {datetime.now(UTC).date()})" in found["block"]["text"]
    assert BRANCH in developer.machine.tacit("list").stdout
    assert f"{BRANCH} at" in developer.machine.tacit("show", memory["id"]).stdout
    assert (
        f"(on branch {BRANCH})" in developer.machine.tacit("recall", "which broker carries our tasks").stdout
    )


def test_a_prompt_in_other_words_gets_it_on_its_branch_and_nowhere_else(live, tmp_path):
    developer = Developer(live(NO_START), make_remote(tmp_path))
    developer.git("switch", "-q", "-c", "sessions")
    developer.states(STATEMENT)
    assert STATEMENT in developer.says(PROMPT)
    developer.git("switch", "-q", "main")
    assert STATEMENT not in developer.says(PROMPT)
    developer.git("switch", "-q", "-c", "another")
    assert STATEMENT not in developer.says(PROMPT)


def test_where_the_feature_is_off_the_same_prompt_gets_it_everywhere(live, tmp_path):
    developer = Developer(live(f"{NO_START}\ncapture: {{branches: false}}"), make_remote(tmp_path))
    developer.git("switch", "-q", "-c", "sessions")
    memory = developer.states(STATEMENT)
    assert memory["branch"] is None
    developer.git("switch", "-q", "main")
    assert STATEMENT in developer.says(PROMPT)


def test_a_call_gets_it_on_its_branch_alone(live, tmp_path):
    developer = Developer(live(NO_START), make_remote(tmp_path))
    developer.git("switch", "-q", "-c", "sessions")
    text = "On this branch the cluster is described in infra/, not in the console."
    developer.machine.remember(text, kind="fact", when="cmd:terraform apply")
    assert text in developer.calls("terraform apply")
    developer.git("switch", "-q", "main")
    assert text not in developer.calls("terraform apply")


@pytest.mark.parametrize("kind", [None, "decision", "fact", "preference"])
def test_what_names_no_branch_holds_on_every_branch_whatever_its_kind(developer, kind):
    developer.git("switch", "-q", "-c", BRANCH)
    content = "Run make seed before each push"
    developer.machine.remember(content, **({"kind": kind} if kind else {}))
    assert developer.memory(content)["branch"] is None
    developer.git("switch", "-q", "main")
    assert content in developer.starts()


def test_a_branch_that_has_no_commit_yet_is_not_taken_for_a_merged_one(developer):
    developer.git("switch", "-q", "-c", BRANCH)
    developer.states(HERE)
    developer.starts()
    commit_file(developer.folder, "queue.py", "redis = 1\n")
    developer.starts()
    developer.machine.request("POST", "/v1/recall", {"text": "any", "cwd": str(developer.folder)})
    developer.git("switch", "-q", "main")
    assert HERE not in developer.starts()
    assert developer.memory(HERE)["branch"]["name"] == BRANCH


@pytest.mark.parametrize("how", ["merge", "squash", "fast-forward"])
def test_once_merged_it_holds_for_the_project_and_ends_what_it_replaced(developer, how):
    memory = on_branch(developer)
    developer.git("push", "-q", "origin", BRANCH)
    developer.git("switch", "-q", "main")
    commit_file(developer.folder, "elsewhere.py", "a = 1\n") if how != "fast-forward" else None
    developer.starts()
    assert developer.memory(HERE)["branch"]
    if how == "squash":
        developer.git("merge", "-q", "--squash", BRANCH)
        developer.git("commit", "-q", "-m", "Use another queue (#12)")
        developer.git("branch", "-q", "-D", BRANCH)
    elif how == "merge":
        developer.git("merge", "-q", "--no-ff", "-m", f"Merge branch '{BRANCH}'", BRANCH)
    else:
        developer.git("merge", "-q", "--ff-only", BRANCH)
    developer.git("push", "-q", "origin", "main")
    developer.settles(lambda: developer.memory(HERE) and developer.memory(HERE)["branch"] is None)
    told = developer.starts()
    assert HERE in told
    assert BEFORE in told
    history = developer.machine.ask("show", memory["id"])["versions"]
    assert [version["branch"] is None for version in history] == [False, True]
    changes = developer.machine.tacit("list", "--changes").stdout
    assert f"the branch {BRANCH} was merged" in changes


def test_a_branch_that_is_gone_unmerged_is_asked_about(developer):
    memory = on_branch(developer)
    developer.git("switch", "-q", "main")
    developer.starts()
    developer.git("branch", "-q", "-D", BRANCH)
    developer.settles(lambda: developer.memory(HERE, status="quarantined"))
    (entry,) = developer.machine.request("GET", "/v1/review")["review"]
    assert entry["cause"] == "branch"
    assert f"learned on the branch {BRANCH}, which is gone" in entry["reason"]
    told = developer.starts()
    assert HERE not in told
    assert BEFORE in told
    developer.machine.tacit("review", "reject", memory["id"])
    assert developer.memory(HERE, status="retired")
    developer.machine.tacit("undo", memory["id"])
    developer.machine.tacit("review", "accept", memory["id"])
    assert developer.memory(HERE)["branch"] is None
    told = developer.starts()
    assert HERE in told
    assert BEFORE in told


def test_a_branch_that_comes_back_is_no_question_any_more(developer):
    on_branch(developer)
    developer.git("switch", "-q", "main")
    developer.starts()
    tip = git(developer.folder, "rev-parse", BRANCH).strip()
    developer.git("branch", "-q", "-D", BRANCH)
    developer.settles(lambda: developer.memory(HERE, status="quarantined"))
    developer.git("branch", "-q", BRANCH, tip)
    developer.settles(lambda: developer.memory(HERE))
    developer.git("switch", "-q", BRANCH)
    assert HERE in developer.starts()


def test_each_work_tree_has_the_memories_of_its_own_branch(developer):
    on_branch(developer)
    developer.git("switch", "-q", "main")
    other = developer.machine.root / "other"
    developer.git("worktree", "add", "-q", str(other), BRANCH)
    assert HERE in developer.starts(other)
    assert HERE not in developer.starts()


def test_a_branch_made_from_it_has_its_memories_too(developer):
    on_branch(developer)
    developer.git("switch", "-q", "-c", "payments-retries")
    commit_file(developer.folder, "retries.py", "retries = 3\n")
    developer.starts()
    wait_for(lambda: HERE in developer.starts())
    developer.git("switch", "-q", "main")
    assert HERE not in developer.starts()


def test_the_user_lets_it_hold_on_all_branches_at_once(developer):
    memory = on_branch(developer)
    developer.git("switch", "-q", "main")
    developer.machine.tacit("edit", memory["id"], "--all-branches")
    told = developer.starts()
    assert HERE in told
    assert BEFORE in told


def test_a_start_written_ahead_holds_nothing_of_a_branch(developer):
    on_branch(developer)
    developer.git("switch", "-q", "main")
    developer.git("switch", "-q", BRANCH)
    assert HERE in developer.starts()
    developer.machine.stop()
    blocks = list(developer.machine.home.start_dir.glob("*.json"))
    assert blocks
    assert all(HERE not in block.read_text("utf-8") for block in blocks)


def test_a_merge_in_the_middle_of_a_session_counts_from_the_next_prompt_on(developer):
    on_branch(developer)
    developer.git("push", "-q", "origin", BRANCH)
    developer.starts()
    developer.git("switch", "-q", "main")
    developer.git("merge", "-q", "--no-ff", "-m", "Bring it in", BRANCH)
    developer.git("push", "-q", "origin", "main")
    name = f"session-{developer.sessions}"
    developer.machine.prompt("Go on with the tests.", session_id=name, cwd=str(developer.folder))
    wait_for(lambda: developer.memory(HERE)["branch"] is None)


def test_a_digest_tells_on_every_branch_what_was_done(developer):
    developer.git("switch", "-q", "-c", BRANCH)
    session = Session(developer.machine, "work")
    session.start()
    session.say("Move the booking queue over.")
    session.edited("queue.py")
    session.agent("Done. The queue works with streams now.")
    session.end()
    digests = "/v1/memories?kind=digest"
    wait_for(lambda: developer.machine.request("GET", digests)["memories"])
    (digest,) = developer.machine.request("GET", digests)["memories"]
    assert digest["branch"] is None
    developer.git("switch", "-q", "main")
    assert "changed queue.py" in developer.starts()
