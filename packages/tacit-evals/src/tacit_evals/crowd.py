"""What other projects' rules do to a store: how much more is handed over because there is more to choose from.

Run: `python -m tacit_evals.crowd --data DIR [--sizes 0,400,1200]`, where DIR holds `inject/` and `situation/rules.jsonl`.
Rules of other repositories are put into each judged project's store, under its scope; prompts and start pack stay the
project's own. Printed per size: what was handed over, how much of it is foreign, how much was needed. `CROWD` of the gate
(`tacit.recall.score.gate`) was chosen so that the first column stays about the same.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tacit.config.settings import EmbedderSettings
from tacit.ports.models import Embedder
from tacit.providers.embedding import make_embedder
from tacit_evals.data.judged import PoolRow, Project, load_inject
from tacit_evals.data.recognise import folders_of
from tacit_evals.data.rows import read_rows
from tacit_evals.fit.leaks import same_project
from tacit_evals.suites.pool import Pool, Start
from tacit_evals.suites.running import shipped_settings

START_TOKENS = 1000
SEED = 3


def foreign_rules(data: Path, project: Project) -> tuple[PoolRow, ...]:
    """Rules worth keeping of every other repository, in an order that chance fixed once."""
    pattern = project.memories[0]
    rules = [
        replace(
            pattern,
            id=f"foreign-{row.text('id')}",
            kind=row.text("kind"),
            content=row.text("content"),
            files=(),
            source=row.text("file"),
            session="",
            given=None,
        )
        for row in read_rows(data / "situation" / "rules.jsonl")
        if row.number("keep") and not same_project(row.text("repo"), project.name)
    ]
    random.Random(SEED).shuffle(rules)
    return tuple(rules)


def measure(
    project: Project, rows: Sequence[PoolRow], *, start: Start, embedder: Embedder
) -> tuple[int, int, int]:
    """Handed over, foreign, needed: over all prompts of `project`, with `rows` in its store."""
    crowded = replace(project, memories=(*project.memories, *rows))
    strangers = {row.id for row in rows}
    pool = Pool(crowded, embedder=embedder, settings=shipped_settings())
    try:
        packs = [(prompt.judgment, pool.prompt(prompt, start).pack) for prompt in project.prompts]
    finally:
        pool.close()
    handed = [(judgment, name) for judgment, pack in packs for name in pack]
    foreign = sum(name in strangers for _, name in handed)
    return len(handed), foreign, sum(name in judgment.needed for judgment, name in handed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="tacit_evals.crowd", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sizes", default="0,400,1200", help="foreign rules, comma separated")
    options = parser.parse_args(arguments)
    embedder = make_embedder(EmbedderSettings(cache_entries=20_000))
    table = Table("project", "memories", "handed over", "foreign", "needed")
    for folder in folders_of("inject", options.data):
        project = load_inject(folder)
        rules = foreign_rules(options.data, project)
        own = Pool(project, embedder=embedder, settings=shipped_settings())
        try:
            start = own.start(tokens=START_TOKENS, at_ms=project.prompts[0].at_ms)
        finally:
            own.close()
        for size in (int(number) for number in options.sizes.split(",")):
            figures = measure(project, rules[:size], start=start, embedder=embedder)
            many = len(project.memories) + min(size, len(rules))
            table.add_row(project.name, str(many), *map(str, figures))
    Console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
