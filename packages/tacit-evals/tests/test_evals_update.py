"""Measuring what becomes of stored memories: reading cases, the fates that changes mean, the figures."""

from __future__ import annotations

import json

import pytest

from tacit.errors import InvalidInput
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.data.recognise import folders_of
from tacit_evals.data.updates import load_updates
from tacit_evals.suites.running import Run
from tacit_evals.suites.update import by_overlap, confusion, decide_all, run_update


def said(content, *, key="m1", created="2026-01-01", speaker="user", kind="decision"):
    return {"id": key, "kind": kind, "content": content, "created": created, "speaker": speaker}


def case(number, existing, new, outcome):
    new = {name: value for name, value in new.items() if name != "id"}
    return {"id": f"c{number}", "existing": existing, "new": new, "outcome": outcome, "why": "made up"}


CASES = [
    case(1, [said("The port is 8080.")], said("The port is now 9090.", created="2026-02-01"), {"m1": "supersede"}),
    case(2, [said("Use tabs."), said("Deploy on Fridays.", key="m2")], said("use tabs"), {"m1": "merge", "m2": "keep"}),
    case(3, [said("The port is 8080.", created=None)], said("The port is 9090.", created=None), {"m1": "contradict"}),
    case(4, [said("Indent Python with two spaces.")], said("Deploys need a green pipeline."), {"m1": "merge"}),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "data" / "update"
    place.mkdir(parents=True)
    (place / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CASES), "utf-8")
    return place


def test_cases_are_found_and_read(folder):
    assert folders_of("update", folder.parent) == (folder,)
    cases = load_updates(folder)
    assert [one.id for one in cases] == ["c1", "c2", "c3", "c4"]
    assert cases[2].new.created_ms is None
    assert cases[1].fates == {"m1": "merge", "m2": "keep"}


def test_a_case_that_cannot_be_read_is_named(folder):
    (folder / "some.jsonl").write_text(json.dumps({**CASES[0], "outcome": {"m1": "gone"}}), "utf-8")
    with pytest.raises(InvalidInput, match=r"line 1.*'gone'"):
        load_updates(folder)


def test_the_write_path_decides_and_every_pair_counts(folder):
    decided = decide_all(load_updates(folder), FakeEmbedder())
    assert [one.right for one in decided] == [True, True, False, False]
    assert confusion(decided)["merge"] == {"supersede": 0, "merge": 1, "keep": 1, "contradict": 0}


def test_the_figures_stand_beside_simpler_methods(folder):
    card = run_update(Run(data=folder, embedder=FakeEmbedder()))
    found = card.total.metrics
    assert (found["case_accuracy"], found["pair_accuracy"]) == (0.5, 0.6)
    assert found["wrongful_supersession"] == 0.0
    assert found["supersede_recall"] == 1.0
    assert card.total.baselines["always keep"]["pair_accuracy"] == 0.2
    low, high = card.total.intervals["case_accuracy"]
    assert low <= 0.5 <= high
    assert card.document()["causes"]["pairs with a wrong fate"] == {
        "contradict, said keep": 1,
        "merge, said keep": 1,
    }


def test_the_overlap_baseline_takes_the_threshold_that_is_best_here(folder):
    # Overlaps: c1 {port,8080} {port,9090} = 1/3; c2 1 (equal words) and 0; c3 1/3; c4 0. Supersede from 1/3: c1 right, c3 wrong.
    # The greater threshold (always keep) is right on m2 of c2 and the equal words too: 2 of 5, the lesser on 3.
    fates = by_overlap(load_updates(folder))
    assert [one["m1"] for one in fates] == ["supersede", "merge", "supersede", "keep"]
