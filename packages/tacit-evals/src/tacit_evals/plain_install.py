"""Tacit as a user has it: a wheel in a virtual environment of its own, without extras and development tools.

In: a checkout, a folder. Out: the interpreter of the environment. Uses `uv` and the package registry it is configured for.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[4]
"""The checkout that these benchmarks belong to."""


def commit_copy(target: Path, *, source: Path = SOURCE, commit: str = "HEAD") -> Path:
    """Copy `source` as it stands in `commit` to `target`, without work in progress; returns `target`."""
    target.mkdir(parents=True)
    archive = subprocess.run(["git", "-C", str(source), "archive", commit], capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(target)], input=archive.stdout, check=True)
    return target


def code_of(checkout: Path) -> Path:
    """Return the folder of `checkout` with the modules of tacit-memory; older commits have it in `src`."""
    now = checkout / "packages/tacit-memory/src"
    return now if now.is_dir() else checkout / "src"


def build_wheel(checkout: Path, folder: Path, *, package: str = "tacit-memory") -> Path:
    """Build the wheel of a package of `checkout` into `folder` and return it."""
    _quiet(["uv", "build", "--wheel", "--out-dir", str(folder), str(checkout / "packages" / package)])
    return next(folder.glob(f"{package.replace('-', '_')}-*.whl"))


def install_plain(folder: Path, wheel: Path) -> Path:
    """Make a virtual environment in `folder` with `wheel` and what it needs; return its interpreter."""
    _quiet(["uv", "venv", "--python", sys.executable, str(folder)])
    python = folder / "bin" / "python"
    _quiet(["uv", "pip", "install", "--python", str(python), "--compile-bytecode", str(wheel)])
    return python


def _quiet(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
