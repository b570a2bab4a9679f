"""Recorded answers of a language model: replayed by the hash of the request, without any text of the session."""

from __future__ import annotations

import json

import pytest

from tacit.errors import InvalidInput
from tacit.ports.writer import WriterRequest
from tacit_evals.command import evaluate
from tacit_evals.data.cassettes import ReplayWriter, key_of, to_cassette
from tacit_evals.suites.writing.recorded import main as recorded

SAID = "Always run the linter after every change, since CI is slow."
TURNS = [
    {"i": 0, "role": "user", "text": "Please add a login page."},
    {
        "i": 2,
        "role": "assistant",
        "text": "The bug was caused by a stale cache in `session.py`. It works now.",
    },
    {"i": 7, "role": "user", "text": f"Good. {SAID}"},
]
GOLD = [
    {
        "session_id": "s1", "turns": [7], "span": "run the linter after every change", "kind": "preference",
        "content": "Run the linter after every change.", "explicit": True, "strength": 2,
    },
    {
        "session_id": "s1", "turns": [2], "span": "caused by a stale cache", "kind": "error_pattern",
        "content": "Login failed because of a stale cache.", "explicit": True, "strength": 2,
    },
]  # fmt: skip


def statement(content, quote, *, number, kind, confidence=0.9):
    return {
        "content": content, "kind": kind, "message": number, "quote": quote, "when": [], "confidence": confidence, "fates": [],
    }  # fmt: skip


ANSWER = {
    "statements": [
        statement(
            "Login failed because of a stale cache in session.py",
            "caused by a stale cache",
            number=2,
            kind="fact",
        ),
        statement("The linter takes 40 minutes on CI at least", "CI is slow", number=3, kind="fact"),
    ]
}


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "capture"
    folder.mkdir()
    values = {"session_id": "s1", "project": "p", "date": "2025-01-01", "turns": TURNS}
    (folder / "p__s1.json").write_text(json.dumps(values), "utf-8")
    (folder / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in GOLD), "utf-8")
    return folder


def figures(data, answers, tmp_path):
    card = tmp_path / "card.json"
    assert evaluate(["capture", "--data", str(data), "--answers", str(answers), "--embedder", "fake", "--json", str(card)]) == 0  # fmt: skip
    return json.loads(card.read_text())["metrics"]


def record(data, tmp_path):
    requests, answers, cassettes = (tmp_path / name for name in ("requests", "raw", "cassettes"))
    answers.mkdir()
    with pytest.raises(InvalidInput, match="1 of 1 sessions have no answer"):
        evaluate(
            [
                "capture",
                "--data",
                str(data),
                "--answers",
                str(answers),
                "--requests",
                str(requests),
                "--embedder",
                "fake",
            ]
        )
    (path,) = requests.glob("*.json")
    arguments = [
        "--requests",
        str(requests),
        "--answers",
        str(answers),
        "--out",
        str(cassettes / "answers.json"),
    ]
    assert recorded(arguments) == 1
    assert not cassettes.exists()
    (answers / path.name).write_text(json.dumps(ANSWER))
    assert recorded(arguments) == 0
    return cassettes


def test_recorded_answers_go_through_the_whole_write_path(data, tmp_path):
    cassettes = record(data, tmp_path)
    (path,) = cassettes.glob("*.json")
    text = path.read_text()
    assert not any(turn["text"][:25] in text for turn in TURNS), "a cassette holds no text of the session"
    assert "caused by a stale" not in text
    found = figures(data, cassettes, tmp_path)
    assert (found["precision"], found["recall_strength2"], found["kind_accuracy"]) == (1.0, 1.0, 0.5)
    assert found["checked_share"] == 0.5, "nobody said 40"
    assert (found["cut_keeps_turns"], found["cut_keeps_spans"]) == (1.0, 1.0)
    assert found["tokens_per_session"] > 500


def test_a_request_that_has_changed_since_fails_loudly(data, tmp_path):
    cassettes = record(data, tmp_path)
    path = data / "p__s1.json"
    path.write_text(path.read_text().replace("stale cache", "stale token"))
    with pytest.raises(InvalidInput, match="No answer was recorded for the request"):
        figures(data, cassettes, tmp_path)


def test_plain_answers_are_found_by_their_words(data, tmp_path):
    answers = tmp_path / "plain"
    answers.mkdir()
    plain = {"content": "Login failed because of a stale cache in session.py", "kind": "error_pattern", "turns": [2], "quote": "caused by a stale cache", "confidence": 0.9, "when": {"actions": ["fix a login"], "objects": []}}  # fmt: skip
    (answers / "p__s1.json").write_text(json.dumps([plain]))
    found = figures(data, answers, tmp_path)
    assert (found["precision"], found["kind_accuracy"]) == (1.0, 1.0)


def test_every_character_of_a_request_counts_and_an_answer_has_to_be_one():
    request = WriterRequest(system="a", user="b\nMessages:\n[]", most_output_tokens=9, schema={})
    assert key_of(request) != key_of(
        WriterRequest(system="a ", user=request.user, most_output_tokens=9, schema={})
    )
    with pytest.raises(InvalidInput, match="cannot be read"):
        to_cassette(request, "[]")


def test_answers_that_are_no_json_and_other_suites_are_refused(data, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.json").write_text("{")
    with pytest.raises(InvalidInput, match="is no JSON"):
        ReplayWriter(tmp_path / "bad")
    with pytest.raises(InvalidInput, match="for the suites capture, update and inject"):
        evaluate(["action", "--data", str(data), "--answers", str(tmp_path)])
