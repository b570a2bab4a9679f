"""How well situations are read, triggers made and both matched. In: labelled rows. Out: a scorecard per project left out.

Everything is read by models that saw no row of the project, whatever ships. Beside them: the rules alone, a bag of words,
centroids of vectors (the cosine between a text's vector and the mean vector of the class's texts). A class is right from grade 2 on ("likely", "often") and said from `SAID` on.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tacit.model.situation import Situation
from tacit.model.trigger import Trigger
from tacit.ports.models import Embedder
from tacit.reading.classifier.features import VECTOR_CHARS, prompt_words
from tacit.reading.classifier.maker import LocalTriggers
from tacit.reading.classifier.reader import SituationReader
from tacit.reading.classifier.situation import PromptInput, SituationModel
from tacit.reading.classifier.trigger import STATEMENT_CHARS, said_by_rules, statement_words
from tacit.reading.match import Matcher
from tacit.reading.situation import read_situation
from tacit.reading.trigger import make_trigger
from tacit_evals.fit import situation as situations
from tacit_evals.fit import trigger as triggers
from tacit_evals.fit.fitted import match_without, readers_without
from tacit_evals.fit.leaks import same_project
from tacit_evals.fit.logistic import Array, fit_dual, sigmoid
from tacit_evals.fit.match import judged, projects_of
from tacit_evals.fit.situation import presence, vocabulary
from tacit_evals.metrics.classes import (
    Truth,
    average_precision,
    by_class,
    macro_precision,
    rank_correlation,
    ranked_above,
    said,
)
from tacit_evals.report.scorecard import MACRO, Figures, Part, Scorecard
from tacit_evals.suites.running import Run

LEAST_ROWS = 40
"""A project with fewer labelled rows is fitted on and not reported."""
SAID = 0.4
RIGHT_GRADE = 2
MICROSECONDS = 1e6
FITTED = "fitted"
COLUMNS = (
    "prompts", "situation_ap", "situation_precision", "situation_recall", "read_p50_us", "read_p99_us", "statements", "trigger_ap",
    "trigger_precision", "trigger_recall", "breadth_rank", "auc_given_labelled", "auc_given_read", "auc_local_labelled",
    "auc_local_read", "ap_given_read", "ap_local_read",
)  # fmt: skip


@dataclass(slots=True)
class Found:
    """Figures of one project: the shipped methods' and, by method, those of the simpler ones."""

    own: dict[str, float | None] = field(default_factory=dict[str, float | None])
    simpler: dict[str, dict[str, float | None]] = field(default_factory=dict[str, dict[str, float | None]])
    classes: dict[str, list[dict[str, float | str | None]]] = field(
        default_factory=dict[str, list[dict[str, float | str | None]]]
    )

    def add(self, what: str, classes: Sequence[str], scores: dict[str, Array], right: Truth) -> None:
        """Figures of all methods for `what` (`situation`, `trigger`)."""
        for method, values in scores.items():
            place = self.own if method == FITTED else self.simpler.setdefault(method, {})
            place[f"{what}_ap"] = macro_precision(values, right)
            if method != "centroids":  # a cosine is no chance
                both = said(values, right, threshold=SAID)
                place[f"{what}_precision"], place[f"{what}_recall"] = both or (None, None)
        self.classes[what] = by_class(classes, scores[FITTED], right, threshold=SAID)


def run_reading(run: Run, *, least_rows: int = LEAST_ROWS) -> Scorecard:
    """Leave out every project with `least_rows` labels in turn. Fits on the run's folders, or on the data itself."""
    folders = run.fit or (run.data,)
    found: dict[str, Found] = {}
    prompts = [one for folder in folders for one in situations.labelled_prompts(folder)]
    memories = [one for folder in folders for one in triggers.labelled_memories(folder)]
    for name in _projects([one.project for one in prompts], least_rows):
        run.say(f"situations without {name}")
        _situations(found.setdefault(name, Found()), name, prompts, run.embedder)
    for name in _projects([one.project for one in memories], least_rows):
        run.say(f"triggers without {name}")
        _triggers(found.setdefault(name, Found()), name, memories, run.embedder)
    judged_names = [name for folder in folders for name in projects_of(folder)]
    if len(judged_names) > 1:
        for name in judged_names:
            run.say(f"match without {name}")
            place = next((known for known in found if same_project(known, name)), name)
            _pairs(found.setdefault(place, Found()), name, folders, run.embedder)
    return _card(found, run)


def _projects(names: Sequence[str], least_rows: int) -> list[str]:
    """Projects with enough rows, under the first of their names."""
    firsts: list[str] = []
    for name in dict.fromkeys(names):
        if not any(same_project(name, known) for known in firsts):
            firsts.append(name)
    return [one for one in firsts if sum(same_project(one, name) for name in names) >= least_rows]


def _right(grades: Sequence[dict[str, int]], classes: Sequence[str]) -> Truth:
    return np.array([[one.get(name, 0) >= RIGHT_GRADE for name in classes] for one in grades], np.bool_)


def _vectors(texts: Sequence[str], embedder: Embedder) -> Array:
    return np.array([embedder.embed([text])[0] for text in texts], np.float64)


def _situations(
    found: Found, name: str, prompts: Sequence[situations.LabelledPrompt], embedder: Embedder
) -> None:
    known = [one for one in prompts if not same_project(one.project, name)]
    asked = [one for one in prompts if same_project(one.project, name)]
    model = situations.fit_situation(known, embedder=embedder)
    classes = situations.CLASSES
    read, rules, took = read_all(asked, model, embedder)
    truth = _right([one.grades for one in known], classes).astype(np.float64)
    scores = {
        FITTED: _table(read, classes),
        "rules": _table(rules, classes),
        "bag of words": bag_of_words(
            [prompt_words(one.text) for one in known],
            [one.project for one in known],
            truth,
            [prompt_words(one.text) for one in asked],
        ),
        "centroids": centroids(
            _vectors([one.text[:VECTOR_CHARS] for one in known], embedder),
            truth,
            _vectors([one.text[:VECTOR_CHARS] for one in asked], embedder),
        ),
    }
    found.own["prompts"] = float(len(asked))
    found.own["read_p50_us"], found.own["read_p99_us"] = (
        float(q) for q in np.percentile(np.array(took) * MICROSECONDS, (50, 99))
    )
    found.add("situation", classes, scores, _right([one.grades for one in asked], classes))


def read_all(
    asked: Sequence[situations.LabelledPrompt], model: SituationModel, embedder: Embedder
) -> tuple[list[Situation], list[Situation], list[float]]:
    """Every prompt as fitted weights read it, as rules alone do, and the seconds that reading took after the embedding.

    The seconds are those of the processor, not of the clock: other work on the machine must not count.
    """
    read: list[Situation] = []
    rules: list[Situation] = []
    took: list[float] = []
    for one in asked:
        end = one.previous_end
        vector = embedder.embed([one.text[:VECTOR_CHARS]])[0]
        end_vector = embedder.embed([end])[0] if end.strip() else None
        model.heard(end)  # as `SituationReader.heard` did when the message arrived
        before = time.thread_time()
        ruled = read_situation(one.text, previous_end=end, recent_files=one.files)
        found = PromptInput(
            text=one.text, previous_end=end, files=one.files, vector=vector, end_vector=end_vector
        )
        read.append(model.read(ruled, found))
        took.append(time.thread_time() - before)
        rules.append(ruled)
    return read, rules, took


def _table(read: Sequence[Situation], classes: Sequence[str]) -> Array:
    rows = [dict(one.actions) | {situations.NOTHING: float(one.nothing_coming)} for one in read]
    return np.array([[row.get(name, 0.0) for name in classes] for row in rows])


def _triggers(
    found: Found, name: str, memories: Sequence[triggers.LabelledMemory], embedder: Embedder
) -> None:
    known = [one for one in memories if not same_project(one.project, name)]
    asked = [one for one in memories if same_project(one.project, name)]
    model = triggers.fit_trigger(known, embedder=embedder)
    classes = triggers.CLASSES
    make = LocalTriggers(embedder=embedder, model=model)
    made = [make(one.content, kind=one.kind, files=one.files) for one in asked]
    ruled = [make_trigger(one.content, kind=one.kind, files=one.files) for one in asked]
    truth = _right([one.grades for one in known], classes).astype(np.float64)
    scores = {
        FITTED: _weights(made, classes),
        "rules": _weights(ruled, classes),
        "bag of words": bag_of_words(
            [statement_words(one.content) for one in known],
            [one.project for one in known],
            truth,
            [statement_words(one.content) for one in asked],
        ),
        "centroids": centroids(
            _vectors([one.content[:STATEMENT_CHARS] for one in known], embedder),
            truth,
            _vectors([one.content[:STATEMENT_CHARS] for one in asked], embedder),
        ),
    }
    breadth = np.array([one.breadth for one in asked])
    found.own["statements"] = float(len(asked))
    found.add("trigger", classes, scores, _right([one.grades for one in asked], classes))
    found.own["breadth_rank"] = rank_correlation(np.array([one.breadth for one in made]), breadth)
    found.simpler["rules"]["breadth_rank"] = rank_correlation(
        np.array([one.breadth for one in ruled]), breadth
    )


def _weights(made: Sequence[Trigger], classes: Sequence[str]) -> Array:
    return np.array([said_by_rules(one, tuple(classes)) for one in made], np.float64)


def _pairs(found: Found, name: str, folders: Sequence[Path], embedder: Embedder) -> None:
    """Needed pairs against all others, in the four combinations of given and local triggers, labelled and read situations."""
    places = tuple(folders)
    situation, trigger = readers_without(places, (name,), embedder)
    matching = match_without(places, (name,), embedder)
    reader = SituationReader(embedder=embedder, model=situation)
    maker = LocalTriggers(embedder=embedder, model=trigger)
    for folder in folders:
        if name not in projects_of(folder):
            continue
        pairs = judged(folder, name, reader=reader, maker=maker)
        known = np.isfinite(pairs.grades)
        right = np.nan_to_num(pairs.grades)[known] > 0
        for side, made in (("given", pairs.given), ("local", pairs.made)):
            for how, told in (("labelled", pairs.situations), ("read", pairs.read)):
                scores = np.array(
                    [
                        [matcher.match(one).score for one in made]
                        for matcher in (Matcher(each, model=matching) for each in told)
                    ]
                )[known]
                found.own[f"auc_{side}_{how}"] = ranked_above(scores, right)
                found.own[f"ap_{side}_{how}"] = average_precision(scores, right)


def _card(found: dict[str, Found], run: Run) -> Scorecard:
    parts = tuple(
        Part(name=name, metrics=one.own, baselines=one.simpler, curves={"classes": one.classes})
        for name, one in found.items()
    )
    methods = dict.fromkeys(method for one in found.values() for method in one.simpler)
    total = Part(
        name=MACRO,
        metrics=_means([one.own for one in found.values()]),
        baselines={
            method: _means([one.simpler.get(method, {}) for one in found.values()]) for method in methods
        },
    )
    return Scorecard(
        suite="reading",
        dataset=str(run.data),
        settings={"embedder": str(run.embedder.identity), "said_from": SAID, "right_from_grade": RIGHT_GRADE},
        total=total,
        parts=parts,
        columns=COLUMNS,
        notes=("every project is read by models fitted without it; macro figures are means over projects",),
    )


def _means(figures: Sequence[Figures]) -> dict[str, float | None]:
    names = dict.fromkeys(name for one in figures for name in one)
    means: dict[str, float | None] = {}
    for name in names:
        values = [value for one in figures if (value := one.get(name)) is not None]
        means[name] = sum(values) / len(values) if values else None
    return means


SCALE = 10.0
"""How much words weigh against the penalty of 1; set by hand, not tuned."""


def bag_of_words(
    fitted: Sequence[Collection[str]],
    projects: Sequence[str],
    right: Array,
    asked: Sequence[Collection[str]],
) -> Array:
    """Chance of every class for every text of `asked`, of shape (asked, classes).

    Args:
        fitted: words of the texts to fit on.
        projects: whose each of them is.
        right: 1 where a text has the class, of shape (fitted, classes).
        asked: words of the texts to read.
    """
    words = vocabulary(fitted, projects)
    known, read = presence(fitted, words), presence(asked, words)
    dual, bias = fit_dual(SCALE * (known @ known.T), right, penalty=1.0)
    return sigmoid(SCALE * (read @ known.T) @ dual + bias)


def centroids(fitted: Array, right: Array, asked: Array) -> Array:
    """Cosine of every text of `asked` with the mean of every class; 0 for a class that no text has."""
    sums = right.T @ fitted
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return asked @ (sums / np.maximum(lengths, 1e-9)).T
