"""What `uv build` makes in a clone: a wheel with the web page, or an error that says why not."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def clone(tmp_path):
    """The files of this tree that git knows, without what is built."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, capture_output=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.decode().split("\0")):
        if (REPOSITORY / name).is_file():
            (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, tmp_path / "clone" / name)
    return tmp_path / "clone"


@pytest.fixture
def no_npm(tmp_path):
    """An environment whose PATH has uv, git and the basic programs, and no npm."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("uv", "git", "bash", "sh", "dirname", "env", "python3", "cat"):
        # `uv run` names its own program: the one on the PATH may be a script that needs more than these.
        found = (os.environ.get("UV") if name == "uv" else None) or shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    return {**os.environ, "PATH": str(folder)}


def build(clone, folder, environment):
    return subprocess.run(
        ["uv", "build", "--package", "tacit-memory", "--wheel", "--out-dir", str(folder)],
        cwd=clone, env=environment, capture_output=True, text=True, timeout=280,
    )  # fmt: skip


def test_a_clone_without_its_page_and_without_npm_is_not_built_and_the_reason_is_said(
    clone, no_npm, tmp_path
):
    done = build(clone, tmp_path / "out", no_npm)
    assert done.returncode != 0
    assert "web page is not built" in done.stderr
    assert "npm" in done.stderr
    assert not list((tmp_path / "out").glob("*.whl"))
