"""Figures of rankings, by ir_measures; runs and judgments as TREC files. In: scores and relevance by query. Out: shares."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import ir_measures
import numpy as np
from ir_measures import R, Success

from tacit_evals.data.rows import problem, read_text
from tacit_evals.metrics.counts import Array

Run = Mapping[str, Mapping[str, float]]
"""Score of every returned document, by query."""
Qrels = Mapping[str, Mapping[str, int]]

_QREL_COLUMNS = 4
_RUN_COLUMNS = 6
RECALL_5, RECALL_10, ANY_5 = R @ 5, R @ 10, Success @ 5


def per_query(qrels: Qrels, run: Run, measure: ir_measures.Measure) -> dict[str, float]:
    """`measure` of every judged query; a query without any result has 0."""
    complete = {query: dict(run.get(query, {})) for query in qrels}
    values = {row.query_id: float(row.value) for row in measure.iter_calc(_plain(qrels), _plain(complete))}
    return {query: values.get(query, 0.0) for query in qrels}


def mean(values: Mapping[str, float]) -> float:
    """The mean over queries; 0 without queries."""
    return sum(values.values()) / len(values) if values else 0.0


def resampled_mean(
    values: Mapping[str, float], *, resamples: int = 2_000, seed: int = 7
) -> tuple[float, float]:
    """95 % percentile interval of the mean, resampling queries."""
    if not values:
        return 0.0, 0.0
    rows: Array = np.array(list(values.values()))
    picks = np.random.default_rng(seed).integers(len(rows), size=(resamples, len(rows)))
    low, high = np.quantile(rows[picks].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def as_scores(ranking: list[str]) -> dict[str, float]:
    """Scores that keep the order of a ranking, best first."""
    return {name: float(len(ranking) - place) for place, name in enumerate(ranking)}


def _plain(values: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {query: dict(own) for query, own in values.items()}


def write_qrels(qrels: Qrels, path: Path) -> None:
    """Write judgments as TREC does: `query 0 document grade`."""
    lines = (f"{q} 0 {d} {grade}\n" for q, own in qrels.items() for d, grade in own.items())
    path.write_text("".join(lines), "utf-8")


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgments in TREC's form.

    Raises:
        InvalidInput: naming the line.
    """
    judgments: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != _QREL_COLUMNS or not cells[3].lstrip("-").isdigit():
            raise problem(path, number, "no judgment.", "A line is: query 0 document grade.")
        judgments.setdefault(cells[0], {})[cells[2]] = int(cells[3])
    return judgments


def write_run(run: Run, path: Path, *, name: str = "tacit") -> None:
    """Write rankings as TREC does: `query Q0 document rank score name`; ties by document."""
    lines: list[str] = []
    for query, own in run.items():
        ordered = sorted(own, key=lambda document, own=own: (-own[document], document))
        lines += [
            f"{query} Q0 {document} {rank} {own[document]:.6f} {name}\n"
            for rank, document in enumerate(ordered, start=1)
        ]
    path.write_text("".join(lines), "utf-8")


def read_run(path: Path) -> dict[str, dict[str, float]]:
    """Read rankings in TREC's form.

    Raises:
        InvalidInput: naming the line.
    """
    rankings: dict[str, dict[str, float]] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        cells = line.split()
        if not cells:
            continue
        try:
            score = float(cells[4])
        except (IndexError, ValueError) as error:
            raise problem(
                path, number, "no result.", "A line is: query Q0 document rank score name."
            ) from error
        if len(cells) != _RUN_COLUMNS:
            raise problem(path, number, "no result.", "A line is: query Q0 document rank score name.")
        rankings.setdefault(cells[0], {})[cells[2]] = score
    return rankings
