"""Reach: of the memories that a moment needs, how many are in the agent's context or fetched by it. In: judged prompts, recorded answers of a reader.

Each of seven projects gives 40 moments (the user's prompt, the end of the agent's last message, recent files). The store is the project's pool; the start
block with its index is the shipped read path's. A reader who saw that block and one moment, and no label, said which headlines it would fetch; its
answers are recorded in `packages/tacit-evals/answers/reach` with the block that it saw and the moment that they were given for. Where today's block is another
one, a decision about a headline that the reader saw still counts; a needed headline that it did not see counts by the share that it fetched of those that it saw.

`merged-capped`: a session in each project whose store also holds the pools of the other six as the user's own memories, seen in every project (930 in all); the
reader may also name one `memory_search` a moment, whose answer the shipped search makes here and counts as in context.

Run: `python -m tacit_evals.reach --data DIR` scores the recorded answers beside simpler methods. `--write FOLDER` writes blocks and moments for a reader.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tacit.config.settings import EmbedderSettings, RecallSettings
from tacit.model.ids import new_id
from tacit.providers.embedding import make_embedder
from tacit.recall.render import index_line
from tacit.recall.stage import Delivered
from tacit_evals.data import ItemJudgment, PoolRow, Project, RealPrompt, folders_of, load_inject
from tacit_evals.pool import Pool, Start

ANSWERS = Path(__file__).resolve().parents[2] / "answers" / "reach" / "answers.json"
FETCHED_TOKENS = 12
"""What a fetched memory costs beside its words: id, day, who said it."""
INDEX_BUDGETS = (0, 500, 1000, 1500, 2000, 3000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """How a start block is made, and for whom.

    Attributes:
        start, index: tokens of whole memories and of the index.
        cap_chars: the host's cap on both; 0 = none.
        moments: so many of a project.
        merged: the store holds the other projects' pools too.
    """

    name: str
    start: int = 2000
    index: int = 1500
    cap_chars: int = 0
    moments: int = 40
    merged: bool = False


VARIANTS = (
    Variant(name="capped", cap_chars=9500),
    Variant(name="full"),
    Variant(name="merged-capped", cap_chars=9500, moments=20, merged=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderAnswer:
    """What a reader said to one moment: short ids to fetch, and the words of a `memory_search`; "" = none."""

    fetch: tuple[str, ...] = ()
    search: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBlock:
    """The block that a reader saw.

    Attributes:
        headlines: memory id and mark of each headline by its short id, see `mark_of`.
        moments: the name of each recorded answer, by the id of the moment's prompt.
    """

    headlines: Mapping[str, tuple[str, str]]
    moments: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What one moment needed, had in context, was offered, fetched and found; ids of memories.

    `unseen` = what is listed now and was no headline of the block that the reader saw; `found` = what the reader's own search answered; `gate` = what the shipped gate would add before the prompt; `search` = what `memory_search` with the user's words would answer.
    """

    needed: Mapping[str, int]
    marginal: frozenset[str]
    held: frozenset[str]
    listed: frozenset[str]
    fetched: frozenset[str]
    gate: frozenset[str]
    search: frozenset[str]
    unseen: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()
    searched: bool = False
    tokens: int = 0

    @property
    def got(self) -> frozenset[str]:
        """What it needed and had, fetched or found."""
        return frozenset(self.needed) & (self.held | self.fetched | self.found)


def merged(project: Project, projects: Sequence[Project]) -> Project:
    """The project with the pools of all others as the user's own memories, under ids as the product makes them; its judgments are of its own pool.

    All projects end on the same day, as if the user had worked on them side by side.
    """
    ends = {other.name: max(prompt.at_ms for prompt in other.prompts) for other in projects}
    names: dict[str, str] = {}
    memories: list[PoolRow] = []
    for owner in projects:
        for row in owner.memories:
            created_ms = row.created_ms + ends[project.name] - ends[owner.name]
            entropy = hashlib.sha256(f"{owner.name}/{row.id}".encode()).digest()
            name = new_id("mem", now_ms=created_ms, entropy=entropy)
            if owner.name == project.name:
                names[row.id] = name
            memories.append(
                replace(row, id=name, created_ms=created_ms, everywhere=owner.name != project.name)
            )
    prompts = [
        replace(
            prompt,
            judgment=ItemJudgment(
                needed={names[name]: grade for name, grade in prompt.judgment.needed.items()},
                marginal=frozenset(names[name] for name in prompt.judgment.marginal if name in names),
                nothing=prompt.judgment.nothing,
            ),
        )
        for prompt in project.prompts
    ]
    return replace(project, memories=tuple(memories), prompts=tuple(prompts))


def moments_of(project: Project, count: int) -> list[RealPrompt]:
    """The moments that are measured: judged prompts, chosen and ordered by the hash of their id."""
    judged = [prompt for prompt in project.prompts if prompt.judgment.needed or prompt.judgment.nothing]
    return sorted(
        judged, key=lambda prompt: hashlib.sha256(f"{project.name}/{prompt.id}".encode()).hexdigest()
    )[:count]


def moment_text(prompt: RealPrompt) -> str:
    """A moment as a reader sees it."""
    files = ", ".join(prompt.files) or "none"
    return f"The agent's last message ends: {prompt.previous or '(none)'}\nRecent files: {files}\nThe user now types: {prompt.text}"


def key_of(whole: Sequence[str], headlines: Sequence[str], moment: str) -> str:
    """Return the name under which the answer to a moment is recorded: it was given for these whole memories and these headlines, in any order."""
    seen = f"{chr(10).join(sorted(whole))}\n\n{chr(10).join(sorted(headlines))}\n\n{moment}"
    return hashlib.sha256(seen.encode()).hexdigest()[:20]


def mark_of(line: str) -> str:
    """Return what tells whether a headline still reads as it did."""
    return hashlib.sha256(line.encode()).hexdigest()[:8]


def seen_blocks(file: Path) -> dict[str, SeenBlock]:
    """The blocks that the readers saw, by `VARIANT/PROJECT`: in `blocks.json` beside the answers."""
    found = json.loads(file.with_name("blocks.json").read_text("utf-8"))
    return {
        name: SeenBlock(
            headlines={short: (memory, mark) for short, memory, mark in block["headlines"]},
            moments=block["moments"],
        )
        for name, block in found.items()
    }


def recorded(file: Path) -> dict[str, ReaderAnswer]:
    """The recorded answers by the key of the request."""
    found = json.loads(file.read_text("utf-8"))
    return {
        key: ReaderAnswer(fetch=tuple(ids), search=found.get("searches", {}).get(key, ""))
        for key, ids in found["answers"].items()
    }


def reached(
    prompts: Sequence[RealPrompt],
    pool: Pool,
    given: Delivered,
    seen: SeenBlock,
    answers: Mapping[str, ReaderAnswer],
) -> list[Reached]:
    """What each moment with a recorded answer reached with the block `given`; the reader saw `seen`."""
    listed = {line.candidate.memory.id: mark_of(index_line(line)) for line in given.pack.index.lines}
    judged = {memory for memory, mark in seen.headlines.values() if listed.get(memory) == mark}
    held = frozenset(given.pack.held)
    done: list[Reached] = []
    for prompt in prompts:
        answer = answers.get(seen.moments.get(prompt.id, ""))
        if answer is None:
            continue
        named = {seen.headlines[name][0] for name in answer.fetch if name in seen.headlines}
        fetched = frozenset(named & judged) - held
        found = frozenset(pool.answered(answer.search) if answer.search else ()) - held - fetched
        done.append(
            Reached(
                needed=prompt.judgment.needed,
                marginal=prompt.judgment.marginal,
                held=held,
                listed=frozenset(listed),
                fetched=fetched,
                unseen=frozenset(listed.keys() - judged) - held,
                found=found,
                searched=bool(answer.search),
                gate=frozenset(pool.prompt(prompt, Start(ids=held)).pack),
                search=frozenset(pool.answered(prompt.text)),
                tokens=sum(pool.memories[name].tokens + FETCHED_TOKENS for name in fetched | found),
            )
        )
    return done


def share(items: Sequence[Reached], got: Callable[[Reached], frozenset[str]], *, least: int = 1) -> float:
    """The share of the needed memories of grade `least` or more that `got` gives."""
    needed = [(item, name) for item in items for name, grade in item.needed.items() if grade >= least]
    return sum(name in got(item) for item, name in needed) / max(1, len(needed))


def estimated(items: Sequence[Reached], *, least: int = 1) -> float:
    """The share of the needed memories of grade `least` or more that is reached; one that the reader did not see listed counts by the share that it fetched of others."""
    needed = [(item, name) for item in items for name, grade in item.needed.items() if grade >= least]
    asked = [
        (item, name)
        for item in items
        for name in item.needed
        if name in item.listed - item.unseen - item.held
    ]
    rate = sum(name in item.fetched for item, name in asked) / max(1, len(asked))
    guessed = sum(name in item.unseen - item.got for item, name in needed)
    return share(items, lambda item: item.got, least=least) + rate * guessed / max(1, len(needed))


def figures(items: Sequence[Reached]) -> dict[str, float]:
    """The figures of one project."""
    fetched = [(item, name) for item in items for name in item.fetched if name not in item.marginal]
    empty = [item for item in items if not item.needed]
    return {
        "moments": len(items),
        "reach": estimated(items),
        "reach_2": estimated(items, least=2),
        "unseen": share(items, lambda item: item.unseen),
        "found": share(items, lambda item: item.found),
        "searched": sum(item.searched for item in items) / max(1, len(items)),
        "start": share(items, lambda item: item.held),
        "gate": share(items, lambda item: item.held | item.gate),
        "search": share(items, lambda item: item.search),
        "listed": share(items, lambda item: item.held | item.listed),
        "precision": sum(name in item.needed for item, name in fetched) / max(1, len(fetched)),
        "fetched": sum(len(item.fetched) for item in items) / max(1, len(items)),
        "tokens": sum(item.tokens for item in items) / max(1, len(items)),
        "idle": sum(bool(item.fetched or item.found) for item in empty) / max(1, len(empty)),
    }


def within(items: Sequence[Reached], given: Delivered) -> list[Reached]:
    """The same readers' decisions with this block: what its index does not list is not fetched. An estimate: nobody read this block."""
    held = frozenset(given.pack.held)
    listed = frozenset(line.candidate.memory.id for line in given.pack.index.lines)
    return [
        replace(
            item, held=held, listed=listed, fetched=item.fetched & listed, unseen=item.unseen & listed - held
        )
        for item in items
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the recorded answers, or write what a reader is to be asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--write", type=Path, help="write blocks and moments here, without labels")
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    parser.add_argument("--variant", choices=[variant.name for variant in VARIANTS], action="append")
    parser.add_argument("--curve", action="store_true", help="estimate other budgets of the index")
    asked = parser.parse_args(arguments)
    embedder = make_embedder(EmbedderSettings(provider="minilm"), cache_entries=100_000)
    settings, answers, blocks = RecallSettings(), recorded(asked.answers), seen_blocks(asked.answers)
    projects = [load_inject(folder) for folder in folders_of("inject", asked.data)]
    console = Console(width=150)
    for variant in VARIANTS:
        if asked.variant and variant.name not in asked.variant:
            continue
        rows: dict[str, list[Reached]] = {}
        curve: dict[int, dict[str, list[Reached]]] = defaultdict(dict)
        left_out = 0
        for project in projects:
            stored = merged(project, projects) if variant.merged else project
            pool = Pool(stored, embedder=embedder, settings=settings)
            try:
                prompts = moments_of(pool.project, variant.moments)
                block = partial(_block, pool, variant)
                given = block(variant.index)
                if asked.write:
                    _write(asked.write / variant.name / project.name, prompts, given)
                    continue
                seen = blocks[f"{variant.name}/{project.name}"]
                items = reached(prompts, pool, given, seen, answers)
                left_out += len(prompts) - len(items)
                if not items:
                    continue
                rows[project.name] = items
                for budget in INDEX_BUDGETS if asked.curve else ():
                    curve[budget][project.name] = within(items, block(budget))
            finally:
                pool.close()
        if rows:
            console.print(_table(variant.name, rows))
        if curve:
            console.print(_curve(variant.name, curve))
        if left_out:
            console.print(f"{variant.name}: {left_out} moments left out: no reader answered them.")
    return 0


def _block(pool: Pool, variant: Variant, index: int) -> Delivered:
    at_ms = max(prompt.at_ms for prompt in pool.project.prompts)
    budgets = pool.settings.budgets.model_copy(update={"start": variant.start, "index": index})
    return pool.start_block(budgets=budgets, at_ms=at_ms, cap_chars=variant.cap_chars)


def _write(folder: Path, prompts: Sequence[RealPrompt], given: Delivered) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "block.txt").write_text(given.block.text, "utf-8")
    texts = [moment_text(prompt) for prompt in prompts]
    lines = given.pack.index.lines
    whole = [item.candidate.memory.content for item in given.pack.items]
    headlines = [index_line(line) for line in lines]
    rows = [{"key": key_of(whole, headlines, text), "moment": text} for text in texts]
    seen = {
        "headlines": [
            (line.short_id, line.candidate.memory.id, mark_of(text))
            for line, text in zip(lines, headlines, strict=True)
        ],
        "moments": {prompt.id: row["key"] for prompt, row in zip(prompts, rows, strict=True)},
    }
    (folder / "seen.json").write_text(json.dumps(seen), "utf-8")
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


def _curve(name: str, of_budget: Mapping[int, Mapping[str, Sequence[Reached]]]) -> Table:
    table = Table(
        title=f"Index budgets, {name}: bound (held or listed), and an estimate from the recorded decisions"
    )
    for column in ("tokens of index", "listed", "worst", "reach", "worst"):
        table.add_column(column, justify="right")
    for budget, of_project in of_budget.items():
        done = [figures(items) for items in of_project.values()]
        listed, reach = ([row[column] for row in done] for column in ("listed", "reach"))
        values = (sum(listed) / len(done), min(listed), sum(reach) / len(done), min(reach))
        table.add_row(str(budget), *(f"{value:.2f}" for value in values))
    return table


if __name__ == "__main__":
    sys.exit(main())
