"""What every space brings: one is left out or put in at a time. In: the evaluation data. Out: a table and a plot in the docs.

Prompts are asked as the suite `inject` asks them, after a start pack of 1,000 tokens, with the models that ship: these were
fitted with the spaces of `focused` on, and on these projects, so differences count, not levels. Questions are asked as the
suite `retrieval` asks them, every fifth one, of the spaces that make the order on demand. The cost of a space is the
processor time of the median prompt with it, less that without it, over the pools of the data (about 150 memories).

Run: `python -m tacit_evals.ablation --data DIR --out docs/reference`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.config.settings import EmbedderSettings, RecallSettings
from tacit.errors import InvalidInput
from tacit.model.pack import Surface
from tacit.ports.models import Embedder
from tacit.providers.embedding import make_embedder
from tacit.recall.spaces import SPACES
from tacit.recall.stage import Preset
from tacit_evals.data.corpora import load_conversations
from tacit_evals.data.judged import Project, load_inject
from tacit_evals.data.kept_vectors import KeptVectors
from tacit_evals.data.recognise import folders_of, is_duplicates
from tacit_evals.metrics.counts import ItemResult
from tacit_evals.report.plots import risk_plot
from tacit_evals.report.scorecard import Scorecard
from tacit_evals.suites.handed import Measured, scorecard
from tacit_evals.suites.inject import MAIN_BUDGET
from tacit_evals.suites.pool import Pool
from tacit_evals.suites.retrieval import turn_recall
from tacit_evals.suites.running import FOCUSED, Run, shipped_settings, without_spaces

ORDERING = ("semantic", "lexical", "late", "sequence")
"""Spaces that make the order on demand."""
EVERY = 5
COLUMNS = ("coverage_all", "coverage_grade2", "prompt_precision", "wrongful_rate", "injections_per_prompt")
TABLE, PLOT = "ablation.md", "risk-coverage.svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One set of spaces. `name` says what is different; `space` is "" for what ships."""

    name: str
    space: str
    settings: RecallSettings
    preset: Preset = FOCUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a variant gave. `micros`: processor time of the median prompt; `recall` is None where nothing changes."""

    variant: Variant
    card: Scorecard
    micros: float
    recall: float | None


def variants(settings: RecallSettings) -> tuple[Variant, ...]:
    """What ships, then each of its spaces left out, then each of the others put in."""
    on = {*settings.spaces, *FOCUSED.spaces_on_demand}
    removed = tuple(
        _variant(f"without {space}", space, *without_spaces(settings, [space]))
        for space in SPACES
        if space in on
    )
    added = tuple(
        _variant(f"with {space}", space, *_with(settings, space))
        for space in SPACES
        if space not in FOCUSED.spaces_at(Surface.PROMPT, settings.spaces)
    )
    return (Variant(name="as shipped", space="", settings=settings), *removed, *added)


def _variant(name: str, space: str, settings: RecallSettings, preset: Preset) -> Variant:
    return Variant(name=name, space=space, settings=settings, preset=preset)


def _with(settings: RecallSettings, space: str) -> tuple[RecallSettings, Preset]:
    """The settings and the preset with `space` asked before prompts besides those that are."""
    enabled = FOCUSED.spaces_at(Surface.PROMPT, settings.spaces)
    spaces = tuple(name for name in SPACES if name in settings.spaces or name == space)
    before_prompts = tuple(name for name in SPACES if name in enabled or name == space)
    return settings.model_copy(update={"spaces": spaces}), replace(FOCUSED, spaces_prompt=before_prompts)


def ablate(
    data: Path, *, embedder: Embedder, settings: RecallSettings, say: Callable[[str], None]
) -> tuple[Outcome, ...]:
    """Every variant over the judged projects and the conversations below `data`."""
    compared = variants(settings)
    measured: dict[str, list[Measured]] = {variant.name: [] for variant in compared}
    times: dict[str, list[float]] = {variant.name: [] for variant in compared}
    for folder in folders_of("inject", data):
        project = load_inject(folder)
        pool = Pool(project, embedder=embedder, settings=settings)
        try:
            shipped = pool.settings
            _asked(pool, project)  # embeds every prompt, so that no set of spaces pays for it
            for variant in compared:
                pool.settings = shipped.model_copy(update={"spaces": variant.settings.spaces})
                pool.preset = variant.preset
                handed, seconds = _asked(pool, project)
                measured[variant.name].append(
                    Measured(
                        name=project.name,
                        learned=project.learned,
                        handed={MAIN_BUDGET: handed},
                        main=MAIN_BUDGET,
                    )
                )
                times[variant.name] += seconds
        finally:
            pool.close()
        say(f"{project.name}: {len(compared)} sets of spaces")
    recalls = _recalls(compared, data, embedder=embedder, say=say)
    return tuple(
        Outcome(
            variant=variant,
            card=scorecard(measured[variant.name], suite="inject", dataset=data.name, settings={}),
            micros=statistics.median(times[variant.name]) * 1e6,
            recall=recalls.get(variant.name),
        )
        for variant in compared
    )


def _asked(pool: Pool, project: Project) -> tuple[list[ItemResult], list[float]]:
    handed: list[ItemResult] = []
    seconds: list[float] = []
    for prompt in project.prompts:
        start = pool.start(tokens=MAIN_BUDGET, at_ms=prompt.at_ms)
        since = time.process_time()
        handed.append(pool.prompt(prompt, start))
        seconds.append(time.process_time() - since)
    return handed, seconds


def _recalls(
    compared: Sequence[Variant], data: Path, *, embedder: Embedder, say: Callable[[str], None]
) -> dict[str, float]:
    """Turn recall at 5 of the variants that change the order on demand; nothing without conversations."""
    try:
        folders = folders_of("retrieval", data)
    except InvalidInput:  # judged prompts alone are data enough
        return {}
    corpora = [
        replace(corpus, questions=corpus.questions[::EVERY])
        for folder in folders
        if not is_duplicates(folder)
        for corpus in load_conversations(folder)
    ]
    if not corpora:
        return {}
    changing = [
        variant
        for variant in compared
        if not variant.space or (variant.name.startswith("without") and variant.space in ORDERING)
    ]
    recalls: dict[str, float] = {}
    run = Run(data=data, embedder=embedder)
    values = turn_recall(corpora, run, [(variant.settings, variant.preset) for variant in changing])
    for variant, value in zip(changing, values, strict=True):
        recalls[variant.name] = value
    say(f"{len(corpora)} conversations: {len(changing)} sets of spaces")
    return recalls


def table(outcomes: Sequence[Outcome]) -> str:
    """The page."""
    base = outcomes[0]
    lines = [
        "# What each space brings",
        "",
        "Written by `python -m tacit_evals.ablation --data DIR --out docs/reference`. Means over the judged projects after a start",
        "pack of 1,000 tokens, local triggers, models as they ship: they were fitted with the spaces of `focused` on, and on these",
        "projects, so the differences count, not the levels. R@5 = turn recall of answers on demand, every fifth question; `-` = the",
        "space does not change that order. Cost = processor time of the median prompt, less that of the first line, in microseconds",
        "(pools of about 150 memories): below about 100 noise, beside busy neighbours below about 1,000. What a prompt costs in all is",
        "measured by `tacit eval latency` (docs/guide/benchmarks.md).",
        "",
        "| spaces | coverage | grade 2 | precision | wrongful | injections a prompt | R@5 | cost |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        figures = [outcome.card.total.metrics[name] for name in COLUMNS]
        shown = " | ".join("-" if value is None else f"{value:.3f}" for value in figures)
        recall = "-" if outcome.recall is None else f"{outcome.recall:.3f}"
        cost = f"{outcome.micros:,.0f} in all" if outcome is base else f"{outcome.micros - base.micros:+,.0f}"
        lines.append(f"| {outcome.variant.name} | {shown} | {recall} | {cost} |")
    lines += [
        "",
        f"![Risk and coverage of the prompt pack as shipped]({PLOT})",
        "",
        "Risk (1 - precision) against coverage of the needed memories that the start pack lacks, for every threshold.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure and write both files."""
    parser = argparse.ArgumentParser(
        prog="python -m tacit_evals.ablation", description="What each space brings."
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the evaluation data")
    parser.add_argument("--out", type=Path, required=True, help="folder for the table and the plot")
    parser.add_argument(
        "--embedder", choices=("minilm", "fake"), default="minilm", help="who makes the vectors"
    )
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="keep the vectors of texts here for later runs"
    )
    options = parser.parse_args()
    embedder: Embedder = make_embedder(EmbedderSettings(provider=options.embedder), cache_entries=100_000)
    cache = KeptVectors(embedder, options.cache) if options.cache else None
    outcomes = ablate(options.data, embedder=cache or embedder, settings=shipped_settings(), say=print)
    if cache is not None:
        cache.save()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / TABLE).write_text(table(outcomes), "utf-8")
    (options.out / PLOT).write_text(risk_plot(outcomes[0].card), "utf-8")


if __name__ == "__main__":
    main()
