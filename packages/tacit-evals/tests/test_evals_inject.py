"""The suite `inject` from folder to scorecard, with the fake embedder."""

from __future__ import annotations

import json

import pytest

from tacit.providers.embedding import FakeEmbedder
from tacit_evals.cli import evaluate
from tacit_evals.data import ItemJudgment, load_inject
from tacit_evals.figures import ItemResult
from tacit_evals.inject import (
    Lexical,
    as_many_each,
    as_many_in_all,
    fused,
)
from tacit_evals.pool import Pool, shipped_settings

NAMED = (
    "coverage_all", "coverage_grade2", "coverage_learned", "start_coverage_all", "start_coverage_grade2",
    "start_coverage_learned", "start_tokens", "prompt_tokens", "prompt_precision", "wrongful_rate",
    "cross_project_rate", "injections_per_prompt", "ece",
)  # fmt: skip


@pytest.mark.slow
def test_a_run_writes_json(data, tmp_path, capsys):
    card = tmp_path / "card.json"
    evaluate("inject", data=data, triggers=data, embedder="fake", as_json=card)
    found = json.loads(card.read_text())
    assert {"suite", "dataset", "commit", "settings", "metrics", "baselines"} <= set(found)
    assert set(NAMED) <= set(found["metrics"])
    assert found["settings"]["triggers"] == "given"
    assert set(found["parts"]) == {"alpha", "beta", "pooled"}
    assert set(found["curves"]["start_budgets"]) == {"0", "500", "1000", "2000"}
    # everything fits into 1,000 tokens: nothing is left for the prompt
    assert found["metrics"]["start_coverage_all"] == 1.0
    assert found["curves"]["start_budgets"]["0"]["start_coverage_all"] == 0.0
    assert {"BM25, as many", "RRF, as many"} <= set(found["baselines"])
    assert "macro" in capsys.readouterr().out


def test_the_pool_hands_over_what_is_not_in_context(data):
    project = load_inject(data / "inject" / "alpha", triggers=data / "situation" / "alpha" / "triggers.jsonl")
    shipped = shipped_settings()
    thresholds = shipped.thresholds.model_copy(
        update={"prompt": 0.1}
    )  # the fake embedder finds nothing certain
    settings = shipped.model_copy(update={"thresholds": thresholds})
    pool = Pool(project, embedder=FakeEmbedder(), settings=settings, given=True)
    try:
        commit, thanks = project.prompts[1:]
        nothing = pool.start(tokens=0, at_ms=commit.at_ms)
        everything = pool.start(tokens=2000, at_ms=commit.at_ms)
        assert nothing.ids == frozenset()
        assert everything.ids == {"m1", "m2", "m3"}
        assert 0 < everything.tokens <= 2000
        assert "m2" in pool.prompt(commit, nothing).pack
        assert pool.prompt(commit, everything).pack == ()
        assert pool.prompt(thanks, nothing).pack == ()
        assert pool.generic() == {"m1"}
    finally:
        pool.close()


def handed(item, pack, start=()):
    return ItemResult(
        item=item, session="s", judgment=ItemJudgment(), start=frozenset(start), pack=tuple(pack)
    )


def test_baselines_hand_over_as_many():
    items = [handed("p1", "ab", start="s"), handed("p2", "")]
    scores = [{"s": 9.0, "x": 1.0, "y": 0.5}, {"x": 0.8, "z": 0.7}]
    assert [one.pack for one in as_many_each(items, scores)] == [("x", "y"), ()]
    assert [one.pack for one in as_many_in_all(items, scores)] == [("x",), ("x",)]


def test_fusions_by_hand():
    first, second = {"a": 3.0, "b": 1.0}, {"b": 0.9}
    assert fused([first, second]) == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61})


def test_the_lexical_baseline_stems_and_survives_any_text():
    lexical = Lexical({"a": "running tests", "b": "deploy"})
    assert set(lexical.scores('the "test" OR run* NEAR(')) == {"a"}
    assert lexical.scores("?!") == {}
