"""Today's figure for every goal of the page, the API and the tools.

    python -m tacit_evals.goals [undo search traces review mcp operations generators tests] [--json FILE]

Each measurement runs against a daemon of its own with the shipped embedding model, or runs the tests that show a goal. Without names all
of them run, in about five minutes. Prints the table and every failure. `review` and `tests` need the built page and Chromium, `generators`
Java and, once, the network, `tests` the TypeScript client and the environment of `just frameworks`. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from tacit_evals.goals import interfaces, review, search, shown, traces, undo
from tacit_evals.goals.goal import Goal, print_goals

MEASUREMENTS: dict[str, Callable[[], list[Goal]]] = {
    "undo": undo.measure,
    "search": search.measure,
    "traces": traces.measure,
    "review": review.measure,
    "mcp": interfaces.measure_mcp,
    "operations": interfaces.measure_operations,
    "generators": interfaces.measure_generators,
    "tests": shown.measure,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tacit_evals.goals",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("only", nargs="*", metavar="MEASUREMENT", help=", ".join(MEASUREMENTS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table as JSON, too")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.only if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"there is no measurement {unknown[0]!r}; known: {', '.join(MEASUREMENTS)}")
    goals: list[Goal] = []
    for name in options.only or MEASUREMENTS:
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        goals += MEASUREMENTS[name]()
    print_goals(goals)
    if options.json:
        rows = [asdict(goal) for goal in goals]
        options.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return int(any(not goal.reached for goal in goals))


if __name__ == "__main__":
    raise SystemExit(main())
