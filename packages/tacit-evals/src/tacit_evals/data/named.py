"""Recorded answers of a language model: which memories it named for a prompt. In: a folder. Out: probabilities. Never labels.

`<project>/pause.jsonl` and `<project>/prompt.jsonl` have lines `{"id": prompt, "memories": [[memory, probability], ...]}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from tacit.errors import InvalidInput
from tacit_evals.data.rows import Row, read_rows

Moment = Literal["pause", "prompt"]
Answers = Mapping[str, Mapping[str, float]]
"""Probability by memory id, by prompt id."""


def load_named(folder: Path, project: str, moment: Moment) -> Answers:
    """The recorded answers for the prompts of `project`.

    Raises:
        InvalidInput: naming file and line.
    """
    path = folder / project / f"{moment}.jsonl"
    if not path.is_file():
        raise InvalidInput(
            f"{path} does not exist.", hint="--answers needs PROJECT/pause.jsonl or PROJECT/prompt.jsonl."
        )
    return {row.text("id"): _probabilities(row) for row in read_rows(path)}


def _probabilities(row: Row) -> dict[str, float]:
    pairs = row.values.get("memories")
    chances: dict[str, float] = {}
    for pair in cast("list[object]", pairs) if isinstance(pairs, list) else [None]:
        match pair:
            case [str(name), int() | float() as chance] if 0 <= chance <= 1:
                chances[name] = float(chance)
            case _:
                raise row.bad("field 'memories' is no list of pairs.", "A pair is [memory id, probability].")
    return chances
