"""Project identity: remotes, worktrees, forks, folders without git."""

from __future__ import annotations

import subprocess

import pytest

from tacit.session.projects import identify_project, normalise_remote, relative_path


def git(folder, *args):
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *args],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("git@github.com:Acme/Shop.git", "github.com/acme/shop"),
        ("https://user:secret@github.com/acme/shop.git/", "github.com/acme/shop"),
        ("ssh://git@github.com:22/acme/shop", "github.com/acme/shop"),
        ("https://github.com/acme/shop", "github.com/acme/shop"),
        ("/srv/git/shop.git", "/srv/git/shop"),
        ("", ""),
    ],
)
def test_remotes_of_one_repository_look_alike(url, normal):
    assert normalise_remote(url) == normal


def test_clones_share_the_project_and_forks_do_not(tmp_path, repo):
    git(repo, "remote", "add", "origin", "git@github.com:acme/shop.git")
    clone = tmp_path / "elsewhere"
    clone.mkdir()
    git(clone, "init", "-q")
    git(clone, "remote", "add", "origin", "https://github.com/acme/shop")
    fork = tmp_path / "fork"
    fork.mkdir()
    git(fork, "init", "-q")
    git(fork, "remote", "add", "origin", "https://github.com/someone/shop")
    assert identify_project(clone).id == identify_project(repo).id
    assert identify_project(fork).id != identify_project(repo).id


def test_a_fork_with_upstream_is_known_by_its_origin(repo):
    git(repo, "remote", "add", "upstream", "https://github.com/acme/shop")
    git(repo, "remote", "add", "origin", "https://github.com/me/shop")
    assert identify_project(repo).remote == "github.com/me/shop"


@pytest.mark.parametrize("remote", ["", "https://github.com/acme/shop"])
def test_worktrees_share_the_project(tmp_path, repo, remote):
    if remote:
        git(repo, "remote", "add", "origin", remote)
    tree = tmp_path / "tree"
    git(repo, "worktree", "add", "-q", str(tree), "-b", "side")
    found = identify_project(tree)
    assert found.id == identify_project(repo).id
    assert found.root == str(tree)


def test_a_folder_below_belongs_to_its_repository(repo):
    below = repo / "src" / "deep"
    below.mkdir(parents=True)
    assert identify_project(below) == identify_project(repo)


def test_a_folder_without_git_is_its_own_project(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.mkdir()
    b.mkdir()
    assert identify_project(a).id != identify_project(b).id
    assert identify_project(a).root == str(a)


def test_damaged_git_files_do_not_break_identity(tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / ".git").write_bytes(b"\xff\xfenonsense")
    assert identify_project(folder).root == str(folder)
    other = tmp_path / "conf"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "config").write_text('[remote "origin"\nurl = broken')
    assert identify_project(other).root == str(other)


def test_missing_folder_still_has_an_identity(tmp_path):
    assert identify_project(tmp_path / "gone").id.startswith("gone-")


@pytest.mark.parametrize(
    ("path", "relative"),
    [
        ("/repo/src/a.py", "src/a.py"),
        ("src/a.py", "pkg/src/a.py"),
        ("../b.py", "b.py"),
        ("/etc/passwd", "/etc/passwd"),
        ("/repo/../etc/passwd", "/repo/../etc/passwd"),
        ("", ""),
    ],
)
def test_relative_path(path, relative):
    assert relative_path(path, root="/repo", cwd="/repo/pkg") == relative
