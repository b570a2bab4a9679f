"""Fit everything that ships and write the files. In: the folder of the data, a date. Out: equal bytes each time.

Run: `python -m tacit_evals.fit --data DIR --date 2026-11-21`, on all projects of the data or on those that `--projects` names.
With `--check` nothing is written: the exit code tells whether the files that ship are those that this data gives, byte for
byte, from the projects that the shipped files name. Data that came later changes nothing then. What the presets' cosine bars are
set by is measured by itself (`tacit_evals.fit.unrelated`).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import tacit
from tacit.config.settings import EmbedderSettings
from tacit.fitted import Artifact, decode_artifact, encode_artifact
from tacit.providers.embedding import make_embedder
from tacit.recall.score import GateModel
from tacit_evals.data import EVERYDAY, is_inject
from tacit_evals.fit.files import (
    gate_artifact,
    match_artifact,
    need_artifact,
    transform_artifact,
    weights_artifact,
)
from tacit_evals.fit.fitted import fit_with_lists
from tacit_evals.fit.labelled import same_project
from tacit_evals.fit.levels import beside_fusion, fit_levels, report
from tacit_evals.fit.marks import fit_marks
from tacit_evals.pool import Fitted, shipped_settings

PACKAGE = Path(tacit.__file__).parent
COMMAND = "python -m tacit_evals.fit --data DATA --date DATE"


def file_of(name: str) -> str:
    """The path of a fitted file below the package or another root."""
    return f"fitted/{name}.json"


def artifacts_of(fitted: Fitted) -> list[Artifact[Any]]:
    """The content of every file that is fitted together."""
    artifacts: list[Artifact[Any]] = []
    if fitted.trigger is not None:
        artifacts.append(weights_artifact(fitted.trigger.weights, "trigger"))
    if fitted.match is not None:
        artifacts.append(match_artifact(fitted.match))
    if fitted.need is not None:
        artifacts.append(need_artifact(fitted.need))
    if fitted.transform is not None:
        artifacts.append(transform_artifact(fitted.transform))
    if isinstance(fitted.gate, GateModel):
        artifacts.append(gate_artifact(fitted.gate))
    return artifacts


def files_of(artifacts: Sequence[Artifact[Any]]) -> dict[str, bytes]:
    """The bytes of the files, by their path below the package."""
    return {file_of(artifact.name): encode_artifact(artifact) for artifact in artifacts}


def shipped_projects(package: Path) -> tuple[str, ...]:
    """The judged projects that the files below `package` were fitted on, as the gate's origin names them."""
    data = (package / file_of("gate")).read_bytes()
    return decode_artifact(data, object, name="gate").origin.projects


def judged_in(data: Sequence[Path]) -> tuple[str, ...]:
    """All judged projects of the folders."""
    projects = {path.name for folder in data for path in (folder / "inject").glob("*") if is_inject(path)}
    return tuple(sorted(projects | {EVERYDAY for folder in data if (folder / EVERYDAY).is_dir()}))


def link_projects(data: Path, projects: Collection[str], place: Path) -> Path:
    """A copy of `data` in links at `place`, without the folders of other judged projects.

    What is not kept by project, such as the rows of many projects in one file, stays whole.
    """
    others = [
        name for name in judged_in([data]) if not any(same_project(name, project) for project in projects)
    ]
    for folder in ("inject", "situation", "knowledge_history", "need", EVERYDAY):
        for path in sorted(path for path in (data / folder).rglob("*") if path.is_file()):
            inside = path.relative_to(data)
            if any(same_project(name, other) for name in inside.parts[:-1] for other in others):
                continue
            copy = place / inside
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(path.resolve())
    return place


def main() -> int:
    """Fit and write, or compare; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tacit_evals.fit", description="Fit everything that ships and write the files."
    )
    parser.add_argument("--data", type=Path, required=True, action="append", help="folder of labelled data")
    parser.add_argument("--date", required=True, help="date for the files, such as 2026-11-21")
    parser.add_argument(
        "--out", type=Path, default=PACKAGE, help="write below this folder, not into the package"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 where a file would change"
    )
    parser.add_argument(
        "--projects",
        help="judged projects to fit on, with commas (default: all; with --check those of the files)",
    )
    arguments = parser.parse_args()
    if arguments.projects:
        projects = tuple(name.strip() for name in arguments.projects.split(","))
    else:
        projects = shipped_projects(arguments.out) if arguments.check else judged_in(arguments.data)
    print(f"fitted on the judged projects {', '.join(projects)}")
    with tempfile.TemporaryDirectory() as place:
        links = [
            link_projects(folder, projects, Path(place) / str(number))
            for number, folder in enumerate(arguments.data)
        ]
        files = fit_files(links, date=arguments.date)
    differ = 0
    for name, content in files.items():
        path = arguments.out / name
        changed = not path.exists() or path.read_bytes() != content
        differ += changed
        if not arguments.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        print(f"{name}: {len(content)} bytes, {'changed' if changed else 'as before'}")
    return 1 if arguments.check and differ else 0


def fit_files(data: Sequence[Path], *, date: str) -> dict[str, bytes]:
    """The bytes of everything that is fitted on the folders, by its path below the package."""
    embedder = make_embedder(EmbedderSettings(), cache_entries=100_000)
    done = fit_with_lists(
        data,
        exclude_projects=(),
        embedder=embedder,
        settings=shipped_settings(),
        date=date,
        command=COMMAND,
    )
    fitted = done.fitted
    artifacts = artifacts_of(fitted)
    artifacts.append(fit_marks(data, embedder=embedder, fitted=fitted, date=date, command=COMMAND))
    levels, measured = fit_levels(done.lists, embedder=str(embedder.identity), date=date, command=COMMAND)
    print("\n".join((*report(levels.values, measured), "", *beside_fusion(done.lists))))
    artifacts.append(levels)
    return files_of(artifacts)


if __name__ == "__main__":
    raise SystemExit(main())
