"""What `uv build` makes in a clone: a wheel with the web page, or an error that says why not."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
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


def names_in(folder):
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        return opened.namelist()


def test_a_clone_without_its_page_and_without_npm_is_not_built_and_the_reason_is_said(
    clone, no_npm, tmp_path
):
    done = build(clone, tmp_path / "out", no_npm)
    assert done.returncode != 0
    assert "web page is not built" in done.stderr
    assert "npm" in done.stderr
    assert not list((tmp_path / "out").glob("*.whl"))


def test_who_wants_no_page_says_so(clone, no_npm, tmp_path):
    done = build(clone, tmp_path / "out", {**no_npm, "TACIT_BUILD_WITHOUT_PAGE": "1"})
    assert done.returncode == 0, done.stderr
    packed = names_in(tmp_path / "out")
    assert "tacit/cli/main.py" in packed
    assert "tacit/plugins/opencode/tacit.js" in packed
    assert "tacit_memory-0.1.0.data/data/share/man/man1/tacit.1" in packed
    assert "tacit/daemon/static/index.html" not in names_in(tmp_path / "out")


def test_a_built_page_is_packed_without_npm_and_an_outdated_one_is_not(clone, no_npm, tmp_path):
    page = clone / "packages/tacit-memory/src/tacit" / "daemon" / "static" / "index.html"
    page.parent.mkdir()
    page.write_text("<html></html>")
    done = build(clone, tmp_path / "out", no_npm)
    assert done.returncode == 0, done.stderr
    assert "tacit/daemon/static/index.html" in names_in(tmp_path / "out")
    os.utime(page, (1, 1))
    assert "web page is not built" in build(clone, tmp_path / "again", no_npm).stderr


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not there")
def test_a_clone_without_its_page_builds_it(clone, tmp_path):
    modules = REPOSITORY / "web" / "node_modules"
    if modules.is_dir():  # else the script installs them
        (clone / "web" / "node_modules").symlink_to(modules)
        # Older than what is installed, or the script would install anew, through the link and into this tree.
        os.utime(clone / "web" / "package-lock.json", (1, 1))
    done = build(clone, tmp_path / "out", dict(os.environ))
    assert done.returncode == 0, done.stderr
    packed = names_in(tmp_path / "out")
    assert "tacit/daemon/static/index.html" in packed
    assert any(name.startswith("tacit/daemon/static/assets/") for name in packed)
