"""Judgments and rankings of a run as TREC files, for other programs. In: what items were handed, or rankings. Out: files.

`<name>.qrels` and `<name>.<method>.run`, one pair for each project or corpus. Marginal pairs stand in no file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tacit_evals.metrics.counts import ItemResult
from tacit_evals.metrics.ranking import Qrels, Run, as_scores, write_qrels, write_run


def write_trec(folder: Path, name: str, qrels: Qrels, runs: Mapping[str, Run]) -> None:
    """Write the judgments of `name` and the ranking of each method into `folder`, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    write_qrels(qrels, folder / f"{_file(name)}.qrels")
    for method, run in runs.items():
        write_run(run, folder / f"{_file(name)}.{_file(method)}.run", name=_file(method))


def of_handed(handed: Sequence[ItemResult]) -> tuple[Qrels, dict[str, Run]]:
    """Judgments, and two rankings: by predicted relevance, and what was handed over at the item (`handed`)."""
    qrels = {result.item: dict(result.judgment.needed) for result in handed if result.judgment.needed}
    predicted = {
        result.item: {
            name: value for name, value in result.predicted.items() if name not in result.judgment.marginal
        }
        for result in handed
    }
    packs = {
        result.item: as_scores([name for name in result.pack if name not in result.judgment.marginal])
        for result in handed
    }
    return qrels, {"tacit": predicted, "handed": packs}


def _file(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name.lower()).strip("-")
