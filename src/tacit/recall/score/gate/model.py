"""The gate's model: calibrated relevance per surface, with the threshold it was fitted with.

In: a query with its short list. Out: relevance (0-1) and reasons for every candidate. A frozen value, made from data.

    logit     = bias + sum of weight * (evidence - mean) / scale
    relevance = sigmoid(slope * (logit + SHARE_WEIGHT * ln(share + LEAST_SHARE)) + offset
                        - STORE_SIZE_PENALTY * ln(N / FITTED_STORE_SIZE))
    share     = exp(logit) / sum of exp(logit) over the list (softmax)

each standardized evidence kept within -10 and 10. Logistic regression with a ridge penalty, then Platt's calibration (Platt, 1999)
on predictions for projects that the weights were not fitted on; both are made in `tacit_evals.fit.gate`.

A memory that alone stands out among those that come near is needed more often than one of many that are alike: hence the share. N is the
number of memories in scope, at least `FITTED_STORE_SIZE`: the best of ten thousand score higher still, and no prompt needs more of them for that.
Nothing raises a relevance past this (ADR 87).
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
SHARE_WEIGHT = 2.0
LEAST_SHARE = 0.03
"""Of the softmax; a lower one counts as this."""
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
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float
    slope: float = 1.0
    offset: float = 0.0
    threshold: float = 0.5

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
        z = self.slope * with_share(np.add.reduce(gains, axis=1) + self.bias) + self.offset
        z -= STORE_SIZE_PENALTY * math.log(max(among, FITTED_STORE_SIZE) / FITTED_STORE_SIZE)
        return 1.0 / (1.0 + np.exp(-z))


def with_share(logits: Row) -> Row:
    """The logits of one list with what each candidate's share of it adds; see the formula."""
    if not len(logits):
        return logits
    odds = np.exp(logits - logits.max())
    return logits + SHARE_WEIGHT * np.log(odds / odds.sum() + LEAST_SHARE)


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
        return tuple(
            (value * _age(candidate, kinds), _reasons(row) if value >= MIN_EXPLAINED_RELEVANCE else ())
            for candidate, row, value in zip(candidates, gains.tolist(), values, strict=True)
        )

    def thresholds(self) -> dict[str, float]:
        """See `Gate`."""
        return {surface.value: model.threshold for surface, model in self.surfaces.items()}


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
