"""What is learned from typed prompts, and what ends what: the sets of `packages/tacit-evals/statements`, by rule alone and without a store.

Run: `python -m tacit_evals.statements [--set dev|held] [--misses]`. Out: prompts whose marked sentence is learned whole, in part or not at all; prompts
without one of which something is learned; replacements that are carried out; pairs of which one is ended although both hold. By language, too.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tacit.reading.explicit import find_explicit
from tacit.statements.replaces import replaces

DATA = Path(__file__).parents[2] / "statements"
WHOLE, PART = 0.75, 0.4
"""Share of the words of a marked sentence from which it counts as learned whole, or in part."""

Row = dict[str, Any]
Judged = tuple[Row, str, object]
"""A row, how it came out, and what was found."""


def _words(text: str) -> set[str]:
    spaced = re.sub(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])", r" \1 ", text.casefold())
    return set(re.findall(r"\w+", spaced))


def _marks(rows: Sequence[Row]) -> Iterator[Judged]:
    for row in rows:
        learned = [statement.content for statement in find_explicit(row["prompt"])]
        shares = [
            max((len(_words(wanted) & _words(one)) / len(_words(wanted)) for one in learned), default=0.0)
            for wanted in row["lasting"]
        ]
        share = min(shares)
        yield row, "whole" if share >= WHOLE else "part" if share >= PART else "missed", learned


def _one_off(rows: Sequence[Row]) -> Iterator[Judged]:
    for row in rows:
        learned = [statement.content for statement in find_explicit(row["prompt"])]
        yield row, "learned" if learned else "silent", learned


def _replacements(rows: Sequence[Row]) -> Iterator[Judged]:
    for row in rows:
        found = replaces(row["new"], row["old"])
        yield row, "ends" if found else "missed", found


def _both_hold(rows: Sequence[Row]) -> Iterator[Judged]:
    for row in rows:
        found = replaces(row["b"], row["a"]) or replaces(row["a"], row["b"])
        yield row, "wrongly ended" if found else "both hold", found


RIGHT = frozenset({"whole", "silent", "ends", "both hold"})


def judged(name: str) -> dict[str, list[Judged]]:
    """What came of each row of the set `name`, `dev` or `held`, by part."""

    def read(part: str) -> Any:
        return json.loads((DATA / f"{part}_{name}.json").read_text("utf-8"))

    pairs = read("replacement")
    return {
        "marks": list(_marks(read("marks"))),
        "one-off": list(_one_off(read("oneoff"))),
        "replacements": list(_replacements(pairs["replacements"])),
        "both hold": list(_both_hold(pairs["both_hold"])),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of one set."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.statements", description=__doc__)
    parser.add_argument("--set", choices=("dev", "held"), default="dev")
    parser.add_argument("--misses", action="store_true", help="print each row of dev that came out wrong")
    given = parser.parse_args(arguments)
    for part, rows in judged(given.set).items():
        counts = Counter(how for _, how, _ in rows)
        print(
            f"{part}: "
            + ", ".join(f"{how} {count}" for how, count in counts.most_common())
            + f" of {len(rows)}"
        )
        languages = Counter(str(row.get("lang", "?")) for row, _, _ in rows)
        right = Counter(str(row.get("lang", "?")) for row, how, _ in rows if how in RIGHT)
        print("  " + ", ".join(f"{code} {right[code]}/{count}" for code, count in languages.most_common()))
        if given.misses and given.set == "dev":
            for row, how, found in rows:
                if how not in RIGHT:
                    print(f"  {how}: {json.dumps(row, ensure_ascii=False)} -> {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
