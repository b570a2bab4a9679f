"""The suite for capture: what counts as found, where evidence stands, and what the figures say."""

from __future__ import annotations

import json

import pytest

from tacit.errors import InvalidInput
from tacit.providers.embedding.fake import FakeEmbedder
from tacit_evals.command import evaluate
from tacit_evals.data.learnings import Message, load_learnings
from tacit_evals.data.recognise import folders_of
from tacit_evals.metrics.matching import likeness, token_f1
from tacit_evals.suites.capture import by_typed_patterns, intervals_of, judge
from tacit_evals.suites.capturing import Captured, Kept, capture_session, evidence_turns

TURNS = [
    {"i": 0, "role": "user", "text": "Please add a login page."},
    {"i": 2, "role": "assistant", "text": "The bug was caused by a stale cache. It works now."},
    {"i": 5, "role": "assistant", "text": "Done."},
    {"i": 7, "role": "user", "text": "Always run the linter after every change."},
]
GOLD = [
    {
        "session_id": "s1", "turns": [7], "span": "run the linter after every change", "kind": "preference",
        "content": "Run the linter after every change.", "explicit": True, "strength": 2,
    },
    {
        "session_id": "s1", "turns": [2, 5], "span": "caused by a stale cache", "kind": "error_pattern",
        "content": "Login failed because of a stale cache.", "explicit": True, "strength": 1,
    },
]  # fmt: skip


@pytest.fixture
def sessions(tmp_path):
    folder = tmp_path / "capture"
    folder.mkdir()
    values = {"session_id": "s1", "project": "p", "date": "2025-01-01", "turns": TURNS}
    (folder / "p__s1.json").write_text(json.dumps(values), "utf-8")
    (folder / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in GOLD), "utf-8")
    return folder


def test_token_f1_counts_shared_tokens():
    assert token_f1("run the linter", "Run the tests, run!") == pytest.approx(2 * 2 / 7)
    assert token_f1("a a b", "a c") == pytest.approx(2 * 1 / 5)
    assert token_f1("", "anything") == 0.0


def test_any_of_the_three_measures_is_enough():
    assert likeness("a b c", span="a b x y z", gold="q", cosine=0.1) == pytest.approx(1.0)  # F1 2*2/8
    assert likeness("a b", span="x", gold="y", cosine=0.75) == pytest.approx(1.0)
    assert likeness("a b", span="x", gold="y", cosine=0.74) < 1.0


def test_evidence_is_the_message_that_holds_the_words():
    turns = [Message(i=one["i"], role=one["role"], text=one["text"]) for one in TURNS]
    assert evidence_turns("caused by a\nstale cache", 1, turns) == {2}
    assert evidence_turns("Always run the linter", 2, turns) == {7}
    assert evidence_turns("words nobody said", 2, turns) == {7}
    assert evidence_turns("", 1, turns) == {0}
    assert evidence_turns("stale", 2, turns) == {2}  # the number is wrong, the words are there


def test_what_matches_is_counted_once_and_by_strength(sessions):
    session = load_learnings(sessions)[0]
    kept = Kept(
        learnings=(
            Captured(content="Run the linter after every change", kind="decision", turns=frozenset({7})),
            Captured(
                content="Always run the linter after each change", kind="preference", turns=frozenset({7})
            ),
            Captured(content="Login failed because of a stale cache", kind="fact", turns=frozenset({0})),
        ),
        review=(
            Captured(content="x", kind="fact", turns=frozenset()),
            Captured(content="Login failed because of a stale cache", kind="fact", turns=frozenset({2})),
        ),
    )
    judged = judge(session, kept, embedder=FakeEmbedder())
    assert judged.found == {"s1#0"}, "what waits for review is not kept"
    # sessions; active, right, right kinds; review; gold, found; strength 2, found, explicit ones found
    assert judged.counts == [1, 3, 2, 1, 2, 2, 1, 1, 1, 1]


def test_intervals_of_equal_sessions_have_no_width():
    counts = [[1, 2, 1, 1, 3, 5, 1, 4, 1, 1]] * 4
    import numpy as np

    found = intervals_of(np.array(counts, np.float64))
    assert found["precision"] == (0.5, 0.5)
    assert found["recall_strength2"] == (0.25, 0.25)
    assert found["recall_all"] == (0.2, 0.2)
    assert found["kind_accuracy"] == (1.0, 1.0)
    assert found["active_per_session"] == (2.0, 2.0)
    assert found["review_per_session"] == (3.0, 3.0)
    assert "explicit2_kept" not in found, "a count of these sessions"


def test_the_real_write_path_captures_a_session(sessions):
    kept = capture_session(load_learnings(sessions)[0], embedder=FakeEmbedder())
    assert [(one.content, one.turns, one.by) for one in kept.learnings] == [
        ("Always run the linter after every change", {7}, "user")
    ]


def test_the_typed_patterns_keep_clauses_of_their_speaker():
    turns = [Message(i=one["i"], role=one["role"], text=one["text"]) for one in TURNS]
    assert [(one.kind, one.content, one.turns) for one in by_typed_patterns(turns)] == [
        ("error_pattern", "bug was caused by a stale cache.", {2}),
        ("preference", "Always run the linter after every change.", {7}),
    ]


def test_a_folder_is_known_and_a_strange_session_named(sessions):
    assert folders_of("capture", sessions.parent) == (sessions,)
    with (sessions / "gold.jsonl").open("a") as gold:
        gold.write(json.dumps({**GOLD[0], "session_id": "s9"}) + "\n")
    with pytest.raises(InvalidInput, match="session 's9' does not exist"):
        load_learnings(sessions)


def test_the_command_writes_the_same_shape_as_other_suites(sessions, tmp_path, capsys):
    out, page = tmp_path / "c.json", tmp_path / "c.html"
    missed = {
        **GOLD[0],
        "turns": [0],
        "span": "login",
        "content": "No login without a session.",
        "strength": 1,
    }
    with (sessions / "gold.jsonl").open("a") as gold:
        gold.write(json.dumps(missed) + "\n")
    arguments = [
        "capture",
        "--data",
        str(sessions),
        "--embedder",
        "fake",
        "--json",
        str(out),
    ]
    assert evaluate(arguments) == 0
    assert page.is_file(), "the report stands beside the scorecard"
    card = json.loads(out.read_text())
    assert card["suite"] == "capture"
    assert card["metrics"]["precision"] == 1.0
    assert card["metrics"]["recall_strength2"] == 1.0
    assert card["metrics"]["recall_all"] < 1.0
    assert card["metrics"]["kind_accuracy"] == 1.0
    assert card["metrics"]["explicit2_kept"] == 1.0
    assert card["metrics"]["review_per_session"] == 0.0
    assert "typed seed's patterns" in card["baselines"]
    assert "No login without" in page.read_text()
    assert "No login without" not in out.read_text()
