"""What storing whole pools of real statements ends, merges and asks. In: folders of the `inject` format. Out: counts, every decision.

Run: `python -m tacit_evals.pools [--data FOLDER] [--made-up N] [--seed N] [--embedder minilm|fake] [--json FILE]`; exit code 1
where a bound is broken.

Every statement of a pool is stored in the order of the file by the engine as it ships, in a home of its own, as the user's word. A
statement that no longer holds afterwards was *retired*. It was meant to be where the data says that one statement of the pair
replaces the other (`supersedes`); nothing else was. With `--made-up N` also N generated pairs of unrelated statements that share
words, numbers and the form of their sentence, each pair in a project of its own: nothing may come of them.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacit.app.engine import Engine
from tacit.app.reasons import change_text
from tacit.app.wiring import open_engine
from tacit.config.environment import one_thread_for_arrays
from tacit.config.settings import EmbedderSettings
from tacit.errors import InvalidInput
from tacit.model.changes import Add, Change, Contradict, Edit, Merge, Retire, Skip, Supersede
from tacit.ports.models import Embedder
from tacit.ports.writer import Writer
from tacit.providers.embedding import make_embedder
from tacit.state.captured import MOST_COMPARED
from tacit_evals.data.cassettes import ReplayWriter
from tacit_evals.data.made_up_pairs import Made, make_pairs
from tacit_evals.data.rows import Row, read_rows
from tacit_evals.suites.update import MovedClock

MOST_WRONG = 0
"""Statements that may be retired without being meant to."""
STATEMENTS_PER_QUESTION = 25
"""At most one question to the user in as many statements."""
MADE_UP = "made up"
_FIRST_MS = 1_700_000_000_000
_UNLIMITED = {"capture": {"extractor": {"tokens_per_day": 100_000_000}}}

Act = Literal["superseded", "merged", "ended", "asked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What storing `new` did to `old`: names and words of both, why, and whether the data means the pair to be one."""

    pool: str
    act: Act
    new_id: str
    old_id: str
    new: str
    old: str
    why: str
    meant: bool

    @property
    def wrong(self) -> bool:
        """Whether a statement was retired that was not meant to be. A merge always is: no pool holds repetitions."""
        return self.act == "merged" or (self.act != "asked" and not self.meant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One pool: how many statements it has, what was decided, and which meant replacements were found in no way."""

    pool: str
    statements: int
    replacements: int
    decisions: tuple[Decision, ...]
    missed: tuple[tuple[str, str], ...] = ()

    def count(self, *acts: Act, wrong: bool | None = None) -> int:
        """Decisions of these acts; `wrong` None = of any sort."""
        return sum(decision.act in acts and wrong in (None, decision.wrong) for decision in self.decisions)

    @property
    def retired(self) -> int:
        """Statements that no longer hold."""
        return self.count("superseded", "merged", "ended")

    @property
    def wrong(self) -> int:
        """Statements that were retired and not meant to be."""
        return self.count("superseded", "merged", "ended", wrong=True)

    @property
    def questions_per_25(self) -> float:
        """Questions to the user in 25 statements."""
        return STATEMENTS_PER_QUESTION * self.count("asked") / max(self.statements, 1)

    @property
    def broken(self) -> tuple[str, ...]:
        """Which bounds are broken."""
        broken: list[str] = []
        if self.wrong > MOST_WRONG:
            broken.append(f"{self.wrong} statements were retired without being meant to be")
        if self.pool != MADE_UP and self.questions_per_25 > 1:
            broken.append(f"{self.questions_per_25:.2f} questions in {STATEMENTS_PER_QUESTION} statements")
        return tuple(broken)


def store_pool(path: Path, home: Path, embedder: Embedder, writer: Writer | None = None) -> Outcome:
    """Store all statements of one `memories.jsonl` below `home`; with a writer they are compared after every `MOST_COMPARED`.

    Raises:
        InvalidInput: if the writer has no answer.
    """
    rows = list(read_rows(path))
    meant = {(row.text("id"), old) for row in rows if (old := row.maybe("supersedes"))}
    pairs = {frozenset(pair) for pair in meant}
    by_id = {row.text("id"): row.text("content") for row in rows}
    names: dict[str, str] = {}
    decisions: list[Decision] = []
    name = path.parent.name
    folder = _project(home / "project")
    clock = MovedClock(now_ms=_FIRST_MS)
    engine = open_engine(home / "home", embedder=embedder, writer=writer, overrides=_UNLIMITED, clock=clock)
    if writer is not None:
        engine.learning.write_up_next(at_once=True)  # from here on statements wait
    try:
        for number, row in enumerate(rows, start=1):
            clock.at_ms = max(clock.at_ms + 1000, _said_ms(row))
            changes = list(_remember(engine, row, folder))
            for change in changes:
                if isinstance(change, Add | Supersede | Contradict):
                    names[change.memory.id] = row.text("id")
            effects = [(row.text("id"), act, names[old], why) for act, old, why in _effects(changes)]
            if writer is not None and (number % MOST_COMPARED == 0 or number == len(rows)):
                effects += [(names[new], act, names[old], why) for new, act, old, why in _compared(engine)]
            for new, act, old, why in effects:
                decisions.append(
                    Decision(
                        pool=name,
                        act=act,
                        new_id=new,
                        old_id=old,
                        new=by_id[new],
                        old=by_id[old],
                        why=why,
                        meant=frozenset((new, old)) in pairs,
                    )
                )
        if writer is not None:
            decisions = [
                decision
                for decision in decisions
                if decision.act != "asked" or _is_open(engine, decision, names)
            ]
    finally:
        engine.close()
    decided = {
        frozenset((decision.new_id, decision.old_id)) for decision in decisions if decision.act != "asked"
    }
    missed = tuple(sorted(pair for pair in meant if frozenset(pair) not in decided))
    return Outcome(
        pool=name, statements=len(rows), replacements=len(meant), decisions=tuple(decisions), missed=missed
    )


def _is_open(engine: Engine, decision: Decision, names: Mapping[str, str]) -> bool:
    """Whether the user is still asked: the model may have answered what words alone raised."""
    ids = {name: memory_id for memory_id, name in names.items()}
    pair = {ids[decision.new_id], ids[decision.old_id]}
    edges = engine.admin.relations(ids[decision.new_id])[0]
    if not any(
        edge.type == "contradicts" and edge.weight > 0 and {edge.source_id, edge.target_id} == pair
        for edge in edges
    ):
        return False
    return all(engine.show(memory_id).status == "active" for memory_id in pair)


def _said_ms(row: Row) -> int:
    """When a statement was said; 0 = the data does not say."""
    day = row.maybe("created")
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000) if day else 0


def _compared(engine: Engine) -> list[tuple[str, Act, str, str]]:
    """Have what waits compared by the writer: of each effect the newer statement, the act, the older one, why.

    Raises:
        InvalidInput: if there is no answer.
    """
    effects: list[tuple[str, Act, str, str]] = []
    while (done := engine.learning.write_up_next(at_once=True)) is not None:
        if done.error:
            raise InvalidInput(done.error)
        merged = {change.memory.id for change in done.changes if isinstance(change, Merge)}
        for change in done.changes:
            if not isinstance(change, Edit):
                continue
            by = change.memory.validity.superseded_by
            if by is None:
                contested = [
                    edge.target_id
                    for edge in engine.admin.relations(change.memory.id)[0]
                    if edge.type == "contradicts" and edge.source_id == change.memory.id and edge.weight > 0
                ]
                effects += [(change.memory.id, "asked", old, change_text(change.reason)) for old in contested]
            else:
                effects.append(
                    (
                        by,
                        "merged" if by in merged else "superseded",
                        change.memory.id,
                        change_text(change.reason),
                    )
                )
    return effects


def store_made_up(pairs: Sequence[Made], home: Path, embedder: Embedder) -> Outcome:
    """Store pairs of unrelated statements, each in a project of its own."""
    decisions: list[Decision] = []
    engine = open_engine(home / "home", embedder=embedder)
    try:
        for number, pair in enumerate(pairs):
            folder = _project(home / f"p{number}")
            engine.remember(pair.first, kind=pair.kind, cwd=str(folder))
            changes = engine.remember(pair.second, kind=pair.kind, cwd=str(folder))
            decisions += [
                Decision(
                    pool=MADE_UP,
                    act=act,
                    new_id=f"{number}b",
                    old_id=f"{number}a",
                    new=pair.second,
                    old=pair.first,
                    why=why,
                    meant=False,
                )
                for act, _, why in _effects(changes)
            ]
    finally:
        engine.close()
    return Outcome(pool=MADE_UP, statements=2 * len(pairs), replacements=0, decisions=tuple(decisions))


def _project(folder: Path) -> Path:
    (folder / ".git" / "objects").mkdir(parents=True)
    return folder


def _remember(engine: Engine, row: Row, folder: Path) -> Sequence[Change]:
    return engine.remember(
        row.text("content"), kind=row.text("kind"), files=row.texts("files"), cwd=str(folder)
    )


def _effects(changes: Iterable[Change]) -> list[tuple[Act, str, str]]:
    """What the changes did to statements stored before: the act, the id, why."""
    effects: list[tuple[Act, str, str]] = []

    def put(act: Act, ids: Sequence[str], why: str) -> None:
        effects.extend((act, name, why) for name in ids)

    for change in changes:
        match change:
            case Supersede():
                put("superseded", (change.old_id, *change.further), change_text(change.reason))
                put("asked", change.contested, change_text(change.reason))
            case Contradict():
                put("asked", (change.other_id, *change.further), change_text(change.reason))
            case Merge():
                put("merged", (change.memory.id,), change_text(change.reason))
            case Skip() if change.memory_id:
                put("merged", (change.memory_id,), change_text(change.reason))
            case Retire():
                put("ended", (change.memory_id,), change_text(change.reason))
            case _:
                pass
    return effects


def pool_files(folder: Path) -> list[Path]:
    """Every pool in `folder`, by name.

    Raises:
        SystemExit: if there is none.
    """
    paths = sorted(folder.glob("*/memories.jsonl"))
    if not paths:
        raise SystemExit(f"No pool in {folder}: it holds no <project>/memories.jsonl.")
    return paths


def report(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print every decision, what was missed, and the counts."""
    for outcome in outcomes:
        for decision in outcome.decisions:
            sort = "WRONG" if decision.wrong else "question" if decision.act == "asked" else "meant"
            meant = ", a meant replacement" if decision.meant and decision.act == "asked" else ""
            console.print(
                Text(
                    f"{decision.pool}: {decision.new_id} {decision.act} {decision.old_id} ({sort}{meant}): {decision.why}"
                )
            )
            console.print(Text(f"    new: {decision.new}\n    old: {decision.old}"))
        if outcome.missed:
            missed = ", ".join(f"{new} <- {old}" for new, old in outcome.missed)
            console.print(Text(f"{outcome.pool}: meant and not carried out: {missed}"))
    table = Table(
        "pool", "statements", "retired", "meant", "not meant", "replacements", "missed", "asked", "per 25"
    )
    for outcome in outcomes:
        table.add_row(
            outcome.pool,
            str(outcome.statements),
            str(outcome.retired),
            str(outcome.retired - outcome.wrong),
            str(outcome.wrong),
            str(outcome.replacements),
            str(len(outcome.missed)),
            str(outcome.count("asked")),
            f"{outcome.questions_per_25:.2f}",
        )
    console.print(table)


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """All pools as one."""
    return Outcome(
        pool="all pools",
        statements=sum(outcome.statements for outcome in outcomes),
        replacements=sum(outcome.replacements for outcome in outcomes),
        decisions=tuple(decision for outcome in outcomes for decision in outcome.decisions),
        missed=tuple(pair for outcome in outcomes for pair in outcome.missed),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Store, print, and tell by the exit code whether every bound was kept."""
    one_thread_for_arrays()
    parser = argparse.ArgumentParser(prog="tacit_evals.pools", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with <project>/memories.jsonl")
    parser.add_argument(
        "--made-up", type=int, default=0, metavar="N", help="also N pairs of unrelated statements"
    )
    parser.add_argument("--seed", type=int, help="of the made-up pairs; a new one is made and printed")
    parser.add_argument("--embedder", choices=("fake", "minilm"), default="minilm")
    parser.add_argument("--answers", type=Path, help="folder with a language model's recorded answers")
    parser.add_argument("--requests", type=Path, help="write requests without an answer to this folder")
    parser.add_argument("--json", type=Path, help="also write every decision to this file")
    options = parser.parse_args(arguments)
    if options.data is None and not options.made_up:
        parser.error("nothing to do: give --data, --made-up, or both")
    console = Console(soft_wrap=True)
    embedder = make_embedder(EmbedderSettings(provider=options.embedder))
    with tempfile.TemporaryDirectory(prefix="tp-", dir="/tmp") as folder:
        paths = pool_files(options.data) if options.data else []
        writer = ReplayWriter(options.answers, requests=options.requests) if options.answers else None
        outcomes: list[Outcome] = []
        for path in paths:
            try:
                outcomes.append(store_pool(path, Path(folder) / path.parent.name, embedder, writer))
            except InvalidInput as error:
                console.print(Text(f"{path.parent.name}: {error}"))
        if len(outcomes) < len(paths):
            return 2
        shown = list(outcomes)
        bound = [together(outcomes)] if outcomes else []
        if options.made_up:
            seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
            console.print(f"made-up pairs: {options.made_up}, seed {seed}")
            made_up = store_made_up(make_pairs(options.made_up, seed=seed), Path(folder) / "made", embedder)
            shown.append(made_up)
            bound.append(made_up)
    report(shown, console)
    if outcomes:
        console.print(_sum(bound[0]))
    broken = [f"{outcome.pool}: {breach}" for outcome in bound for breach in outcome.broken]
    for line in broken:
        console.print(Text(f"BROKEN {line}"))
    if options.json:
        options.json.write_text(json.dumps([asdict(outcome) for outcome in shown], indent=1))
    return 1 if broken else 0


def _sum(outcome: Outcome) -> str:
    return (
        f"together: {outcome.statements} statements, {outcome.retired} retired, {outcome.wrong} of them not meant; "
        f"{len(outcome.missed)} of {outcome.replacements} meant replacements not carried out, "
        f"{sum(d.act == 'asked' and d.meant for d in outcome.decisions)} of them asked; {outcome.count('asked')} questions, "
        f"{outcome.questions_per_25:.2f} in {STATEMENTS_PER_QUESTION} statements"
    )


if __name__ == "__main__":
    sys.exit(main())
