"""What the default hands over on an everyday project. In: `everyday` of the data: 60 memories, prompts, calls, failures. Out: counts, printed.

Each moment is asked on its own through the shipped read path, once with an empty context and once after the start block, which holds
what fits its budget. Memories are stored as the words alone tell: no kind, no trigger of a person.

Run: `python -m tacit_evals.everyday --data DIR`; `--each` prints what each moment got.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tacit.config.settings import EmbedderSettings, RecallSettings
from tacit.ports.models import Embedder
from tacit.providers.embedding import make_embedder
from tacit_evals.data import (
    STORED_MS,
    Project,
    load_everyday,
)
from tacit_evals.figures import ItemResult
from tacit_evals.pool import DAY_MS, SHIPPED, Fitted, Pool, Start, shipped_settings


def measure(
    project: Project,
    *,
    embedder: Embedder,
    settings: RecallSettings,
    fitted: Fitted = SHIPPED,
    start: int = 0,
) -> dict[str, list[ItemResult]]:
    """What prompts, calls and failures got, after a start block of `start` tokens (0 = none)."""
    pool = Pool(project, embedder=embedder, settings=settings, fitted=fitted)
    at_ms = STORED_MS + DAY_MS
    try:
        given = pool.start(tokens=start, at_ms=at_ms) if start else Start()
        return {
            "prompts": [pool.prompt(prompt, given) for prompt in project.prompts],
            "calls": [pool.call(call, given, at_ms=at_ms) for call in project.calls if not call.error],
            "failures": [pool.call(call, given, at_ms=at_ms) for call in project.calls if call.error],
        }
    finally:
        pool.close()


def given(results: Sequence[ItemResult]) -> tuple[int, int, int, int]:
    """Moments that need something and have it, all that need something, those that need nothing and got something, all of those."""
    needing = [result for result in results if not result.judgment.nothing]
    silent = [result for result in results if result.judgment.nothing]
    have = sum(bool(result.judgment.needed.keys() & {*result.pack, *result.start}) for result in needing)
    return have, len(needing), sum(bool(result.pack) for result in silent), len(silent)


def each(results: Sequence[ItemResult]) -> Iterator[str]:
    """One line for each moment: what it got and needed, with the relevance of what it needed."""
    for result in results:
        needed = ", ".join(
            f"{memory} {result.predicted.get(memory, 0.0):.2f}" for memory in result.judgment.needed
        )
        handed = ", ".join(f"{memory} {result.predicted.get(memory, 0.0):.2f}" for memory in result.pack)
        yield f"{result.item}: got {handed or 'nothing'}; needs {needed or 'nothing'}"


def main() -> int:
    """Measure and print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.everyday", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of labelled data")
    parser.add_argument("--each", action="store_true", help="print what each moment got")
    arguments = parser.parse_args()
    project, settings = load_everyday(arguments.data), shipped_settings()
    embedder = make_embedder(EmbedderSettings())
    table = Table("moments", "given", "right of those handed over", "needless", "given, with the start block")
    alone = measure(project, embedder=embedder, settings=settings)
    after = measure(project, embedder=embedder, settings=settings, start=settings.budgets.start)
    for name, results in alone.items():
        have, needing, needless, silent = given(results)
        handed = sum(len(result.pack) for result in results)
        table.add_row(
            name,
            f"{have} of {needing}",
            f"{sum(result.right for result in results)} of {handed}",
            f"{needless} of {silent}",
            f"{given(after[name])[0]} of {needing}",
        )
        if arguments.each:
            print(*each(results), sep="\n")
    Console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
