"""Stage 5: turn evidence into relevance, the calibrated probability (0-1) that injecting a candidate helps.

Before a prompt the fitted gate judges; for a start the model of need; presets with floors of their own count what reaches them.
What a model in the pause named, and what use has shown, is added to what was judged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import repeat
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.config.settings import JudgeSettings, RecallSettings
from tacit.errors import InvalidInput
from tacit.fitted import Artifact, FitOrigin, load_fitted, values_of
from tacit.fitted.matrices import Int8Matrix, from_int8
from tacit.frozen import frozen
from tacit.model.evidence import Candidate, Parts
from tacit.model.kinds import Kind, KindRegistry
from tacit.model.memory import Entity, Memory, Relation, TrustTier
from tacit.model.pack import Surface
from tacit.model.query import Query
from tacit.model.trace import Drop, DropCause, DropReason
from tacit.model.trigger import GREATEST_BREADTH
from tacit.ports.models import EmbedderIdentity, Vectors
from tacit.ports.search import Search
from tacit.reading.terms import find_entities
from tacit.recall import spaces
from tacit.recall.spaces import COVERED, freshness
from tacit.recall.stage import LAST_SESSION, Judgment, Outcome, RecallState, Tools, UseCounts
from tacit.text.lazy_regex import lazy_regex
from tacit.text.natural_language import ENGLISH, natural_language_of
from tacit.text.stemming import content_words, leading_letters, light_stem, stem_list
from tacit.text.tokens import ALPHANUMERIC, is_closed_up

# Corrects a relevance by the uses of the memory. Part of stage 5. Pure.
#
# A memory that sessions got and never used is less likely to be needed; one that they used is more likely. What looks like a use may be
# chance: the agent touches a file or says a word that a memory holds, with or without the memory. How often that happens is measured on
# memories of the same place that were not given (`state.counted.Totals`).
#
# The uses of a memory that was given in n sessions are modeled as a Poisson count of mean n * (need * true + chance), where
#
#     chance = share of the memories that were not given and look used
#     true   = share of the given memories that look used, less chance
#     need   = how much more than the average memory this one is needed: a gamma prior of mean 1 and shape k = `PRIOR_USES`
#
# The odds of the gate are multiplied by the posterior mean of `need`. Each use is either true or chance, so the posterior is a mixture of gamma
# distributions over the number j of true uses:
#
#     mean = sum of w(j) * (k + j) / (k + n * true),   w(j) = C(uses, j) * true^j * chance^(uses - j) * Gamma(k + j) / (k + n * true)^(k + j)
#
# Source: Gelman et al., Bayesian data analysis, section 2.6, with a known background rate. Without chance this is (k + uses) / (k + n * true).
# Where given memories look used no more often than others, the factor is 1: nothing is learned from noise. In: candidates. Out: relevance.
#
# Replayed on seven projects in the order of their sessions (ADR 56).

PRIOR_USES = 0.5
"""The weight of the gate beside the record, in uses: the greater, the more sessions it takes to change a relevance."""
EXPECTED_RATE, EXPECTED_CHANCE, EXPECTED_MEMORIES = 0.4, 0.25, 20
"""A new home starts with these rates, as if so many memories had been given and so many not given there already."""
LEAST_FACTOR, GREATEST_FACTOR = 0.1, 3.0
MOST_SESSIONS = 200
"""A longer record counts as one of so many sessions with the same share of uses."""
TOLD_FROM = 1.25
"""A factor of so much, or its inverse, is told as a reason."""


@frozen
class UseRates:
    """How often a memory looks used in a session, 0-1: `chance` = if it was not given there, `true` = how much more often if it was."""

    true: float
    chance: float


def use_rates(counts: UseCounts) -> UseRates:
    """Return the rates of use that follow from the counts of a home, drawn toward the usual ones while the counts are few."""
    expected = EXPECTED_MEMORIES
    rate = (counts.used + EXPECTED_RATE * expected) / (counts.shown + expected)
    chance = (counts.control_used + EXPECTED_CHANCE * expected) / (counts.control_shown + expected)
    return UseRates(true=max(0.0, rate - chance), chance=min(rate, chance))


def usage_factor(memory: Memory, rates: UseRates) -> float:
    """Return the factor for the odds of `memory` by its record of uses; 1 = it was never given, or nothing was learned."""
    sessions = memory.shown_count
    uses = min(memory.use_count, sessions)  # uses of a store from before sessions were counted say nothing
    if sessions > MOST_SESSIONS:
        sessions, uses = MOST_SESSIONS, round(uses * MOST_SESSIONS / sessions)
    if not sessions or rates.true <= 0.0:
        return 1.0
    factor = _posterior_need(sessions, uses, rates)
    return min(GREATEST_FACTOR, max(LEAST_FACTOR, factor))


def _posterior_need(sessions: int, uses: int, rates: UseRates) -> float:
    shape = PRIOR_USES
    scale = shape + sessions * rates.true
    if rates.chance <= 0.0:
        return (shape + uses) / scale
    # The weights relative to the one before, which is what is known of each; their sum is scaled as it grows.
    weight = total = 1.0
    mean = shape / scale
    for true_uses in range(uses):
        weight *= (
            (uses - true_uses) / (true_uses + 1) * (rates.true / rates.chance) * (shape + true_uses) / scale
        )
        total += weight
        mean += weight * (shape + true_uses + 1) / scale
        if total > 1e200:
            weight, total, mean = weight / total, 1.0, mean / total
    return mean / total


def with_usage(judged: Judgment, memory: Memory, rates: UseRates) -> Judgment:
    """Return the judgment with its relevance corrected by the record of uses; a clear correction is added as a reason."""
    relevance, reasons = judged
    factor = usage_factor(memory, rates)
    if not 1 / TOLD_FROM < factor < TOLD_FROM:
        reasons = (*reasons, f"used in {memory.use_count} of {memory.shown_count} sessions")
    return relevance * factor / (1.0 - relevance + relevance * factor), reasons


# Relevance with what a language model named: in the pause before the prompt (armed), or at the prompt. Part of stage 5. Pure.
#
# Armed, before a prompt: local evidence and the model's probability p, both as log odds,
#
#     relevance = sigmoid(bias + local * logit(relevance by the gate) + armed * logit(p) - caution)
#
# p is `LEAST_ARMED` for a memory that was on the model's list and that it did not name. The model does not know the prompt and arms
# something before those that need nothing, too: `caution` is what must go from the odds so that the thresholds, which were fitted for the
# gate, hold for them as before. All four are in `fitted/armed.json` (`tacit_evals.fit.armed`).
#
# Armed, at a tool call or after a failure: the rules of exactness decide whether a memory is about this call. To what they find, p adds
# odds: (p / USUAL_ARMED) times as many, at least once and at most `MOST_GAIN` times. Nothing is lowered (own; not fitted, since nobody
# judged calls with such answers).
#
# At the prompt: relevance is the model's probability for what it named, and nothing for the others. Where it is sure of one memory at
# least (`recall.judge.sure`), those of at least `LEAST_BESIDE` are handed over; else silence.

LEAST_LOCAL = 0.005
LEAST_ARMED = 0.02
MOST_CERTAIN = 0.995
USUAL_ARMED = 0.25
"""About the mean probability that a memory is armed with."""
MOST_GAIN = 3.0
LEAST_BESIDE = 0.3
"""Least probability of the memories that come with one of which a model at the prompt is sure."""


@frozen
class ArmedWeights:
    """Weights of the formula that combines the gate with what was armed, before a prompt."""

    bias: float
    local: float
    armed: float
    caution: float = 0.0


def shipped_weights() -> ArmedWeights:
    """Return the shipped weights of the formula that combines the gate with what a model armed."""
    return load_fitted("armed", ArmedWeights, values_of)


def add_armed_evidence(
    candidate: Candidate,
    relevance: float,
    probability: float,
    *,
    surface: Surface,
    weights: ArmedWeights | None = None,
) -> float:
    """Return the new relevance of a memory that the model was shown: its local `relevance` combined with the `probability` that the model gave it.

    Before a prompt this may lower it; elsewhere it only raises it.

    Args:
        candidate: the memory; if the user gave its trigger, its relevance is not lowered.
        relevance: by local evidence, 0 to 1.
        probability: of being needed, as the model said; 0 = the model did not name the memory.
        surface: of the recall; other ones than a prompt use fixed factors.
        weights: of the formula; None = those that ship.
    """
    if surface is not Surface.PROMPT:
        return _with_more_odds(relevance, probability)
    numbers = weights or shipped_weights()
    odds = (
        numbers.bias
        + numbers.local * logit(relevance, LEAST_LOCAL)
        + numbers.armed * logit(probability, LEAST_ARMED)
        - numbers.caution
    )
    fused = 1.0 / (1.0 + math.exp(-odds))
    return max(fused, relevance) if candidate.memory.trigger.maker == "user" else fused


def logit(probability: float, least: float) -> float:
    """Return the log odds of `probability`, which is first raised to at least `least` and lowered to at most `MOST_CERTAIN`."""
    clamped = min(max(probability, least), MOST_CERTAIN)
    return math.log(clamped / (1.0 - clamped))


def _with_more_odds(relevance: float, probability: float) -> float:
    gain = min(max(probability / USUAL_ARMED, 1.0), MOST_GAIN)
    if not 0.0 < relevance < 1.0:
        return relevance
    odds = gain * relevance / (1.0 - relevance)
    return odds / (1.0 + odds)


def judge_threshold(chances: Mapping[str, float], settings: JudgeSettings) -> float:
    """Return the threshold where a model at the prompt decides: `LEAST_BESIDE` if it is sure of one memory at least, else `sure`."""
    sure = max(chances.values(), default=0.0) >= settings.sure
    return min(LEAST_BESIDE, settings.sure) if sure else settings.sure


ARMED = "armed"
"""Beginning of the reason of a memory that a model in the pause named."""


def judge_each(
    judge: Callable[[Query, Candidate, Kind, RecallSettings], Judgment], state: RecallState
) -> Outcome[RecallState]:
    """Set the state's `scored`: every candidate judged by itself with `judge`, best first; see `judged`."""
    return judged(
        state,
        [
            judge(state.query, candidate, state.kinds.of_stored(candidate.memory.kind), state.settings)
            for candidate in state.found or ()
        ],
    )


def judged(
    state: RecallState, judgments: Sequence[Judgment], parts: Sequence[Parts] | None = None
) -> Outcome[RecallState]:
    """Set the state's `scored`: the found candidates with relevance and reasons of `judgments` and the gate's `parts` (same order), best first.

    The digest of the last session always gets relevance 1.
    """
    scored = [
        candidate.judged(1.0, candidate.reasons)
        if LAST_SESSION in candidate.reasons
        else candidate.judged(round(relevance, 4), reasons, own)
        for candidate, (relevance, reasons), own in zip(
            state.found or (), judgments, parts or repeat((), len(judgments)), strict=True
        )
    ]
    scored.sort(key=lambda candidate: (-candidate.relevance, -candidate.fused, candidate.memory.newest_first))
    return Outcome(kept=state.changed(scored=tuple(scored)))


def with_armed(
    state: RecallState, judgments: Sequence[Judgment], weights: ArmedWeights | None
) -> Sequence[Judgment]:
    """Return the judgments combined with what a model said in the pause before (`state.armed`); a memory that was not on its list keeps its judgment.

    Args:
        state: of the recall.
        judgments: by local evidence, one for each candidate found.
        weights: of what a model in the pause named; None = those that ship.
    """
    armed: Mapping[str, float] | None = state.armed
    if armed is None:
        return judgments
    together: list[Judgment] = []
    for candidate, (relevance, reasons) in zip(state.found or (), judgments, strict=True):
        chance = armed.get(candidate.memory.id)
        if chance is None:
            together.append((relevance, reasons))
            continue
        armed_reasons = (f"{ARMED} {chance:.2f}", *reasons) if chance else reasons
        together.append(
            (
                add_armed_evidence(
                    candidate, relevance, chance, surface=state.query.surface, weights=weights
                ),
                armed_reasons,
            )
        )
    return together


# What a prompt's vector is before it is compared with memories. In: a unit vector. Out: the transformed unit vector.
#
# A memory that sounds like any prompt is close to every prompt, so a cosine with one of them says little of it (a hub; Radovanovic
# et al., 2010). And what a prompt needs is often not what resembles it: "go ahead" needs the rule for what comes next. So the vector
# is centered, then turned toward the memories that such prompts needed:
#
#     c = (v - REMOVED_SHARE x u) / its length,   u = mean vector of prompts of other projects
#     v' = (c + TURN_SHARE x c W) / its length,   W = a fitted matrix (`tacit_evals.fit.prompt_transform`)
#
# v' . m is the bilinear match c (I + TURN_SHARE x W) m of prompt and memory, up to the length, so any vector search finds its best. u and
# W are data (`fitted/prompt_transform.json`) and speak of one embedder alone: vectors of others stay as they are. `mean` and
# `deviation` are those of v' . m over prompts and memories of one project: what is usual in a small scope.

REMOVED_SHARE = 2.0
"""How many times the mean prompt is subtracted.

Chosen on projects left out: average precision of the gate rises up to here and stays the same up to 4 (ADR 0018)."""
TURN_SHARE = 0.6
"""How much the matrix turns the vector. Results are the same from 0.5 to 1.2 (ADR 0052)."""
_ARTIFACT = "prompt_transform"


@frozen
class PromptTransform:
    """What changes a prompt's vector before it is compared with memories: a multiple of the mean prompt is subtracted, then a share of the vector's product with a matrix is added.

    Attributes:
        embedder: identity of the embedder that it was fitted for.
        vector: the mean prompt, float32, shape (dimensions,).
        turn: the matrix whose product is added, float32, shape (dimensions, dimensions); None = nothing is added.
        mean, deviation: of the cosines of transformed prompts with memories of one project.
        origin: data, command, date.
    """

    embedder: str
    vector: Vectors
    turn: Vectors | None = None
    mean: float
    deviation: float
    origin: FitOrigin = field(default_factory=FitOrigin)

    def speaks_of(self, identity: EmbedderIdentity) -> bool:
        """Whether the transform was fitted for this embedder; vectors of others must not be transformed."""
        return str(identity) == self.embedder

    def transform(self, vector: Vectors) -> Vectors:
        """Return the prompt's unit vector as it is compared with memories: centered, turned, of unit length. `vector` itself if centering leaves nothing of it."""
        own = vector - REMOVED_SHARE * self.vector
        length = math.sqrt(float(own @ own))
        if length <= 1e-6:
            return vector
        own /= length
        if self.turn is not None:
            own += TURN_SHARE * (own @ self.turn)
            own /= max(math.sqrt(float(own @ own)), 1e-6)
        return np.asarray(own, np.float32)


@frozen
class TransformValues:
    """A `PromptTransform` in the form of its fitted file; the matrix has 8 bits for each number."""

    mean: float
    deviation: float
    vector: tuple[float, ...]
    turn: Int8Matrix | None = None


def transform_from(artifact: Artifact[TransformValues]) -> PromptTransform:
    """Return the transformation that a fitted file holds.

    Raises:
        InvalidInput: if its matrix has too many or too few numbers.
    """
    values = artifact.values
    try:
        turn = None if values.turn is None else from_int8(values.turn)
    except ValueError as error:
        raise InvalidInput(
            f"The matrix of {_ARTIFACT!r} is damaged: {error}.", hint="Fit it again, or reinstall Tacit."
        ) from error
    return PromptTransform(
        embedder=artifact.origin.embedder,
        vector=np.array(values.vector, np.float32),
        turn=turn,
        mean=values.mean,
        deviation=values.deviation,
        origin=artifact.origin,
    )


def load_prompt_transform() -> PromptTransform:
    """Return the shipped transformation."""
    return load_fitted(_ARTIFACT, TransformValues, transform_from)


# The gate: relevance of a whole short list at once, calibrated per surface, with the threshold it was fitted with.
#
# In: a query with its short list. Out: relevance (0-1) and reasons for every candidate. The model is a frozen value, made from data;
# `cover` alone reads the store.
#
#     logit     = bias + sum of weight * (evidence - mean) / scale
#     relevance = sigmoid(slope * (logit + SHARE_WEIGHT * ln(share + LEAST_SHARE)) + offset
#                         - STORE_SIZE_PENALTY * ln(N / FITTED_STORE_SIZE))
#     share     = exp(logit) / sum of exp(logit) over the list (softmax)
#
# each standardized evidence kept within -10 and 10. Logistic regression with a ridge penalty, then Platt's calibration (Platt, 1999)
# on predictions for projects that the weights were not fitted on; both are made in `tacit_evals.fit.gate`.
#
# A memory that alone stands out among those that come near is needed more often than one of many that are alike: hence the share. N is the
# number of memories in scope, at least `FITTED_STORE_SIZE`: the best of ten thousand score higher still, and no prompt needs more of them for that.
# Nothing raises a relevance past this (ADR 87).
#
# The evidence is one row of numbers for every candidate, one column per name in `EVIDENCE`:
#
#     character      3 x set cosine of character 3-grams
#     cosine         deviations above the scope's usual cosine (`recall.spaces.make_similarity_z`)
#     rare           greatest ln((n + 1) / (k + 0.5)) of the prompt's words that the memory holds too, at least 0; n = length of
#                    the list, `LEAST_LIST` at least, k = how many of it hold that word (the idf of Robertson and Sparck Jones,
#                    1976, in the smoothed form of Lucene); 0 without one
#     nearness       deviations by which the best cosines of the scope lie above what is usual (`recall.spaces.domain_similarity_z`): a
#                    prompt that this project has nothing to say to is far from all of it; the same for all candidates
#     covered        how much of what the prompt names the memory holds: idf of the words that both hold / idf of the prompt's words
#                    that any memory in scope holds (`cover`)
#
# If the embedder does not read the language of a text, the cosine is no evidence. It is replaced by that of English pairs with the same number of
# shared runs of letters (`expected_cosine`).
#
# What the prompt makes the agent do next and what a memory's trigger says is no evidence here: on projects left out it told nothing that
# the words did not tell (ADR 87). It serves tool calls, where the action is certain.

# --- evidence

Row = NDArray[np.float64]

EVIDENCE: tuple[str, ...] = ("character", "cosine", "rare", "nearness", "covered")
"""Names of the columns."""
CHARACTER_SCALE = 3.0
PROMPT_CHARS = 480
"""Characters of a prompt in which words are looked for, as many as are embedded."""
LEAST_CHARS = 3
"""Fewest characters of a stem that counts; a shorter one is part of too many other words."""
LEAST_LIST = 4
"""A shorter list counts as one of this length; in it every shared word would seem frequent."""
COSINE_PER_CHARACTER, UNRELATED_CHARACTER = 3.9, 0.1
"""Slope and zero of `expected_cosine`."""
MEAN_DOMAIN_SIMILARITY = 2.5
"""Domain similarity of an average prompt in its own project; used where none is known."""


def evidence_of(
    query: Query, candidates: Sequence[Candidate], *, domain_similarity: float | None = None
) -> Row:
    """Return the evidence of all candidates, shape (candidates, columns of `EVIDENCE`); `domain_similarity` None = not known."""
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
    """Add to the short list the score `COVERED` of its memories: which share of the prompt's words each holds, weighted by idf. Reads the store."""
    query, shortlist = state.query, state.shortlist
    words = content_words(query.raw_text[:PROMPT_CHARS]) if shortlist and shortlist.memories else ()
    if shortlist is None or not words:
        return Outcome(kept=state)
    names = [memory.id for memory in shortlist.memories]
    shares = tools.store.search.word_shares(words, among=names, scope=query.scope, kinds=query.kinds)
    if not shares:
        return Outcome(kept=state)
    covered = {name: shares.get(name, 0.0) for name in names}
    return Outcome(
        kept=state.changed(shortlist=replace(shortlist, found={**shortlist.found, COVERED: covered}))
    )


def expected_cosine(character: float) -> float:
    """Return the cosine, in standard deviations above the mean, that English pairs with the character evidence `character` have on average.

    A line through unrelated pairs (0 by definition) and the judged pairs of two projects with an evidence above 1.2 (5).
    """
    return COSINE_PER_CHARACTER * (character - UNRELATED_CHARACTER)


def rarest_shared(text: str, contents: Sequence[str]) -> list[float]:
    """Return for each of `contents` the idf, among them, of the rarest word that it shares with `text`; 0 = it shares none."""
    text = text[:PROMPT_CHARS]
    # Stems in English, leading letters in other languages.
    parts = stem_list(text) if natural_language_of(text) == ENGLISH else leading_letters(text)
    words = {part for part in parts if len(part) >= LEAST_CHARS or is_closed_up(part)}
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


# --- model

MAX_STANDARDIZED = 10.0
SHARE_WEIGHT = 2.0
LEAST_SHARE = 0.03
"""Added to the softmax share, so that a tiny share does not dominate."""
FITTED_STORE_SIZE = 140
"""Number of memories in scope that the gate was fitted with."""
USUAL_SHARE_TERM = SHARE_WEIGHT * math.log(0.25 + LEAST_SHARE)
"""The term for the share of one of four that come equally near: no evidence for it, and none against it."""
PARTS: tuple[str, ...] = ("usual", *EVIDENCE, "alone", "many")
"""The parts of the log odds of a memory: what any memory starts from, what each column of the evidence adds or takes, how it compares with the others in the
list (`with_share`), and how many memories are in scope."""
STORE_SIZE_PENALTY = 0.9
"""Among many memories the best of them look good by chance: this times ln(memories / `FITTED_STORE_SIZE`) goes from the logit.

Chosen so that 540 and 1,240 memories, most of them rules of other projects, hand over about as many as 140 do (docs/research/0014-gate.md;
0 = five times as many, 1 = if the number of needed memories did not grow at all).
"""
MIN_EXPLAINED_RELEVANCE = 0.1
"""Relevance below which no reasons are given."""
MIN_EXPLAINED_GAIN = 0.2
_MAX_REASONS = 3
_EVIDENCE_TEXTS = {
    "character": "nearer in spelling than most",
    "cosine": "nearer in meaning than most",
    "rare": "a word that few others have",
    "nearness": "a matter of this project",
    "covered": "says much of what is asked",
}
"""The reasons that are told, by the names of `EVIDENCE`."""


@dataclass(frozen=True, kw_only=True)
class SurfaceModel:
    """The logistic model of one surface: from evidence to relevance.

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
        """Return what each column of `evidence` adds to the logit, same shape."""
        mean, scale, weights = self._rows
        return (
            np.minimum(np.maximum((evidence - mean) / scale, -MAX_STANDARDIZED), MAX_STANDARDIZED) * weights
        )

    def parts(self, gains: Row, *, among: int = 0) -> Row:
        """Return the log odds of each row of `gains` as a sum, one column per name of `PARTS`; `among` = number of memories in scope, which lowers it."""
        logits = np.add.reduce(gains, axis=1) + self.bias
        parts = np.empty((len(gains), len(PARTS)))
        parts[:, 0] = self.slope * (self.bias + USUAL_SHARE_TERM) + self.offset
        parts[:, 1:-2] = self.slope * gains
        parts[:, -2] = self.slope * (with_share(logits) - logits - USUAL_SHARE_TERM)
        parts[:, -1] = -STORE_SIZE_PENALTY * math.log(max(among, FITTED_STORE_SIZE) / FITTED_STORE_SIZE)
        return parts


def relevance_of(parts: Row) -> Row:
    """Return the calibrated probability (0-1) that each row of `parts` adds up to."""
    return 1.0 / (1.0 + np.exp(-np.add.reduce(parts, axis=1)))


def with_share(logits: Row) -> Row:
    """Return the logits of one list plus the term for each candidate's softmax share; see the formula."""
    if not len(logits):
        return logits
    odds = np.exp(logits - logits.max())
    return logits + SHARE_WEIGHT * np.log(odds / odds.sum() + LEAST_SHARE)


class Gate(Protocol):
    """Interface of what judges a whole short list. `GateModel` is the shipped one; evaluation adds others."""

    def judge(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        *,
        kinds: KindRegistry,
        among: int = 0,
        domain_similarity: float | None = None,
    ) -> Sequence[tuple[Judgment, Parts]]:
        """Return for every candidate, in the order given, relevance (0-1) and short reasons, and its `PARTS` (() = none are told).

        Args:
            query: what is asked.
            candidates: the short list.
            kinds: the registry of kinds.
            among: number of memories in scope.
            domain_similarity: see `recall.spaces.domain_similarity_z`.
        """
        ...

    def thresholds(self) -> Mapping[str, float]:
        """Return the fitted threshold by name of the surface; surfaces without one are left out."""
        ...


@frozen
class GateModel:
    """The shipped kind of gate: one model for each surface that it judges."""

    surfaces: Mapping[Surface, SurfaceModel]
    origin: FitOrigin = field(default_factory=FitOrigin)

    def judge(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        *,
        kinds: KindRegistry,
        among: int = 0,
        domain_similarity: float | None = None,
    ) -> tuple[tuple[Judgment, Parts], ...]:
        """Return relevance, reasons, strongest first, and parts for every candidate in the order given. KeyError for a surface without a model."""
        model = self.surfaces[query.surface]
        gains = model.gains(evidence_of(query, candidates, domain_similarity=domain_similarity))
        parts = model.parts(gains, among=among)
        values = relevance_of(parts).tolist()
        return tuple(
            (
                (value * _age(candidate, kinds), _reasons(row) if value >= MIN_EXPLAINED_RELEVANCE else ()),
                tuple(zip(PARTS, own, strict=True)),
            )
            for candidate, row, value, own in zip(
                candidates, gains.tolist(), values, parts.tolist(), strict=True
            )
        )

    def thresholds(self) -> dict[str, float]:
        """Return the fitted threshold by name of the surface."""
        return {surface.value: model.threshold for surface, model in self.surfaces.items()}


def _age(candidate: Candidate, kinds: KindRegistry) -> float:
    """Return the factor of a memory's age.

    That is, for an episodic kind, its score in the space `recent` (0 = not measured), else 1.
    """
    return (candidate.score("recent") or 0.0) if kinds.of_stored(candidate.memory.kind).episodic else 1.0


def _reasons(gains: Sequence[float]) -> tuple[str, ...]:
    best = sorted(
        [(-gain, name) for gain, name in zip(gains, EVIDENCE, strict=True) if gain > MIN_EXPLAINED_GAIN]
    )
    return tuple([_EVIDENCE_TEXTS[name] for _, name in best[:_MAX_REASONS]])


@frozen
class GateValues:
    """A `GateModel` in the form of its fitted file; `evidence` = the names of the columns."""

    evidence: tuple[str, ...]
    surfaces: Mapping[Surface, SurfaceModel]


def gate_from(artifact: Artifact[GateValues]) -> GateModel:
    """Return the gate that a fitted file holds.

    Raises:
        InvalidInput: if it names other evidence than this version reads.
    """
    if artifact.values.evidence != EVIDENCE:
        raise InvalidInput(
            "The gate was fitted on other evidence than this version reads.",
            hint="Fit it again: `python -m tacit_evals.fit --data DIR --date DATE`.",
        )
    return GateModel(surfaces=artifact.values.surfaces, origin=artifact.origin)


def shipped_gate() -> GateModel:
    """Return the shipped gate."""
    return load_fitted("gate", GateValues, gate_from)


# The least cosine of a candidate, and what admits a memory below it: a rare name, a relation to what passed. Part of stage 5.
#
# In: scored candidates, a prompt. Out: those that reach the floor, with reasons for the others. Source: the ambient seed's
# `contextual_min_score`, read as a ratio to the best cosine with an absolute floor.
#
# An embedding knows common words; of a name like `QX9040` it knows next to nothing, and a memory that shares it lies far away. A name
# is an entity; a word with digits and letters, with a capital inside, or of four digits, on either side; or a word that both sides
# write with a capital within a sentence. It is rare if few memories hold it (`MOST_HOLDERS`), and then it admits a memory whatever the
# cosine is. On seven projects with judged prompts 0.2 memories a prompt come in so, 8 % of them needed (12 % of those that the cosine
# admits); with names of up to five memories it was 0.3 and 4 %, with a capital on one side 1.3 and 4 %.

REAL_HITS = ("lexical", "entity", "error")
"""Spaces one of which must have found a memory that has no cosine."""
_NO_NAMES: Mapping[str, str] = {}
_BY_COSINE = (DropCause.BELOW_SIMILARITY, DropCause.NO_HIT)


@frozen
class CosineFloor:
    """What a cosine must reach: `ratio` times the best one of the enabled `kinds` (() = all), and at least `cosine`; 0 = no limit."""

    ratio: float = 0.0
    cosine: float = 0.0
    kinds: Collection[str] = ()


def reach_cosine(
    floor_of: Callable[[RecallSettings], CosineFloor], state: RecallState
) -> Outcome[RecallState]:
    """Set the state's `reached`: the scored candidates that pass `reach_floor` with the floor that the settings give."""
    done = reach_floor(
        state.scored or (),
        query=state.query,
        floor=floor_of(state.settings),
        named=state.named,
        relations=state.shortlist.relations if state.shortlist is not None else (),
        unread=state.unread_ids,
    )
    return Outcome(kept=state.changed(reached=done.kept), drops=done.drops)


def reach_floor(
    scored: Sequence[Candidate],
    *,
    query: Query,
    floor: CosineFloor,
    named: Mapping[str, str] = _NO_NAMES,
    relations: Sequence[Relation] = (),
    unread: Collection[str] = (),
) -> Outcome[tuple[Candidate, ...]]:
    """Keep the candidates of enabled kinds whose cosine reaches the floor; the others are drops.

    A memory below it passes if it shares a rare name with the prompt (`named`), or if the graph found it and one of
    `relations` joins it to a memory that passed. Words alone are enough for what the embedder cannot read (`unread`),
    and for all where it gave no cosine; else a memory without one is farther than all that were found by meaning.
    """
    kinds = floor.kinds
    if all(candidate.score("semantic") is None for candidate in scored):
        unread = {candidate.memory.id for candidate in scored}
    best = max((similarity_of(query, c) for c in scored if not kinds or c.memory.kind in kinds), default=0.0)
    kept: list[Candidate] = []
    drops: list[Drop] = []
    for candidate in scored:
        kind = candidate.memory.kind
        if kinds and kind not in kinds:
            reason: DropReason | None = DropReason(cause=DropCause.KIND_OFF, detail=kind)
        else:
            reason = _objection(candidate, query, floor, best, unread)
        name = named.get(candidate.memory.id, "")
        if reason and reason.cause in _BY_COSINE and name:
            kept.append(replace(candidate, reasons=(*candidate.reasons, f"name: {name}")))
        elif reason:
            drops.append(Drop(memory_id=candidate.memory.id, why=reason))
        else:
            kept.append(candidate)
    return _with_related(scored, kept, drops, relations)


def similarity_of(query: Query, candidate: Candidate) -> float:
    """Return the cosine of a candidate, 0-1; 1 for the same error signature, 0 = none was measured."""
    if query.error_signature and candidate.memory.error_signature == query.error_signature:
        return 1.0
    return min(1.0, max(0.0, candidate.score("semantic") or 0.0))


def _objection(
    candidate: Candidate, query: Query, floor: CosineFloor, best: float, unread: Collection[str]
) -> DropReason | None:
    if not (floor.ratio or floor.cosine):
        return None
    similar = similarity_of(query, candidate)
    if candidate.memory.id in unread and similar == 0.0:
        real = any((candidate.score(space) or 0.0) > 0 for space in REAL_HITS)
        return None if real else DropReason(cause=DropCause.NO_HIT)
    least = max(floor.ratio * best, floor.cosine)
    if similar < least:
        return DropReason(cause=DropCause.BELOW_SIMILARITY, value=similar, bound=least)
    return None


def _with_related(
    scored: Sequence[Candidate],
    kept: Sequence[Candidate],
    drops: Sequence[Drop],
    relations: Sequence[Relation],
) -> Outcome[tuple[Candidate, ...]]:
    """Add to what passed the dropped memories that the graph found and a relation joins to one that passed."""
    passed = {candidate.memory.id: candidate for candidate in kept}
    far = {d.memory_id for d in drops if d.why.cause in _BY_COSINE}
    joined = {
        to_id
        for relation in relations
        for from_id, to_id in relation.both_ways
        if from_id in passed and to_id in far
    }
    for candidate in scored:
        memory_id = candidate.memory.id
        if memory_id in joined and (candidate.score("graph") or 0.0) >= spaces.GRAPH.high:
            passed[memory_id] = replace(candidate, reasons=(*candidate.reasons, "related"))
    return Outcome(
        kept=tuple(passed[c.memory.id] for c in scored if c.memory.id in passed),
        drops=tuple(drop for drop in drops if drop.memory_id not in passed),
    )


# --- names

MOST_HOLDERS = 2
"""A name that more memories hold than this admits none of them."""
MOST_NAMES = 8
"""Most names that are looked up; each costs one search."""
_WORD = lazy_regex(r"[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?")
_NAME = lazy_regex(r"^(?:(?=.*\d)(?=.*[A-Za-z]).{3,}|\d{4,}|.*[a-z][A-Z].*)$")
_STARTS_SENTENCE = lazy_regex(r"(?:^|[.!?:;\n])(?:[^\S\n]|[\"'`(\[*#-])*+$")


def find_shared_names(tools: Tools, state: RecallState) -> Outcome[RecallState]:
    """Set the state's `named`: by id of a scored candidate, the rare name that it shares with the prompt. Searches the store."""
    named = shared_names(state.query, state.scored or (), search=tools.store.search)
    return Outcome(kept=state.changed(named=named))


def shared_names(query: Query, candidates: tuple[Candidate, ...], *, search: Search) -> dict[str, str]:
    """Return, by id of a candidate, a name that it shares with the prompt and that at most `MOST_HOLDERS` memories hold.

    Candidates without such a name are left out. Only the first `MOST_NAMES` names are looked up, with one search each.
    """
    prompt_entities, prompt = set(find_entities(query.raw_text)), _read(query.raw_text)
    holders: dict[str | Entity, frozenset[str]] = {}
    shared: dict[str, str] = {}
    for candidate in candidates:
        memory = candidate.memory
        entities = [entity for entity in memory.entities if entity in prompt_entities]
        for name in (*entities, *sorted(prompt.names_in(memory.content))):
            if name not in holders and len(holders) < MOST_NAMES:
                holders[name] = _holders(name, query, search)
            if memory.id in holders.get(name, ()):
                shared[memory.id] = name.key if isinstance(name, Entity) else name
                break
    return shared


def _holders(name: str | Entity, query: Query, search: Search) -> frozenset[str]:
    """Return the ids of the memories that hold a name; empty if they are more than `MOST_HOLDERS`."""
    limit = MOST_HOLDERS + 1
    if isinstance(name, Entity):
        hits = search.entity((name,), scope=query.scope, limit=limit).hits
    else:
        hits = search.lexical(name, scope=query.scope, limit=limit).hits
    return frozenset(hit.memory_id for hit in hits) if len(hits) <= MOST_HOLDERS else frozenset()


@frozen
class _Prompt:
    """Words of a prompt, case folded: all, those with the form of a name, those with a capital within a sentence."""

    words: frozenset[str]
    names: frozenset[str]
    capitals: frozenset[str]

    def names_in(self, text: str) -> set[str]:
        """Return the words, case folded, that the prompt and `text` share as names.

        A word is one if either side writes it in the form of a name, or both with a capital within a sentence.
        """
        return {
            word
            for match in _WORD.finditer(text)
            if (word := match[0].casefold()) in self.words
            and (
                word in self.names
                or _NAME.search(match[0])
                or (word in self.capitals and _is_capital(match, text))
            )
        }


def _read(prompt: str) -> _Prompt:
    matches = list(_WORD.finditer(prompt))
    return _Prompt(
        words=frozenset(match[0].casefold() for match in matches),
        names=frozenset(match[0].casefold() for match in matches if _NAME.search(match[0])),
        capitals=frozenset(match[0].casefold() for match in matches if _is_capital(match, prompt)),
    )


def _is_capital(match: re.Match[str], text: str) -> bool:
    word = match[0]
    return len(word) > 2 and word[0].isupper() and _STARTS_SENTENCE.search(text, 0, match.start()) is None


# Expected need: in what order memories belong into the start pack. In: memories, time. Out: need, 0 to 1 each, and an order.
#
# Pure; reads the shipped weights. Nothing here depends on the prompt: the start pack comes before it.
#
#     need = logistic(bias + sum of weight * (evidence - mean) / scale + record + worth) * age
#
# with record = 0.15 ln(1 + uses + restatements) and worth = 0.5 (importance - importance of its kind), both set by hand,
# and age = freshness for episodic kinds, else 1. The rest is fitted (`fitted/need.json`, whose origin names data and command):
# a logistic regression on whether a memory was needed by any judged prompt, with a normal prior on the weights (maximum a
# posteriori; Bishop, 2006, section 4.5). A trigger that was made from the words alone is a weaker witness than one that
# somebody gave who knew, so each of the two has weights of its own. The evidence `known` and `recent` compares a memory with the
# others of its pool; the rest is read from the memory alone.

# --- evidence

NEED_EVIDENCE: tuple[str, ...] = (
    "breadth",
    "known",
    "recent",
    "short",
    "learned",
    "few_objects",
    "no_places",
)
"""Columns of `need_evidence_of`, in order; the higher each, the more it should speak for the memory."""

LINE_TOKENS = 6
CHARS_PER_TOKEN = 4


@lru_cache(maxsize=8192)
def words_in(text: str) -> frozenset[str]:
    """Return the stems of the words of `text`; a path is split into its parts."""
    return frozenset(light_stem(word) for word in ALPHANUMERIC.findall(text.lower()))


def from_rule_file(memory: Memory) -> bool:
    """Whether the memory was read from a rule file, which the host itself may load: its source looks like a path."""
    source = memory.provenance.source
    if memory.provenance.tier is TrustTier.TEAMMATE:  # no host reads the team's files
        return False
    return ("." in source or "/" in source) and not source.startswith("session")


def need_evidence_of(memories: Sequence[Memory]) -> NDArray[np.float64]:
    """Return the evidence for `memories`, shape (len(memories), len(NEED_EVIDENCE)).

    Pass the whole start pool: some columns compare a memory with the others. Columns: breadth / 3 (always = 1); ln(1 + how many
    statements of the pool name the most frequent object of its trigger), ln 2 without objects; share of the pool that is older; -ln(6 + characters / 4), what a line costs; 1 unless
    it comes from a rule file; minus the number of objects; -1 where it is bound to files, else 0.
    """
    if not memories:
        return np.zeros((0, len(NEED_EVIDENCE)))
    frequencies = _known(memories)
    times = np.array([memory.updated_at_ms for memory in memories])
    older = np.searchsorted(np.sort(times), times, side="left") / len(memories)
    rows = [
        (
            memory.trigger.reach / GREATEST_BREADTH,
            frequencies[number],
            float(older[number]),
            -math.log(LINE_TOKENS + len(memory.content) / CHARS_PER_TOKEN),
            0.0 if from_rule_file(memory) else 1.0,
            -float(len(memory.trigger.objects)),
            -1.0 if memory.files else 0.0,
        )
        for number, memory in enumerate(memories)
    ]
    return np.array(rows)


def _known(memories: Sequence[Memory]) -> list[float]:
    # One bit per statement: a pool is made between two sessions' starts, and sets would take most of its time.
    holding: dict[str, int] = {}
    for number, memory in enumerate(memories):
        bit = 1 << number
        for word in words_in(memory.content):
            holding[word] = holding.get(word, 0) | bit
    counted: dict[str, int] = {}

    def count(object_name: str) -> int:
        frequency = counted.get(object_name)
        if frequency is None:
            words = words_in(object_name)
            common = -1 if words else 0
            for word in words:
                common &= holding.get(word, 0)
            frequency = counted[object_name] = common.bit_count()
        return frequency

    return [math.log1p(max(map(count, memory.trigger.objects), default=1)) for memory in memories]


# --- model

WEIGHT_RECORD = 0.15
WEIGHT_WORTH = 0.5


@frozen
class Linear:
    """A linear model over standardized evidence; each mapping has a number for each name of `NEED_EVIDENCE`.

    Raises:
        InvalidInput: if a mapping lacks a name, or a scale is not above 0.
    """

    bias: float
    weights: Mapping[str, float]
    means: Mapping[str, float]
    scales: Mapping[str, float]

    def __post_init__(self) -> None:
        for values in (self.weights, self.means, self.scales):
            if missing := [name for name in NEED_EVIDENCE if name not in values]:
                raise InvalidInput(
                    f"The need model lacks {missing[0]!r}.", hint="Fit it again for this version."
                )
        if min(self.scales.values()) <= 0.0:
            raise InvalidInput(f"Scales of evidence must be above 0, got {min(self.scales.values())}.")

    def score(self, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log odds for each row of `evidence`, shape (n,)."""
        weights, means, scales = (
            np.array([values[name] for name in NEED_EVIDENCE])
            for values in (self.weights, self.means, self.scales)
        )
        return np.asarray(self.bias + (evidence - means) @ (weights / scales), dtype=np.float64)


@frozen
class NeedModel:
    """The model of need: one for memories whose trigger somebody gave (user, agent, model), one for those with a local trigger."""

    given: Linear
    local: Linear
    origin: FitOrigin = field(default_factory=FitOrigin, compare=False)

    def needs(self, memories: Sequence[Memory], *, kinds: KindRegistry, at_ms: int) -> NDArray[np.float64]:
        """Return the expected need of each memory of one whole pool at `at_ms`, shape (len(memories),), 0 to 1."""
        evidence = need_evidence_of(memories)
        local = np.array([memory.trigger.maker == "local" for memory in memories], dtype=bool)
        odds = np.where(local, self.local.score(evidence), self.given.score(evidence))
        odds = odds + np.array([_by_hand(memory, kinds) for memory in memories])
        age = np.array([_need_age(memory, kinds, at_ms) for memory in memories])
        return np.asarray(age / (1.0 + np.exp(-odds)), dtype=np.float64)


def _by_hand(memory: Memory, kinds: KindRegistry) -> float:
    record = math.log1p(memory.use_count + max(0, memory.frequency - 1))
    worth = memory.importance - kinds.of_stored(memory.kind).importance
    return WEIGHT_RECORD * record + WEIGHT_WORTH * worth


def _need_age(memory: Memory, kinds: KindRegistry, at_ms: int) -> float:
    kind = kinds.of_stored(memory.kind)
    return freshness(at_ms=at_ms, since_ms=memory.updated_at_ms, kind=kind) if kind.episodic else 1.0


@frozen
class NeedValues:
    """A `NeedModel` in the form of its fitted file."""

    given: Linear
    local: Linear


def need_from(artifact: Artifact[NeedValues]) -> NeedModel:
    """Return the need model that a fitted file holds."""
    return NeedModel(given=artifact.values.given, local=artifact.values.local, origin=artifact.origin)


def shipped_need() -> NeedModel:
    """Return the shipped need model."""
    return load_fitted("need", NeedValues, need_from)


def order_by_need(memories: Sequence[Memory], needs: NDArray[np.float64]) -> tuple[tuple[Memory, float], ...]:
    """Return the memories with their expected needs, the greatest first; of equal needs the newest first.

    Like statements do not crowd one another out: the one that differs in a word may be the one that holds.
    """
    pairs = zip(memories, needs.tolist(), strict=True)
    return tuple(sorted(pairs, key=lambda pair: (-pair[1], pair[0].newest_first)))
