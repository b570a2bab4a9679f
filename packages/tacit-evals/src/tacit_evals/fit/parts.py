"""The fitted parts of one run, as one value that can be put into the engine. None = what ships."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.reading.match import MatchModel
from tacit.reading.trigger_model import TriggerModel
from tacit.recall.score import ArmedWeights, Gate, NeedModel, PromptTransform


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The fitted parts of one run.

    Attributes:
        trigger: says when a memory applies.
        triggers: other makers for the memories of some projects, by name; used while fitting.
        match: how much classes, breadth and objects count when a trigger meets a situation.
        need: orders the start pack.
        transform: transforms the vectors of prompts.
        transforms: others by the projects (of the store, of the prompt) whose rows they were fitted without; used while fitting.
        gate: relevance with its thresholds.
        armed: how much counts what a language model named in the pause.
        left_out: projects of which no row was used.
        rows: how many rows each part was fitted on.
    """

    trigger: TriggerModel | None = None
    triggers: tuple[tuple[str, TriggerModel], ...] = ()
    match: MatchModel | None = None
    need: NeedModel | None = None
    transform: PromptTransform | None = None
    transforms: tuple[tuple[frozenset[str], PromptTransform], ...] = ()
    gate: Gate | None = None
    armed: ArmedWeights | None = None
    left_out: tuple[str, ...] = ()
    rows: tuple[tuple[str, int], ...] = ()

    def transform_for(self, *projects: str) -> PromptTransform | None:
        """The transformation that was fitted without `projects`, else the one for all."""
        return dict(self.transforms).get(frozenset(projects), self.transform)


SHIPPED = Fitted()
"""Nothing of our own: the engine as it ships."""
