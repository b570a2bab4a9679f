"""How well situations are read, triggers made and both matched. In: labelled rows. Out: a scorecard per project left out.

Situations are read by the rules, triggers made by a model that saw no row of the project, whatever ships. Beside them: for triggers the rules
alone, and for both a bag of words and centroids of vectors (the cosine between a text's vector and the mean vector of the class's texts). A class is right from grade 2 on ("likely", "often") and said from `SAID` on.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tacit.model.situation import Situation
from tacit.model.trigger import Trigger
from tacit.ports.models import Embedder
from tacit.reading.match import Matcher
from tacit.reading.situation import read_situation
from tacit.reading.trigger import make_trigger
from tacit.reading.trigger_model import STATEMENT_CHARS, LocalTriggers, said_by_rules, statement_words
from tacit.recall.retrieve import QUERY_CHARS
from tacit_evals.fit import trigger as triggers
from tacit_evals.fit.fitted import match_without, trigger_without
from tacit_evals.fit.labelled import (
    CLASSES,
    NOTHING,
    LabelledPrompt,
    labelled_prompts,
    presence,
    vocabulary,
)
from tacit_evals.fit.leaks import same_project
from tacit_evals.fit.logistic import Array, fit_dual, sigmoid
from tacit_evals.fit.match import judged, projects_of
from tacit_evals.metrics.classes import (
    Truth,
    average_precision,
    by_class,
    macro_precision,
    rank_correlation,
    ranked_above,
    said,
)
from tacit_evals.report.scorecard import Part, Scorecard, macro_of
from tacit_evals.suites.running import Run

LEAST_ROWS = 40
"""A project with fewer labelled rows is fitted on and not reported."""
SAID = 0.4
RIGHT_GRADE = 2
MICROSECONDS = 1e6
FITTED, RULES = "fitted", "rules"
COLUMNS = (
    "prompts", "situation_ap", "situation_precision", "situation_recall", "read_p50_us", "read_p99_us", "statements", "trigger_ap",
    "trigger_precision", "trigger_recall", "breadth_rank", "auc_given_labelled", "auc_given_read", "auc_local_labelled",
    "auc_local_read", "ap_given_read", "ap_local_read",
)  # fmt: skip
JUDGED: Mapping[str, bool] = {"situation_ap": True, "trigger_ap": True, "auc_local_read": True}


@dataclass(slots=True)
class Found:
    """Figures of one project: the shipped methods' and, by method, those of the others."""

    own: dict[str, float | None] = field(default_factory=dict[str, float | None])
    simpler: dict[str, dict[str, float | None]] = field(default_factory=dict[str, dict[str, float | None]])
    classes: dict[str, list[dict[str, float | str | None]]] = field(
        default_factory=dict[str, list[dict[str, float | str | None]]]
    )

    def add(
        self, subject: str, classes: Sequence[str], scores: dict[str, Array], truth: Truth, *, shipped: str
    ) -> None:
        """Figures of all methods for `subject` (`situation`, `trigger`); `shipped` names the one that ships."""
        for method, values in scores.items():
            place = self.own if method == shipped else self.simpler.setdefault(method, {})
            place[f"{subject}_ap"] = macro_precision(values, truth)
            if method != "centroids":  # a cosine is no chance
                both = said(values, truth, threshold=SAID)
                place[f"{subject}_precision"], place[f"{subject}_recall"] = both or (None, None)
        self.classes[subject] = by_class(classes, scores[shipped], truth, threshold=SAID)


def run_reading(run: Run, *, least_rows: int = LEAST_ROWS) -> Scorecard:
    """Leave out every project with `least_rows` labels in turn. Fits on the run's folders, or on the data itself."""
    folders = run.fit or (run.data,)
    by_project: dict[str, Found] = {}
    prompts = [prompt for folder in folders for prompt in labelled_prompts(folder)]
    memories = [memory for folder in folders for memory in triggers.labelled_memories(folder)]
    for name in _projects([prompt.project for prompt in prompts], least_rows):
        run.say(f"situations without {name}")
        _situations(by_project.setdefault(name, Found()), name, prompts, run.embedder)
    for name in _projects([memory.project for memory in memories], least_rows):
        run.say(f"triggers without {name}")
        _triggers(by_project.setdefault(name, Found()), name, memories, run.embedder)
    judged_names = [name for folder in folders for name in projects_of(folder)]
    if len(judged_names) > 1:
        for name in judged_names:
            run.say(f"match without {name}")
            place = next((project for project in by_project if same_project(project, name)), name)
            _pairs(by_project.setdefault(place, Found()), name, folders, run.embedder)
    return _card(by_project, run)


def _projects(names: Sequence[str], least_rows: int) -> list[str]:
    """Projects with enough rows, under the first of their names."""
    firsts: list[str] = []
    for name in dict.fromkeys(names):
        if not any(same_project(name, first) for first in firsts):
            firsts.append(name)
    return [first for first in firsts if sum(same_project(first, name) for name in names) >= least_rows]


def _right(grades: Sequence[dict[str, int]], classes: Sequence[str]) -> Truth:
    return np.array([[row.get(name, 0) >= RIGHT_GRADE for name in classes] for row in grades], np.bool_)


def _vectors(texts: Sequence[str], embedder: Embedder) -> Array:
    return np.array([embedder.embed([text])[0] for text in texts], np.float64)


def _situations(figures: Found, name: str, prompts: Sequence[LabelledPrompt], embedder: Embedder) -> None:
    training = [prompt for prompt in prompts if not same_project(prompt.project, name)]
    left_out = [prompt for prompt in prompts if same_project(prompt.project, name)]
    read, seconds = read_all(left_out)
    truth = _right([prompt.grades for prompt in training], CLASSES).astype(np.float64)
    scores = {
        RULES: _table(read, CLASSES),
        "bag of words": bag_of_words(
            [statement_words(prompt.text) for prompt in training],
            [prompt.project for prompt in training],
            truth,
            [statement_words(prompt.text) for prompt in left_out],
        ),
        "centroids": centroids(
            _vectors([prompt.text[:QUERY_CHARS] for prompt in training], embedder),
            truth,
            _vectors([prompt.text[:QUERY_CHARS] for prompt in left_out], embedder),
        ),
    }
    figures.own["prompts"] = float(len(left_out))
    figures.own["read_p50_us"], figures.own["read_p99_us"] = (
        float(q) for q in np.percentile(np.array(seconds) * MICROSECONDS, (50, 99))
    )
    left_out_truth = _right([prompt.grades for prompt in left_out], CLASSES)
    figures.add("situation", CLASSES, scores, left_out_truth, shipped=RULES)


def read_all(prompts: Sequence[LabelledPrompt]) -> tuple[list[Situation], list[float]]:
    """Every prompt as the rules read it, and the seconds that each took.

    The seconds are those of the processor, not of the clock: other work on the machine must not count.
    """
    read: list[Situation] = []
    seconds: list[float] = []
    for prompt in prompts:
        before = time.thread_time()
        read.append(read_situation(prompt.text, previous_end=prompt.previous_end, recent_files=prompt.files))
        seconds.append(time.thread_time() - before)
    return read, seconds


def _table(read: Sequence[Situation], classes: Sequence[str]) -> Array:
    rows = [dict(situation.actions) | {NOTHING: float(situation.nothing_coming)} for situation in read]
    return np.array([[row.get(name, 0.0) for name in classes] for row in rows])


def _triggers(
    figures: Found, name: str, memories: Sequence[triggers.LabelledMemory], embedder: Embedder
) -> None:
    training = [memory for memory in memories if not same_project(memory.project, name)]
    left_out = [memory for memory in memories if same_project(memory.project, name)]
    model = triggers.fit_trigger(training, embedder=embedder)
    classes = triggers.CLASSES
    make = LocalTriggers(embedder=embedder, model=model)
    fitted = [make(memory.content, kind=memory.kind, files=memory.files) for memory in left_out]
    ruled = [make_trigger(memory.content, kind=memory.kind, files=memory.files) for memory in left_out]
    truth = _right([memory.grades for memory in training], classes).astype(np.float64)
    scores = {
        FITTED: _weights(fitted, classes),
        RULES: _weights(ruled, classes),
        "bag of words": bag_of_words(
            [statement_words(memory.content) for memory in training],
            [memory.project for memory in training],
            truth,
            [statement_words(memory.content) for memory in left_out],
        ),
        "centroids": centroids(
            _vectors([memory.content[:STATEMENT_CHARS] for memory in training], embedder),
            truth,
            _vectors([memory.content[:STATEMENT_CHARS] for memory in left_out], embedder),
        ),
    }
    breadth = np.array([memory.breadth for memory in left_out])
    figures.own["statements"] = float(len(left_out))
    left_out_truth = _right([memory.grades for memory in left_out], classes)
    figures.add("trigger", classes, scores, left_out_truth, shipped=FITTED)
    figures.own["breadth_rank"] = rank_correlation(np.array([trigger.breadth for trigger in fitted]), breadth)
    figures.simpler[RULES]["breadth_rank"] = rank_correlation(
        np.array([trigger.breadth for trigger in ruled]), breadth
    )


def _weights(trigger_list: Sequence[Trigger], classes: Sequence[str]) -> Array:
    return np.array([said_by_rules(trigger, tuple(classes)) for trigger in trigger_list], np.float64)


def _pairs(figures: Found, name: str, folders: Sequence[Path], embedder: Embedder) -> None:
    """Needed pairs against all others, in the four combinations of given and local triggers, labelled and read situations."""
    places = tuple(folders)
    matching = match_without(places, (name,), embedder)
    maker = LocalTriggers(embedder=embedder, model=trigger_without(places, (name,), embedder))
    for folder in folders:
        if name not in projects_of(folder):
            continue
        pairs = judged(folder, name, maker=maker)
        is_judged = np.isfinite(pairs.grades)
        needed = np.nan_to_num(pairs.grades)[is_judged] > 0
        for side, trigger_list in (("given", pairs.given), ("local", pairs.made)):
            for how, situation_list in (("labelled", pairs.situations), ("read", pairs.read)):
                scores = np.array(
                    [
                        [matcher.match(trigger).score for trigger in trigger_list]
                        for matcher in (Matcher(situation, model=matching) for situation in situation_list)
                    ]
                )[is_judged]
                figures.own[f"auc_{side}_{how}"] = ranked_above(scores, needed)
                figures.own[f"ap_{side}_{how}"] = average_precision(scores, needed)


def _card(by_project: dict[str, Found], run: Run) -> Scorecard:
    parts = tuple(
        Part(name=name, metrics=figures.own, baselines=figures.simpler, curves={"classes": figures.classes})
        for name, figures in by_project.items()
    )
    methods = dict.fromkeys(method for figures in by_project.values() for method in figures.simpler)
    total = replace(
        macro_of(parts),
        baselines={method: macro_of(_parts_of(by_project, method)).metrics for method in methods},
    )
    return Scorecard(
        suite="reading",
        dataset=str(run.data),
        settings={"embedder": str(run.embedder.identity), "said_from": SAID, "right_from_grade": RIGHT_GRADE},
        total=total,
        parts=parts,
        columns=COLUMNS,
        judged=JUDGED,
        notes=("each project is left out of every fit; macro figures are means over projects",),
    )


def _parts_of(by_project: Mapping[str, Found], method: str) -> list[Part]:
    return [Part(name=name, metrics=figures.simpler.get(method, {})) for name, figures in by_project.items()]


SCALE = 10.0
"""How much words weigh against the penalty of 1; set by hand, not tuned."""


def bag_of_words(
    fitted: Sequence[Collection[str]],
    projects: Sequence[str],
    truth: Array,
    texts: Sequence[Collection[str]],
) -> Array:
    """Chance of every class for every text of `texts`, of shape (texts, classes).

    Args:
        fitted: words of the texts to fit on.
        projects: whose each of them is.
        truth: 1 where a text has the class, of shape (fitted, classes).
        texts: words of the texts to read.
    """
    words = vocabulary(fitted, projects)
    training, read = presence(fitted, words), presence(texts, words)
    dual, bias = fit_dual(SCALE * (training @ training.T), truth, penalty=1.0)
    return sigmoid(SCALE * (read @ training.T) @ dual + bias)


def centroids(fitted: Array, truth: Array, vectors: Array) -> Array:
    """Cosine of every text, a row of `vectors`, with the mean of every class; 0 for a class that no text has."""
    sums = truth.T @ fitted
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return vectors @ (sums / np.maximum(lengths, 1e-9)).T
