"""The branch of a folder for recall and capture: it is up to date at each call, and no history is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from repositories import begin, git
from tacit.app.projects import Branches
from tacit.backends.sqlite import SqliteStore
from tacit.capture.branches import BranchesSeen
from tacit.model.query import NO_BRANCH, BranchView
from tacit.ports.store import ProjectRecord
from tacit.providers.clock import FakeClock
from tacit.state.captured import BranchState
from tacit.state.registry import BRANCHES


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return begin(tmp_path.resolve() / "work")


@pytest.fixture
def store() -> SqliteStore:
    return SqliteStore.temporary(clock=FakeClock())


@pytest.fixture
def branches(store: SqliteStore) -> Branches:
    return Branches(store=store, clock=FakeClock())


@pytest.fixture
def project(root: Path) -> ProjectRecord:
    return ProjectRecord(id="shop-1", name="shop", root=str(root))


def test_a_switch_is_seen_at_once(branches, project, root, store):
    BRANCHES.write(
        store, {"topic": BranchState(replaced=("mem_1",)), "x": BranchState(replaced=("mem_2",))}, "shop-1"
    )
    assert branches.view(project, bound=True) == NO_BRANCH
    assert branches.learned_on(project) is None
    git(root, "switch", "-q", "-c", "topic")
    assert branches.view(project, bound=True) == BranchView(
        names=frozenset({"topic"}), replaced=frozenset({"mem_1"})
    )
    assert branches.learned_on(project).name == "topic"
    git(root, "switch", "-q", "main")
    assert branches.view(project, bound=True) == NO_BRANCH


def test_where_branches_are_off_or_there_are_none(branches, project, tmp_path):
    assert branches.view(project, bound=False) is None
    assert branches.view(None, bound=True) == NO_BRANCH
    nowhere = ProjectRecord(id="x", name="x", root=str(tmp_path))
    assert branches.view(nowhere, bound=True) == NO_BRANCH
    assert branches.learned_on(nowhere) is None
    assert branches.learned_on(None) is None


def test_what_the_present_branch_holds_of_others_counts_until_the_next_switch(branches, project, root):
    git(root, "switch", "-q", "-c", "later")
    branches.note_seen(str(root), BranchesSeen(head="later", held=frozenset({"topic"})))
    assert branches.view(project, bound=True).names == {"later", "topic"}
    git(root, "switch", "-q", "main")
    assert branches.view(project, bound=True) == NO_BRANCH


def test_a_switch_and_a_new_commit_of_the_default_branch_ask_for_a_look(branches, project, root):
    assert not branches.moved(project)  # nobody looked yet: the session's start does
    branches.note_state(project)
    assert not branches.moved(project)
    git(root, "switch", "-q", "-c", "topic")
    assert branches.moved(project)
    branches.note_state(project)
    git(root, "commit", "-q", "--allow-empty", "-m", "Work")
    assert not branches.moved(project)
    git(root, "branch", "-f", "main", "topic")
    assert branches.moved(project)
