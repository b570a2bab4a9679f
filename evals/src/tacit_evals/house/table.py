"""The table of size and shape, and the program that prints it.

In: the figures of a tree, and maybe those of a commit before it. Out: a table and lines of names. Never measures anything.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tacit_evals.house.measure import NAMES, Figures, measure_commit, measure_tree
from tacit_evals.plain_install import SOURCE


def figures_table(
    now: Mapping[str, Figures], before: Mapping[str, Figures] | None, *, against: str = ""
) -> Table:
    """One row for each figure of each area; with `before` also the former count and the difference."""
    table = Table(title="Size and shape of the source" + (f", against {against}" if before else ""))
    table.add_column("area")
    table.add_column("figure")
    for heading in ("before", "now", "difference") if before else ("count",):
        table.add_column(heading, justify="right")
    for area, figures in now.items():
        for name in NAMES:
            count = figures.count(name)
            cells = [f"{count:,}"]
            if before:
                former = before[area].count(name)
                cells = [f"{former:,}", f"{count:,}", f"{count - former:+,}"]
            table.add_row(area, name.replace("_", " "), *cells)
        table.add_section()
    return table


def name_lines(now: Mapping[str, Figures], before: Mapping[str, Figures] | None) -> Iterator[str]:
    """The names behind the figures. With `before`: `+` those that are new, `-` those that are gone."""
    for area, figures in now.items():
        for figure in NAMES:
            names = figures.names(figure)
            former = before[area].names(figure) if before else ()
            gone = [name for name in former if name not in names]
            if names or gone:
                yield f"\n{area}: {figure.replace('_', ' ')} ({len(names)})"
            yield from (f"  {'+' if before and name not in former else ' '} {name}" for name in names)
            yield from (f"  - {name}" for name in gone)


def main() -> None:
    """Print the table and the names."""
    parser = argparse.ArgumentParser(description="Size and shape of the source, maybe against a commit.")
    parser.add_argument("--tree", type=Path, default=SOURCE, help="folder of the repository")
    parser.add_argument("--against", metavar="COMMIT", default="", help="a commit to compare with")
    parser.add_argument("--no-names", action="store_true", help="the table alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write figures and names as JSON")
    arguments = parser.parse_args()
    now = measure_tree(arguments.tree)
    before = measure_commit(arguments.against, source=arguments.tree) if arguments.against else None
    Console().print(figures_table(now, before, against=arguments.against))
    if not arguments.no_names:
        print("\n".join(name_lines(now, before)))
    if arguments.json:
        trees = {"now": now, "before": before or {}}
        values = {
            when: {area: asdict(figures) for area, figures in tree.items()} for when, tree in trees.items()
        }
        arguments.json.write_text(json.dumps(values, indent=1) + "\n", "utf-8")
