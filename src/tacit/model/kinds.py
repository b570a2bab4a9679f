"""The registry of kinds. A kind is data; an unknown kind is an error that names the known ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from tacit.errors import InvalidInput, UnknownKind

TASKS = ("fix", "feature", "refactor", "test", "docs", "review", "ops", "question")
"""The seeds' task types; every action class has one of them as parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What sort of statement a memory is.

    Attributes:
        name: the word used in data, e.g. `preference`.
        label: the word shown to people.
        prefix: the short code used in rendered lines and digests, e.g. `PREF`.
        importance: base importance, 0-1.
        half_life_days: after so many days the `recent` score is one half; None = never ages.
        relevance_floor: a candidate of this kind below this calibrated relevance is never injected, 0-1.
        standing: a standing rule applies until it is superseded and is exempt from age gating.
        episodic: tells what happened; ages, and is judged by similarity only when still fresh.
        priority: task type -> weight (1.0 = neutral) used where budgets are allotted.
    """

    name: str
    label: str
    prefix: str
    importance: float
    half_life_days: float | None = None
    relevance_floor: float = 0.0
    standing: bool = False
    episodic: bool = False
    priority: tuple[tuple[str, float], ...] = field(default=())

    def __post_init__(self) -> None:
        if not 0.0 <= self.importance <= 1.0:
            raise InvalidInput(
                f"Kind {self.name!r}: importance is {self.importance}, must be between 0 and 1."
            )
        if self.half_life_days is not None and self.half_life_days <= 0:
            raise InvalidInput(
                f"Kind {self.name!r}: half_life_days is {self.half_life_days}, must be above 0."
            )
        if self.standing and self.episodic:
            raise InvalidInput(
                f"Kind {self.name!r} is both standing and episodic; it can be only one of them."
            )


BUILTIN: tuple[Kind, ...] = (
    Kind(name="identity", label="Identity", prefix="ID", importance=0.9, standing=True),
    Kind(name="preference", label="Preference", prefix="PREF", importance=0.8, standing=True),
    Kind(name="correction", label="Correction", prefix="CORR", importance=0.9, standing=True),
    Kind(name="anti_pattern", label="Anti-pattern", prefix="ANTI", importance=0.85, standing=True),
    Kind(name="decision", label="Decision", prefix="DEC", importance=0.8, standing=True),
    Kind(name="goal", label="Goal", prefix="GOAL", importance=0.7, half_life_days=90),
    Kind(name="todo", label="Open task", prefix="TODO", importance=0.5, half_life_days=14, episodic=True),
    Kind(name="fact", label="Fact", prefix="FACT", importance=0.5, half_life_days=180),
    Kind(name="file_context", label="File", prefix="FILE", importance=0.5, half_life_days=90),
    Kind(name="error_pattern", label="Error and fix", prefix="ERR", importance=0.7, half_life_days=180),
    Kind(name="research", label="Research", prefix="RES", importance=0.5, half_life_days=60),
    Kind(name="outcome", label="Outcome", prefix="OUT", importance=0.4, half_life_days=30, episodic=True),
    Kind(name="event", label="Event", prefix="EVT", importance=0.3, half_life_days=14, episodic=True),
    Kind(
        name="observation",
        label="Observation",
        prefix="OBS",
        importance=0.3,
        half_life_days=30,
        episodic=True,
    ),
    Kind(name="guideline", label="Guideline", prefix="RULE", importance=0.75, standing=True),
    Kind(
        name="digest", label="Session digest", prefix="DIG", importance=0.4, half_life_days=14, episodic=True
    ),
)


class KindRegistry:
    """Known kinds by name, in a fixed order. Immutable: `extended` returns a new one."""

    __slots__ = ("_by_name",)

    def __init__(self, kinds: Iterable[Kind] = BUILTIN) -> None:
        self._by_name: dict[str, Kind] = {kind.name: kind for kind in kinds}

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_name.values())

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def get(self, name: str) -> Kind:
        """Return the kind called `name`.

        Raises:
            UnknownKind: naming the known kinds and the nearest one.
        """
        kind = self._by_name.get(name)
        if kind is None:
            near = get_close_matches(name, self._by_name, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise UnknownKind(
                f"Unknown kind {name!r}.", hint=f"{hint}Known kinds: {', '.join(self._by_name)}."
            )
        return kind

    def extended(self, kinds: Iterable[Kind]) -> KindRegistry:
        """Return a registry in which `kinds` are added or replace those of the same name."""
        merged = dict(self._by_name)
        merged.update({kind.name: kind for kind in kinds})
        return KindRegistry(merged.values())
