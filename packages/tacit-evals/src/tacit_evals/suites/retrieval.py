"""How well an answer on demand finds what it is asked for. In: corpora with questions. Out: a scorecard. Nothing is fitted.

Every text is a memory of one project, said in its session where it has one; a question is asked on demand, and the order in which that surface scored its
short list is the ranking. BM25, the embedder and their mix rank the same texts beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tacit.config.settings import RecallSettings
from tacit.recall.stage import Preset
from tacit_evals.data.corpora import Corpus, load_conversations, load_duplicates
from tacit_evals.data.judged import PoolRow, Project
from tacit_evals.data.recognise import folders_of, is_duplicates
from tacit_evals.metrics.ranking import (
    ANY_5,
    RECALL_5,
    RECALL_10,
    Qrels,
    as_scores,
    mean,
    per_query,
    resampled_mean,
)
from tacit_evals.report.scorecard import Part, Scorecard
from tacit_evals.report.trec import write_trec
from tacit_evals.suites.baselines import Dense, Lexical, convex, fused
from tacit_evals.suites.pool import Pool
from tacit_evals.suites.running import Run

MIX = (0.5, 0.5)
DEEPEST = 10
COLUMNS = ("turn_recall_at_5", "turn_recall_at_10", "session_any_at_5", "any_at_5")
Values = dict[str, dict[str, float]]
"""Value of every query, by figure."""


@dataclass(slots=True)
class _Found:
    """Values by method and figure, over all corpora of a kind."""

    methods: dict[str, Values] = field(default_factory=dict[str, Values])

    def add(self, method: str, figure: str, values: Mapping[str, float]) -> None:
        self.methods.setdefault(method, {}).setdefault(figure, {}).update(values)


def run_retrieval(run: Run) -> Scorecard:
    """Measure every corpus below the run's folder."""
    folders = folders_of("retrieval", run.data)
    whole = _Found()
    parts: list[Part] = []
    for folder in folders:
        if is_duplicates(folder):
            corpora, figures = (load_duplicates(folder),), _duplicate_figures
        else:
            corpora, figures = load_conversations(folder), _turn_figures
        own = _Found()
        for corpus in corpora:
            run.say(f"{corpus.name}: {len(corpus.texts)} texts, {len(corpus.questions)} questions")
            ranked = _rankings(corpus, run)
            if run.trec is not None:
                runs = {
                    method: {q: as_scores(ranking) for q, ranking in own_runs.items()}
                    for method, own_runs in ranked.items()
                }
                write_trec(run.trec, corpus.name, _qrels(corpus, str), runs)
            for method, rankings in ranked.items():
                for name, values in figures(corpus, rankings).items():
                    by_query = {f"{corpus.name}/{query}": value for query, value in values.items()}
                    own.add(method, name, by_query)
                    whole.add(method, name, by_query)
        parts.append(_part(folder.name, own))
    return Scorecard(
        suite="retrieval",
        dataset=str(run.data),
        settings={**run.described(), "triggers": "local", "fit": "shipped", "mix": list(MIX)},
        total=_part("all", whole),
        parts=tuple(parts) if len(parts) > 1 else (),
        columns=COLUMNS,
    )


def _part(name: str, results: _Found) -> Part:
    tacit = results.methods["Tacit"]
    return Part(
        name=name,
        metrics={figure: mean(values) for figure, values in tacit.items()}
        | {f"questions_{figure}": float(len(values)) for figure, values in tacit.items()},
        intervals={figure: resampled_mean(values) for figure, values in tacit.items()},
        baselines={
            method: {figure: mean(values) for figure, values in own.items()}
            for method, own in results.methods.items()
            if method != "Tacit"
        },
    )


def turn_recall(
    corpora: Sequence[Corpus], run: Run, settings: Sequence[tuple[RecallSettings, Preset]]
) -> tuple[float, ...]:
    """Mean recall at 5 of answers on demand over all questions, for each of several settings with their presets."""
    recalls: list[dict[str, float]] = [{} for _ in settings]
    for corpus in corpora:
        pool = _pool(corpus, run)
        try:
            shipped = pool.settings
            for values, (setting, preset) in zip(recalls, settings, strict=True):
                pool.settings = shipped.model_copy(update={"spaces": setting.spaces})
                pool.preset = preset
                rankings = {
                    question.id: as_scores(pool.search(question.text)) for question in corpus.questions
                }
                own = per_query(_qrels(corpus, str), rankings, RECALL_5)
                values.update({f"{corpus.name}/{query}": value for query, value in own.items()})
        finally:
            pool.close()
    return tuple(mean(values) for values in recalls)


def _pool(corpus: Corpus, run: Run) -> Pool:
    project = Project(
        name=corpus.name,
        folder=run.data,
        memories=tuple(
            PoolRow(
                id=name,
                kind="fact",
                content=text or name,
                created_ms=number,
                source="corpus",
                session=corpus.group.get(name, ""),
                turn=number,
            )
            for number, (name, text) in enumerate(corpus.texts.items(), start=1)
        ),
    )
    return Pool(project, embedder=run.embedder, settings=run.settings, preset=run.preset)


def _rankings(corpus: Corpus, run: Run) -> dict[str, dict[str, list[str]]]:
    """Rankings by method and query."""
    lexical, dense = Lexical(corpus.texts), Dense(corpus.texts, embedder=run.embedder)
    pool = _pool(corpus, run)
    methods: dict[str, dict[str, list[str]]] = {}
    try:
        for question in corpus.questions:
            words, sense = lexical.scores(question.text), dense.scores(question.text)
            methods.setdefault("Tacit", {})[question.id] = pool.search(question.text)
            methods.setdefault("BM25", {})[question.id] = _ordered(words)
            methods.setdefault("dense", {})[question.id] = _ordered(sense)
            methods.setdefault("RRF", {})[question.id] = _ordered(fused([words, sense]))
            methods.setdefault("convex mix", {})[question.id] = _ordered(convex([words, sense], MIX))
    finally:
        pool.close()
    without = {question.id: question.without for question in corpus.questions}
    return {
        method: {
            query: [text_id for text_id in ranking if text_id not in without[query]]
            for query, ranking in own.items()
        }
        for method, own in methods.items()
    }


def _ordered(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda text_id: (-scores[text_id], text_id))


def _qrels(corpus: Corpus, name: Callable[[str], str]) -> Qrels:
    return {
        question.id: {name(text_id): 1 for text_id in question.evidence}
        for question in corpus.questions
        if question.evidence
    }


def _turn_figures(corpus: Corpus, rankings: Mapping[str, list[str]]) -> Values:
    """Share of the evidence among the first turns, and whether any of the first five sessions holds evidence."""
    qrels = _qrels(corpus, str)
    run = {query: as_scores(ranking[: DEEPEST * 2]) for query, ranking in rankings.items()}
    sessions = {
        query: as_scores(list(dict.fromkeys(corpus.group[text_id] for text_id in ranking)))
        for query, ranking in rankings.items()
    }
    return {
        "turn_recall_at_5": per_query(qrels, run, RECALL_5),
        "turn_recall_at_10": per_query(qrels, run, RECALL_10),
        "session_any_at_5": per_query(_qrels(corpus, lambda text_id: corpus.group[text_id]), sessions, ANY_5),
    }


def _duplicate_figures(corpus: Corpus, rankings: Mapping[str, list[str]]) -> Values:
    """Whether any of the first five documents is a duplicate."""
    run = {query: as_scores(ranking[:DEEPEST]) for query, ranking in rankings.items()}
    return {"any_at_5": per_query(_qrels(corpus, str), run, ANY_5)}
