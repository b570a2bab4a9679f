"""Fit the gate: relevance of a short list per surface, its calibration and the thresholds of its levels. In: judged projects. Out: a `GateModel`.

The short lists are those of the shipped read path (`Pool`, with a gate that only listens). Negatives are the pairs that
no judge gave anything, and the prompts of one project asked of another one's store (generic rules aside). Marginal pairs
are left out. Deterministic: rows in the order of the data, no randomness.

Weights: logistic regression with a normal prior (maximum a posteriori; Bishop, 2006, section 4.5; Newton steps). The prior says that
every piece of evidence counts alike, and it is strong on purpose: a few projects teach how much a piece counts in them,
not how much it will count in the next one (docs/adr/0023-evidence-counts-alike.md). Calibration (Platt, 1999) and
thresholds use predictions for projects that the weights were not fitted on, each left out in turn.

Threshold of a level: a needed line is worth `WORTH` times an unneeded one, so a line is handed over where its calibrated relevance is above
1 / (1 + worth). For `quiet` and `balanced` it is raised while a project left out shows that more than `WRONGFUL` of its prompts that deserve
nothing get something: at a true rate of `WRONGFUL` as many would get something with a chance below `BY_CHANCE` (exact binomial test).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from tacit.config.settings import LevelName, RecallSettings
from tacit.model.evidence import Candidate, Parts
from tacit.model.kinds import KindRegistry
from tacit.model.query import Query
from tacit.ports.models import Embedder
from tacit.recall.score import EVIDENCE, MAX_STANDARDIZED, SurfaceModel, evidence_of, with_share
from tacit.recall.stage import Judgment, Preset
from tacit_evals.data import EVERYDAY, ItemJudgment, Project, RealPrompt
from tacit_evals.fit.labelled import LabelledPrompt, same_project
from tacit_evals.pool import FOCUSED, SHIPPED, Fitted, Pool

Array = NDArray[np.float64]
WORTH: Mapping[LevelName, float] = {"quiet": 1.0, "balanced": 3.0, "eager": 8.0}
"""What a needed line is worth, in unneeded ones."""
WRONGFUL = 0.12
"""Most of the prompts that deserve nothing and get something, on the worst project left out; `eager` may exceed it."""
BY_CHANCE = 0.05
"""A rate that is above the bound with less than this chance shows that the bound is broken: most projects have 11 to 44 such prompts."""
STRANGERS = 90
"""So many prompts of further projects, which nobody judged, are asked of every store besides."""
PRIOR: Mapping[str, float] = {"character": 0.4, "cosine": 0.4, "rare": 0.4, "nearness": 0.2, "covered": 0.4}
"""Mean of the prior, per standard deviation of the evidence. Half as much for `nearness`: it tells strangers, not memories."""
PENALTY = 400.0
"""Precision of the prior: 1 / variance of each weight."""
CROSS_WEIGHT = 0.2
START_WEIGHT = 0.3
"""Of pairs with memories of the start pack: what tells them is what tells the others, but broad ones stand there."""
START_TOKENS = 1_000
STEPS = 20
FRAME_TOKENS, LINE_TOKENS = 14, 8
"""What a block and a line of it cost besides the statements, about."""
STEP = 0.01
"""Thresholds are tried in steps of so much."""
DECIMALS = 5


@dataclass(slots=True)
class Listener:
    """A gate that keeps what it is asked and hands nothing over."""

    heard: list[tuple[Query, tuple[Candidate, ...], float | None]] = field(
        default_factory=list[tuple[Query, tuple[Candidate, ...], float | None]]
    )

    def judge(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        *,
        kinds: KindRegistry,
        among: int = 0,
        domain_similarity: float | None = None,
    ) -> list[tuple[Judgment, Parts]]:
        del kinds, among
        self.heard.append((query, tuple(candidates), domain_similarity))
        return [((0.0, ()), ())] * len(candidates)

    def thresholds(self) -> Mapping[str, float]:
        return {"prompt": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCandidates:
    """One prompt's short list. `needed`: grade by memory id; None = a prompt of another project.

    `nothing`: a judge said that it deserves nothing.
    """

    store: str
    prompt_of: str
    item: str
    query: Query | None
    candidates: tuple[Candidate, ...]
    needed: Mapping[str, int]
    marginal: frozenset[str]
    start: frozenset[str]
    generic: frozenset[str]
    nothing: bool = False
    crossed: bool = False
    domain_similarity: float | None = None


def ask_all(
    projects: Sequence[Project],
    *,
    embedder: Embedder,
    settings: RecallSettings,
    preset: Preset = FOCUSED,
    fitted: Fitted = SHIPPED,
    strangers: Sequence[RealPrompt] = (),
) -> list[PromptCandidates]:
    """Every prompt of every project, and every one of `strangers`, asked of every project's store."""
    lists: list[PromptCandidates] = []
    for project in projects:
        askers = {asker.name: asker.prompts for asker in projects} | ({"": strangers} if strangers else {})
        for asker, prompts in askers.items():
            listener = Listener()
            pool = Pool(
                project,
                embedder=embedder,
                settings=settings,
                preset=preset,
                fitted=replace(fitted, gate=listener),
                asked_by=asker,
            )
            try:
                generic = pool.generic()
                for prompt in prompts:
                    at_ms = prompt.at_ms or project.prompts[-1].at_ms
                    start = pool.start(tokens=0 if project.name == EVERYDAY else START_TOKENS, at_ms=at_ms)
                    before = len(listener.heard)
                    pool.prompt(prompt, start, pool_of=asker)
                    query, candidates, domain_similarity = (
                        listener.heard[-1] if len(listener.heard) > before else (None, (), None)
                    )
                    crossed = asker != project.name
                    lists.append(
                        PromptCandidates(
                            store=project.name,
                            prompt_of=asker,
                            item=prompt.id,
                            query=query,
                            candidates=candidates,
                            needed={} if crossed else prompt.judgment.needed,
                            marginal=frozenset() if crossed else prompt.judgment.marginal,
                            start=start.ids,
                            generic=generic,
                            nothing=not crossed and prompt.judgment.nothing,
                            crossed=crossed,
                            domain_similarity=domain_similarity,
                        )
                    )
            finally:
                pool.close()
    return lists


def strangers_of(prompts: Sequence[LabelledPrompt], projects: Sequence[Project]) -> tuple[RealPrompt, ...]:
    """`STRANGERS` of `prompts` that belong to none of `projects`, evenly spread over them."""
    strangers = [
        prompt
        for prompt in prompts
        if not any(same_project(prompt.project, project.name) for project in projects)
    ]
    return tuple(
        RealPrompt(
            id=f"stranger {number}",
            session="",
            turn=0,
            at_ms=0,
            text=prompt.text,
            previous=prompt.previous_end,
            files=tuple(prompt.files),
            judgment=ItemJudgment(),
        )
        for number, prompt in enumerate(strangers[:: max(1, -(-len(strangers) // STRANGERS))])
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Rows to fit on: evidence, whether needed, weight, and the number of its `Asked`."""

    evidence: Array
    needed: Array
    weight: Array
    of: NDArray[np.int64]


def pairs_of(prompts: Sequence[PromptCandidates]) -> Pairs:
    """One row per candidate that was not judged marginal; those in the start pack count less."""
    rows: list[Array] = []
    needed: list[float] = []
    weight: list[float] = []
    of: list[int] = []
    for number, prompt in enumerate(prompts):
        if prompt.query is None or not prompt.candidates:
            continue
        table = evidence_of(prompt.query, prompt.candidates, domain_similarity=prompt.domain_similarity)
        for row, candidate in zip(table, prompt.candidates, strict=True):
            name = candidate.memory.id
            if name in prompt.marginal or (
                prompt.crossed and (name in prompt.generic or name in prompt.start)
            ):
                continue
            rows.append(row)
            needed.append(float(name in prompt.needed))
            weight.append(CROSS_WEIGHT if prompt.crossed else START_WEIGHT if name in prompt.start else 1.0)
            of.append(number)
    return Pairs(evidence=np.array(rows), needed=np.array(needed), weight=np.array(weight), of=np.array(of))


def ridge_logistic(
    x: Array, y: Array, w: Array, *, penalty: float, centre: Array | None = None, steps: int = STEPS
) -> tuple[Array, float]:
    """Weights and bias that minimise the weighted cross-entropy plus penalty / 2 times the squared distance to `centre` (0).

    Newton steps, each halved until the loss falls.
    """
    prior: Array = np.append(np.zeros(x.shape[1]) if centre is None else centre, 0.0)
    table = np.c_[x, np.ones(len(x))]
    ridge = np.r_[np.full(x.shape[1], penalty), 1e-6]
    share = float((w * y).sum() / w.sum())
    beta = prior + np.r_[np.zeros(x.shape[1]), np.log(share / (1 - share))]

    def loss(b: Array) -> float:
        z = table @ b
        return float((w * (np.logaddexp(0.0, z) - y * z)).sum() + 0.5 * (ridge * (b - prior) ** 2).sum())

    current = loss(beta)
    for _ in range(steps):
        p = 1 / (1 + np.exp(-(table @ beta)))
        gradient = table.T @ (w * (p - y)) + ridge * (beta - prior)
        hessian = (table * (w * p * (1 - p))[:, None]).T @ table + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-4 and loss(beta - size * step) > current:
            size /= 2
        beta = beta - size * step
        after = loss(beta)
        if current - after < 1e-7 * abs(current):
            break
        current = after
    return beta[:-1], float(beta[-1])


def fit_weights(pairs: Pairs, *, penalty: float = PENALTY) -> SurfaceModel:
    """The model without calibration and threshold."""
    x, w = pairs.evidence, pairs.weight
    mean = np.average(x, axis=0, weights=w)
    scale = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=w)) + 1e-3
    weights, bias = ridge_logistic(
        np.clip((x - mean) / scale, -MAX_STANDARDIZED, MAX_STANDARDIZED),
        pairs.needed,
        w,
        penalty=penalty,
        centre=np.array([PRIOR[name] for name in EVIDENCE]),
    )
    return SurfaceModel(
        mean=_rounded(mean),
        scale=_rounded(scale),
        weights=_rounded(weights),
        bias=round(bias, DECIMALS),
    )


def _rounded(row: Array) -> tuple[float, ...]:
    return tuple(round(float(value), DECIMALS) for value in row)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What a model that never saw this prompt's project says of its short list: logits with the share in them, by memory id."""

    asked: PromptCandidates
    logits: Mapping[str, float]


def predict(model: SurfaceModel, prompts: Sequence[PromptCandidates]) -> list[Predicted]:
    """Uncalibrated logits of every candidate that the start pack does not hold."""
    predicted: list[Predicted] = []
    for prompt in prompts:
        logits: dict[str, float] = {}
        if prompt.query is not None and prompt.candidates:
            gains = model.gains(
                evidence_of(prompt.query, prompt.candidates, domain_similarity=prompt.domain_similarity)
            )
            totals = with_share(gains.sum(axis=1) + model.bias)
            logits = {
                candidate.memory.id: float(total)
                for candidate, total in zip(prompt.candidates, totals, strict=True)
                if candidate.memory.id not in prompt.start
            }
        predicted.append(Predicted(asked=prompt, logits=logits))
    return predicted


def platt(predicted: Sequence[Predicted]) -> tuple[float, float]:
    """Slope and offset that turn logits into probabilities, over the judged pairs of the prompts' own stores."""
    pairs = [
        (value, float(name in prediction.asked.needed))
        for prediction in predicted
        if not prediction.asked.crossed
        for name, value in sorted(prediction.logits.items())
        if name not in prediction.asked.marginal
    ]
    x, y = np.array([[value] for value, _ in pairs]), np.array([hit for _, hit in pairs])
    weights, bias = ridge_logistic(x, y, np.ones(len(y)), penalty=1e-3)
    return round(max(float(weights[0]), 0.05), DECIMALS), round(bias, DECIMALS)


def calibrated(predicted: Sequence[Predicted], slope: float, offset: float) -> list[Predicted]:
    """The same with probabilities."""
    return [
        replace(
            prediction,
            logits={
                name: float(1 / (1 + np.exp(-(slope * logit + offset))))
                for name, logit in prediction.logits.items()
            },
        )
        for prediction in predicted
    ]


def wrongful_by_project(chances: Sequence[Predicted], threshold: float) -> dict[str, tuple[int, int]]:
    """How many of the prompts that deserve nothing get something, and how many there are, by project."""
    counts: dict[str, tuple[int, int]] = {}
    for prediction in chances:
        if prediction.asked.nothing:
            wrong, silent = counts.get(prediction.asked.store, (0, 0))
            got = max(prediction.logits.values(), default=0.0) >= threshold
            counts[prediction.asked.store] = (wrong + got, silent + 1)
    return counts


def shown_above(wrong: int, silent: int, bound: float = WRONGFUL) -> bool:
    """Whether so many of `silent` are too many to come from a rate of `bound` by chance."""
    tail = sum(comb(silent, k) * bound**k * (1 - bound) ** (silent - k) for k in range(wrong, silent + 1))
    return tail < BY_CHANCE


def level_thresholds(chances: Sequence[Predicted]) -> dict[LevelName, float]:
    """The threshold of each level, from calibrated predictions for projects left out."""
    thresholds: dict[LevelName, float] = {}
    for level, worth in WORTH.items():
        steps = round(1 / (1 + worth) / STEP)
        while level != "eager" and any(
            shown_above(*counts) for counts in wrongful_by_project(chances, steps * STEP).values()
        ):
            steps += 1
        thresholds[level] = round(steps * STEP, 2)
    return thresholds


def without(prompts: Sequence[PromptCandidates], *names: str) -> list[PromptCandidates]:
    """Those whose store and whose prompt belong to none of `names`."""
    return [
        prompt
        for prompt in prompts
        if not any(same_project(prompt.store, name) or same_project(prompt.prompt_of, name) for name in names)
    ]


def left_out(usable: Sequence[PromptCandidates], *, penalty: float = PENALTY) -> list[Predicted]:
    """Predictions for the prompts of each project by a model of the others."""
    predicted: list[Predicted] = []
    for store in dict.fromkeys(prompt.store for prompt in usable):
        training = without(usable, store)
        if any(prompt.needed for prompt in training):
            model = fit_weights(pairs_of(training), penalty=penalty)
            predicted += predict(model, [prompt for prompt in usable if prompt.store == store])
    return predicted


def fit_gate(prompts: Sequence[PromptCandidates], *, penalty: float = PENALTY) -> SurfaceModel:
    """The calibrated model with the threshold of `balanced`."""
    final = fit_weights(pairs_of(prompts), penalty=penalty)
    # One project alone is predicted by its own model: for tries on small data.
    inner = left_out(prompts, penalty=penalty) or predict(final, prompts)
    slope, offset = platt(inner)
    threshold = level_thresholds(calibrated(inner, slope, offset))["balanced"]
    return replace(final, slope=slope, offset=offset, threshold=threshold)
