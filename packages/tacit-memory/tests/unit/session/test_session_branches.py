"""Which branch is checked out in a work tree, and which branches count as merged. Git itself makes the repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from repositories import begin, git
from tacit.session.projects import (
    branch_at,
    branch_fingerprint,
    commit_at,
    head_branch,
    is_branch_name,
    work_tree_of,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return begin(tmp_path.resolve() / "work")


def branch_of(root: Path) -> str:
    tree = work_tree_of(root)
    return branch_at(tree) if tree is not None else "no work tree"


def test_a_branch_is_told_from_the_default_branch(root):
    assert branch_of(root) == ""
    git(root, "switch", "-q", "-c", "team/payments")
    assert branch_of(root) == "team/payments"
    tree = work_tree_of(root)
    assert tree is not None
    assert commit_at(tree, "team/payments") == git(root, "rev-parse", "HEAD").strip()
    assert commit_at(tree, "none") == ""


@pytest.mark.parametrize("name", ["develop", "trunk"])
def test_branches_on_which_a_team_brings_work_together_count_as_merged(root, name):
    git(root, "switch", "-q", "-c", name)
    assert branch_of(root) == ""


def test_on_no_branch_there_is_none(root, tmp_path):
    git(root, "switch", "-q", "--detach")
    assert branch_of(root) == ""
    assert work_tree_of(tmp_path) is None
    assert work_tree_of("") is None


def test_during_a_rebase_it_is_the_branch_that_is_rebased(root):
    (root / "a").write_text("1\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "One")
    git(root, "switch", "-q", "-c", "topic", "HEAD~1")
    (root / "a").write_text("2\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Two")
    git(root, "rebase", "main", code=1)
    assert (root / ".git/HEAD").read_text().startswith("ref:") is False
    assert branch_of(root) == "topic"


def test_without_a_default_branch_none_is_told_apart(tmp_path):
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "work")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(folder, "switch", "-q", "-c", "topic")
    tree = work_tree_of(folder)
    assert tree is not None
    assert tree.shared == ()
    assert branch_at(tree) == ""


def test_a_new_repository_without_a_commit_is_on_no_branch_of_its_own(tmp_path):
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    git(folder, "init", "-q")
    assert branch_of(folder) == ""


def test_with_a_remote_its_default_branch_counts_as_it_was_fetched(root, tmp_path):
    git(root, "branch", "-m", "main", "production")
    clone = tmp_path.resolve() / "clone"
    git(tmp_path, "clone", "-q", str(root), str(clone))
    assert branch_of(clone) == ""
    git(clone, "switch", "-q", "-c", "topic")
    assert branch_of(clone) == "topic"
    git(clone, "pack-refs", "--all")
    tree = work_tree_of(clone)
    assert tree is not None
    assert tree.shared == ("production", "main", "master", "trunk", "develop")
    assert tree.remote


def test_each_work_tree_has_its_own(root, tmp_path):
    other = tmp_path.resolve() / "other"
    git(root, "worktree", "add", "-q", "-b", "topic", str(other))
    assert (branch_of(root), branch_of(other)) == ("", "topic")


@pytest.mark.parametrize(
    "head",
    [
        "ref: refs/heads/.invalid",
        "ref: refs/heads/a b",
        "ref: refs/heads/../../x",
        "ref: refs/tags/v1",
        "ref: refs/heads//etc/x",
        "",
        "ref: refs/heads/x\x1b[2J",
    ],
)
def test_what_git_would_not_write_names_no_branch(root, head):
    (root / ".git/HEAD").write_text(head)
    tree = work_tree_of(root)
    assert tree is not None
    assert head_branch(tree.checkout) == ""


def test_names_of_branches():
    assert all(map(is_branch_name, ("a", "ana/fix-1", "größe", "fix#12", "a@b+c")))
    assert not any(map(is_branch_name, ("", "-x", "/x", ".x", "a b", "a..b", "a~1", "a:b", "x" * 201)))


def test_where_the_file_does_not_tell_git_is_asked(root, tmp_path, monkeypatch):
    """A repository with the `reftable` format: HEAD, the file, says `.invalid`."""
    git(root, "switch", "-q", "-c", "topic")
    (root / ".git/HEAD").write_text("ref: refs/heads/.invalid\n")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(
        "#!/bin/sh\nfor word; do case $word in symbolic-ref) echo refs/heads/topic;; esac; done\n"
    )
    (programs / "git").chmod(0o755)
    tree = work_tree_of(root)
    assert tree is not None
    monkeypatch.setenv("PATH", str(programs))
    assert head_branch(tree.checkout) == "topic"


def test_a_head_that_is_a_link_is_asked_of_git(root):
    git(root, "switch", "-q", "-c", "topic")
    (root / ".git/HEAD").unlink()
    (root / ".git/HEAD").symlink_to("refs/heads/topic")
    assert branch_of(root) == "topic"


def test_no_program_is_started_while_the_file_tells(root, monkeypatch):
    git(root, "switch", "-q", "-c", "topic")
    tree = work_tree_of(root)
    assert tree is not None
    monkeypatch.setenv("PATH", "")
    assert branch_at(tree) == "topic"
    assert branch_fingerprint(tree)[0] == "topic"


def test_without_git_there_is_no_default_branch(root, monkeypatch):
    git(root, "switch", "-q", "-c", "topic")
    monkeypatch.setenv("PATH", "")
    assert branch_of(root) == ""
