"""Git repositories for the scenarios about teams and branches."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """Run git in a folder under an invented identity; return its output."""
    author = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *author, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


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
