"""Expected need: in what order memories belong into the start pack. In: memories, time. Out: need, 0 to 1 each, and an order.

Pure; reads the shipped weights. Nothing here depends on the prompt: the start pack comes before it.

    need = logistic(bias + sum of weight * (evidence - mean) / scale + record + worth) * age

with record = 0.15 ln(1 + uses + restatements) and worth = 0.5 (importance - importance of its kind), both set by hand,
and age = freshness for episodic kinds, else 1. The rest is fitted (`fitted/need.json`, whose origin names data and command):
a logistic regression on whether a memory was needed by any judged prompt, with a normal prior on the weights (maximum a
posteriori; Bishop, 2006, section 4.5). A trigger that was made from the words alone is a weaker witness than one that
somebody gave who knew, so each of the two has weights of its own. The evidence `known` and `recent` compares a memory with the
others of its pool; the rest is read from the memory alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidInput
from tacit.fitted import Artifact, Origin, load_fitted
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, TrustTier
from tacit.model.trigger import GREATEST_BREADTH
from tacit.recall.spaces.recent import freshness
from tacit.text.stemming import light_stem
from tacit.text.tokens import ALPHANUMERIC

# --- evidence

EVIDENCE: tuple[str, ...] = ("breadth", "known", "recent", "short", "learned", "few_objects", "no_places")
"""Columns, in order; the higher each, the more it should speak for the memory."""

LINE_TOKENS = 6
CHARS_PER_TOKEN = 4


@lru_cache(maxsize=8192)
def words_in(text: str) -> frozenset[str]:
    """Stems of the words of `text`; a path or an identifier falls into its parts."""
    return frozenset(light_stem(word) for word in ALPHANUMERIC.findall(text.lower()))


def from_rule_file(memory: Memory) -> bool:
    """Whether the memory was read from a rule file, which the host itself may load; its source is a path then."""
    source = memory.provenance.source
    if memory.provenance.tier is TrustTier.TEAMMATE:  # no host reads the team's files
        return False
    return ("." in source or "/" in source) and not source.startswith("session")


def evidence_of(memories: Sequence[Memory]) -> NDArray[np.float64]:
    """Evidence for `memories`, shape (len(memories), len(EVIDENCE)).

    Columns: breadth / 3 (always = 1); ln(1 + how many statements of the pool name the most frequent object of its
    trigger), ln 2 without objects; share of the pool that is older; -ln(6 + characters / 4), what a line costs; 1 unless
    it comes from a rule file; minus the number of objects; -1 where it is bound to files, else 0.
    """
    if not memories:
        return np.zeros((0, len(EVIDENCE)))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """Weights over standardised evidence, each tuple in the order of `EVIDENCE`."""

    bias: float
    weights: tuple[float, ...]
    means: tuple[float, ...]
    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        for values in (self.weights, self.means, self.scales):
            if len(values) != len(EVIDENCE):
                raise InvalidInput(f"Need needs {len(EVIDENCE)} values per row, got {len(values)}.")
        if min(self.scales) <= 0.0:
            raise InvalidInput(f"Scales of evidence must be above 0, got {min(self.scales)}.")

    def score(self, evidence: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log odds for each row of `evidence`, shape (n,)."""
        weights = np.array(self.weights) / np.array(self.scales)
        return np.asarray(self.bias + (evidence - np.array(self.means)) @ weights, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedModel:
    """Weights for memories whose trigger somebody gave (user, agent, model), and for those with a local trigger."""

    given: Linear
    local: Linear
    origin: Origin = field(default_factory=Origin, compare=False)

    def needs(self, memories: Sequence[Memory], *, kinds: KindRegistry, at_ms: int) -> NDArray[np.float64]:
        """Expected need of each memory of one pool at `at_ms`, shape (len(memories),), 0 to 1."""
        evidence = evidence_of(memories)
        local = np.array([memory.trigger.maker == "local" for memory in memories], dtype=bool)
        odds = np.where(local, self.local.score(evidence), self.given.score(evidence))
        odds = odds + np.array([_by_hand(memory, kinds) for memory in memories])
        age = np.array([_age(memory, kinds, at_ms) for memory in memories])
        return np.asarray(age / (1.0 + np.exp(-odds)), dtype=np.float64)


def _by_hand(memory: Memory, kinds: KindRegistry) -> float:
    record = math.log1p(memory.use_count + max(0, memory.frequency - 1))
    worth = memory.importance - kinds.of_stored(memory.kind).importance
    return WEIGHT_RECORD * record + WEIGHT_WORTH * worth


def _age(memory: Memory, kinds: KindRegistry, at_ms: int) -> float:
    kind = kinds.of_stored(memory.kind)
    return freshness(at_ms=at_ms, since_ms=memory.updated_at_ms, kind=kind) if kind.episodic else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearValues:
    """A `Linear` as the file holds it: numbers by name of the evidence."""

    bias: float
    weights: Mapping[str, float]
    means: Mapping[str, float]
    scales: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedValues:
    """A `NeedModel` as the file holds it."""

    given: LinearValues
    local: LinearValues


def need_from(artifact: Artifact[NeedValues]) -> NeedModel:
    """The model of a file.

    Raises:
        InvalidInput: if it lacks a piece of evidence.
    """
    values = artifact.values
    try:
        return NeedModel(given=_linear(values.given), local=_linear(values.local), origin=artifact.origin)
    except KeyError as error:
        raise InvalidInput(f"The need model lacks {error}.", hint="Fit it again for this version.") from error


def _linear(values: LinearValues) -> Linear:
    weights, means, scales = (
        tuple(row[name] for name in EVIDENCE) for row in (values.weights, values.means, values.scales)
    )
    return Linear(bias=values.bias, weights=weights, means=means, scales=scales)


def need_artifact(model: NeedModel) -> Artifact[NeedValues]:
    """The content of the file of `model`."""

    def values(linear: Linear) -> LinearValues:
        weights, means, scales = (
            dict(zip(EVIDENCE, row, strict=True)) for row in (linear.weights, linear.means, linear.scales)
        )
        return LinearValues(bias=linear.bias, weights=weights, means=means, scales=scales)

    groups = NeedValues(given=values(model.given), local=values(model.local))
    return Artifact(name="need", origin=model.origin, values=groups)


def shipped_need() -> NeedModel:
    """The model that ships."""
    return load_fitted("need", NeedValues, need_from)


def order_by_need(memories: Sequence[Memory], needs: NDArray[np.float64]) -> tuple[tuple[Memory, float], ...]:
    """Return the memories with their expected needs, the greatest first; of equal needs the newest first.

    Like statements do not crowd one another out: the one that differs in a word may be the one that holds.
    """
    pairs = zip(memories, needs.tolist(), strict=True)
    return tuple(sorted(pairs, key=lambda pair: (-pair[1], pair[0].newest_first)))
