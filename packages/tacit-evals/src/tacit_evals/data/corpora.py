"""Corpora to search in: conversations with questions, documents with marked duplicates. Evaluated on, never fitted on.

A conversation is a JSON file with `turns` (`id, session, date, speaker, text`) and `questions` (`id, text, evidence`: ids of
turns). Documents are `docs.jsonl` (`id, title, text`), their duplicates `qrels.tsv` (query id, document id, 1): the query is
the document's own title and text, itself excluded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tacit_evals.data.rows import Row, problem, read_rows, read_table, read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query and the ids of what answers it. `without` is never counted as found (the query's own document)."""

    id: str
    text: str
    evidence: frozenset[str]
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Texts by id, in their order, with questions about them. `group`: the session that a text belongs to."""

    name: str
    texts: Mapping[str, str]
    questions: tuple[Question, ...]
    group: Mapping[str, str] = field(default_factory=dict[str, str])


def load_conversations(folder: Path) -> tuple[Corpus, ...]:
    """Every conversation of `folder`, by name.

    Raises:
        InvalidInput: naming the file and what is wrong in it.
    """
    corpora: list[Corpus] = []
    for path in sorted(folder.glob("*.json")):
        try:
            values = json.loads(read_text(path))
        except json.JSONDecodeError as error:
            raise problem(
                path, error.lineno, f"no JSON ({error.msg}).", "It must be one conversation."
            ) from error
        if isinstance(values, dict) and "turns" in values and "questions" in values:
            corpora.append(_conversation(path, values))
    return tuple(corpora)


def _conversation(path: Path, values: dict[str, object]) -> Corpus:
    turns = _objects(path, values, "turns")
    texts = {row.text("id"): f"{row.text('speaker')}: {row.text('text')}" for row in turns}
    group = {row.text("id"): row.text("session") for row in turns}
    questions: list[Question] = []
    for row in _objects(path, values, "questions"):
        evidence = frozenset(row.texts("evidence"))
        missing = sorted(evidence - texts.keys())
        if missing:
            raise row.bad(
                f"turn {missing[0]!r} does not exist.", "Evidence names turns of the same conversation."
            )
        questions.append(Question(id=row.text("id"), text=row.text("text"), evidence=evidence))
    return Corpus(name=path.stem, texts=texts, questions=tuple(questions), group=group)


def _objects(path: Path, values: dict[str, object], name: str) -> list[Row]:
    """Objects of the list `name`; `line` is the place in the list, from 1."""
    listed = values[name]
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise problem(
            path, 1, f"{name!r} is no list of objects.", "See the format in docs/guide/benchmarks.md."
        )
    return [Row(path=path, line=number, values=item) for number, item in enumerate(listed, start=1)]


def load_duplicates(folder: Path) -> Corpus:
    """Documents with their duplicates.

    Raises:
        InvalidInput: naming file and line.
    """
    texts: dict[str, str] = {}
    for row in read_rows(folder / "docs.jsonl"):
        texts[row.text("id")] = f"{row.maybe('title')}\n{row.maybe('text')}".strip()
    path = folder / "qrels.tsv"
    evidence: dict[str, set[str]] = {}
    for number, (query, document, grade) in read_table(path, columns=3):
        for name in (query, document):
            if name not in texts:
                raise problem(path, number, f"document {name!r} does not exist.", "It must be in docs.jsonl.")
        if grade != "0":
            evidence.setdefault(query, set()).add(document)
    questions = tuple(
        Question(id=query, text=texts[query], evidence=frozenset(group - {query}), without=frozenset({query}))
        for query, group in evidence.items()
    )
    return Corpus(name=folder.name, texts=texts, questions=questions)
