"""What a language model's recorded answers bring before a prompt. In: judged prompts, answers. Out: a scorecard.

`pause`: what the model named before the prompt was known is fused with local evidence. Its numbers are fitted on the other projects
(`tacit_evals.fit.armed`). `prompt`: the model decides; `sure` and `least` are chosen on the other projects, and the shipped
ones stand beside. Rank fusion of words and vectors, local evidence and the answers alone are compared over all pairs of the same
prompts and pool (average precision); packs are those of the read path after a start pack of 1,000 tokens. Answers are never labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.config.settings import RecallSettings
from tacit.errors import InvalidInput
from tacit_evals.data.judged import Project, load_inject
from tacit_evals.data.named import Answers, Moment, load_named
from tacit_evals.data.recognise import folders_of
from tacit_evals.fit.armed import Asked, ask_pool, fit_armed
from tacit_evals.fit.parts import Fitted
from tacit_evals.metrics.counts import ItemResult, count, figures
from tacit_evals.metrics.resample import intervals
from tacit_evals.report.scorecard import MACRO, POOLED, Line, Part, Scorecard
from tacit_evals.suites.baselines import Dense, Lexical, fused
from tacit_evals.suites.pool import ModelSaid, Pool
from tacit_evals.suites.running import Run

START_TOKENS = 1_000
SURES = (0.34, 0.36, 0.38, 0.4, 0.42, 0.45, 0.5, 0.6)
LEASTS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
MOST_WRONGFUL, LEAST_PRECISION = 0.12, 0.78
"""What the choice on the other projects must keep; both are stricter than what is promised of a project that is left out."""
AP_LOCAL, AP_FUSION, AP_ANSWERS = "ap_local", "ap_rank_fusion", "ap_answers"
COLUMNS = (
    "ap", AP_LOCAL, AP_ANSWERS, AP_FUSION, "ap_ratio", "prompt_precision", "coverage_added", "wrongful_rate", "injections_per_prompt", "prompt_tokens",
)  # fmt: skip
Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Material:
    """One project, read once.

    Attributes:
        project, answers: as given.
        local: every prompt without a model.
        asked: the same with what the model named on the short list.
        fusion: rank fusion of words and vectors, by prompt.
    """

    project: Project
    answers: Answers
    local: Sequence[ItemResult]
    asked: Sequence[Asked]
    fusion: Mapping[str, Scores]


def run_named(run: Run) -> Scorecard:
    """Measure every project below the run's folder with the answers of the run's moment.

    Raises:
        InvalidInput: if an answer or a moment is missing.
    """
    if run.answers is None or run.moment is None:
        raise InvalidInput("--answers of the suite inject needs --moment pause or --moment prompt.")
    materials = [_read(load_inject(folder), run) for folder in folders_of("inject", run.data)]
    if len(materials) < 2:
        raise InvalidInput("At least two projects are needed.", hint="The numbers are fitted on the others.")
    handed: dict[str, list[ItemResult]] = {}
    chosen: dict[str, str] = {}
    for material in materials:
        others = [other for other in materials if other is not material]
        handed[material.project.name], chosen[material.project.name] = _hand_over(material, others, run)
    return _scorecard(materials, handed, chosen, run)


def _pool(
    project: Project, run: Run, *, settings: RecallSettings | None = None, fitted: Fitted | None = None
) -> Pool:
    models = fitted or run.fitted(project.name)
    return Pool(
        project, embedder=run.embedder, settings=settings or run.settings, preset=run.preset, fitted=models
    )


def _read(project: Project, run: Run) -> _Material:
    assert run.answers is not None
    assert run.moment is not None
    run.say(f"{project.name}: {len(project.memories)} memories, {len(project.prompts)} prompts")
    answers = load_named(run.answers, project.name, run.moment)
    missing = [prompt.id for prompt in project.prompts if prompt.id not in answers]
    if missing:
        raise InvalidInput(f"There is no recorded answer for {len(missing)} prompts of {project.name}.")
    pool = _pool(project, run)
    try:
        contents = {name: memory.content for name, memory in pool.memories.items()}
        lexical, dense = Lexical(contents), Dense(contents, embedder=run.embedder)
        fusion = {
            prompt.id: fused([lexical.scores(prompt.text), dense.scores(prompt.text)])
            for prompt in project.prompts
        }
        return _Material(
            project=project,
            answers=answers,
            local=[
                pool.prompt(prompt, pool.start(tokens=START_TOKENS, at_ms=prompt.at_ms))
                for prompt in project.prompts
            ],
            asked=ask_pool(pool, {name: dict(own) for name, own in answers.items()}, tokens=START_TOKENS),
            fusion=fusion,
        )
    finally:
        pool.close()


def _hand_over(material: _Material, others: Sequence[_Material], run: Run) -> tuple[list[ItemResult], str]:
    """What the project's prompts get, with numbers from the other projects, and these numbers in words."""
    models, settings = run.fitted(material.project.name), run.settings
    if run.moment == "pause":
        threshold = models.gate.thresholds().get("prompt") if models.gate else None
        weights = fit_armed(
            [prompt for other in others for prompt in other.asked],
            threshold=settings.thresholds.prompt if threshold is None else threshold,
        )
        models, chosen = replace(models, armed=weights), str(weights)
    else:
        sure, least = choose([(other.project, other.answers, other.asked) for other in others])
        judge = settings.judge.model_copy(update={"sure": sure, "least": least})
        settings, chosen = settings.model_copy(update={"judge": judge}), f"sure {sure:g}, least {least:g}"
    pool = _pool(material.project, run, settings=settings, fitted=models)
    try:
        return [
            pool.prompt(
                prompt,
                pool.start(tokens=START_TOKENS, at_ms=prompt.at_ms),
                said=ModelSaid(
                    named={m: p for m, p in material.answers[prompt.id].items() if m in pool.memories},
                    in_pause=run.moment == "pause",
                ),
            )
            for prompt in material.project.prompts
        ], chosen
    finally:
        pool.close()


def choose(materials: Sequence[tuple[Project, Answers, Sequence[Asked]]]) -> tuple[float, float]:
    """`sure` and `least` with the greatest coverage (mean over projects) that keep `MOST_WRONGFUL` and `LEAST_PRECISION`."""
    best, chosen = -1.0, (max(SURES), max(LEASTS))
    for sure in SURES:
        for least in (value for value in LEASTS if value <= sure):
            rows = [_figures_at(answers, prompts, sure, least) for _, answers, prompts in materials]
            precision, coverage, wrongful = (float(np.mean(column)) for column in zip(*rows, strict=True))
            if wrongful <= MOST_WRONGFUL and precision >= LEAST_PRECISION and coverage > best:
                best, chosen = coverage, (sure, least)
    return chosen


def _figures_at(
    answers: Answers, prompts: Sequence[Asked], sure: float, least: float
) -> tuple[float, float, float]:
    """Precision, coverage added and wrongful rate of a project if exactly what is named is handed over."""
    hits = handed = needed = wrongful = nothing = 0
    for prompt in prompts:
        judgment, result = prompt.result.judgment, prompt.result
        chances = answers[result.item.split("/", 1)[1]] if result.predicted else {}
        bar = least if max(chances.values(), default=0.0) >= sure else sure
        pack = [name for name, chance in chances.items() if chance >= bar and name not in result.start]
        handed += sum(name not in judgment.marginal for name in pack)
        hits += sum(name in judgment.needed for name in pack)
        needed += len(judgment.needed)
        nothing += judgment.nothing
        wrongful += judgment.nothing and bool(pack)
    return hits / max(handed, 1), hits / max(needed, 1), wrongful / max(nothing, 1)


def average_precision(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Mean over the right ones of the precision down to each, best score first; equal scores in the order given."""
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    hits, total = 0, 0.0
    for rank, at in enumerate(order, start=1):
        if labels[at]:
            hits += 1
            total += hits / rank
    return total / hits if hits else 0.0


def _ap(material: _Material, scores: Mapping[str, Scores]) -> float:
    """Average precision over all pairs of a project that are not marginal."""
    values: list[float] = []
    labels: list[bool] = []
    for prompt in material.project.prompts:
        own = scores[prompt.id]
        for memory in sorted(row.id for row in material.project.memories):
            if memory not in prompt.judgment.marginal:
                values.append(own.get(memory, 0.0))
                labels.append(memory in prompt.judgment.needed)
    return average_precision(values, labels)


def _part(material: _Material, handed: Sequence[ItemResult]) -> Part:
    counts = count(handed, learned=material.project.learned)
    values = figures(counts)
    without = figures(count(material.local, learned=material.project.learned))
    local = {_id_of(result): result.predicted for result in material.local}
    aps = {
        "ap": _ap(material, {_id_of(result): result.predicted for result in handed}),
        AP_LOCAL: _ap(material, local),
        AP_ANSWERS: _ap(material, material.answers),
        AP_FUSION: _ap(material, material.fusion),
    }
    return Part(
        name=material.project.name,
        metrics={
            **values,
            **aps,
            "ap_ratio": aps["ap"] / aps[AP_FUSION] if aps[AP_FUSION] else None,
            "coverage_added": values["prompt_coverage_all"],
            "local_precision": without["prompt_precision"],
            "local_coverage_added": without["prompt_coverage_all"],
            "local_wrongful_rate": without["wrongful_rate"],
        },
        intervals=intervals(counts),
    )


def _id_of(result: ItemResult) -> str:
    return result.item.split("/", 1)[1]


def _scorecard(
    materials: Sequence[_Material],
    handed: Mapping[str, Sequence[ItemResult]],
    chosen: Mapping[str, str],
    run: Run,
) -> Scorecard:
    parts = [_part(material, handed[material.project.name]) for material in materials]
    macro = {name: float(np.mean([part.metrics[name] or 0.0 for part in parts])) for name in parts[0].metrics}
    macro["ap_ratio"] = macro["ap"] / macro[AP_FUSION] if macro[AP_FUSION] else 0.0
    pooled = figures(
        np.concatenate(
            [count(handed[material.project.name], learned=material.project.learned) for material in materials]
        )
    )
    everything = Part(name=POOLED, metrics={**pooled, "coverage_added": pooled["prompt_coverage_all"]})
    return Scorecard(
        suite="inject",
        dataset=str(run.data),
        settings={**run.described(), "moment": run.moment, "start_tokens": START_TOKENS, "chosen": chosen},
        total=Part(name=MACRO, metrics=macro),
        parts=(*parts, everything),
        columns=COLUMNS,
        lines=_lines(parts, macro, run.moment or "pause"),
    )


def _lines(parts: Sequence[Part], macro: Mapping[str, float], moment: Moment) -> tuple[Line, ...]:
    def worst(name: str, *, most: bool = False) -> Line:
        values = [(part.metrics[name] or 0.0, part.name) for part in parts]
        value, project = max(values) if most else min(values)
        return Line(name=f"{name}, worst project ({project})", value=value)

    beside = (
        Line(name="without a model: precision", value=macro["local_precision"]),
        Line(name="without a model: coverage added", value=macro["local_coverage_added"]),
        Line(name="without a model: wrongful prompts", value=macro["local_wrongful_rate"]),
    )
    if moment == "pause":
        return (
            Line(name="AP beside rank fusion, macro", value=macro["ap_ratio"], least=2.0),
            worst("ap_ratio"),
            Line(name="precision, macro", value=macro["prompt_precision"]),
            worst("prompt_precision"),
            Line(name="coverage added, macro", value=macro["coverage_added"]),
            Line(name="wrongful prompts, macro", value=macro["wrongful_rate"]),
            worst("wrongful_rate", most=True),
            *beside,
        )
    return (
        Line(name="precision, macro", value=macro["prompt_precision"], least=0.70),
        Line(name="coverage added, macro", value=macro["coverage_added"], least=0.25),
        Line(name="wrongful prompts, macro", value=macro["wrongful_rate"], most=0.15),
        worst("prompt_precision"),
        worst("coverage_added"),
        worst("wrongful_rate", most=True),
        *beside,
    )
