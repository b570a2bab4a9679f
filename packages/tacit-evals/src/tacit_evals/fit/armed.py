"""Fit how much counts what a language model named in the pause. In: judged projects, recorded answers. Out: four numbers.

Run: `python -m tacit_evals.fit.armed --data DIR --answers DIR --date 2026-11-25`. Logistic regression with a weak ridge penalty
(Newton steps) on the pairs that a prompt with such an answer scores: the short list and what the model named. `caution` is the
least that keeps prompts that need nothing as silent as without the model: searched in steps of `STEP` on the prompts that were
fitted on, each project counting the same. The answers are evidence here and never labels.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tacit
from tacit.config.settings import EmbedderSettings
from tacit.fitted import Artifact, FitOrigin, encode_artifact
from tacit.providers.embedding import make_embedder
from tacit.recall.score import LEAST_ARMED, LEAST_LOCAL, ArmedWeights, logit
from tacit_evals.data import folders_of, load_inject, load_named
from tacit_evals.figures import ItemResult
from tacit_evals.fit.labelled import Array, sigmoid
from tacit_evals.pool import Pool
from tacit_evals.running import SuiteRun

PENALTY = 1.0
STEPS = 40
STEP = 0.05
MOST_CAUTION = 3.0
DECIMALS = 3
START_TOKENS = 1_000
PACKAGE = Path(tacit.__file__).parent
COMMAND = "python -m tacit_evals.fit.armed --data DATA --answers ANSWERS --date DATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmedPrompt:
    """One prompt: what the gate said of its short list and of what the model named, and the model's probabilities."""

    project: str
    result: ItemResult
    named: dict[str, float]

    def rows(self) -> list[tuple[float, float, bool]]:
        """Local log odds, the model's, and whether it was needed, of every scored pair that is not marginal."""
        judgment = self.result.judgment
        return [
            (
                logit(local, LEAST_LOCAL),
                logit(self.named.get(name, 0.0), LEAST_ARMED),
                name in judgment.needed,
            )
            for name, local in self.result.predicted.items()
            if name not in judgment.marginal
        ]


def ask_pool(
    pool: Pool, answers: dict[str, dict[str, float]], *, tokens: int = START_TOKENS
) -> list[ArmedPrompt]:
    """Every prompt of a pool by local evidence alone, with what the model named on the short list."""
    asked: list[ArmedPrompt] = []
    for prompt in pool.project.prompts:
        named = {name: chance for name, chance in answers.get(prompt.id, {}).items() if name in pool.memories}
        result = pool.prompt(prompt, pool.start(tokens=tokens, at_ms=prompt.at_ms), named=named)
        asked.append(ArmedPrompt(project=pool.project.name, result=result, named=named))
    return asked


def fit_armed(prompts: Sequence[ArmedPrompt], *, threshold: float) -> ArmedWeights:
    """The numbers for these prompts; `threshold` = least relevance that is handed over."""
    rows = [row for prompt in prompts for row in prompt.rows()]
    table: Array = np.array([(1.0, local, armed) for local, armed, _ in rows])
    labels: Array = np.array([float(needed) for _, _, needed in rows])
    weights, ridge = np.zeros(3), PENALTY * np.diag([0.0, 1.0, 1.0])
    for _ in range(STEPS):
        p = sigmoid(table @ weights)
        slope = table.T @ (p - labels) + ridge @ weights
        weights -= np.linalg.solve((table * (p * (1 - p))[:, None]).T @ table + ridge, slope)
    bias, local, armed = (round(float(value), DECIMALS) for value in weights)
    plain = ArmedWeights(bias=bias, local=local, armed=armed)
    without = _wrongful(prompts, threshold, None)
    caution = next(
        (
            step * STEP
            for step in range(int(MOST_CAUTION / STEP))
            if _wrongful(prompts, threshold, plain, caution=step * STEP) <= without
        ),
        MOST_CAUTION,
    )
    return ArmedWeights(bias=bias, local=local, armed=armed, caution=round(caution, DECIMALS))


def _wrongful(
    prompts: Sequence[ArmedPrompt], threshold: float, weights: ArmedWeights | None, *, caution: float = 0.0
) -> float:
    """Share of the prompts that need nothing and get something, the mean over projects."""
    shares: list[float] = []
    for project in sorted({prompt.project for prompt in prompts}):
        silent = [
            prompt for prompt in prompts if prompt.project == project and prompt.result.judgment.nothing
        ]
        got = [any(_relevances(prompt, weights, caution) >= threshold) for prompt in silent]
        shares.append(sum(got) / len(got) if got else 0.0)
    return float(np.mean(shares))


def _relevances(prompt: ArmedPrompt, weights: ArmedWeights | None, caution: float) -> Array:
    """Relevance of what is not in the context yet."""
    new = [name for name in prompt.result.predicted if name not in prompt.result.start]
    local = np.array([prompt.result.predicted[name] for name in new])
    if weights is None:
        return local
    own = np.array([logit(value, LEAST_LOCAL) for value in local])
    armed = np.array([logit(prompt.named.get(name, 0.0), LEAST_ARMED) for name in new])
    return sigmoid(weights.bias + weights.local * own + weights.armed * armed - caution)


def artifact_of(
    weights: ArmedWeights, prompts: Sequence[ArmedPrompt], *, embedder: str, date: str
) -> Artifact:
    """The content of the file that ships."""
    origin = FitOrigin(
        what="how much counts what a language model named in the pause",
        made_by=COMMAND,
        projects=tuple(sorted({prompt.project for prompt in prompts})),
        date=date,
        embedder=embedder,
        details={"prompts": len(prompts), "rows": sum(len(prompt.rows()) for prompt in prompts)},
    )
    return Artifact(name="armed", origin=origin, values=weights)


def main() -> int:
    """Fit on every project of the data and write the file."""
    parser = argparse.ArgumentParser(prog="python -m tacit_evals.fit.armed", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of judged projects")
    parser.add_argument("--answers", type=Path, required=True, help="folder of recorded answers")
    parser.add_argument("--date", required=True, help="date for the file")
    parser.add_argument("--out", type=Path, default=PACKAGE, help="write below this folder")
    options = parser.parse_args()
    run = SuiteRun(data=options.data, embedder=make_embedder(EmbedderSettings(), cache_entries=100_000))
    prompts: list[ArmedPrompt] = []
    threshold = 0.0
    for folder in folders_of("inject", options.data):
        pool = Pool(load_inject(folder), embedder=run.embedder, settings=run.settings)
        threshold = pool.settings.thresholds.prompt
        try:
            prompts += ask_pool(pool, load_named(options.answers, folder.name))
        finally:
            pool.close()
    weights = fit_armed(prompts, threshold=threshold)
    artifact = artifact_of(weights, prompts, embedder=str(run.embedder.identity), date=options.date)
    path = options.out / "fitted" / "armed.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_artifact(artifact))
    print(f"{path}: {weights}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
