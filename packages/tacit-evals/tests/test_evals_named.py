"""Recorded answers of a language model at recall: read, fused with numbers of the other projects, measured."""

from __future__ import annotations

import json
import math

import pytest

from tacit.errors import InvalidInput
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.command import evaluate
from tacit_evals.data.judged import Judgment, load_inject
from tacit_evals.data.named import load_named
from tacit_evals.fit.armed import Asked, artifact_of, fit_armed
from tacit_evals.metrics.counts import ItemResult
from tacit_evals.suites.named import average_precision, choose
from tacit_evals.suites.pool import ModelSaid, Pool
from tacit_evals.suites.running import shipped_settings

NAMED = {"p1": [["m1", 0.6], ["m3", 0.5], ["m9", 0.9]], "p2": [["m2", 0.7]], "p3": []}


@pytest.fixture
def answers(tmp_path):
    root = tmp_path / "answers"
    for project in ("alpha", "beta"):
        for moment in ("pause", "prompt"):
            path = root / project / f"{moment}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = (json.dumps({"id": name, "memories": pairs}) for name, pairs in NAMED.items())
            path.write_text("\n".join(lines) + "\n")
    return root


@pytest.mark.parametrize("moment", ["pause", "prompt"])
def test_a_run_leaves_each_project_out_and_names_the_worst(data, answers, tmp_path, moment):
    card = tmp_path / "card.json"
    given = ["--answers", str(answers), "--moment", moment, "--embedder", "fake", "--json", str(card)]
    assert evaluate(["inject", "--data", str(data), *given]) == 0
    found = json.loads(card.read_text())
    assert set(found["parts"]) == {"alpha", "beta", "pooled"}
    assert set(found["settings"]["chosen"]) == {"alpha", "beta"}
    assert found["metrics"]["ap_answers"] == pytest.approx(1.0)
    assert any("worst project (alpha)" in line["name"] for line in found["lines"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--answers", "ANSWERS"], "--moment"),
        (["--moment", "pause"], "--moment is for"),
        (["--answers", "EMPTY", "--moment", "pause"], "does not exist"),
    ],
)
def test_what_is_missing_is_named(data, answers, tmp_path, arguments, words):
    (tmp_path / "empty").mkdir()
    places = {"ANSWERS": str(answers), "EMPTY": str(tmp_path / "empty")}
    given = [places.get(one, one) for one in arguments]
    with pytest.raises(InvalidInput, match=words):
        evaluate(["inject", "--data", str(data), "--embedder", "fake", *given])


def test_a_prompt_without_an_answer_is_an_error(data, answers):
    (answers / "beta" / "pause.jsonl").write_text('{"id": "p1", "memories": []}\n')
    with pytest.raises(InvalidInput, match="2 prompts of beta"):
        evaluate(
            [
                "inject",
                "--data",
                str(data),
                "--embedder",
                "fake",
                "--answers",
                str(answers),
                "--moment",
                "pause",
            ]
        )


@pytest.mark.parametrize("memories", ["m1", None, [["m1"]], [["m1", 2]], [[1, 0.5]]])
def test_a_malformed_answer_names_its_line(answers, memories):
    path = answers / "alpha" / "pause.jsonl"
    path.write_text(json.dumps({"id": "p1", "memories": memories}) + "\n")
    with pytest.raises(InvalidInput, match=r"pause\.jsonl, line 1"):
        load_named(answers, "alpha", "pause")


def test_average_precision_by_hand():
    assert average_precision([0.9, 0.8, 0.1], [True, False, True]) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([0.0], [False]) == 0.0


def asked(project, number, local, named, *, needed=(), nothing=False):
    result = ItemResult(
        item=f"{project}/{number}", session=f"{project}/s", start=frozenset(), predicted=local,
        judgment=Judgment(needed=dict.fromkeys(needed, 2), nothing=nothing),
    )  # fmt: skip
    return Asked(project=project, result=result, named=named)


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


def test_the_choice_keeps_its_bounds():
    rows = [asked("a", at, {"m1": 0.1}, {}, needed=("m1",)) for at in range(8)]
    rows += [asked("a", 8 + at, {"m1": 0.1}, {}, nothing=True) for at in range(8)]
    answers = {str(at): {"m1": 0.45} for at in range(8)} | {str(8 + at): {"m1": 0.39} for at in range(8)}
    assert choose([(None, answers, rows)]) == (0.4, 0.2)


def test_the_pool_looks_at_what_was_named_without_counting_it(data):
    project = load_inject(data / "inject" / "alpha")
    pool = Pool(project, embedder=FakeEmbedder(), settings=shipped_settings())
    try:
        prompt = project.prompts[0]
        start = pool.start(tokens=0, at_ms=prompt.at_ms)
        plain = pool.prompt(prompt, start)
        only = pool.prompt(prompt, start, said=ModelSaid(named={"m3": 0.9}, in_pause=True, only_listed=True))
        counted = pool.prompt(prompt, start, said=ModelSaid(named={"m3": 0.9}, in_pause=True))
        assert only.predicted == plain.predicted
        assert counted.predicted["m3"] > plain.predicted["m3"]
    finally:
        pool.close()
