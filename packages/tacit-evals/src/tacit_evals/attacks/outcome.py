"""What an area reports. In: nothing. Out: forms, outcomes, bounds. Pure data."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One case.

    Attributes:
        form: its name in the area's table.
        tried: what was done, in short.
        survived: whether the product did what it must.
        came_out: what was seen instead.
    """

    form: str
    tried: str
    survived: bool
    came_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """Where an area works.

    Attributes:
        root: an empty folder with a short path, removed after the run.
        chance: the only source of chance of this area.
        cases: how many cases it makes.
        python: the interpreter that has `tacit`.
    """

    root: Path
    chance: random.Random
    cases: int
    python: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One table of forms, what runs them and the least share that must survive.

    Attributes:
        name: as `--area` takes it.
        about: one sentence.
        forms: what each form is, by its name.
        run: makes the cases and judges them.
        least: share of the cases that must survive.
        standard: number of cases of a full run; a smaller run makes a proportional share.
        control: it says that something still works, not that something is refused.
    """

    name: str
    about: str
    forms: Mapping[str, str]
    run: Callable[[Lab], Sequence[Outcome]]
    least: float = 1.0
    standard: int = 300
    control: bool = False

    def kept(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether enough survived, and anything was tried."""
        survived = sum(outcome.survived for outcome in outcomes)
        return bool(outcomes) and survived >= math.floor(self.least * len(outcomes) + 1e-9)


def spread(forms: Sequence[str], cases: int) -> list[str]:
    """`cases` names of forms, each about equally often, in the order of the table again and again.

    Fewer cases than forms are taken from the whole table at equal steps.
    """
    if cases < len(forms):
        return [forms[number * len(forms) // cases] for number in range(cases)]
    return [forms[number % len(forms)] for number in range(cases)]
