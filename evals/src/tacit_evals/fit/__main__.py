"""Fit everything that ships and write the files. In: the folder of the data, a date. Out: equal bytes each time.

Run: `python -m tacit_evals.fit --data DIR --date 2026-11-21`, on all projects of the data or on those that `--projects` names.
With `--check` nothing is written: the exit code tells whether the files that ship are those that this data gives, byte for
byte, from the projects that the shipped files name. Data that came later changes nothing then.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

import tacit
from tacit.config.settings import EmbedderSettings
from tacit.providers.embedding import make_embedder
from tacit.reading.classifier.matching import match_text
from tacit.reading.classifier.weights import pack
from tacit.recall.score.gate.mean_query import write_mean_query
from tacit.recall.score.gate.model import GateModel, gate_data
from tacit_evals.data.learnings import GOLD
from tacit_evals.data.recognise import is_inject, is_learnings
from tacit_evals.fit.fitted import Fitted, fit_all
from tacit_evals.fit.leaks import same_project
from tacit_evals.fit.marks import FILE as MARKS_FILE
from tacit_evals.fit.marks import marks_file
from tacit_evals.fit.need import written
from tacit_evals.fit.passages import passages_file
from tacit_evals.suites.running import shipped_settings

PACKAGE = Path(tacit.__file__).parent
COMMAND = "python -m tacit_evals.fit --data DATA --date DATE"
FILES = {
    "situation": "reading/classifier/situation.weights",
    "trigger": "reading/classifier/trigger.weights",
    "match": "reading/classifier/match.json",
    "need": "recall/need/need.json",
    "usual": "recall/score/gate/usual.json",
    "gate": "recall/score/gate/shipped.json",
}
"""What is fitted together, below the package or another root."""
FURTHER = {
    "passages": "capture/extract/passages/passages.weights",
    "marks": MARKS_FILE,
}
"""What is fitted besides, each by itself."""


def files_of(fitted: Fitted) -> dict[str, bytes]:
    """The bytes of every fitted file, by its path below the package."""
    found: dict[str, bytes] = {}
    if fitted.situation is not None:
        found[FILES["situation"]] = pack(fitted.situation.file)
    if fitted.trigger is not None:
        found[FILES["trigger"]] = pack(fitted.trigger.file)
    if fitted.match is not None:
        found[FILES["match"]] = match_text(fitted.match).encode()
    if fitted.need is not None:
        found[FILES["need"]] = written(fitted.need).encode()
    if fitted.usual is not None:
        found[FILES["usual"]] = write_mean_query(fitted.usual).encode()
    if isinstance(fitted.gate, GateModel):
        found[FILES["gate"]] = (json.dumps(gate_data(fitted.gate), indent=1) + "\n").encode()
    return found


def shipped_projects(package: Path) -> tuple[str, ...]:
    """The judged projects that the files below `package` were fitted on, as the gate's manifest names them."""
    manifest = json.loads((package / FILES["gate"]).read_text("utf-8"))["manifest"]
    return tuple(manifest["projects"])


def judged_in(data: Sequence[Path]) -> tuple[str, ...]:
    """All judged projects of the folders."""
    return tuple(
        sorted({path.name for folder in data for path in (folder / "inject").glob("*") if is_inject(path)})
    )


def link_projects(data: Path, projects: Collection[str], place: Path) -> Path:
    """A copy of `data` in links at `place`, without the folders and captured sessions of other judged projects.

    What is not kept by project, such as the rows of many projects in one file, stays whole.
    """
    others = [name for name in judged_in([data]) if not any(same_project(name, one) for one in projects)]
    for folder in ("inject", "situation", "capture", "knowledge_history"):
        for path in sorted(path for path in (data / folder).rglob("*") if path.is_file()):
            inside = path.relative_to(data)
            if any(same_project(part, other) for part in inside.parts[:-1] for other in others):
                continue
            copy = place / inside
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(path.resolve())
    if is_learnings(place / "capture"):
        _keep_sessions(place / "capture", others)
    return place


def _keep_sessions(capture: Path, others: Collection[str]) -> None:
    """Drop the sessions of `others` and what was learned in them."""
    dropped: set[str] = set()
    for path in sorted(capture.glob("*.json")):
        session = json.loads(path.read_text("utf-8"))
        if any(same_project(session.get("project", ""), other) for other in others):
            dropped.add(session["session_id"])
            path.unlink()
    lines = (capture / GOLD).read_text("utf-8").splitlines()
    kept = [line for line in lines if line.strip() and json.loads(line)["session_id"] not in dropped]
    (capture / GOLD).unlink()
    (capture / GOLD).write_text("".join(line + "\n" for line in kept), "utf-8")


def main() -> int:
    """Fit and write, or compare; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tacit_evals.fit", description="Fit everything that ships and write the files."
    )
    parser.add_argument("--data", type=Path, required=True, action="append", help="folder of labelled data")
    parser.add_argument("--date", required=True, help="date for the manifests, such as 2026-11-21")
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
        made = fit_files(links, date=arguments.date)
    differ = 0
    for name, content in made.items():
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
    embedder = make_embedder(EmbedderSettings(cache_entries=100_000))
    fitted = fit_all(
        data,
        exclude_projects=(),
        embedder=embedder,
        settings=shipped_settings(),
        date=date,
        command=COMMAND,
    )
    made = files_of(fitted)
    passages = passages_file(data, embedder=embedder, date=date, command=COMMAND)
    if passages is not None:
        made[FURTHER["passages"]] = passages
    made[FURTHER["marks"]] = marks_file(
        data, embedder=embedder, fitted=fitted, date=date, command=COMMAND
    ).encode()
    return made


if __name__ == "__main__":
    raise SystemExit(main())
