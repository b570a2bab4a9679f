"""Fitting the order of the start pack: the formula, what is left out, and the file."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from samples import memory_named
from tacit.fitted import decode_artifact, encode_artifact
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory
from tacit.model.scope import project_scope
from tacit.model.trigger import Trigger
from tacit.recall.score import NeedValues, need_from
from tacit_evals.data import ItemJudgment, PoolRow, Project, RealPrompt
from tacit_evals.fit.files import need_artifact
from tacit_evals.fit.need import LEAST_SCALE, PRIOR, fit_need, judged_projects, maximum_a_posteriori


def stored(row: PoolRow, *, project: str, given: bool) -> Memory:
    return memory_named(
        row.id,
        row.content,
        kind=row.kind,
        scope=project_scope(project),
        source=row.source,
        at_ms=row.created_ms,
        importance=KindRegistry().get(row.kind).importance,
        trigger=row.given if given else None,
    )


def project(name: str) -> Project:
    rows = tuple(
        PoolRow(
            id=f"m{number}",
            kind="preference",
            content=f"Statement {number} about {'tests' if number % 2 else 'the parser'}.",
            created_ms=number,
            source="CLAUDE.md" if number % 3 else "session:a",
            given=Trigger(breadth=1.0 + number % 3, objects=("tests",), maker="agent"),
        )
        for number in range(12)
    )
    needed = {"m2": 2, "m5": 1, "m8": 1}
    prompt = RealPrompt(
        id="p1",
        session="s",
        turn=1,
        at_ms=9,
        text="go",
        previous="",
        files=(),
        judgment=ItemJudgment(needed=needed),
    )
    return Project(name=name, folder=Path(name), memories=rows, prompts=(prompt,))


def test_a_strong_prior_stays_and_a_weak_one_yields() -> None:
    evidence = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    targets = np.array([1.0, 0.0, 0.0, 0.0])
    strong = maximum_a_posteriori(evidence, targets, centre=np.array([0.0, 1.0]), strength=1e6)
    weak = maximum_a_posteriori(evidence, targets, centre=np.array([0.0, 1.0]), strength=0.1)
    assert strong[1] == pytest.approx(1.0, abs=1e-3)
    assert weak[1] < 0


def test_the_file_gives_the_model_back_in_the_same_bytes() -> None:
    model = fit_need([project("alpha"), project("beta")], stored=stored, date="2026-01-01", command="fit")
    data = encode_artifact(need_artifact(model))
    assert need_from(decode_artifact(data, NeedValues, name="need")) == model
    again = fit_need([project("alpha"), project("beta")], stored=stored, date="2026-01-01", command="fit")
    assert encode_artifact(need_artifact(again)) == data
    assert model.origin.projects == ("alpha", "beta")
    assert model.origin.details["rows"] == 24


def test_what_is_needed_moves_the_weights_towards_it() -> None:
    model = fit_need([project("alpha"), project("beta")], stored=stored)
    breadth = model.given.weights["breadth"]
    assert breadth > PRIOR["given"]["breadth"]  # what was needed is the broadest third


def test_the_evaluated_project_is_left_out(tmp_path: Path) -> None:
    for name in ("alpha", "beta"):
        folder = tmp_path / "inject" / name
        folder.mkdir(parents=True)
        row = {
            "id": "m1",
            "kind": "fact",
            "content": "A fact.",
            "created": "2026-01-01",
            "source": "session:a",
        }
        (folder / "memories.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
        asked = {"id": "p1", "session": "s", "turn": 1, "date": "2026-01-02", "text": "go"}
        (folder / "prompts.jsonl").write_text(json.dumps(asked) + "\n", "utf-8")
        (folder / "qrels.tsv").write_text("p1\tm1\t2\n", "utf-8")
    names = [one.name for one in judged_projects(tmp_path, exclude_projects=["someone/alpha"])]
    assert names == ["beta"]


def test_evidence_that_is_constant_in_every_project_overflows_nothing():
    one, other = project("alpha"), project("beta")
    learned = replace(one, memories=tuple(replace(row, source="session:a") for row in one.memories))
    told = replace(other, memories=tuple(replace(row, source="CLAUDE.md") for row in other.memories))
    model = fit_need([learned, told], stored=stored)  # a warning of an overflow would be an error
    for group in (model.given, model.local):
        assert group.scales["learned"] == LEAST_SCALE
        assert all(math.isfinite(value) and abs(value) < 5 for value in group.weights.values())
