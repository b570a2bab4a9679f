"""Everything that is fitted, as one value that can be put into the engine. None = what ships.

The parts are fitted in the order in which recall uses them. The gate learns from triggers as the trigger maker makes them, for
each project of the training data by a maker that was fitted without that project, because that is how well it will
do on memories it has never seen. The same holds for the transformation of prompts' vectors (`prompt_transform`), for each pair of a
store and a prompt's project. Rows of evaluated projects are dropped by `leaks` alone, before any fitter sees them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from tacit.config.settings import RecallSettings
from tacit.errors import InvalidInput
from tacit.fitted import FitOrigin
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.ports.models import Embedder
from tacit.reading.match import MatchModel
from tacit.reading.trigger_model import LocalTriggers, TriggerModel
from tacit.recall.score import GateModel, PromptTransform
from tacit_evals.data import PoolRow, Project, everyday_of
from tacit_evals.fit.gate import WRONGFUL, PromptCandidates, ask_all, fit_gate, strangers_of
from tacit_evals.fit.labelled import LabelledPrompt, labelled_prompts, same_project
from tacit_evals.fit.match import (
    ProjectPairs,
    base_rates,
    fit_trigger,
    fit_weights,
    judged,
    labelled_memories,
    projects_of,
)
from tacit_evals.fit.need import fit_need
from tacit_evals.fit.need import judged_projects as of_folder
from tacit_evals.fit.prompt_transform import fit_prompt_transform, judged_pools
from tacit_evals.pool import Fitted, stored_memory


def fit_all(
    dirs: Sequence[Path],
    *,
    exclude_projects: Sequence[str],
    embedder: Embedder,
    settings: RecallSettings,
    date: str = "",
    command: str = "",
) -> Fitted:
    """Fit all parts on rows of `dirs`, without any row of `exclude_projects`.

    Args:
        dirs: folders of labelled data.
        exclude_projects: the projects that are evaluated.
        embedder: whose vectors the models will be given.
        settings: of the read path whose short lists the gate learns from.
        date: stands in the files, nothing else.
        command: stands in the files, nothing else.

    Raises:
        InvalidInput: if nothing is left to fit on.
    """
    return fit_with_lists(
        dirs,
        exclude_projects=exclude_projects,
        embedder=embedder,
        settings=settings,
        date=date,
        command=command,
    ).fitted


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedWithLists:
    """Everything that is fitted, with the short lists that the gate was fitted on."""

    fitted: Fitted
    lists: tuple[PromptCandidates, ...]


def fit_with_lists(
    dirs: Sequence[Path],
    *,
    exclude_projects: Sequence[str],
    embedder: Embedder,
    settings: RecallSettings,
    date: str = "",
    command: str = "",
) -> FittedWithLists:
    """As `fit_all`, with the gate's short lists besides."""
    excluded = tuple(sorted(exclude_projects))
    projects = judged_projects(dirs, exclude_projects=excluded)
    if not projects:
        raise InvalidInput(
            f"No judged project is left to fit on without {', '.join(excluded) or 'any'}.",
            hint="Give --fit a folder with judged projects other than the evaluated ones.",
        )
    places = tuple(dirs)
    prompts = [prompt for folder in places for prompt in labelled_prompts(folder, exclude=excluded)]
    trigger = trigger_without(places, excluded, embedder, date, command)
    apart = {
        project.name: trigger_without(places, tuple(sorted({*excluded, project.name})), embedder)
        for project in projects
    }
    makers = {name: LocalTriggers(embedder=embedder, model=model) for name, model in apart.items()}

    def stored(row: PoolRow, *, project: str, given: bool) -> Memory:
        return stored_memory(row, project=project, given=given, maker=makers[project])

    def transform_without(*names: str) -> PromptTransform:
        left_out = (*excluded, *names)
        pools = judged_pools(places, projects, exclude=left_out)
        own = [prompt for prompt in prompts if not any(same_project(prompt.project, name) for name in names)]
        return fit_prompt_transform(own, pools, embedder=embedder, date=date, command=command)

    pairs = {frozenset((project.name, other.name)) for project in projects for other in projects}
    need = fit_need(projects, stored=stored, date=date, command=command)
    learned = Fitted(
        trigger=trigger,
        triggers=tuple(apart.items()),
        match=match_without(places, excluded, embedder, date, command),
        need=need,
        transform=transform_without(),
        transforms=tuple((pair, transform_without(*pair)) for pair in sorted(pairs, key=sorted)),
    )
    asked = (*projects, *everyday_of(places, exclude=excluded))
    gate, lists = _gate_of(asked, prompts, learned, embedder=embedder, settings=settings)
    origin = replace(gate.origin, date=date, made_by=command)
    fitted = replace(
        learned,
        triggers=(),
        transforms=(),
        gate=replace(gate, origin=origin),
        left_out=excluded,
        rows=(
            ("trigger", int(trigger.weights.origin.details["rows"])),
            ("need", sum(len(project.memories) for project in projects)),
            ("gate", int(gate.origin.details["rows"])),
        ),
    )
    return FittedWithLists(fitted=fitted, lists=lists)


def _gate_of(
    projects: Sequence[Project],
    prompts: Sequence[LabelledPrompt],
    learned: Fitted,
    *,
    embedder: Embedder,
    settings: RecallSettings,
) -> tuple[GateModel, tuple[PromptCandidates, ...]]:
    """The gate fitted on the short lists that `learned` gives, and those lists."""
    strangers = strangers_of(prompts, projects)
    lists = tuple(
        ask_all(projects, embedder=embedder, settings=settings, fitted=learned, strangers=strangers)
    )
    origin = FitOrigin(
        what="relevance of a short list, per surface",
        projects=tuple(sorted(project.name for project in projects)),
        embedder=str(embedder.identity),
        details={
            "rows": sum(len(row.candidates) for row in lists),
            "strangers": len(strangers),
            "wrongful": WRONGFUL,
        },
    )
    return GateModel(surfaces={Surface.PROMPT: fit_gate(lists)}, origin=origin), lists


def judged_projects(dirs: Sequence[Path], *, exclude_projects: Sequence[str]) -> tuple[Project, ...]:
    """Judged projects of all folders with their labelled triggers, without those that are excluded; each name once."""
    projects: dict[str, Project] = {}
    for folder in dirs:
        for project in of_folder(folder, exclude_projects=exclude_projects):
            if any(same_project(project.name, name) for name in exclude_projects):
                raise AssertionError(f"{project.name} is evaluated and must not be fitted on")
            projects.setdefault(project.name, project)
    return tuple(projects.values())


@lru_cache(maxsize=32)
def trigger_without(
    dirs: tuple[Path, ...], excluded: tuple[str, ...], embedder: Embedder, date: str = "", command: str = ""
) -> TriggerModel:
    """The trigger maker, fitted without any row of `excluded`."""
    memories = [memory for folder in dirs for memory in labelled_memories(folder, exclude=excluded)]
    return fit_trigger(memories, embedder=embedder, date=date, command=command)


def match_without(
    dirs: tuple[Path, ...], excluded: tuple[str, ...], embedder: Embedder, date: str = "", command: str = ""
) -> MatchModel:
    """The numbers of the match, from situations by the rules and triggers made by models that did not know the project."""
    prompts = [prompt for folder in dirs for prompt in labelled_prompts(folder, exclude=excluded)]
    memories = [memory for folder in dirs for memory in labelled_memories(folder, exclude=excluded)]
    pairs: list[ProjectPairs] = []
    for folder in dirs:
        for name in projects_of(folder, exclude=excluded):
            trigger = trigger_without(dirs, tuple(sorted({*excluded, name})), embedder)
            pairs.append(judged(folder, name, maker=LocalTriggers(embedder=embedder, model=trigger)))
    return fit_weights(base_rates(prompts, memories), pairs, date=date, command=command)
