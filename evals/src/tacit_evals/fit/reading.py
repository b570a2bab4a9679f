"""Fit what the readers ship, on all projects. In: the folder of the data, a date. Out: files of weights, equal each time."""

from __future__ import annotations

import argparse
from pathlib import Path

from tacit.providers.embedding.minilm import MiniLM
from tacit.reading.classifier.shipped import SITUATION_FILE
from tacit.reading.classifier.weights import pack
from tacit_evals.fit.situation import fit_situation, labelled_prompts

COMMAND = "python -m tacit_evals.fit.reading --data DATA --date DATE"


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the situation reader and write what ships.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the evaluation data")
    parser.add_argument("--date", required=True, help="date for the manifest, such as 2026-11-21")
    arguments = parser.parse_args()
    embedder = MiniLM()
    situation = fit_situation(
        labelled_prompts(arguments.data), embedder=embedder, date=arguments.date, command=COMMAND
    )
    SITUATION_FILE.write_bytes(pack(situation.file))
    print(f"{SITUATION_FILE.name}: {SITUATION_FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
