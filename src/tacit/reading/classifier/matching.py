"""What matching triggers with situations was fitted to: how common classes are, and the weights of the score.

In: the text of a fitted file. Out: a `MatchModel`. The formula stands in `tacit.reading.match`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tacit.errors import InvalidInput

MATCH_FILE = Path(__file__).parent / "match.json"
UNKNOWN_RATE = 0.02
"""How common a class is taken to be that the labelled data do not know."""
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
        manifest: data, command, date.
    """

    situations: Mapping[str, float]
    triggers: Mapping[str, float]
    given: Weights
    local: Weights
    manifest: Mapping[str, object] = field(default_factory=dict[str, object])
    _scaled: tuple[dict[str, float], dict[str, float]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        scaled = (
            {name: (rate + RATE_FLOOR) ** SITUATION_POWER for name, rate in self.situations.items()},
            {name: (rate + RATE_FLOOR) ** TRIGGER_POWER for name, rate in self.triggers.items()},
        )
        object.__setattr__(self, "_scaled", scaled)

    def situation_rate(self, name: str) -> float:
        """What the chance of class `name` is divided by."""
        return self._scaled[0].get(name, _UNKNOWN_SITUATION)

    def trigger_rate(self, name: str) -> float:
        """What a trigger's weight for class `name` is divided by."""
        return self._scaled[1].get(name, _UNKNOWN_TRIGGER)


def match_text(model: MatchModel) -> str:
    """The file's text; equal models give equal bytes."""
    content = {
        "manifest": dict(model.manifest),
        "situations": {name: round(rate, 4) for name, rate in model.situations.items()},
        "triggers": {name: round(rate, 4) for name, rate in model.triggers.items()},
        "given": [round(k, 4) for k in model.given],
        "local": [round(k, 4) for k in model.local],
    }
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def read_match(text: str) -> MatchModel:
    """Read a file's text.

    Raises:
        InvalidInput: if it is no fitted match.
    """
    try:
        content = json.loads(text)
        given, local = (tuple(float(k) for k in content[name]) for name in ("given", "local"))
        if len(given) != 4 or len(local) != 4:
            raise InvalidInput("A fitted match has four weights for given and four for local triggers.")
        return MatchModel(
            situations={str(name): float(rate) for name, rate in content["situations"].items()},
            triggers={str(name): float(rate) for name, rate in content["triggers"].items()},
            given=given,
            local=local,
            manifest=content["manifest"],
        )
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise InvalidInput(
            f"This is no fitted match: {error}.", hint="Fit it anew, or install Tacit anew."
        ) from error


@lru_cache(maxsize=1)
def shipped_match() -> MatchModel:
    """What ships.

    Raises:
        InvalidInput: if the file is damaged.
    """
    return read_match(MATCH_FILE.read_text("utf-8"))
