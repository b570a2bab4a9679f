"""Rankings, their figures and their files; corpora and the suite that asks them."""

from __future__ import annotations

import json

import pytest

from tacit.errors import InvalidInput
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.data.corpora import load_conversations, load_duplicates
from tacit_evals.metrics.ranking import (
    ANY_5,
    RECALL_5,
    RECALL_10,
    as_scores,
    mean,
    per_query,
    read_qrels,
    read_run,
    resampled_mean,
    write_qrels,
    write_run,
)
from tacit_evals.suites.retrieval import run_retrieval
from tacit_evals.suites.running import Run

TURNS = [
    {
        "id": "D1:1",
        "session": 1,
        "date": "1 May",
        "speaker": "Ann",
        "text": "I painted a sunrise over the lake.",
    },
    {"id": "D1:2", "session": 1, "date": "1 May", "speaker": "Bob", "text": "My dog Rex ran away."},
    {
        "id": "D2:1",
        "session": 2,
        "date": "2 May",
        "speaker": "Ann",
        "text": "The pottery class starts on Monday.",
    },
]
QUESTIONS = [
    {"id": "q1", "text": "What did Ann paint? A sunrise?", "category": 1, "evidence": ["D1:1"]},
    {"id": "q2", "text": "When does the pottery class start?", "category": 2, "evidence": ["D2:1", "D1:2"]},
]
DOCS = [
    {"id": "1", "title": "Build fails on Debian", "text": "The build fails with an old compiler."},
    {"id": "2", "title": "Compiler too old", "text": "The build fails on Debian with the old compiler."},
    {"id": "3", "title": "Add a logo", "text": ""},
]


@pytest.fixture
def corpora(tmp_path):
    talk = tmp_path / "talk"
    talk.mkdir()
    (talk / "conv-1.json").write_text(
        json.dumps({"sample_id": "conv-1", "turns": TURNS, "questions": QUESTIONS})
    )
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "docs.jsonl").write_text("\n".join(map(json.dumps, DOCS)))
    (documents / "qrels.tsv").write_text("1\t2\t1\n")
    return tmp_path


def test_corpora_are_read(corpora):
    [talk] = load_conversations(corpora / "talk")
    assert talk.texts["D1:2"] == "Bob: My dog Rex ran away."
    assert talk.group["D2:1"] == "2"
    documents = load_duplicates(corpora / "documents")
    [question] = documents.questions
    assert (question.evidence, question.without) == ({"2"}, {"1"})
    assert question.text == "Build fails on Debian\nThe build fails with an old compiler."


def test_what_is_malformed_is_named(corpora):
    (corpora / "documents" / "qrels.tsv").write_text("1\t9\t1\n")
    with pytest.raises(InvalidInput, match="line 1: document '9' does not exist"):
        load_duplicates(corpora / "documents")
    broken = QUESTIONS[0] | {"evidence": ["D9:9"]}
    (corpora / "talk" / "conv-1.json").write_text(json.dumps({"turns": TURNS, "questions": [broken]}))
    with pytest.raises(InvalidInput, match="turn 'D9:9' does not exist"):
        load_conversations(corpora / "talk")
    (corpora / "talk" / "conv-1.json").write_text("{")
    with pytest.raises(InvalidInput, match="no JSON"):
        load_conversations(corpora / "talk")


def test_figures_of_rankings_by_hand():
    qrels = {"q1": {"a": 1, "b": 1}, "q2": {"z": 1}, "q3": {"c": 1}}
    run = {"q1": as_scores(["a", "x", "y", "v", "w", "b"]), "q2": as_scores(["a"])}
    assert per_query(qrels, run, RECALL_5) == {"q1": 0.5, "q2": 0.0, "q3": 0.0}
    assert per_query(qrels, run, RECALL_10)["q1"] == 1.0
    assert per_query(qrels, run, ANY_5) == {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert mean({"a": 1.0, "b": 0.0}) == 0.5
    assert mean({}) == 0.0
    assert resampled_mean({}) == (0.0, 0.0)
    assert resampled_mean({"a": 1.0, "b": 1.0}) == (1.0, 1.0)


def test_trec_files_read_back(tmp_path):
    qrels = {"q1": {"a": 2, "b": 1}}
    run = {"q1": {"a": 0.5, "b": 1.5}}
    write_qrels(qrels, tmp_path / "qrels")
    write_run(run, tmp_path / "run", name="x")
    assert (tmp_path / "qrels").read_text() == "q1 0 a 2\nq1 0 b 1\n"
    assert (tmp_path / "run").read_text() == "q1 Q0 b 1 1.500000 x\nq1 Q0 a 2 0.500000 x\n"
    assert read_qrels(tmp_path / "qrels") == qrels
    assert read_run(tmp_path / "run") == run


@pytest.mark.parametrize("line", ["q1 0 a", "q1 0 a much"])
def test_a_malformed_judgment_is_named(tmp_path, line):
    (tmp_path / "qrels").write_text(f"\n{line}\n")
    with pytest.raises(InvalidInput, match="line 2: no judgment"):
        read_qrels(tmp_path / "qrels")


@pytest.mark.parametrize("line", ["q1 Q0 a 1", "q1 Q0 a 1 high x", "q1 Q0 a 1 0.5 x y"])
def test_a_malformed_result_is_named(tmp_path, line):
    (tmp_path / "run").write_text(f"{line}\n")
    with pytest.raises(InvalidInput, match="line 1: no result"):
        read_run(tmp_path / "run")


@pytest.mark.slow
def test_the_suite_measures_both_kinds_of_corpora(corpora):
    card = run_retrieval(Run(data=corpora, embedder=FakeEmbedder()))
    assert {"turn_recall_at_5", "turn_recall_at_10", "session_any_at_5", "any_at_5"} <= set(
        card.total.metrics
    )
    assert {"BM25", "dense", "RRF", "convex mix"} == set(card.total.baselines)
    assert card.total.metrics["any_at_5"] == 1.0
    assert card.total.baselines["BM25"]["turn_recall_at_5"] == pytest.approx((1.0 + 0.5) / 2)
    assert [part.name for part in card.parts] == ["documents", "talk"]
