"""The tracked files of a project are read without running anything that its repository names."""

from __future__ import annotations

import os
import subprocess

import pytest

from tacit.app.projects import tracked_files

NAMES = ["a/b/mäin.py", "a/b/main_two.py", "app.go", "d/" + "x" * 5000, "util.py"]


def git(folder, *words):
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env=env)


def repository(folder, names, *options):
    folder.mkdir()
    git(folder, "init", "-q", *options)
    for name in names:
        blob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
        if options:
            blob = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        git(folder, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    return folder


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_of_the_index_is_read(tmp_path, version):
    folder = repository(tmp_path / "shop", NAMES)
    git(folder, "update-index", "--index-version", version)
    assert list(tracked_files(str(folder), timeout_s=5)) == sorted(NAMES)


def test_an_entry_with_extended_flags_and_a_sha256_repository(tmp_path):
    folder = repository(tmp_path / "shop", ["app.go", "lib.go"])
    git(folder, "update-index", "--skip-worktree", "app.go")
    assert tracked_files(str(folder), timeout_s=5) == ("app.go", "lib.go")
    other = repository(tmp_path / "other", ["app.go", "lib.go"], "--object-format=sha256")
    assert tracked_files(str(other), timeout_s=5) == ("app.go", "lib.go")


def test_a_worktree_has_its_own_index(tmp_path):
    folder = repository(tmp_path / "shop", [])
    (folder / "app.py").write_text("x = 1\n")
    git(folder, "add", "app.py")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "start")
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert tracked_files(str(tmp_path / "tree"), timeout_s=5) == ("app.py",)


@pytest.mark.parametrize("how", ["split", "sparse", "bare"])
def test_every_form_of_the_index_is_read(tmp_path, how):
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    for name in ("app.py", "lib/a.py", "lib/deep/b.py", "other/c.go"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "start")
    if how == "split":
        git(folder, "update-index", "--split-index")
    elif how == "sparse":
        git(folder, "sparse-checkout", "set", "--cone", "--sparse-index", "lib")
    else:
        git(tmp_path, "clone", "-q", "--bare", str(folder), "shop.git")
        git(tmp_path / "shop.git", "worktree", "add", "-q", str(tmp_path / "tree"))
        folder = tmp_path / "tree"
    names = ("app.py", "lib/a.py", "lib/deep/b.py", "other/c.go")
    assert tracked_files(str(folder), timeout_s=5) == names
