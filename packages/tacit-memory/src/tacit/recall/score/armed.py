"""Relevance with what a language model named: in the pause before the prompt (armed), or at the prompt. Part of stage 5. Pure.

Armed, before a prompt: local evidence and the model's probability p, both as log odds,

    relevance = sigmoid(bias + local * logit(relevance by the gate) + armed * logit(p) - caution)

p is `LEAST_ARMED` for a memory that was on the model's list and that it did not name. The model does not know the prompt and arms
something before those that need nothing, too: `caution` is what must go from the odds so that the thresholds, which were fitted for the
gate, hold for them as before. All four are in `fitted/armed.json` (`tacit_evals.fit.armed`).

Armed, at a tool call or after a failure: the rules of exactness decide whether a memory is about this call. To what they find, p adds
odds: (p / USUAL_ARMED) times as many, at least once and at most `MOST_GAIN` times. Nothing is lowered (own; not fitted, since nobody
judged calls with such answers).

At the prompt: relevance is the model's probability for what it named, and nothing for the others. Where it is sure of one memory at
least (`recall.judge.sure`), those of at least `recall.judge.least` are handed over; else silence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tacit.config.settings import JudgeSettings
from tacit.fitted import load_fitted, values_of
from tacit.model.evidence import Candidate
from tacit.model.pack import Surface

LEAST_LOCAL = 0.005
LEAST_ARMED = 0.02
MOST_CERTAIN = 0.995
USUAL_ARMED = 0.25
"""About the mean probability that a memory is armed with."""
MOST_GAIN = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmedWeights:
    """The numbers of the formula before a prompt."""

    bias: float
    local: float
    armed: float
    caution: float = 0.0


def shipped_weights() -> ArmedWeights:
    """The numbers that ship."""
    return load_fitted("armed", ArmedWeights, values_of)


def fuse(
    candidate: Candidate,
    relevance: float,
    probability: float,
    *,
    surface: Surface,
    weights: ArmedWeights | None = None,
) -> float:
    """The relevance of a listed memory from local evidence and what was armed.

    Args:
        candidate: the memory; what a person said of when it applies is not made to count less.
        relevance: by local evidence, 0 to 1.
        probability: that it is armed with; 0 = it was on the list and was not named.
        surface: that asks.
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
    """Log odds of a probability that is kept within `least` and `MOST_CERTAIN`."""
    clamped = min(max(probability, least), MOST_CERTAIN)
    return math.log(clamped / (1.0 - clamped))


def _with_more_odds(relevance: float, probability: float) -> float:
    gain = min(max(probability / USUAL_ARMED, 1.0), MOST_GAIN)
    if not 0.0 < relevance < 1.0:
        return relevance
    odds = gain * relevance / (1.0 - relevance)
    return odds / (1.0 + odds)


def judge_threshold(chances: Mapping[str, float], settings: JudgeSettings) -> float:
    """The least probability of what is handed over where a model at the prompt decides."""
    return settings.least if max(chances.values(), default=0.0) >= settings.sure else settings.sure
