"""What the memory hands over on real prompts. In: projects with judged prompts. Out: a scorecard.

Per project: start packs of several budgets, each followed by every prompt on its own; prompts of the other projects against
this store; simpler methods beside it, from the same pool. Figures of the scorecard are those after 1,000 tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tacit.model.evidence import Candidate
from tacit.model.memory import Memory
from tacit.model.pack import Surface
from tacit.recall.render import frame_text, line_text
from tacit_evals.data.judged import Project, load_inject, load_phrases
from tacit_evals.data.recognise import folders_of
from tacit_evals.metrics.counts import ItemResult
from tacit_evals.report.scorecard import Scorecard
from tacit_evals.report.trec import of_handed, write_trec
from tacit_evals.suites.baselines import (
    Dense,
    Lexical,
    as_many_each,
    as_many_in_all,
    filled,
    fused,
    plain_cost,
    start_orders,
    top,
)
from tacit_evals.suites.causes import SITUATIONS, Labels, labelled_classes
from tacit_evals.suites.handed import Measured, scorecard
from tacit_evals.suites.pool import Pool, Start
from tacit_evals.suites.running import Run

MAIN_BUDGET = 1_000
START_BUDGETS = (0, 500, 1_000, 2_000)
ALWAYS_TOP = 3


def run_inject(run: Run) -> Scorecard:
    """Measure every project below the run's folder."""
    projects = [
        _labelled(load_inject(folder, triggers=run.labels_of(folder.name)), run)
        for folder in folders_of("inject", run.data)
    ]
    if run.phrases is not None:
        projects = [
            load_phrases(project, path)
            for project in projects
            if (path := run.phrases / f"{project.name}.jsonl").is_file()
        ]
    measured = [_measure(project, projects, run) for project in projects]
    return scorecard(measured, suite="inject", dataset=str(run.data), settings=run.described())


def _labelled(project: Project, run: Run) -> Project:
    """Refuse a run with given triggers whose project has none."""
    run.triggers_of(project.name)
    return project


def _measure(project: Project, projects: Sequence[Project], run: Run) -> Measured:
    run.say(f"{project.name}: {len(project.memories)} memories, {len(project.prompts)} prompts")
    pool = _pool(project, run, project.name)
    try:
        handed = {
            budget: [
                pool.prompt(prompt, pool.start(tokens=budget, at_ms=prompt.at_ms))
                for prompt in project.prompts
            ]
            for budget in START_BUDGETS
        }
        texts = {f"{project.name}/{prompt.id}": prompt.text for prompt in project.prompts}
        if run.trec is not None:
            write_trec(run.trec, project.name, *of_handed(handed[MAIN_BUDGET]))
        return Measured(
            name=project.name,
            learned=project.learned,
            handed=handed,
            main=MAIN_BUDGET,
            baselines=prompt_baselines(pool, handed[MAIN_BUDGET], texts, run),
            start_baselines=start_baselines(pool, handed),
            cross=[
                verdict
                for other in projects
                if other is not project
                for verdict in _cross(project, other, run)
            ],
            labels=_labels(project, pool, texts, run),
        )
    finally:
        pool.close()


def _labels(project: Project, pool: Pool, texts: dict[str, str], run: Run) -> Labels:
    """Texts, triggers as they are used, and the annotators' labels where the data has them."""
    beside = run.labels_of(project.name)
    return Labels(
        asked=texts,
        memories=pool.memories,
        situations=labelled_classes(beside.with_name(SITUATIONS), prefix=project.name) if beside else {},
        triggers={row.id: row.given for row in project.memories if row.given is not None},
    )


def _pool(project: Project, run: Run, *evaluated: str) -> Pool:
    return Pool(
        project,
        embedder=run.embedder,
        settings=run.settings,
        preset=run.preset,
        given=run.triggers is not None,
        fitted=run.fitted(*evaluated),
    )


def _cross(project: Project, other: Project, run: Run) -> list[tuple[bool, bool]]:
    """For every prompt of `other` against the store of `project`: (got anything, got anything that is not generic)."""
    pool = _pool(project, run, project.name, other.name)
    try:
        generic = pool.generic()
        start = pool.start(tokens=MAIN_BUDGET, at_ms=max(prompt.at_ms for prompt in project.prompts))
        packs = [pool.prompt(prompt, start, pool_of=other.name).pack for prompt in other.prompts]
        return [(bool(pack), not generic.issuperset(pack)) for pack in packs]
    finally:
        pool.close()


def prompt_baselines(
    pool: Pool, handed: Sequence[ItemResult], texts: dict[str, str], run: Run
) -> dict[str, list[ItemResult]]:
    """Simpler methods after the same start packs: as many in all, as many for each item, and always three."""
    contents = {name: memory.content for name, memory in pool.memories.items()}
    lexical, dense = Lexical(contents), Dense(contents, embedder=run.embedder)
    words = [texts[result.item] for result in handed]
    by_words = [lexical.scores(text) for text in words]
    by_sense = [dense.scores(text) for text in words]
    methods = {
        "BM25": by_words,
        "dense": by_sense,
        "RRF": [fused(pair) for pair in zip(by_words, by_sense, strict=True)],
    }
    baselines: dict[str, list[ItemResult]] = {}
    for name, scores in methods.items():
        baselines[f"{name}, as many"] = as_many_in_all(handed, scores)
        baselines[f"{name}, as many each"] = as_many_each(handed, scores)
        baselines[f"{name}, top 3"] = [
            replace(result, pack=top(own, without=result.start, size=ALWAYS_TOP), tokens=0, predicted={})
            for result, own in zip(handed, scores, strict=True)
        ]
    return baselines


def start_baselines(
    pool: Pool, handed: dict[int, list[ItemResult]]
) -> dict[str, dict[int, list[list[ItemResult]]]]:
    """Start packs in simpler orders, by name and budget; each with one list of items per order.

    A line costs what it costs in Tacit's block; with `plain cost` 6 + characters / 4, as in the data's own table.
    """
    memories = list(pool.memories.values())
    frame = pool.tokens.count("\n".join(frame_text(Surface.START))) + 1

    def line_cost(memory: Memory) -> float:
        empty = line_text(Candidate(memory=memory, scores=(), fused=0.0), "", pool.kinds)
        return pool.tokens.count(empty) + memory.tokens + 1

    costs: dict[str, tuple[Callable[[Memory], float], int]] = {
        "": (line_cost, frame),
        ", plain cost": (plain_cost, 0),
    }
    baselines: dict[str, dict[int, list[list[ItemResult]]]] = {}
    for name, orders in start_orders(memories).items():
        for suffix, (cost, taken) in costs.items():
            baselines[f"{name}{suffix}"] = {
                budget: [_started(items, filled(order, tokens=budget - taken, cost=cost)) for order in orders]
                for budget, items in handed.items()
                if budget
            }
    return baselines


def _started(items: Sequence[ItemResult], ids: frozenset[str]) -> list[ItemResult]:
    start = Start(ids=ids)
    return [replace(item, start=start.ids, start_tokens=0, pack=(), tokens=0, predicted={}) for item in items]
