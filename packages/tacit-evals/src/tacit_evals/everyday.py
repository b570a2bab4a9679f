"""What a preset hands over on an everyday project. In: `everyday` of the data: 60 memories, prompts, calls, failures. Out: counts, printed.

Each moment is asked on its own through the shipped read path, once with an empty context and once after the start block, which holds
what fits its budget. Memories are stored as the words alone tell: no kind, no trigger of a person.

Run: `python -m tacit_evals.everyday --data DIR [--preset NAME]`; `--each` prints what each moment got. `--compare` sets all presets side by side
before the prompts, alone and with the start block of each, with `--memories N` of the folder `inject` of the data added until there are N.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tacit.config.preset_files import preset_names
from tacit.config.settings import EmbedderSettings, RecallSettings
from tacit.ports.models import Embedder
from tacit.presets import preset_of
from tacit.providers.embedding import make_embedder
from tacit_evals.data import STORED_MS, Project, load_everyday, load_pool
from tacit_evals.figures import ItemResult
from tacit_evals.pool import DAY_MS, FOCUSED, SHIPPED, Fitted, Pool, Start, shipped_settings


def measure(
    project: Project,
    *,
    embedder: Embedder,
    settings: RecallSettings,
    fitted: Fitted = SHIPPED,
    start: bool = False,
    preset: str = FOCUSED.name,
) -> dict[str, list[ItemResult]]:
    """What prompts, calls and failures got, alone or after the start block that ships."""
    pool = Pool(project, embedder=embedder, settings=settings, fitted=fitted, preset=preset_of(preset))
    at_ms = STORED_MS + DAY_MS
    try:
        given = pool.shipped_start(at_ms=at_ms) if start else Start()
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


def among(project: Project, data: Path, memories: int) -> Project:
    """The project with memories of the other projects of the data, in turn one of each, until it has so many. They keep their kinds."""
    others = [load_pool(folder / "memories.jsonl") for folder in sorted((data / "inject").iterdir())]
    in_turn = [row for rows in zip_longest(*others) for row in rows if row is not None]
    more = [replace(row, id=f"other{at}", given=None) for at, row in enumerate(in_turn)]
    return replace(project, memories=(*project.memories, *more[: max(0, memories - len(project.memories))]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What the prompts of a project got in one way: how many of those that need something have it, lines that none needs, tokens in all."""

    have: int
    needing: int
    needless: int
    tokens: int

    @property
    def value(self) -> int:
        """Three for each prompt that has what it needs, less one for each needless line."""
        return 3 * self.have - self.needless


def worth(results: Sequence[ItemResult]) -> Worth:
    """What the prompts got. A line of the start block that no prompt needs is needless once, and its tokens count once."""
    have, needing, _, _ = given(results)
    needed = {memory for result in results for memory in result.judgment.needed}
    start = results[0].start
    return Worth(
        have=have,
        needing=needing,
        needless=len(start - needed) + sum(len(result.pack) - result.right for result in results),
        tokens=results[0].start_tokens + sum(result.tokens for result in results),
    )


def compare(project: Project, *, embedder: Embedder) -> Iterator[tuple[str, Worth]]:
    """Every preset before the prompts, alone and with its start block; then the whole store and an index of it as start blocks."""
    for preset in preset_names():
        settings = shipped_settings(preset)
        for start in dict.fromkeys((0, settings.budgets.start)):
            asked = replace(project, calls=())
            found = measure(asked, embedder=embedder, settings=settings, start=bool(start), preset=preset)
            yield f"{preset}, with its start block" if start else preset, worth(found["prompts"])
    pool = Pool(project, embedder=embedder, settings=shipped_settings())
    try:
        index = shipped_settings().budgets.model_copy(update={"start": 1, "index": 1_000_000})
        listed = pool.start_block(budgets=index, at_ms=STORED_MS + DAY_MS).block.tokens
        whole = sum(pool.tokens.count(memory.content) for memory in pool.memories.values())
    finally:
        pool.close()
    needed = [prompt.judgment.needed for prompt in project.prompts if not prompt.judgment.nothing]
    needless = len(project.memories) - len({memory for each in needed for memory in each})
    for name, tokens in (("the whole store", whole), ("an index of the whole store", listed)):
        yield name, Worth(have=len(needed), needing=len(needed), needless=needless, tokens=tokens)


def main() -> int:
    """Measure and print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.everyday", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of labelled data")
    parser.add_argument("--each", action="store_true", help="print what each moment got")
    parser.add_argument("--preset", choices=preset_names(), default=FOCUSED.name)
    parser.add_argument("--compare", action="store_true", help="all presets side by side, before prompts")
    parser.add_argument(
        "--kinds", action="store_true", help="store each memory with the kind that was said with it"
    )
    parser.add_argument("--memories", type=int, default=0, help="add others until there are so many")
    arguments = parser.parse_args()
    project = load_everyday(arguments.data, kinds=arguments.kinds)
    project = among(project, arguments.data, arguments.memories)
    settings = shipped_settings(arguments.preset)
    embedder = make_embedder(EmbedderSettings())
    if arguments.compare:
        table = Table("way", "needed and given", "needless", "tokens", "value")
        for name, found in compare(project, embedder=embedder):
            counts = (f"{found.have} of {found.needing}", found.needless, found.tokens, found.value)
            table.add_row(name, *map(str, counts))
        Console().print(table)
        return 0
    table = Table("moments", "given", "right of those handed over", "needless", "given, with the start block")
    measured = partial(measure, project, embedder=embedder, settings=settings, preset=arguments.preset)
    alone, after = measured(), measured(start=settings.budgets.start > 0)
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
