"""The gate: relevance of a whole short list at once, calibrated per surface, with the threshold it was fitted with.

In: a query with its short list. Out: relevance (0-1) and reasons for every candidate. The model is a frozen value, made from data;
`cover` alone reads the store.

    logit     = bias + sum of weight * (evidence - mean) / scale
    relevance = sigmoid(slope * (logit + SHARE_WEIGHT * ln(share + LEAST_SHARE)) + offset
                        - STORE_SIZE_PENALTY * ln(N / FITTED_STORE_SIZE))
    share     = exp(logit) / sum of exp(logit) over the list (softmax)

each standardized evidence kept within -10 and 10. Logistic regression with a ridge penalty, then Platt's calibration (Platt, 1999)
on predictions for projects that the weights were not fitted on; both are made in `tacit_evals.fit.gate`.

A memory that alone stands out among those that come near is needed more often than one of many that are alike: hence the share. N is the
number of memories in scope, at least `FITTED_STORE_SIZE`: the best of ten thousand score higher still, and no prompt needs more of them for that.
Nothing raises a relevance past this (ADR 87).

The evidence is one row of numbers for every candidate, one column per name in `EVIDENCE`:

    character      3 x set cosine of character 3-grams
    cosine         deviations above the scope's usual cosine (`recall.spaces.semantic.make_similarity_z`)
    rare           greatest ln((n + 1) / (k + 0.5)) of the prompt's words that the memory holds too, at least 0; n = length of
                   the list, `LEAST_LIST` at least, k = how many of it hold that word (the idf of Robertson and Sparck Jones,
                   1976, in the smoothed form of Lucene); 0 without one
    nearness       deviations by which the best cosines of the scope lie above what is usual (`recall.spaces.semantic.domain_similarity_z`): a
                   prompt that this project has nothing to say to is far from all of it; the same for all candidates
    covered        how much of what the prompt names the memory holds: idf of the words that both hold / idf of the prompt's words
                   that any memory in scope holds (`cover`)

If the embedder does not read the language of a text, the cosine is no evidence. It is replaced by that of English pairs with the same number of
shared runs of letters (`expected_cosine`).

What the prompt makes the agent do next and what a memory's trigger says is no evidence here: on projects left out it told nothing that
the words did not tell (ADR 87). It serves tool calls, where the action is certain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.fitted import Artifact, Origin, load_fitted
from tacit.model.evidence import Candidate
from tacit.model.kinds import KindRegistry
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.recall.stage import Outcome, RecallState, Tools
from tacit.text.natural_language import ENGLISH, natural_language_of
from tacit.text.stemming import content_words, leading_letters, stem_list
from tacit.text.tokens import is_closed_up

# --- evidence

Row = NDArray[np.float64]

EVIDENCE: tuple[str, ...] = ("character", "cosine", "rare", "nearness", "covered")
"""Names of the columns."""
COVERED = "covered"
"""The column that `cover` computes."""

CHARACTER_SCALE = 3.0
PROMPT_CHARS = 480
"""So much of a prompt is looked at for words: what is embedded of it."""
LEAST_CHARS = 3
"""Of a stem; a shorter one stands in too many other words."""
LEAST_LIST = 4
"""In a shorter list every word that is shared would be a usual one."""
COSINE_PER_CHARACTER, UNRELATED_CHARACTER = 3.9, 0.1
"""Slope and zero of `expected_cosine`."""
MEAN_DOMAIN_SIMILARITY = 2.5
"""Of a mean prompt in its own project; taken where nothing is known."""


def evidence_of(
    query: Query, candidates: Sequence[Candidate], *, domain_similarity: float | None = None
) -> Row:
    """The evidence of all candidates, shape (candidates, columns of `EVIDENCE`); `domain_similarity` is None where it is not known."""
    # One by one: for a list as short as this, setting up arrays takes longer than the numbers.
    if not candidates:
        return np.zeros((0, len(EVIDENCE)))
    rare = rarest_shared(query.raw_text, [candidate.memory.content for candidate in candidates])
    near = MEAN_DOMAIN_SIMILARITY if domain_similarity is None else domain_similarity
    rows: list[tuple[float, ...]] = []
    for candidate, rarity in zip(candidates, rare, strict=True):
        scores = dict(candidate.scores)
        character = scores.get("character", 0.0) * CHARACTER_SCALE
        cosine = candidate.similarity_z
        if cosine is None:
            cosine = expected_cosine(character)
        rows.append((character, cosine, rarity, near, scores.get(COVERED, 0.0)))
    return np.array(rows)


def cover(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """The candidates of a prompt with how much of what it names each of them holds (`COVERED`)."""
    query, candidates = state.query, state.found or ()
    words = content_words(query.raw_text[:PROMPT_CHARS]) if candidates else ()
    names = tuple(candidate.memory.id for candidate in candidates)
    if not words:
        return Outcome(kept=state)
    table = tools.store.search.word_table(
        words, scope=query.scope, limit=1, also=names, kinds=query.kinds, common=False
    )
    whole = float(table.weights.sum())
    if whole <= 0.0:
        return Outcome(kept=state)
    shares = ((table.scores > 0.0) @ table.weights / whole).round(4).tolist()
    share_of = dict(zip(table.ids, shares, strict=True))
    found = tuple(
        replace(candidate, scores=(*candidate.scores, (COVERED, share_of.get(candidate.memory.id, 0.0))))
        for candidate in candidates
    )
    return Outcome(kept=state.changed(found=found))


def expected_cosine(character: float) -> float:
    """Return the cosine of English pairs with this character evidence, in standard deviations above the mean.

    A line through unrelated pairs (0 by definition) and the judged pairs of two projects with an evidence above 1.2 (5).
    """
    return COSINE_PER_CHARACTER * (character - UNRELATED_CHARACTER)


def rarest_shared(text: str, contents: Sequence[str]) -> list[float]:
    """How rare, among `contents`, the rarest word of `text` is that each of them holds; 0 where they share none."""
    words = _shared_parts(text[:PROMPT_CHARS])
    rarities = [0.0] * len(contents)
    lowered = [content.lower() for content in contents]
    longest = math.log(max(len(contents), LEAST_LIST) + 1)
    for word in words:
        holding = [at for at, content in enumerate(lowered) if word in content]
        if holding:
            rarity = longest - math.log(len(holding) + 0.5)
            for at in holding:
                rarities[at] = max(rarities[at], rarity)
    return rarities


def _shared_parts(text: str) -> set[str]:
    """Return the parts of words to look for in memories: stems in English, leading letters in other languages."""
    parts = stem_list(text) if natural_language_of(text) == ENGLISH else leading_letters(text)
    return {part for part in parts if len(part) >= LEAST_CHARS or is_closed_up(part)}


# --- model

MAX_STANDARDIZED = 10.0
SHARE_WEIGHT = 2.0
LEAST_SHARE = 0.03
"""Of the softmax; a lower one counts as this."""
FITTED_STORE_SIZE = 140
"""Memories in the scopes that the models were fitted on."""
STORE_SIZE_PENALTY = 0.9
"""Among many memories the best of them look good by chance: this times ln(memories / `FITTED_STORE_SIZE`) goes from the logit.

Chosen so that 540 and 1,240 memories, most of them rules of other projects, hand over about as many as 140 do (docs/research/0014-gate.md;
0 = five times as many, 1 = if the number of needed memories did not grow at all).
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
