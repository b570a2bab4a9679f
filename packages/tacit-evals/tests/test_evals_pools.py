"""The program that counts what storing whole pools ends."""

from __future__ import annotations

import json

import pytest

from tacit.statements.replaces import replaces
from tacit_evals import pools
from tacit_evals.data.made_up_pairs import make_pairs

ROWS = (
    ("m1", "We install packages with npm.", None),
    ("m2", "The billing port is 8080.", None),
    ("m3", "Deploy on Fridays only.", None),
    ("m4", "We install packages with pnpm instead of npm.", "m1"),
    ("m5", "The billing port is now 9090.", None),
    ("m6", "Deployments happen on Mondays.", "m3"),
)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "inject" / "shop"
    folder.mkdir(parents=True)
    rows = [
        {"id": key, "kind": "decision", "content": text, "source": "CLAUDE.md", "supersedes": old}
        for key, text, old in ROWS
    ]
    (folder / "memories.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return tmp_path / "inject"


def test_what_is_meant_and_what_is_not_is_counted_and_a_broken_bound_told(data, tmp_path, capsys):
    target = tmp_path / "found.json"
    assert pools.main(["--data", str(data), "--embedder", "fake", "--json", str(target)]) == 1
    (found,) = json.loads(target.read_text("utf-8"))
    told = {(one["new_id"], one["old_id"], one["act"], one["meant"]) for one in found["decisions"]}
    assert {("m4", "m1", "superseded", True), ("m5", "m2", "superseded", False)} <= told
    assert (found["statements"], found["replacements"], found["missed"]) == (6, 2, [["m6", "m3"]])
    out = capsys.readouterr().out
    assert "m5 superseded m2 (WRONG)" in out
    assert "old: The billing port is 8080." in out
    assert "BROKEN all pools: 1 statements were retired" in out


def test_made_up_pairs_are_the_same_for_a_seed_and_nothing_comes_of_them(capsys):
    assert make_pairs(40, seed=3) == make_pairs(40, seed=3) != make_pairs(40, seed=4)
    assert pools.main(["--made-up", "40", "--seed", "3", "--embedder", "fake"]) == 0
    assert "seed 3" in capsys.readouterr().out


def test_unrelated_statements_of_one_form_end_nothing() -> None:
    pairs = make_pairs(1500, seed=1)
    assert not [
        pair for pair in pairs if replaces(pair.second, pair.first, correction=pair.kind == "correction")
    ]
