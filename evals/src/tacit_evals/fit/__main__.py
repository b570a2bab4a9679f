"""Fit everything that ships, on all projects, and write the files. In: the folder of the data, a date. Out: equal bytes each time.

Run: `python -m tacit_evals.fit --data DIR --date 2026-11-21`; with `--check` nothing is written, and the exit code tells whether
the files that ship are those that this data gives, byte for byte.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import tacit
from tacit.config.settings import EmbedderSettings
from tacit.providers.embedding import make_embedder
from tacit.reading.classifier.matching import match_text
from tacit.reading.classifier.weights import pack
from tacit.recall.score.gate.model import GateModel, gate_data
from tacit.recall.score.gate.usual import usual_text
from tacit_evals.fit.fitted import Fitted, fit_all
from tacit_evals.fit.marks import FILE as MARKS_FILE
from tacit_evals.fit.marks import marks_file
from tacit_evals.fit.need import written
from tacit_evals.fit.pairs.learn import fit_pairs
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
    "pairs": "capture/reconcile/pairs.json",
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
        found[FILES["usual"]] = usual_text(fitted.usual).encode()
    if isinstance(fitted.gate, GateModel):
        found[FILES["gate"]] = (json.dumps(gate_data(fitted.gate), indent=1) + "\n").encode()
    return found


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
    arguments = parser.parse_args()
    embedder = make_embedder(EmbedderSettings(cache_entries=100_000))
    fitted = fit_all(
        arguments.data,
        exclude_projects=(),
        embedder=embedder,
        settings=shipped_settings(),
        date=arguments.date,
        command=COMMAND,
    )
    pairs = fit_pairs(arguments.data, embedder, date=arguments.date, command=COMMAND)
    made = files_of(fitted) | {FURTHER["pairs"]: pairs.encode()}
    passages = passages_file(arguments.data, embedder=embedder, date=arguments.date, command=COMMAND)
    if passages is not None:
        made[FURTHER["passages"]] = passages
    made[FURTHER["marks"]] = marks_file(
        arguments.data, embedder=embedder, fitted=fitted, date=arguments.date, command=COMMAND
    ).encode()
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


if __name__ == "__main__":
    raise SystemExit(main())
