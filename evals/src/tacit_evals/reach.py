"""Reach: of the memories that a moment needs, how many are in the agent's context or fetched by it. In: judged prompts, recorded answers of a reader.

Each of seven projects gives 40 moments (the user's prompt, the end of the agent's last message, recent files). The store is the project's pool; the start
block with its index is the shipped read path's. A reader who saw that block and one moment, and no label, said which headlines it would fetch; its
answers are recorded in `evals/answers/reach` under the block and the moment that they were given for, and count for no other.

Run: `python -m tacit_evals.reach --data DIR` scores the recorded answers beside simpler methods. `--write FOLDER` writes blocks and moments for a reader.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tacit.config.settings import Budgets, EmbedderSettings, RecallSettings
from tacit.providers.embedding import make_embedder
from tacit.recall.render import index_line
from tacit.recall.stage import Delivered
from tacit_evals.data.judged import Project, Prompt, load_inject
from tacit_evals.data.recognise import folders_of
from tacit_evals.suites.pool import Pool, Start

MOMENTS = 40
ANSWERS = Path(__file__).resolve().parents[2] / "answers" / "reach" / "answers.json"
FETCHED_TOKENS = 12
"""What a fetched memory costs beside its words: id, day, who said it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One size of a start block: tokens of whole memories and of the index, and the host's cap on both (0 = none)."""

    name: str
    start: int
    index: int
    cap_chars: int = 0


VARIANTS = (
    Variant(name="capped", start=2000, index=1500, cap_chars=9500),
    Variant(name="full", start=2000, index=1500),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What one moment needed, had in context, was offered, and fetched; ids of memories.

    `gate` = what the shipped gate would add before the prompt; `search` = what `memory_search` with the user's words would answer.
    """

    needed: Mapping[str, int]
    marginal: frozenset[str]
    held: frozenset[str]
    listed: frozenset[str]
    fetched: frozenset[str]
    gate: frozenset[str]
    search: frozenset[str]
    tokens: int = 0

    @property
    def got(self) -> frozenset[str]:
        """What it needed and had or fetched."""
        return frozenset(self.needed) & (self.held | self.fetched)


def moments_of(project: Project) -> list[Prompt]:
    """The moments that are measured: judged prompts, chosen and ordered by the hash of their id."""
    judged = [prompt for prompt in project.prompts if prompt.judgment.needed or prompt.judgment.nothing]
    return sorted(
        judged, key=lambda prompt: hashlib.sha256(f"{project.name}/{prompt.id}".encode()).hexdigest()
    )[:MOMENTS]


def moment_text(prompt: Prompt) -> str:
    """A moment as a reader sees it."""
    files = ", ".join(prompt.files) or "none"
    return f"The agent's last message ends: {prompt.previous or '(none)'}\nRecent files: {files}\nThe user now types: {prompt.text}"


def key_of(given: Delivered, moment: str) -> str:
    """Return the name under which the answer to a moment is recorded: it holds for these whole memories and these headlines."""
    headlines = "\n".join(index_line(line) for line in given.pack.index.lines)
    whole = "\n".join(item.candidate.memory.content for item in given.pack.items)
    return hashlib.sha256(f"{whole}\n\n{headlines}\n\n{moment}".encode()).hexdigest()[:20]


def recorded(file: Path) -> dict[str, tuple[str, ...]]:
    """The recorded answers: key of the request -> short ids that the reader would fetch."""
    return {key: tuple(ids) for key, ids in json.loads(file.read_text("utf-8"))["answers"].items()}


def reached(
    project: Project, pool: Pool, given: Delivered, answers: Mapping[str, tuple[str, ...]]
) -> list[Reached]:
    """What each moment with a recorded answer reached."""
    named = {line.short_id: line.candidate.memory.id for line in given.pack.index.lines}
    held = frozenset(given.pack.held)
    done: list[Reached] = []
    for prompt in moments_of(project):
        answer = answers.get(key_of(given, moment_text(prompt)))
        if answer is None:
            continue
        fetched = frozenset(named[name] for name in answer if name in named)
        done.append(
            Reached(
                needed=prompt.judgment.needed,
                marginal=prompt.judgment.marginal,
                held=held,
                listed=frozenset(named.values()),
                fetched=fetched - held,
                gate=frozenset(pool.prompt(prompt, Start(ids=held)).pack),
                search=frozenset(pool.answered(prompt.text)),
                tokens=sum(pool.memories[name].tokens + FETCHED_TOKENS for name in fetched - held),
            )
        )
    return done


def share(items: Sequence[Reached], got: Callable[[Reached], frozenset[str]], *, least: int = 1) -> float:
    """The share of the needed memories of grade `least` or more that `got` gives."""
    needed = [(item, name) for item in items for name, grade in item.needed.items() if grade >= least]
    return sum(name in got(item) for item, name in needed) / max(1, len(needed))


def figures(items: Sequence[Reached]) -> dict[str, float]:
    """The figures of one project."""
    fetched = [(item, name) for item in items for name in item.fetched if name not in item.marginal]
    empty = [item for item in items if not item.needed]
    return {
        "moments": len(items),
        "reach": share(items, lambda item: item.got),
        "reach_2": share(items, lambda item: item.got, least=2),
        "start": share(items, lambda item: item.held),
        "gate": share(items, lambda item: item.held | item.gate),
        "search": share(items, lambda item: item.search),
        "listed": share(items, lambda item: item.held | item.listed),
        "precision": sum(name in item.needed for item, name in fetched) / max(1, len(fetched)),
        "fetched": sum(len(item.fetched) for item in items) / max(1, len(items)),
        "tokens": sum(item.tokens for item in items) / max(1, len(items)),
        "idle": sum(bool(item.fetched) for item in empty) / max(1, len(empty)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the recorded answers, or write what a reader is to be asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", type=Path, help="write blocks and moments here, without labels")
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    parser.add_argument("--variant", choices=[variant.name for variant in VARIANTS], action="append")
    asked = parser.parse_args(arguments)
    embedder = make_embedder(EmbedderSettings(provider="minilm", cache_entries=100_000))
    settings, answers = RecallSettings(), recorded(asked.answers)
    console = Console(width=130)
    rows: dict[str, dict[str, list[Reached]]] = {}
    for folder in folders_of("inject", asked.data):
        project = load_inject(folder)
        pool = Pool(project, embedder=embedder, settings=settings)
        at_ms = max(prompt.at_ms for prompt in project.prompts)
        try:
            for variant in VARIANTS:
                if asked.variant and variant.name not in asked.variant:
                    continue
                given = pool.start_block(
                    budgets=_budgets(settings.budgets, variant), at_ms=at_ms, cap_chars=variant.cap_chars
                )
                if asked.write:
                    _write(asked.write / variant.name / project.name, project, given)
                else:
                    rows.setdefault(variant.name, {})[project.name] = reached(project, pool, given, answers)
        finally:
            pool.close()
    for name, of_project in rows.items():
        console.print(_table(name, of_project))
    return 0


def _budgets(budgets: Budgets, variant: Variant) -> Budgets:
    return budgets.model_copy(update={"start": variant.start, "index": variant.index})


def _write(folder: Path, project: Project, given: Delivered) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "block.txt").write_text(given.block.text, "utf-8")
    texts = [moment_text(prompt) for prompt in moments_of(project)]
    rows = [{"key": key_of(given, text), "moment": text} for text in texts]
    (folder / "moments.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def _table(name: str, of_project: Mapping[str, Sequence[Reached]]) -> Table:
    table = Table(title=f"Reach, {name}: start block with index, and what a reader fetched")
    done = {project: figures(items) for project, items in of_project.items() if items}
    columns = list(figures([]))
    for column in ("project", *columns):
        table.add_column(column, justify="left" if column == "project" else "right")
    pooled = figures([item for items in of_project.values() for item in items])
    macro = {column: sum(row[column] for row in done.values()) / max(1, len(done)) for column in columns}
    worst = {column: min((row[column] for row in done.values()), default=0.0) for column in columns}
    for label, row in (*done.items(), ("macro", macro), ("worst (least)", worst), ("pooled", pooled)):
        table.add_row(
            label,
            *(
                f"{row[column]:.0f}" if column in ("moments", "tokens") else f"{row[column]:.2f}"
                for column in columns
            ),
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
