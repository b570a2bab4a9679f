"""Figures with the answers of a language model that are kept in `packages/tacit-evals/answers`. A request that has changed since fails loudly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shared_data import shared_data
from tacit_evals import pools
from tacit_evals.command import evaluate

ANSWERS = Path(__file__).parents[1] / "answers"
pytestmark = [pytest.mark.shared_data, pytest.mark.slow, pytest.mark.long]


def figures(suite, tmp_path):
    card = tmp_path / "card.json"
    data = str(shared_data(suite))
    assert evaluate([suite, "--data", data, "--answers", str(ANSWERS / suite), "--json", str(card)]) == 0
    return json.loads(card.read_text())["metrics"]


def test_a_write_up_keeps_most_of_what_matters(tmp_path):
    found = figures("capture", tmp_path)
    assert found["recall_strength2"] >= 0.70
    assert found["precision"] >= 0.65
    assert found["precision_at_80"] >= 0.78
    assert found["cut_keeps_turns"] >= 0.95


def test_comparing_finds_what_replaces_repeats_and_contradicts(tmp_path):
    found = figures("update", tmp_path)
    assert found["case_accuracy"] >= 0.92
    assert found["wrongful_supersession"] <= 0.01


def test_of_whole_pools_next_to_nothing_ends_that_was_not_meant_to(tmp_path):
    written = tmp_path / "pools.json"
    pools.main(
        ["--data", str(shared_data("inject")), "--answers", str(ANSWERS / "pools"), "--json", str(written)]
    )
    outcomes = json.loads(written.read_text())
    superseded = [
        one for pool in outcomes for one in pool["decisions"] if one["act"] in ("superseded", "ended")
    ]
    assert sum(one["meant"] for one in superseded) >= 20
    assert sum(not one["meant"] for one in superseded) <= 4
