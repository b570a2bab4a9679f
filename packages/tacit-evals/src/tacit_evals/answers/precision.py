"""How much of an answer on demand is worth reading: `python -m tacit_evals.answers.precision --data DIR [--json FILE]`.

The judged prompts of every project below DIR (the `inject` format) are asked of its pool as questions, within the budget of an
answer. *Uncut* is all that fits, best first; *cut* what a cut by the question and by the best answer leaves of it. Its
two numbers are chosen for each project on all the others: of those that keep at least eight in ten of the right ones there, the
pair of the best precision. Precision is the share of what is handed over that was needed; marginal ones count neither way.

In: pools with judgments. Out: per project and in the mean precision and recall of both, how many memories an answer holds, how many
a prompt of another project gets, and the chosen numbers. Never writes what ships.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from tacit.config.environment import one_thread_for_arrays
from tacit.config.settings import EmbedderSettings
from tacit.ports.models import Embedder
from tacit.providers.embedding import make_embedder
from tacit.recall.pipelines.on_demand import NEAR_MATCH
from tacit_evals.data.judged import Project, Prompt, load_inject
from tacit_evals.data.kept_vectors import KeptVectors
from tacit_evals.data.recognise import folders_of
from tacit_evals.suites.pool import Pool
from tacit_evals.suites.running import shipped_settings
from tacit_evals.timing import write_json

KEPT = 0.8
"""Least share of the right ones that a cut may leave on the projects that it is chosen on."""
SHARES = tuple(step / 20 for step in range(13))
MATCHES = tuple(step / 50 for step in range(26))
UNCUT = (0.0, 0.0)
Cut = tuple[float, float]
"""Least share of the best score, least match with the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A memory that an uncut answer holds: whether it was needed, its share of the best score, its match, and that of the best."""

    needed: bool
    share: float
    match: float
    best_match: float

    def passes(self, cut: Cut) -> bool:
        """Whether `cut` leaves it in."""
        share, match = cut
        return self.match >= match and (self.share >= share or self.match >= NEAR_MATCH * self.best_match)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The uncut answers to the prompts of one project, and those to prompts of another one."""

    name: str
    prompts: int
    needed: int
    own: tuple[Handed, ...]
    foreign: tuple[Handed, ...]
    foreign_prompts: int

    def right(self, cut: Cut) -> int:
        """Needed memories that `cut` leaves."""
        return sum(memory.needed for memory in self.own if memory.passes(cut))

    def precision(self, cut: Cut) -> float:
        """Share of what `cut` leaves that was needed; 0 where it leaves nothing."""
        remaining = sum(memory.passes(cut) for memory in self.own)
        return self.right(cut) / remaining if remaining else 0.0

    def kept(self, cut: Cut) -> float:
        """Share of the right ones of the uncut answers that `cut` leaves."""
        return self.right(cut) / max(1, self.right(UNCUT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """One project with the cut that was chosen on the others."""

    name: str
    cut: Cut
    precision_uncut: float
    precision: float
    recall_uncut: float
    recall: float
    kept: float
    size_uncut: float
    size: float
    foreign_uncut: float
    foreign: float


def choose_cut(projects: Sequence[Answered]) -> Cut:
    """The cut of the best mean precision on `projects` among those that keep enough of the right ones there; the mildest of equals."""
    fitting = [
        cut
        for cut in itertools.product(SHARES, MATCHES)
        if fmean(project.kept(cut) for project in projects) >= KEPT
    ]
    return min(fitting, key=lambda cut: (-fmean(project.precision(cut) for project in projects), cut))


def report(projects: Sequence[Answered]) -> list[Reported]:
    """Every project with the cut of the others."""
    rows: list[Reported] = []
    for project in projects:
        cut = choose_cut([other for other in projects if other is not project])
        sizes = [sum(handed.passes(by) for handed in project.own) / project.prompts for by in (UNCUT, cut)]
        far = [
            sum(handed.passes(by) for handed in project.foreign) / project.foreign_prompts
            for by in (UNCUT, cut)
        ]
        rows.append(
            Reported(
                name=project.name,
                cut=cut,
                precision_uncut=project.precision(UNCUT),
                precision=project.precision(cut),
                recall_uncut=project.right(UNCUT) / project.needed,
                recall=project.right(cut) / project.needed,
                kept=project.kept(cut),
                size_uncut=sizes[0],
                size=sizes[1],
                foreign_uncut=far[0],
                foreign=far[1],
            )
        )
    return rows


def measure(projects: Sequence[Project], *, embedder: Embedder) -> list[Answered]:
    """Ask every pool its own prompts, and those of the next project."""
    measured: list[Answered] = []
    for project, other in zip(projects, (*projects[1:], projects[0]), strict=True):
        prompts, foreign = _judged(project), _judged(other)
        pool = Pool(project, embedder=embedder, settings=shipped_settings())
        try:
            own = [handed for prompt in prompts for handed in _handed(pool, prompt)]
            far = [handed for prompt in foreign for handed in _handed(pool, prompt)]
        finally:
            pool.close()
        measured.append(
            Answered(
                name=project.name,
                prompts=len(prompts),
                needed=sum(len(prompt.judgment.needed) for prompt in prompts),
                own=tuple(own),
                foreign=tuple(far),
                foreign_prompts=len(foreign),
            )
        )
    return measured


def _judged(project: Project) -> list[Prompt]:
    return [prompt for prompt in project.prompts if prompt.judgment.needed or prompt.judgment.nothing]


def _handed(pool: Pool, prompt: Prompt) -> list[Handed]:
    """What an answer without a cut holds, the marginal ones aside."""
    candidates = pool.answer_uncut(prompt.text)
    best = max((candidate.fused for candidate in candidates), default=0.0) or 1.0
    best_match = max((candidate.relevance for candidate in candidates), default=0.0)
    return [
        Handed(
            needed=candidate.memory_id in prompt.judgment.needed,
            share=candidate.fused / best,
            match=candidate.relevance,
            best_match=best_match,
        )
        for candidate in candidates
        if candidate.memory_id not in prompt.judgment.marginal
    ]


def print_report(rows: Sequence[Reported], console: Console | None = None) -> None:
    """Print one line a project and their mean."""
    table = Table(title="Answers on demand: uncut, and with the cut that was chosen on the other projects")
    for heading in ("project", "cut", "precision", "recall", "right kept", "memories", "to a foreign prompt"):
        table.add_column(heading)
    for row in rows:
        table.add_row(row.name, f"{row.cut[0]:.2f}, {row.cut[1]:.2f}", *_cells(asdict(row)))
    mean = {name: fmean(float(asdict(row)[name]) for row in rows) for name in _FIGURES}
    table.add_row("mean", "", *_cells(mean), style="bold")
    (console or Console(width=140)).print(table)


_FIGURES = (
    "precision_uncut", "precision", "recall_uncut", "recall", "kept", "size_uncut", "size", "foreign_uncut", "foreign",
)  # fmt: skip


def _cells(row: Mapping[str, float]) -> tuple[str, ...]:
    return (
        f"{row['precision_uncut']:.3f} -> {row['precision']:.3f}",
        f"{row['recall_uncut']:.3f} -> {row['recall']:.3f}",
        f"{row['kept']:.3f}",
        f"{row['size_uncut']:.1f} -> {row['size']:.1f}",
        f"{row['foreign_uncut']:.1f} -> {row['foreign']:.1f}",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.answers.precision", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of projects in the inject format")
    parser.add_argument(
        "--embedder", choices=("minilm", "fake"), default="minilm", help="who makes the vectors"
    )
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="keep the vectors of texts here; holds no texts"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON")
    options = parser.parse_args(arguments)
    one_thread_for_arrays()
    embedder = make_embedder(EmbedderSettings(provider=options.embedder), cache_entries=100_000)
    cache = KeptVectors(embedder, options.cache) if options.cache else None
    projects = [load_inject(folder) for folder in folders_of("inject", options.data)]
    rows = report(measure(projects, embedder=cache or embedder))
    if cache is not None:
        cache.save()
    print_report(rows)
    write_json(options.json, (), projects=[asdict(row) for row in rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
