"""Fit what the readers ship, on all projects. In: the folder of the data, a date. Out: files of weights, equal each time."""

from __future__ import annotations

import argparse
from pathlib import Path

from tacit.providers.embedding.cache import CachedEmbedder
from tacit.providers.embedding.minilm import MiniLM
from tacit.reading.classifier.matching import MATCH_FILE, match_text
from tacit.reading.classifier.shipped import SITUATION_FILE, TRIGGER_FILE
from tacit.reading.classifier.weights import pack
from tacit_evals.fit.match import fit_match
from tacit_evals.fit.situation import fit_situation, labelled_prompts
from tacit_evals.fit.trigger import fit_trigger, labelled_memories

COMMAND = "python -m tacit_evals.fit.reading --data DATA --date DATE"


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the readers and write what ships.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the evaluation data")
    parser.add_argument("--date", required=True, help="date for the manifest, such as 2026-11-21")
    arguments = parser.parse_args()
    embedder = CachedEmbedder(MiniLM(), entries=20_000, ttl_s=86_400)
    stamp = {"date": arguments.date, "command": COMMAND}
    situation = fit_situation(labelled_prompts(arguments.data), embedder=embedder, **stamp)
    SITUATION_FILE.write_bytes(pack(situation.file))
    trigger = fit_trigger(labelled_memories(arguments.data), embedder=embedder, **stamp)
    TRIGGER_FILE.write_bytes(pack(trigger.file))
    MATCH_FILE.write_text(match_text(fit_match(arguments.data, embedder=embedder, **stamp)), "utf-8")
    for path in (SITUATION_FILE, TRIGGER_FILE, MATCH_FILE):
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
