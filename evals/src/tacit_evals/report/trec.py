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
    qrels = {one.item: dict(one.judgment.needed) for one in handed if one.judgment.needed}
    predicted = {
        one.item: {name: value for name, value in one.predicted.items() if name not in one.judgment.marginal}
        for one in handed
    }
    packs = {
        one.item: as_scores([name for name in one.pack if name not in one.judgment.marginal])
        for one in handed
    }
    return qrels, {"tacit": predicted, "handed": packs}


def _file(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name.lower()).strip("-")
