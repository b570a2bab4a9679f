"""Git repositories of tests, which git itself makes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def git(folder: Path, *words: str, code: int = 0, **environment: str) -> str:
    """Run git in a folder under an invented identity, and see that it ends with `code`; return its output."""
    author = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *author, *words],
        cwd=folder,
        env={**os.environ, **environment},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def begin(folder: Path) -> Path:
    """Make a repository with one empty commit on `main`; return its folder."""
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin")
    return folder


def pretend(folder: Path, remote: str = "") -> Path:
    """Write what is enough of a repository to be taken for one, with a remote if it has an address; return its folder."""
    (folder / ".git" / "objects").mkdir(parents=True, exist_ok=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(
        f'[remote "origin"]\n\turl = {remote}\n' if remote else "[core]\n"
    )
    return folder


def commit_file(folder: Path, path: str, text: str) -> None:
    """Write a file and commit it."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", f"Change {path}")


def make_remote(folder: Path) -> Path:
    """Make a bare repository with one commit on `main`; return its path."""
    repository, seed = folder / "repository.git", folder / "seed"
    git(folder, "init", "-q", "--bare", str(repository))
    seed.mkdir()
    git(seed, "init", "-q")
    commit_file(seed, "orders.sql", "create table orders (id int);\n")
    git(seed, "push", "-q", str(repository), "HEAD:main")
    return repository
