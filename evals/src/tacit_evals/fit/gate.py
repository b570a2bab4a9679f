"""Fit the gate: relevance of a short list per surface, its calibration and its threshold. In: judged projects. Out: a `GateModel`.

The short lists are those of the shipped read path (`Pool`, with a gate that only listens). Negatives are the pairs that
no judge gave anything, and the prompts of one project asked of another one's store (generic rules aside). Marginal pairs
are left out. Deterministic: rows in the order of the data, no randomness.

Weights: logistic regression with a normal prior (maximum a posteriori; Bishop, 2006, section 4.5; Newton steps). The prior says that
every piece of evidence counts alike, and it is strong on purpose: two or three projects teach how much a piece counts in them,
not how much it will count in the next one (docs/adr/0023-evidence-counts-alike.md). Calibration (Platt, 1999) and
threshold use predictions for prompts that the weights were not fitted on (`FOLDS` parts). Leaving a whole project out here
too leaves one to fit on, and thresholds half again as high as the bounds ask for.

Threshold (conformal risk control, Angelopoulos et al., 2024): with n prompts of those predictions and a loss of at most 1, the
least threshold t with  (n / (n + 1)) * mean loss(t) + 1 / (n + 1) <= alpha  bounds the expected loss on a further exchangeable
prompt by alpha. Three losses are bounded, each with given and with local triggers, and the greatest threshold holds:

    wrongful   a prompt that deserves nothing got anything                                  <= `ALPHA`
    foreign    a prompt of another project got anything that is not generic                 <= `FOREIGN`
    tokens     tokens of the block / `MOST_TOKENS`                                          <= `TOKENS` / `MOST_TOKENS`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from tacit.config.settings import RecallSettings
from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.ports.models import Embedder
from tacit.recall.score.gate.evidence import EVIDENCE, evidence_of
from tacit.recall.score.gate.model import FULL_LIST, MAX_STANDARDIZED, SurfaceModel
from tacit_evals.data.judged import Judgment, Project, Prompt
from tacit_evals.fit.leaks import same_project
from tacit_evals.fit.parts import SHIPPED, Fitted
from tacit_evals.fit.situation import LabelledPrompt
from tacit_evals.suites.pool import Pool

Array = NDArray[np.float64]
ALPHA = 0.12
"""Bound on the expected rate of injections into prompts that deserve nothing."""
FOREIGN = 0.035
"""The same for prompts of another project, what applies everywhere aside."""
STRANGERS = 90
"""So many prompts of further projects, which nobody judged, are asked of every store besides."""
TOKENS = 30.0
"""Bound on the expected tokens a prompt."""
MOST_TOKENS = 400.0
"""No prompt is charged more than this: a loss has to have a bound."""
PRIOR: Mapping[str, float] = {
    "intent": 0.4, "breadth": 0.4, "character": 0.4, "cosine": 0.4, "rare": 0.4, "nearness": 0.2,
}  # fmt: skip
"""Mean of the prior, per standard deviation of the evidence. Half as much for `nearness`: it tells strangers, not memories."""
PENALTY = 400.0
"""Precision of the prior: 1 / variance of each weight."""
CROSS_WEIGHT = 0.2
START_WEIGHT = 0.3
"""Of pairs with memories of the start pack: what tells them is what tells the others, but broad ones stand there."""
START_TOKENS = 1_000
STEPS = 20
FOLDS = 5
FEWS = (1, 2, 4, 8)
FRAME_TOKENS, LINE_TOKENS = 14, 8
"""What a block and a line of it cost besides the statements, about."""
DECIMALS = 5


@dataclass(slots=True)
class Listener:
    """A gate that keeps what it is asked and hands nothing over."""

    heard: list[tuple[Query, tuple[Candidate, ...], float | None]] = field(
        default_factory=list[tuple[Query, tuple[Candidate, ...], float | None]]
    )

    def covers(self, surface: Surface) -> bool:
        return surface is Surface.PROMPT

    def judge(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        *,
        kinds: KindRegistry,
        among: int = 0,
        domain_similarity: float | None = None,
    ) -> list[tuple[float, tuple[str, ...]]]:
        del kinds, among
        self.heard.append((query, tuple(candidates), domain_similarity))
        return [(0.0, ())] * len(candidates)

    def thresholds(self) -> Mapping[str, float]:
        return {"prompt": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCandidates:
    """One prompt's short list. `needed`: grade by memory id; None = a prompt of another project.

    `nothing`: a judge said that it deserves nothing. `given`: asked of triggers that somebody gave.
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
    given: bool = False
    domain_similarity: float | None = None


def ask_all(
    projects: Sequence[Project],
    *,
    embedder: Embedder,
    settings: RecallSettings,
    given: bool,
    fitted: Fitted = SHIPPED,
    strangers: Sequence[Prompt] = (),
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
                given=given,
                fitted=replace(fitted, gate=listener),
                asked_by=asker,
            )
            try:
                generic = pool.generic()
                for prompt in prompts:
                    start = pool.start(tokens=START_TOKENS, at_ms=prompt.at_ms or project.prompts[-1].at_ms)
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
                            given=given,
                            domain_similarity=domain_similarity,
                        )
                    )
            finally:
                pool.close()
    return lists


def strangers_of(prompts: Sequence[LabelledPrompt], projects: Sequence[Project]) -> tuple[Prompt, ...]:
    """`STRANGERS` of `prompts` that belong to none of `projects`, evenly spread over them."""
    strangers = [
        prompt
        for prompt in prompts
        if not any(same_project(prompt.project, project.name) for project in projects)
    ]
    return tuple(
        Prompt(
            id=f"stranger {number}",
            session="",
            turn=0,
            at_ms=0,
            text=prompt.text,
            previous=prompt.previous_end,
            files=tuple(prompt.files),
            judgment=Judgment(),
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


def pairs_of(
    prompts: Sequence[PromptCandidates],
    *,
    cross_weight: float = CROSS_WEIGHT,
    start_weight: float = START_WEIGHT,
) -> Pairs:
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
            weight.append(cross_weight if prompt.crossed else start_weight if name in prompt.start else 1.0)
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
    """What a model that never saw this prompt's project says of its short list: logits by memory id."""

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
            totals = gains.sum(axis=1) + model.bias
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


def controlled_threshold(
    predicted: Sequence[Predicted], *, slope: float, offset: float, alpha: float = ALPHA
) -> float:
    """Least relevance whose bounded rate of injections into prompts that deserve nothing is at most `alpha`."""
    return _least(
        [_best(prediction) for prediction in predicted if prediction.asked.nothing],
        slope,
        offset,
        alpha=alpha,
    )


def foreign_threshold(
    predicted: Sequence[Predicted], *, slope: float, offset: float, alpha: float = FOREIGN
) -> float:
    """The same for prompts of another project, of what is not generic."""
    best = [
        _best(prediction, without=prediction.asked.generic)
        for prediction in predicted
        if prediction.asked.crossed
    ]
    return _least(best, slope, offset, alpha=alpha) if best else 0.0


def token_threshold(
    predicted: Sequence[Predicted], *, slope: float, offset: float, most: float = TOKENS
) -> float:
    """Least relevance that hands over at most `most` tokens a prompt of its own project, bounded as the rates are."""
    own = [prediction for prediction in predicted if not prediction.asked.crossed]
    lines = sorted(
        (
            (logit, at, candidate.memory.tokens + LINE_TOKENS)
            for at, prediction in enumerate(own)
            for candidate in prediction.asked.candidates
            if (logit := prediction.logits.get(candidate.memory.id)) is not None
        ),
        reverse=True,
    )
    spent = np.zeros(len(own))
    for logit, at, tokens in lines:
        spent[at] += tokens + (FRAME_TOKENS if not spent[at] else 0.0)
        if np.minimum(spent, MOST_TOKENS).sum() + MOST_TOKENS > most * (len(own) + 1):
            return round(min(1.0, _probability(logit, slope, offset) + 1e-4), 4)
    return 0.0


def bounded_threshold(
    predicted: Sequence[Predicted],
    *,
    slope: float,
    offset: float,
    alpha: float,
    foreign: float = FOREIGN,
    tokens: float = TOKENS,
) -> float:
    """The threshold that keeps every bound with given and with local triggers."""
    thresholds = [0.0]
    for given in {prediction.asked.given for prediction in predicted}:
        subset = [prediction for prediction in predicted if prediction.asked.given == given]
        thresholds.append(controlled_threshold(subset, slope=slope, offset=offset, alpha=alpha))
        thresholds.append(foreign_threshold(subset, slope=slope, offset=offset, alpha=foreign))
        thresholds.append(token_threshold(subset, slope=slope, offset=offset, most=tokens))
    return max(thresholds)


def _best(prediction: Predicted, *, without: frozenset[str] = frozenset()) -> float:
    return max((logit for name, logit in prediction.logits.items() if name not in without), default=-50.0)


def _least(logits: Sequence[float], slope: float, offset: float, *, alpha: float) -> float:
    best = sorted((_probability(logit, slope, offset) for logit in logits), reverse=True)
    n = len(best)
    allowed = int(np.floor(alpha * (n + 1) - 1))
    if allowed < 0 or not best:
        return 1.0
    return round(min(1.0, best[allowed] + 1e-4), 4) if allowed < n else 0.0


def few_gain(
    folds: Sequence[tuple[SurfaceModel, Sequence[PromptCandidates]]],
    *,
    slope: float,
    offset: float,
    threshold: float,
    alpha: float,
) -> float:
    """How much a list of n gains over one of `FULL_LIST`: mean of (t(MANY) - t(n)) / ln(MANY / n) over `FEWS`, t in log odds.

    t(MANY) is the threshold; t(n) the one that keeps the bound of wrongful injections on lists of n, cut from those of the
    prompts in the order of a hash. A store of a few memories is not asked for what strangers get of a large one.
    """

    def least(size: int) -> float:
        lists = [
            prediction
            for model, rows in folds
            for prediction in predict(
                model, [cut for prompt in rows if prompt.nothing for cut in _cut(prompt, size)]
            )
        ]
        return _log_odds(controlled_threshold(lists, slope=slope, offset=offset, alpha=alpha))

    whole = _log_odds(threshold)
    gains = [(whole - least(n)) / float(np.log(FULL_LIST / n)) for n in FEWS]
    return round(max(float(np.mean(gains)), 0.0), DECIMALS)


def _cut(prompt: PromptCandidates, size: int) -> list[PromptCandidates]:
    """The list of `prompt` in lists of `size`, without what the start pack holds."""
    names = sorted(
        (candidate for candidate in prompt.candidates if candidate.memory.id not in prompt.start),
        key=lambda candidate: sha256(f"{prompt.item} {candidate.memory.id}".encode()).digest(),
    )
    starts = range(0, max(len(names), 1), size)
    return [replace(prompt, candidates=tuple(names[at : at + size])) for at in starts]


def _log_odds(chance: float) -> float:
    within = min(max(chance, 1e-4), 1 - 1e-4)
    return float(np.log(within / (1 - within)))


def _probability(logit: float, slope: float, offset: float) -> float:
    return float(1 / (1 + np.exp(-(slope * logit + offset))))


def fit_gate(
    prompts: Sequence[PromptCandidates],
    *,
    exclude: Sequence[str] = (),
    alpha: float = ALPHA,
    penalty: float = PENALTY,
) -> SurfaceModel:
    """The calibrated model with its threshold, from prompts and stores of all projects but those of `exclude`.

    Every row whose store or whose prompt belongs to an excluded project is dropped.
    """
    usable = [
        prompt
        for prompt in prompts
        if not any(
            same_project(prompt.store, name) or same_project(prompt.prompt_of, name) for name in exclude
        )
    ]
    final = fit_weights(pairs_of(usable), penalty=penalty)
    folds = cross_fitted(usable, penalty=penalty)
    inner = [prediction for model, rows in folds for prediction in predict(model, rows)]
    slope, offset = platt(inner)
    threshold = bounded_threshold(inner, slope=slope, offset=offset, alpha=alpha)
    few = few_gain(folds, slope=slope, offset=offset, threshold=threshold, alpha=alpha)
    return replace(final, slope=slope, offset=offset, threshold=threshold, few=few)


def cross_fitted(
    usable: Sequence[PromptCandidates], *, penalty: float = PENALTY
) -> list[tuple[SurfaceModel, list[PromptCandidates]]]:
    """Models with the prompts that they did not see: `FOLDS` parts of the prompts, by a hash of what they are called."""
    folds: list[tuple[SurfaceModel, list[PromptCandidates]]] = []
    for number in range(FOLDS):
        training = [prompt for prompt in usable if _fold(prompt) != number]
        held_out = [prompt for prompt in usable if _fold(prompt) == number]
        if held_out and any(prompt.needed for prompt in training):
            folds.append((fit_weights(pairs_of(training), penalty=penalty), held_out))
    return folds


def _fold(prompt: PromptCandidates) -> int:
    return sha256(f"{prompt.prompt_of} {prompt.item}".encode()).digest()[0] % FOLDS
