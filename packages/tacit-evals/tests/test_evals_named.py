"""Recorded answers of a language model at recall: read, fused with numbers of the other projects, measured."""

from __future__ import annotations

import math

from tacit.providers.embedding import FakeEmbedder
from tacit_evals.data import ItemJudgment, load_inject
from tacit_evals.figures import ItemResult
from tacit_evals.fit.armed import ArmedPrompt, artifact_of, fit_armed
from tacit_evals.pool import Pool, shipped_settings


def asked(project, number, local, named, *, needed=(), nothing=False):
    result = ItemResult(
        item=f"{project}/{number}", session=f"{project}/s", start=frozenset(), predicted=local,
        judgment=ItemJudgment(needed=dict.fromkeys(needed, 2), nothing=nothing),
    )  # fmt: skip
    return ArmedPrompt(project=project, result=result, named=named)


def test_the_fit_learns_that_both_count_and_keeps_silence():
    rows = [
        asked("a", at, {"m1": 0.2, "m2": 0.1, "m3": 0.02}, {"m1": 0.5, "m2": 0.1}, needed=("m1",))
        for at in range(20)
    ]
    rows += [asked("a", 100 + at, {"m1": 0.2, "m2": 0.02}, {"m1": 0.5}, nothing=True) for at in range(20)]
    made = fit_armed(rows, threshold=0.24)
    assert min(made.local, made.armed, made.caution) > 0
    odds = made.bias + made.local * math.log(0.2 / 0.8) + made.armed * 0.0 - made.caution
    assert 1 / (1 + math.exp(-odds)) < 0.24, "no prompt that needs nothing gets more than without the model"
    assert artifact_of(made, rows, embedder="e", date="2026-11-25").origin.details["prompts"] == 40


def test_the_pool_looks_at_what_was_named_without_counting_it(data):
    project = load_inject(data / "inject" / "alpha")
    pool = Pool(project, embedder=FakeEmbedder(), settings=shipped_settings())
    try:
        prompt = project.prompts[0]
        start = pool.start(tokens=0, at_ms=prompt.at_ms)
        plain = pool.prompt(prompt, start)
        assert pool.prompt(prompt, start, named={"m3": 0.9}).predicted == plain.predicted
    finally:
        pool.close()
