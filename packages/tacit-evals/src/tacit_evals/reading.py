"""How well situations are read and triggers made, by `tacit eval reading`, and one line per action class with `--classes`.

Run: `python -m tacit_evals.reading --data DIR`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tacit.config.settings import EmbedderSettings
from tacit.providers.embedding import make_embedder
from tacit_evals.report.scorecard import Scorecard
from tacit_evals.report.tables import cell, print_card
from tacit_evals.suites.reading import run_reading
from tacit_evals.suites.running import Run


def class_lines(card: Scorecard) -> Iterator[str]:
    """One line per project, reader and class that was often enough there."""
    for part in card.parts:
        for reader, rows in part.curves["classes"].items():
            for row in rows:
                figures = "  ".join(
                    f"{name.replace('_', ' ')} {cell(row[name])}"
                    for name in ("precision", "recall", "average_precision")
                )
                yield f"{part.name}  {reader}  {row['class']}  {row['rows']:.0f} rows  {figures}"


def main() -> None:
    """Print the scorecard."""
    parser = argparse.ArgumentParser(
        description="Situation reader, trigger maker and match, every project left out."
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the evaluation data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the scorecard as JSON")
    parser.add_argument("--classes", action="store_true", help="one line per action class")
    arguments = parser.parse_args()
    run = Run(
        data=arguments.data,
        embedder=make_embedder(EmbedderSettings(), cache_entries=100_000),
        say=lambda line: print(line, file=sys.stderr),
    )
    card = run_reading(run)
    print_card(card)
    if arguments.classes:
        print("\n".join(class_lines(card)))
    if arguments.json:
        card.write(arguments.json)


if __name__ == "__main__":
    main()
