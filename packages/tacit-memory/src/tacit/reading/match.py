"""The intent score: how well a trigger fits a situation.

In: a trigger and a situation. Out: 0-1 with short reasons. Pure; made to be asked for thousands of triggers at once:
build one `Matcher` per situation.

The formula (own; constants fitted by `tacit_evals.fit.match` on judged pairs, kept in `fitted/match.json`):

    fit      = where x sigmoid(k0 + k1 ln(1 + lift) + k2 breadth + k3 about); 0 when lift is 0
    lift     = sum over the classes both name of (chance / s ** 0.9) x (weight / t ** 0.3), where s and t say how common
               the class is among situations and among triggers: that code will be edited says little, that a release is
               coming says much. A command of the trigger about to run counts like a class of chance 1 and s = 0.05, its
               tool like one of s = 0.3; without classes, commands and tools lift is 3
    about    = met / root of (words + 0.64), over the stems of the trigger's objects and topics; met = those that the
               situation's objects hold; 0 without any
    where    = best of paths and languages that are given: 1 when one matches, 0.55 when the situation names none,
               0.1 (paths) or 0.3 (languages) when it names others; 0.8, 0.7 and 0.6 where the trigger is only a guess of
               ours; 1 when none is given
    always   = 1, unless nothing is coming

There are two sets of k: for triggers that somebody gave, and for those of the local maker, whose weights say less. k0 is set
so that three times as many pairs reach 0.5 as were judged needed: where half of what comes near is worth a look.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tacit.fitted import Artifact, Origin, load_fitted
from tacit.model.situation import Situation
from tacit.model.trigger import Trigger
from tacit.reading.commands import command_actions
from tacit.reading.moments.places import glob_pattern
from tacit.text.stemming import light_stem
from tacit.text.tokens import OBJECT_PART

# --- fitted values

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


# --- the match

NO_CLASS_LIFT = 3.0
COMMAND_RATE = 0.05
TOOL_RATE = 0.3
WORDS_FLOOR = 0.64
_GIVEN_PLACES = (0.55, 0.1, 0.3)
"""Where the situation names no place, other paths, other languages."""
_GUESSED_PLACES = (0.8, 0.7, 0.6)
_MOST_REASONS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The fit of a trigger (0-1) with reasons for the trace. `when` is the part of its action alone, whatever the object."""

    score: float
    when: float = 0.0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchParts:
    """The parts of the score before they are weighed; `where` multiplies the result."""

    lift: float
    breadth: float
    about: float
    where: float = 1.0

    @property
    def row(self) -> tuple[float, float, float]:
        """The inputs of the weights k1 to k3."""
        return math.log1p(self.lift), self.breadth, self.about


class Matcher:
    """A situation, prepared for many triggers."""

    __slots__ = (
        "_chances", "_commands", "_languages", "_model", "_nothing", "_objects", "_paths", "_strengths", "_tool",
    )  # fmt: skip

    def __init__(self, situation: Situation, *, tool: str = "", model: MatchModel | None = None) -> None:
        """Prepare `situation`; `tool` is the host-neutral name of the tool about to run, where one is."""
        self._model = model or shipped_match()
        self._nothing = situation.nothing_coming
        self._chances = dict(situation.actions)
        self._strengths = class_strengths(situation.actions, self._model)
        self._paths = tuple(path.lower() for path in situation.paths)
        self._languages = frozenset(situation.languages)
        self._commands = situation.commands
        self._tool = tool
        self._objects = object_stems(situation.objects)

    def match(self, trigger: Trigger) -> Match:
        """Score one trigger by the formula of this module."""
        if self._nothing:
            return Match(score=0.0, reasons=("nothing is coming",))
        if trigger.always:
            return Match(score=1.0, when=1.0, reasons=("always",))
        reasons: list[str] = []
        score = self._score(trigger, reasons)
        if score <= 0.0:
            return Match(score=0.0)
        return Match(score=score, when=round(self._when(trigger), 6), reasons=tuple(reasons))

    def score(self, trigger: Trigger) -> float:
        """The score of `match` alone."""
        if self._nothing:
            return 0.0
        return 1.0 if trigger.always else self._score(trigger, [])

    def _score(self, trigger: Trigger, reasons: list[str]) -> float:
        if trigger.empty and not trigger.objects:
            return 0.0
        match_parts = self._parts(trigger, reasons)
        if match_parts.lift <= 0.0:
            return 0.0
        k = self._model.local if trigger.maker == "local" else self._model.given
        first, second, third = match_parts.row
        z = k[0] + k[1] * first + k[2] * second + k[3] * third
        return round(match_parts.where / (1.0 + math.exp(-min(max(z, -30.0), 30.0))), 6)

    def parts(self, trigger: Trigger) -> MatchParts:
        """Return the parts of the score of `trigger`; for fitting."""
        return self._parts(trigger, [])

    def _parts(self, trigger: Trigger, reasons: list[str]) -> MatchParts:
        lift = self._lift(trigger, reasons)
        place_match = self._where(trigger, reasons) if trigger.paths or trigger.languages else 1.0
        words = object_stems(trigger.objects + trigger.topics)
        met = words & self._objects
        if met and len(reasons) < _MOST_REASONS:
            reasons.extend(f"about: {word}" for word in sorted(met)[:3])
        return MatchParts(
            lift=lift,
            breadth=trigger.breadth,
            about=len(met) / math.sqrt(len(words) + WORDS_FLOOR),
            where=place_match,
        )

    def _lift(self, trigger: Trigger, reasons: list[str]) -> float:
        if not (trigger.actions or trigger.commands or trigger.tools):
            return NO_CLASS_LIFT
        total, best, label = 0.0, 0.0, ""
        for name, weight in trigger.actions:
            strength = self._strengths.get(name)
            if strength is None:
                continue
            share = strength * weight / self._model.trigger_rate(name)
            total += share
            if share > best:
                best, label = share, name
        for command in trigger.commands:
            share = self._command_chance(command, alone=not trigger.actions) / COMMAND_RATE**SITUATION_POWER
            total += share
            if share > best:
                best, label = share, command
        if self._tool and self._tool in trigger.tools:
            share = 1.0 / TOOL_RATE**SITUATION_POWER
            total += share
            if share > best:
                best, label = share, self._tool
        if label:
            reasons.append(f"intent: {label}")
        return total

    def _when(self, trigger: Trigger) -> float:
        """Best weight x chance over the classes both name; 1 for a command or tool that is about to run."""
        best = max((weight * self._chances.get(name, 0.0) for name, weight in trigger.actions), default=0.0)
        if trigger.commands:
            best = max(best, *(self._command_chance(c, alone=not trigger.actions) for c in trigger.commands))
        if self._tool and self._tool in trigger.tools:
            return 1.0
        return best if trigger.actions or trigger.commands or trigger.tools else 0.6

    def _command_chance(self, command: str, *, alone: bool) -> float:
        if any(expected == command or expected.startswith(command + " ") for expected in self._commands):
            return 1.0
        if not alone:
            return 0.0  # its classes speak for it already
        return max(
            (share * self._chances.get(name, 0.0) for name, share in command_actions(command)), default=0.0
        )

    def _where(self, trigger: Trigger, reasons: list[str]) -> float:
        if not trigger.paths and not trigger.languages:
            return 1.0
        best = 0.0
        unknown, other_path, other_language = _GUESSED_PLACES if trigger.maker == "local" else _GIVEN_PLACES
        if trigger.paths:
            hit = next(
                (p for glob in trigger.paths for p in self._paths if glob_pattern(glob.lower()).search(p)), ""
            )
            if hit:
                reasons.append(f"path: {hit}")
                return 1.0
            best = other_path if self._paths else unknown
        if trigger.languages:
            common = next((name for name in trigger.languages if name in self._languages), "")
            if common:
                reasons.append(f"language: {common}")
                fit = 1.0 if not trigger.paths else unknown
            else:
                fit = other_language if self._languages else unknown
            best = max(best, fit)
        return best


def class_strengths(
    actions: tuple[tuple[str, float], ...], model: MatchModel | None = None
) -> dict[str, float]:
    """Return how much each class that may come speaks for a trigger that names it: chance over how common it is."""
    chosen = model or shipped_match()
    return {name: chance / chosen.situation_rate(name) for name, chance in actions}


def relative_strengths(
    actions: tuple[tuple[str, float], ...], model: MatchModel | None = None
) -> tuple[tuple[str, float], ...]:
    """`class_strengths`, divided by the greatest of them: what a search for triggers is asked by.

    By bare chances nearly every search would return what names `edit_code`.
    """
    strengths = class_strengths(actions, model)
    most = max(strengths.values(), default=0.0)
    return tuple((name, strength / most) for name, strength in strengths.items()) if most > 0.0 else ()


@lru_cache(maxsize=16384)
def object_stems(items: tuple[str, ...]) -> frozenset[str]:
    """Stems of the words and path parts of `items`, under which two spellings of one thing meet."""
    stems: set[str] = set()
    for item in items:
        for word in OBJECT_PART.findall(item.lower().replace("_", " ").replace("-", " ")):
            if len(word) > 2 or word[0] == "#":
                stems.add(light_stem(word))
    return frozenset(stems)
