"""Pairs to fit on: written ones, changed lines of rule files, pools."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

from tacit.providers.embedding import FakeEmbedder
from tacit_evals.fit.pairs.learn import labelled_pairs, thresholds_of
from tacit_evals.fit.pairs.rows import Pair, history_pairs, made_pairs, pool_pairs


def test_written_groups_are_whole():
    pairs = made_pairs()
    counted = Counter(pair.outcome for pair in pairs)
    assert min(counted.values()) > 500
    assert all(pair.new and pair.old and pair.new != pair.old for pair in pairs)


def test_changed_lines_are_labelled_weakly(tmp_path):
    hunk = {
        "removed": ["- Run the tests with jest before pushing", "- Keep functions below 40 lines of code"],
        "added": [
            "- Run the tests with vitest before pushing",
            "- Keep functions below 40 lines of code each please",
            "- Name branches after the ticket they belong to",
            "- Name commits after the ticket and its part",
        ],
    }
    row = {"commit": "c", "date": "2026-01-01", "subject": "s", "hunks": [hunk]}
    (tmp_path / "a+b__CLAUDE.md.jsonl").write_text(json.dumps(row), "utf-8")
    found = {(pair.outcome, pair.new.split()[1], pair.old.split()[1]) for pair in history_pairs(tmp_path)}
    assert found == {
        ("conflict", "the", "the"),
        ("same", "functions", "functions"),
        ("apart", "commits", "branches"),
    }


def test_pools_give_what_supersedes_and_what_stands_beside(data):
    pairs = pool_pairs(data / "inject", FakeEmbedder())
    assert {pair.group for pair in pairs} == {"alpha", "beta"}
    assert Counter(pair.outcome for pair in pairs if pair.group == "alpha") == {"conflict": 1, "apart": 3}


def test_a_threshold_lets_no_more_than_its_share_pass():
    pairs = [Pair(new="a", old="b", outcome="apart", group=str(n), source="made") for n in range(100)]
    chances = np.array([[0.5 + n / 250, 0.0, 0.5 - n / 250] for n in range(100)])
    found = thresholds_of(pairs, np.full(100, 2), chances)
    # 5 of 100 may pass: the quantile 0.95 of 0.5 ... 0.896 lies at the 95th value or above.
    assert found["same"] >= 0.5 + 94 / 250


def test_judged_cases_are_never_fitted_on(data):
    before = labelled_pairs([data], FakeEmbedder())
    (data / "update").mkdir()
    case = {
        "id": "c",
        "existing": [{"id": "m", "kind": "fact", "content": "Unheard of."}],
        "new": {},
        "outcome": {},
    }
    (data / "update" / "dev.jsonl").write_text(json.dumps(case), "utf-8")
    assert labelled_pairs([data], FakeEmbedder()) == before
    assert not any(pair.group == "getspecstory" for pair in before)
