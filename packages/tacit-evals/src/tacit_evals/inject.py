"""What the memory hands over on real prompts. In: projects with judged prompts. Out: a scorecard.

Per project: start packs of several budgets, each followed by every prompt on its own; prompts of the other projects against
this store. Figures of the scorecard are those after 1,000 tokens. Simpler methods stand beside, from the same pool: BM25 (SQLite FTS5
with Porter stemming; Robertson and Zaragoza, 2009), cosine of the embedder, and their reciprocal rank fusion (Cormack et al., 2009,
k = 60). Each hands over as many as Tacit did, either to the same prompts or the best-scored pairs of all prompts.
"""

from __future__ import annotations

import re
import sqlite3
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tacit.ports.models import Embedder
from tacit_evals.data import Project, folders_of, load_inject
from tacit_evals.figures import ItemResult
from tacit_evals.pool import Pool
from tacit_evals.running import SuiteRun
from tacit_evals.scorecard import ProjectResult, Scorecard, scorecard

_FUNCTION_WORDS = (
    "a an the and or of to in on at for with is are was were be been do does did has have had what when where who which "
    "how why that this it its his her their he she they i me we us you my our your by from as not about would could"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Left out of a lexical query: with them BM25 finds less, and a baseline should be as good as it gets."""
RRF_K = 60
_WORD = re.compile(r"\w+")
Ranked = Mapping[str, float]
"""Score by memory id; what is missing scored nothing."""


class Lexical:
    """BM25 over a pool, by SQLite."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._base = sqlite3.connect(":memory:")
        weakref.finalize(self, self._base.close)
        self._base.execute(
            "CREATE VIRTUAL TABLE pool USING fts5(id UNINDEXED, content, tokenize='porter unicode61')"
        )
        self._base.executemany("INSERT INTO pool VALUES (?, ?)", sorted(texts.items()))

    def scores(self, text: str) -> dict[str, float]:
        """Score of every memory that shares a word with `text`."""
        terms = dict.fromkeys(word.lower() for word in _WORD.findall(text))
        words = [word for word in terms if word not in FUNCTION_WORDS] or list(terms)
        if not words:
            return {}
        expression = " OR ".join(f'"{word}"' for word in words)
        rows = self._base.execute("SELECT id, -bm25(pool) FROM pool WHERE pool MATCH ?", (expression,))
        return {str(name): float(score) for name, score in rows}


class Dense:
    """Cosine over a pool."""

    def __init__(self, texts: Mapping[str, str], *, embedder: Embedder) -> None:
        self._ids = sorted(texts)
        self._embedder = embedder
        self._vectors = embedder.embed([texts[name] for name in self._ids])

    def scores(self, text: str) -> dict[str, float]:
        """Cosine of every memory."""
        values = self._vectors @ self._embedder.embed([text])[0]
        return dict(zip(self._ids, (float(value) for value in values), strict=True))


def ranked(scores: Ranked) -> list[str]:
    """Ids, best first; ties by id."""
    return sorted(scores, key=lambda name: (-scores[name], name))


def fused(rankings: Sequence[Ranked]) -> dict[str, float]:
    """Reciprocal rank fusion: sum over rankings of 1 / (60 + rank), ranks from 1."""
    total: dict[str, float] = {}
    for scores in rankings:
        for rank, name in enumerate(ranked(scores), start=1):
            total[name] = total.get(name, 0.0) + 1 / (RRF_K + rank)
    return total


def top(scores: Ranked, *, without: frozenset[str], size: int) -> tuple[str, ...]:
    """The best `size` that are not in context."""
    return tuple([name for name in ranked(scores) if name not in without][:size])


def as_many_each(handed: Sequence[ItemResult], scores: Sequence[Ranked]) -> list[ItemResult]:
    """As many for every item as it was handed."""
    return [
        replace(result, pack=top(own, without=result.start, size=len(result.pack)), tokens=0, predicted={})
        for result, own in zip(handed, scores, strict=True)
    ]


def as_many_in_all(handed: Sequence[ItemResult], scores: Sequence[Ranked]) -> list[ItemResult]:
    """As many over all items: the best-scored pairs, so that the method may be silent where it is unsure."""
    pairs = sorted(
        (-value, result.item, memory)
        for result, own in zip(handed, scores, strict=True)
        for memory, value in own.items()
        if memory not in result.start
    )[: sum(len(result.pack) for result in handed)]
    packs: dict[str, list[str]] = {}
    for _, item, memory in pairs:
        packs.setdefault(item, []).append(memory)
    return [
        replace(result, pack=tuple(packs.get(result.item, ())), tokens=0, predicted={}) for result in handed
    ]


MAIN_BUDGET = 1_000
START_BUDGETS = (0, 500, 1_000, 2_000)
ALWAYS_TOP = 3


def run_inject(run: SuiteRun) -> Scorecard:
    """Measure every project below the run's folder."""
    projects = [
        _labelled(load_inject(folder, triggers=run.labels_of(folder.name)), run)
        for folder in folders_of("inject", run.data)
    ]
    measured = [_measure(project, projects, run) for project in projects]
    return scorecard(measured, suite="inject", dataset=str(run.data), settings=run.described())


def _labelled(project: Project, run: SuiteRun) -> Project:
    """Refuse a run with given triggers whose project has none."""
    run.triggers_of(project.name)
    return project


def _measure(project: Project, projects: Sequence[Project], run: SuiteRun) -> ProjectResult:
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
        return ProjectResult(
            name=project.name,
            learned=project.learned,
            handed=handed,
            main=MAIN_BUDGET,
            baselines=prompt_baselines(pool, handed[MAIN_BUDGET], texts, run),
            cross=[
                verdict
                for other in projects
                if other is not project
                for verdict in _cross(project, other, run)
            ],
        )
    finally:
        pool.close()


def _pool(project: Project, run: SuiteRun, *evaluated: str) -> Pool:
    return Pool(
        project,
        embedder=run.embedder,
        settings=run.settings,
        preset=run.preset,
        given=run.triggers is not None,
        fitted=run.fitted(*evaluated),
    )


def _cross(project: Project, other: Project, run: SuiteRun) -> list[tuple[bool, bool]]:
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
    pool: Pool, handed: Sequence[ItemResult], texts: dict[str, str], run: SuiteRun
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
