"""The gate's model: calibrated relevance per surface, with the threshold it was fitted with.

In: a query with its short list. Out: relevance (0-1) and reasons for every candidate. A frozen value, made from data.

    relevance = sigmoid(slope * (bias + sum of weight * (evidence - mean) / scale) + offset + few * ln(FULL_LIST / n)
                        - STORE_SIZE_PENALTY * ln(N / FITTED_STORE_SIZE))

each standardised evidence kept within -10 and 10. Logistic regression with a ridge penalty, then Platt's calibration (Platt, 1999)
on predictions for projects that the weights were not fitted on. The threshold is chosen on those same predictions by
conformal risk control (Angelopoulos et al., 2024); both are made in `tacit_evals.fit.gate`.

n is the length of the list, `FULL_LIST` at most. The best of twelve memories that nobody needs scores higher than the best of two, so
that a bound on wrongful injections asks for less in a store of two: `few` says by how much, and one threshold serves both. N is the number of memories in scope, at least `FITTED_STORE_SIZE`: the best of
ten thousand score higher still, and no prompt needs more of them for that.

What a person said about when a memory applies is no evidence to be weighed: where the situation is that one, with chance c
times weight w of at least `MIN_USER_TRIGGER`, relevance is at least c w; where that was said of more than `SHORT_LIST`, it holds for those of the
greatest relevance, for "when writing code" of forty rules chooses none of them. And where the list holds few, nothing competes with a rule whose
trigger meets what is coming: with a match m of at least `MIN_TRIGGER_MATCH` the relevance of a standing rule is at least m s, s = 1 up to
`SHORT_LIST` candidates, falling to 0 at `FULL_LIST` (own; on lists of four drawn from judged projects such a match alone gave something to
4 % of the prompts that deserve nothing, at a precision of 0.71).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from tacit.errors import InvalidInput
from tacit.fitted import Artifact, Origin, load_fitted
from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.recall.score.gate.evidence import EVIDENCE, Row, evidence_of

MAX_STANDARDIZED = 10.0
MIN_USER_TRIGGER = 0.5
MIN_TRIGGER_MATCH = 0.8
SHORT_LIST = 4
FULL_LIST = 12
"""From so many candidates on a list is as long as those that the threshold was fitted on."""
FITTED_STORE_SIZE = 140
"""Memories in the scopes that the models were fitted on."""
STORE_SIZE_PENALTY = 0.9
"""Among many memories the best of them look good by chance: this times ln(memories / `FITTED_STORE_SIZE`) goes from the logit.

Chosen so that 540 and 1,240 memories, most of them rules of other projects, hand over about as many as 140 do
(`python -m tacit_evals.crowd`; 0 = five times as many, 1 = if the number of needed memories did not grow at all).
"""
MIN_EXPLAINED_RELEVANCE = 0.1
"""Below it nobody asks why a candidate scored what it did."""
MIN_EXPLAINED_GAIN = 0.2
_MAX_REASONS = 3


@dataclass(frozen=True, kw_only=True)
class SurfaceModel:
    """The model of one surface.

    Attributes:
        mean, scale, weights: one number per name of `EVIDENCE`.
        bias, slope, offset: of the formula.
        threshold: least relevance that is handed over, as fitted.
        few: log odds that a list gains for each halving (in natural units) below `FULL_LIST`.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    slope: float = 1.0
    offset: float = 0.0
    threshold: float = 0.5
    few: float = 0.0

    def __post_init__(self) -> None:
        for name, row in (("mean", self.mean), ("scale", self.scale), ("weights", self.weights)):
            if len(row) != len(EVIDENCE):
                raise InvalidInput(f"The gate has {len(row)} numbers in {name!r}; it needs {len(EVIDENCE)}.")

    @cached_property
    def _rows(self) -> tuple[Row, Row, Row]:
        return np.array(self.mean), np.array(self.scale), np.array(self.weights)

    def gains(self, evidence: Row) -> Row:
        """What each column adds to the logit, same shape."""
        mean, scale, weights = self._rows
        return (
            np.minimum(np.maximum((evidence - mean) / scale, -MAX_STANDARDIZED), MAX_STANDARDIZED) * weights
        )

    def relevance(self, gains: Row, *, among: int = 0) -> Row:
        """Calibrated probability of each row of `gains`; `among` = memories in scope that they are the best of."""
        z = self.slope * (np.add.reduce(gains, axis=1) + self.bias) + self.offset
        z += self.few * math.log(FULL_LIST / min(max(len(gains), 1), FULL_LIST))
        z -= STORE_SIZE_PENALTY * math.log(max(among, FITTED_STORE_SIZE) / FITTED_STORE_SIZE)
        return 1.0 / (1.0 + np.exp(-z))


class Gate(Protocol):
    """Scorer of a whole short list. `GateModel` is the shipped one; evaluation adds others."""

    def covers(self, surface: Surface) -> bool:
        """Whether relevance on `surface` is judged by this gate."""
        ...

    def judge(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        *,
        kinds: KindRegistry,
        among: int = 0,
        domain_similarity: float | None = None,
    ) -> Sequence[tuple[float, tuple[str, ...]]]:
        """Relevance (0-1) with short reasons for every candidate, in the order given.

        Args:
            query: what is asked.
            candidates: the short list.
            kinds: the kinds.
            among: memories in scope.
            domain_similarity: see `recall.spaces.semantic.domain_similarity_z`.
        """
        ...

    def thresholds(self) -> Mapping[str, float]:
        """Least relevance by name of the surface, where this gate was fitted with one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GateModel:
    """The models of the surfaces that have one, and where they come from."""

    surfaces: Mapping[Surface, SurfaceModel]
    origin: Origin = field(default_factory=Origin)

    def covers(self, surface: Surface) -> bool:
        """Whether relevance on `surface` is judged by this model."""
        return surface in self.surfaces

    def judge(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        *,
        kinds: KindRegistry,
        among: int = 0,
        domain_similarity: float | None = None,
    ) -> tuple[tuple[float, tuple[str, ...]], ...]:
        """Relevance with short reasons, strongest first, for every candidate in the order given."""
        model = self.surfaces[query.surface]
        gains = model.gains(evidence_of(query, candidates, domain_similarity=domain_similarity))
        values = model.relevance(gains, among=among).tolist()
        share = short_list_share(len(candidates))
        judged: list[tuple[float, tuple[str, ...]]] = []
        values = [value * _age(candidate, kinds) for candidate, value in zip(candidates, values, strict=True)]
        user_floors = _user_trigger_floor(query, candidates, values)
        for at, (candidate, row) in enumerate(zip(candidates, gains.tolist(), strict=True)):
            value = values[at]
            if user_floors.get(at, 0.0) > value:
                judgment = (user_floors[at], ("a person said when",))
            else:
                judgment = (value, _reasons(row) if value >= MIN_EXPLAINED_RELEVANCE else ())
            judged.append(
                _trigger_match_floor(judgment, candidate, kinds, share=share) if share else judgment
            )
        return tuple(judged)

    def thresholds(self) -> dict[str, float]:
        """See `Gate`."""
        return {surface.value: model.threshold for surface, model in self.surfaces.items()}


def _user_trigger_floor(
    query: Query, candidates: Sequence[Candidate], values: Sequence[float]
) -> dict[int, float]:
    """The least relevance of those that a person said apply now, by their place in the list: of the best `SHORT_LIST`."""
    applicable: list[tuple[float, str, int, float]] = []
    for at, (candidate, value) in enumerate(zip(candidates, values, strict=True)):
        trigger = candidate.memory.trigger
        if trigger.maker == "user":
            chances = [weight * query.situation.probability(name) for name, weight in trigger.actions]
            if (least := max(chances, default=0.0)) >= MIN_USER_TRIGGER:
                applicable.append((-value, candidate.memory.id, at, least))
    return {at: least for _, _, at, least in sorted(applicable)[:SHORT_LIST]}


def short_list_share(size: int) -> float:
    """Return how short a list of `size` is: 1 up to `SHORT_LIST`, falling to 0 at `FULL_LIST`."""
    return min(1.0, max(0.0, (FULL_LIST - size) / (FULL_LIST - SHORT_LIST)))


def _trigger_match_floor(
    judged: tuple[float, tuple[str, ...]], candidate: Candidate, kinds: KindRegistry, *, share: float
) -> tuple[float, tuple[str, ...]]:
    match = candidate.score("intent") or 0.0
    if (
        match >= MIN_TRIGGER_MATCH
        and match * share > judged[0]
        and kinds.of_stored(candidate.memory.kind).standing
    ):
        return match * share, ("governs what is coming",)
    return judged


def _age(candidate: Candidate, kinds: KindRegistry) -> float:
    """What tells of something that happened fades with its half-life; everything else holds until it is superseded."""
    return (candidate.score("recent") or 0.0) if kinds.of_stored(candidate.memory.kind).episodic else 1.0


def _reasons(gains: Sequence[float]) -> tuple[str, ...]:
    best = sorted(
        [(-gain, name) for gain, name in zip(gains, EVIDENCE, strict=True) if gain > MIN_EXPLAINED_GAIN]
    )
    return tuple([f"{name} +{-gain:.1f}" for gain, name in best[:_MAX_REASONS]])


@dataclass(frozen=True, slots=True, kw_only=True)
class GateValues:
    """A `GateModel` as the file holds it; `evidence` = the names of the columns."""

    evidence: tuple[str, ...]
    surfaces: Mapping[Surface, SurfaceModel]


def gate_from(artifact: Artifact[GateValues]) -> GateModel:
    """The model of a file.

    Raises:
        InvalidInput: if it names other evidence than this version reads.
    """
    if artifact.values.evidence != EVIDENCE:
        raise InvalidInput(
            "The gate was fitted on other evidence than this version reads.",
            hint="Fit it again: `python -m tacit_evals.fit --data DIR --date DATE`.",
        )
    return GateModel(surfaces=artifact.values.surfaces, origin=artifact.origin)


def gate_artifact(gate: GateModel) -> Artifact[GateValues]:
    """The content of the file of `gate`."""
    return Artifact(
        name="gate", origin=gate.origin, values=GateValues(evidence=EVIDENCE, surfaces=gate.surfaces)
    )


def shipped_gate() -> GateModel:
    """The gate that ships."""
    return load_fitted("gate", GateValues, gate_from)
