"""What a folder holds, by its files. In: any folder at or above data in our formats. Out: the folders of one suite.

| suite | a folder is recognised by |
|---|---|
| inject | `memories.jsonl`, `prompts.jsonl`, `qrels.tsv` |
| action | `calls.jsonl`, `qrels.tsv` |
| retrieval | `docs.jsonl`, `qrels.tsv` (duplicates); `*.json` with `turns` and `questions` (conversations) |
| placement | `*.jsonl` with sessions as `turns` |
| redact | `*.jsonl` or `*.jsonl.gz` with `label` and `spans` |
| capture | `gold.jsonl` with learnings, `*.json` with sessions as `turns` |
| update | `*.jsonl` with cases of `existing`, `new`, `outcome` |
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

from tacit.errors import InvalidInput
from tacit_evals.data.updates import is_update_file

MAX_DEPTH = 4
_HEAD = 400


def is_inject(folder: Path) -> bool:
    """Whether `folder` is one project of judged prompts."""
    return all((folder / name).is_file() for name in ("memories.jsonl", "prompts.jsonl", "qrels.tsv"))


def is_action(folder: Path) -> bool:
    """Whether `folder` holds judged tool calls."""
    return all((folder / name).is_file() for name in ("calls.jsonl", "qrels.tsv"))


def is_duplicates(folder: Path) -> bool:
    """Whether `folder` holds documents with marked duplicates."""
    return all((folder / name).is_file() for name in ("docs.jsonl", "qrels.tsv"))


def is_conversations(folder: Path) -> bool:
    """Whether `folder` holds conversations with questions about them."""
    return any(_holds(path, "turns", "questions") for path in sorted(folder.glob("*.json")))


def is_sessions(folder: Path) -> bool:
    """Whether `folder` holds whole sessions, one a line."""
    lines = (path for path in sorted(folder.glob("*.jsonl")) if path.name != "gold.jsonl")
    return any(_begins(path, '"session_id"', '"turns"') for path in lines)


def is_update(folder: Path) -> bool:
    """Whether `folder` holds statements that meet stored ones."""
    return any(is_update_file(path) for path in sorted(folder.glob("*.jsonl")))


def is_learnings(folder: Path) -> bool:
    """Whether `folder` holds sessions with the learnings found in them."""
    gold = folder / "gold.jsonl"
    return gold.is_file() and _begins(gold, '"session_id"', '"turns"')


def is_redact(folder: Path) -> bool:
    """Whether `folder` holds texts in which secrets are marked."""
    return any(
        _begins(path, '"text"', '"label"', '"spans"')
        for path in sorted((*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")))
    )


RECOGNISED: dict[str, tuple[Callable[[Path], bool], ...]] = {
    "inject": (is_inject,),
    "action": (is_action,),
    "retrieval": (is_duplicates, is_conversations),
    "placement": (is_sessions,),
    "redact": (is_redact,),
    "capture": (is_learnings,),
    "update": (is_update,),
}


def folders_of(suite: str, data: Path) -> tuple[Path, ...]:
    """Folders at or below `data` that `suite` can read, in the order of their paths.

    Raises:
        InvalidInput: if there are none, saying what was looked for.
    """
    if not data.is_dir():
        raise InvalidInput(
            f"{data} is no folder.", hint="Give the folder of the evaluation data with --data."
        )
    tests = RECOGNISED[suite]
    found = [folder for folder in _below(data) if any(test(folder) for test in tests)]
    if not found:
        raise InvalidInput(f"{data} holds no data for the suite {suite!r}.", hint=f"It needs {NEEDS[suite]}.")
    return tuple(found)


NEEDS: dict[str, str] = {
    "inject": "folders with memories.jsonl, prompts.jsonl and qrels.tsv",
    "action": "a folder with calls.jsonl and qrels.tsv",
    "retrieval": "a folder with docs.jsonl and qrels.tsv, or with conversations (*.json with turns and questions)",
    "placement": "a folder with sessions (*.jsonl, one session with its turns a line)",
    "update": "a folder with cases (*.jsonl with existing, new and outcome)",
    "capture": "a folder with sessions (*.json with turns) and gold.jsonl",
    "redact": "a folder with texts (*.jsonl or *.jsonl.gz with text, label and spans)",
    "reading": "a folder with labels in situation/ and judged projects in inject/",
}


def triggers_for(project: str, root: Path) -> Path | None:
    """The labelled triggers of `project` at or below `root`: `<project>/triggers.jsonl`, or `triggers.jsonl` itself."""
    if (root / "triggers.jsonl").is_file() and root.name == project:
        return root / "triggers.jsonl"
    for folder in _below(root):
        if folder.name == project and (folder / "triggers.jsonl").is_file():
            return folder / "triggers.jsonl"
    return None


def _below(root: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, _ in os.walk(root):
        path = Path(place)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(path.relative_to(root).parts) >= MAX_DEPTH:
            folders[:] = []
        found.append(path)
    return sorted(found)


def _holds(path: Path, *names: str) -> bool:
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(values, dict) and all(name in values for name in names)


def _begins(path: Path, *marks: str) -> bool:
    try:
        if path.suffix == ".gz":
            head = gzip.decompress(path.read_bytes()).decode("utf-8").split("\n", 1)[0]
        else:
            with path.open(encoding="utf-8") as lines:
                head = lines.read(_HEAD)
    except (OSError, EOFError, UnicodeDecodeError):
        return False
    return all(mark in head for mark in marks)
