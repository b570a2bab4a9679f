"""Replaying sessions: what must hold over a whole session, and that a breach would be counted."""

from __future__ import annotations

import json

import pytest

from tacit.errors import InvalidInput
from tacit.providers.embedding import FakeEmbedder
from tacit_evals.data import load_sessions
from tacit_evals.placement import Tally, common_prefix, run_placement
from tacit_evals.running import SuiteRun

PROMPTS = ("commit this", "fix the bug in billing/server.go", "commit again", "thanks")


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def session(name, prompts):
    turns = []
    for text in prompts:
        turns.append({"role": "user", "kind": "prompt", "text": text})
        turns.append({"role": "assistant", "kind": "prompt", "text": f"Done with {text}."})
    turns.append({"role": "user", "kind": "command", "text": "/clear"})
    return {"session_id": name, "date": "2025-03-01", "turns": turns}


@pytest.fixture
def recorded(data):
    write_rows(data / "sessions" / "alpha.jsonl", [session("one", PROMPTS * 5), session("two", PROMPTS)])
    return data


def test_sessions_are_read_as_exchanges(recorded):
    one, two = load_sessions(recorded / "sessions" / "alpha.jsonl")
    assert (len(one.exchanges), len(two.exchanges)) == (20, 4)
    assert two.exchanges[0].answer == "Done with commit this."


@pytest.mark.slow
def test_a_replay_repeats_nothing_and_keeps_every_prefix(recorded):
    card = run_placement(SuiteRun(data=recorded, embedder=FakeEmbedder()))
    found = card.total.metrics
    assert (found["sessions"], found["prompts"]) == (2.0, 24.0)
    assert found["blocks"] >= 2
    assert found["repeats_without_cause"] == 0.0
    assert (found["within_budget"], found["within_cap"]) == (1.0, 1.0)
    assert (found["prefix_reuse"], found["least_prefix_reuse"]) == (1.0, 1.0)


def test_sessions_without_a_pool_are_refused(tmp_path):
    write_rows(tmp_path / "gamma.jsonl", [session("one", PROMPTS)])
    with pytest.raises(InvalidInput, match="have a pool"):
        run_placement(SuiteRun(data=tmp_path, embedder=FakeEmbedder()))


def test_a_malformed_session_is_named(tmp_path):
    path = tmp_path / "alpha.jsonl"
    path.write_text(json.dumps({"session_id": "s", "date": "2025-01-01", "turns": 3}))
    with pytest.raises(InvalidInput, match="line 1: field 'turns'"):
        load_sessions(path)


def test_a_breach_shows_in_the_figures():
    one = Tally(sessions=1, prompts=2, blocks=4, over_budget=1, kept_chars=5, asked_chars=10, least_reuse=0.5)
    one.add(Tally(blocks=4, repeats=2))
    found = one.figures()
    assert found["within_budget"] == 1 - 1 / 8
    assert (found["repeats_without_cause"], found["prefix_reuse"], found["least_prefix_reuse"]) == (
        2.0,
        0.5,
        0.5,
    )
    assert Tally().figures()["within_budget"] is None


def test_prefixes_by_hand():
    assert (common_prefix("abc", "abcd"), common_prefix("abc", "abd"), common_prefix("abcd", "ab")) == (
        3,
        2,
        2,
    )
