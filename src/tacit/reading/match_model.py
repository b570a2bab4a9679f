"""Fitted values for matching triggers with situations: the base rates of classes, and the weights of the score.

In: a fitted file. Out: a `MatchModel`. The formula stands in `tacit.reading.match`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.fitted import Artifact, Origin, load_fitted

UNKNOWN_RATE = 0.02
"""How common a class is taken to be that the labeled data do not know."""
RATE_FLOOR = 0.003
SITUATION_POWER = 0.9
TRIGGER_POWER = 0.3
_UNKNOWN_SITUATION = float(UNKNOWN_RATE**SITUATION_POWER)
_UNKNOWN_TRIGGER = float(UNKNOWN_RATE**TRIGGER_POWER)
Weights = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchModel:
    """Fitted numbers of the intent score.

    Attributes:
        situations: class -> mean chance among situations.
        triggers: class -> mean weight among triggers.
        given: k0 to k3 for triggers that somebody gave.
        local: k0 to k3 for triggers of the local maker.
        origin: data, command, date.
    """

    situations: Mapping[str, float]
    triggers: Mapping[str, float]
    given: Weights
    local: Weights
    origin: Origin = field(default_factory=Origin)
    _scaled: tuple[dict[str, float], dict[str, float]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        scaled = (
            {name: (rate + RATE_FLOOR) ** SITUATION_POWER for name, rate in self.situations.items()},
            {name: (rate + RATE_FLOOR) ** TRIGGER_POWER for name, rate in self.triggers.items()},
        )
        object.__setattr__(self, "_scaled", scaled)

    def situation_rate(self, name: str) -> float:
        """Return the divisor of the chance of class `name`."""
        return self._scaled[0].get(name, _UNKNOWN_SITUATION)

    def trigger_rate(self, name: str) -> float:
        """Return the divisor of a trigger's weight for class `name`."""
        return self._scaled[1].get(name, _UNKNOWN_TRIGGER)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchValues:
    """A `MatchModel` as the file holds it."""

    situations: Mapping[str, float]
    triggers: Mapping[str, float]
    given: Weights
    local: Weights


def match_artifact(model: MatchModel) -> Artifact[MatchValues]:
    """The content of the file of `model`; four decimals of each number."""
    return Artifact(
        name="match",
        origin=model.origin,
        values=MatchValues(
            situations={name: round(rate, 4) for name, rate in sorted(model.situations.items())},
            triggers={name: round(rate, 4) for name, rate in sorted(model.triggers.items())},
            given=_rounded(model.given),
            local=_rounded(model.local),
        ),
    )


def _rounded(weights: Weights) -> Weights:
    k0, k1, k2, k3 = weights
    return round(k0, 4), round(k1, 4), round(k2, 4), round(k3, 4)


def match_from(artifact: Artifact[MatchValues]) -> MatchModel:
    """The model of a file."""
    values = artifact.values
    return MatchModel(
        situations=values.situations,
        triggers=values.triggers,
        given=values.given,
        local=values.local,
        origin=artifact.origin,
    )


def shipped_match() -> MatchModel:
    """Load the values that ship.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return load_fitted("match", MatchValues, match_from)
