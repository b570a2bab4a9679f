"""Packages beside Tacit, as an installer leaves them: modules, and a `.dist-info` folder that lists their entry points."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path


def install_project(project: Path, into: Path) -> None:
    """Install the modules of the project folder `project` and the entry points of its pyproject.toml into `into`."""
    described = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    for module in project.glob("*.py"):
        into.mkdir(parents=True, exist_ok=True)
        shutil.copy(module, into)
    write_metadata(into, described["name"], described["entry-points"])


def install_module(into: Path, name: str, code: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Install a package of one module, whose code is given."""
    into.mkdir(parents=True, exist_ok=True)
    (into / f"{name}.py").write_text(code)
    write_metadata(into, name, entry_points)


def write_metadata(into: Path, name: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Write what says that the package `name` is installed, with its entry points by group."""
    folder = into / f"{name.replace('-', '_')}-1.0.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0.0\n")
    lines = [
        line
        for group, points in entry_points.items()
        for line in (f"[{group}]", *(f"{point} = {value}" for point, value in points.items()))
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
