"""What a memory learns from its use: `python -m tacit_evals.suites.replay --data DIR [--seeds 3] [--json FILE]`.

The judged prompts of every project below DIR (the `inject` format) are asked in the order of their sessions. After each session the store
is told what was given (the start pack of 1,000 tokens and what prompts got) and which of it was used: what a prompt of the
session needed, observed with an error: a use is seen with the chance `seen`, and `false` of the unused ones are taken for used; the same is
observed of memories that were not given (controls), as capture does. Three arms:
*static* tells the store nothing, *learned* tells it that, *shuffled* tells it the same of other memories, drawn once for a run. Models are those that ship,
in all arms. A memory that the start pack holds is not scored, and a marginal one counts neither way.

In: judged projects. Out: per arm average precision of the scored pairs, precision of as many pairs as the static arm hands over, log loss
(macro); and how the gain in log loss grows with the session: slope from the first to the last session of a project, with an interval
of 95 % by resampling sessions.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console
from rich.table import Table

from tacit.capture.pipeline import MAX_CONTROLS
from tacit.config.environment import one_thread_for_arrays
from tacit.config.settings import EmbedderSettings, RecallSettings
from tacit.ports.models import Embedder
from tacit.providers.embedding import make_embedder
from tacit_evals.data.judged import Project, Prompt, load_inject
from tacit_evals.data.recognise import folders_of
from tacit_evals.fit.logistic import Array
from tacit_evals.suites.pool import Pool
from tacit_evals.suites.running import shipped_settings
from tacit_evals.timing import write_json

START_TOKENS = 1_000
DRAWS = 2_000
Arm = Literal["static", "learned", "shuffled"]
ERRORS = ((1.0, 0.0), (0.5, 0.02), (0.33, 0.25))
"""(a use is seen, an unused memory is taken for used): without error, a good detector, and ours as `use_errors` measured it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A scored memory of a prompt: in which session of how many, its relevance, and whether it was needed."""

    session: int
    sessions: int
    relevance: float
    needed: bool

    @property
    def loss(self) -> float:
        """Log loss of the relevance."""
        chance = min(max(self.relevance, 1e-6), 1.0 - 1e-6)
        return -float(np.log(chance if self.needed else 1.0 - chance))


def sessions_of(project: Project) -> list[list[Prompt]]:
    """The prompts by session, in the order of time."""
    sessions: dict[str, list[Prompt]] = {}
    for prompt in sorted(project.prompts, key=lambda prompt: (prompt.at_ms, prompt.session, prompt.turn)):
        sessions.setdefault(prompt.session, []).append(prompt)
    return list(sessions.values())


def replay(
    project: Project,
    *,
    embedder: Embedder,
    settings: RecallSettings,
    arm: Arm,
    seen: float = 1.0,
    false: float = 0.0,
    seed: int = 0,
) -> list[Pair]:
    """The scored pairs of one run."""
    chance = random.Random(f"{seed} {project.name}")
    pool = Pool(project, embedder=embedder, settings=settings)
    ids = sorted(pool.memories)
    stand_in = dict(zip(ids, chance.sample(ids, len(ids)), strict=True)) if arm == "shuffled" else {}
    sessions = sessions_of(project)
    pairs: list[Pair] = []
    try:
        # Made before anything is learned, so that every arm scores the same pairs.
        starts = [pool.start(tokens=START_TOKENS, at_ms=prompts[0].at_ms) for prompts in sessions]
        for number, (prompts, start) in enumerate(zip(sessions, starts, strict=True)):
            shown, needed = set(start.ids), set[str]()
            for prompt in prompts:
                result = pool.prompt(prompt, start)
                judgment = prompt.judgment
                shown.update(result.pack)
                needed.update(judgment.needed)
                pairs += [
                    Pair(
                        session=number,
                        sessions=len(sessions),
                        relevance=relevance,
                        needed=memory_id in judgment.needed,
                    )
                    for memory_id, relevance in sorted(result.predicted.items())
                    if memory_id not in start.ids and memory_id not in judgment.marginal
                ]
            looks_used = {
                memory_id for memory_id in ids if chance.random() < (seen if memory_id in needed else false)
            }
            others = sorted(set(ids) - shown)
            controls = set(chance.sample(others, min(MAX_CONTROLS, len(others))))
            if arm != "static":
                pool.count_usage(
                    shown={stand_in.get(memory_id, memory_id) for memory_id in shown},
                    used={stand_in.get(memory_id, memory_id) for memory_id in shown & looks_used},
                    controls=len(controls),
                    controls_used=len(controls & looks_used),
                )
    finally:
        pool.close()
    return pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of one run of one project."""

    average_precision: float
    precision: float
    log_loss: float


def figures_of(pairs: Sequence[Pair], *, count: int) -> Figures:
    """Figures of the pairs; precision of the `count` most relevant."""
    relevance, needed = _arrays(pairs)
    ranked = needed[np.argsort(-relevance, kind="stable")]
    precision_at = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return Figures(
        average_precision=float(precision_at[ranked > 0].mean()) if ranked.any() else 0.0,
        precision=float(ranked[:count].mean()) if count else 0.0,
        log_loss=float(np.mean([pair.loss for pair in pairs])),
    )


def _arrays(pairs: Sequence[Pair]) -> tuple[Array, Array]:
    return (
        np.array([pair.relevance for pair in pairs]),
        np.array([pair.needed for pair in pairs], dtype=np.float64),
    )


def slope(static: Sequence[Sequence[Pair]], learned: Sequence[Sequence[Pair]]) -> tuple[float, float, float]:
    """Gain in log loss from the first session to the last, with the bounds of its interval.

    Each session is a point: its place among those of its project, 0 to 1, and the mean gain of its pairs. `static` and `learned` hold the
    same pairs, one list a project.
    """
    places: list[float] = []
    gains: list[float] = []
    for before, after in zip(static, learned, strict=True):
        for session in range(before[0].sessions):
            gain = [a.loss - b.loss for a, b in zip(before, after, strict=True) if a.session == session]
            if gain:
                places.append(session / max(1, before[0].sessions - 1))
                gains.append(float(np.mean(gain)))
    x, y = np.array(places), np.array(gains)
    draws = np.random.default_rng(0).integers(0, len(x), (DRAWS, len(x)))
    slopes = np.sort([_fit(x[draw], y[draw]) for draw in draws])
    return _fit(x, y), float(slopes[int(0.025 * DRAWS)]), float(slopes[int(0.975 * DRAWS)])


def _fit(x: Array, y: Array) -> float:
    spread = float(((x - x.mean()) ** 2).sum())
    return float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread else 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Replay and print."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.suites.replay", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3, help="runs of every arm with chance in it")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    one_thread_for_arrays()
    embedder = make_embedder(EmbedderSettings(), cache_entries=100_000)
    settings = shipped_settings()
    projects = [load_inject(folder) for folder in folders_of("inject", options.data)]
    static = [replay(project, embedder=embedder, settings=settings, arm="static") for project in projects]
    threshold = settings.thresholds.prompt
    counts = [sum(pair.relevance >= threshold for pair in pairs) for pairs in static]
    console = Console()
    table = Table(
        "arm",
        "uses seen, false",
        "average precision",
        "precision",
        "log loss",
        "slope of the gain",
        title="Learning from use",
    )
    rows: list[dict[str, object]] = []

    def add(arm: str, error: str, runs: Sequence[Sequence[Sequence[Pair]]], gain: str) -> None:
        figures = [
            figures_of(pairs, count=count) for run in runs for pairs, count in zip(run, counts, strict=True)
        ]
        means = [
            float(np.mean([getattr(figure, name) for figure in figures]))
            for name in ("average_precision", "precision", "log_loss")
        ]
        table.add_row(arm, error, *(f"{mean:.3f}" for mean in means[:2]), f"{means[2]:.4f}", gain)
        rows.append({"arm": arm, "error": error, "figures": means, "slope": gain})

    add("static", "-", [static], "-")
    for seen, false in ERRORS:
        seeds = range(options.seeds if seen < 1 else 1)
        for arm in ("learned", "shuffled"):
            runs = [
                [
                    replay(
                        project,
                        embedder=embedder,
                        settings=settings,
                        arm=arm,
                        seen=seen,
                        false=false,
                        seed=seed,
                    )
                    for project in projects
                ]
                for seed in (range(options.seeds) if arm == "shuffled" else seeds)
            ]
            value, low, high = slope(
                [pairs for _ in runs for pairs in static], [pairs for run in runs for pairs in run]
            )
            add(arm, f"{seen:.2f}, {false:.2f}", runs, f"{value:+.4f} [{low:+.4f}, {high:+.4f}]")
    console.print(table)
    if options.json:
        write_json(options.json, (), suite="replay", arms=rows)


if __name__ == "__main__":
    main()
