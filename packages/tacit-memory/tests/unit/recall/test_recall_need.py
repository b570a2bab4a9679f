"""Expected need: its evidence, its formula by hand, its order, and what ships."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from samples import memory_named
from tacit.errors import InvalidInput
from tacit.fitted import FOLDER, decode_artifact
from tacit.model.kinds import KindRegistry
from tacit.model.memory import Memory, Validity
from tacit.model.trigger import Trigger
from tacit.recall.score import (
    NEED_EVIDENCE,
    Linear,
    NeedModel,
    NeedValues,
    from_rule_file,
    need_evidence_of,
    order_by_need,
    shipped_need,
)

DAY = 86_400_000
NOW = 1_700_000_000_000
KINDS = KindRegistry()


ZERO = Linear(
    bias=0.0,
    weights=dict.fromkeys(NEED_EVIDENCE, 0.0),
    means=dict.fromkeys(NEED_EVIDENCE, 0.0),
    scales=dict.fromkeys(NEED_EVIDENCE, 1.0),
)


def memory(name: str, content: str, *, kind: str = "preference", **values: Any) -> Memory:
    given = {"at_ms": NOW, "source": "session", "importance": KINDS.get(kind).importance, **values}
    return memory_named(name, content, kind=kind, **given)


def flat(**weights: float) -> NeedModel:
    linear = replace(ZERO, weights={**ZERO.weights, **weights})
    return NeedModel(given=linear, local=linear)


def test_evidence_by_hand() -> None:
    one = memory(
        "a",
        "Run tests",
        trigger=Trigger(breadth=1.5, objects=("test", "cli")),
        files=("x.py",),
        source="CLAUDE.md",
    )
    two = memory("b", "The test database", at_ms=NOW + 1, trigger=Trigger(always=True))
    three = memory("c", "Never push", at_ms=NOW + 1)
    found = need_evidence_of([one, two, three])
    # `test` stands in two statements, `cli` in none; one is older than the two others; 9 characters.
    expected = (0.5, math.log(3), 0.0, -math.log(6 + 9 / 4), 0.0, -2.0, -1.0)
    assert found[0] == pytest.approx(expected)
    assert found[1] == pytest.approx((1.0, math.log(2), 1 / 3, -math.log(6 + 17 / 4), 1.0, 0.0, 0.0))
    assert found.shape == (3, len(NEED_EVIDENCE))
    assert need_evidence_of([]).shape == (0, len(NEED_EVIDENCE))


def test_an_object_of_several_words_must_stand_there_in_full() -> None:
    trigger = Trigger(objects=("session repo",))
    pool = [
        memory("a", "Edit in the session repo", trigger=trigger),
        memory("b", "Start the session"),
        memory("c", "Clone the repo"),
    ]
    assert need_evidence_of(pool)[0][NEED_EVIDENCE.index("known")] == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("CLAUDE.md", True),
        (".cursor/rules/tests.mdc", True),
        ("session", False),
        ("session:2025.1/a", False),
        ("cli", False),
        ("", False),
    ],
)
def test_what_comes_from_a_rule_file(source: str, expected: bool) -> None:
    assert from_rule_file(memory("a", "Use tabs", source=source)) is expected


def test_need_by_hand() -> None:
    broad = memory("a", "Use tabs", trigger=Trigger(breadth=3.0), use_count=2, frequency=2)
    # logistic(2.0 * 1 + 0.15 * ln(1 + 2 + 1))
    odds = 2.0 + 0.15 * math.log(4)
    found = flat(breadth=2.0).needs([broad], kinds=KINDS, at_ms=NOW + 900 * DAY)
    assert found[0] == pytest.approx(1 / (1 + math.exp(-odds)))


def test_only_what_tells_of_an_episode_ages() -> None:
    pool = [memory("a", "Use tabs", kind="fact"), memory("b", "Open: tabs", kind="todo")]
    fact, todo = flat().needs(pool, kinds=KINDS, at_ms=NOW + 14 * DAY)
    assert fact == pytest.approx(0.5)
    assert todo == pytest.approx(0.25)  # half a logistic of 0 after one half-life


def test_importance_counts_by_how_far_it_is_from_that_of_the_kind() -> None:
    usual, raised = memory("a", "Use tabs", kind="fact"), memory("b", "Use tabs", kind="fact", importance=0.9)
    first, second = flat().needs([usual, raised], kinds=KINDS, at_ms=NOW)
    assert first == pytest.approx(0.5)
    assert second == pytest.approx(1 / (1 + math.exp(-0.5 * 0.4)))


def test_a_trigger_that_somebody_gave_has_weights_of_its_own() -> None:
    told, guessed = replace(ZERO, bias=2.0), replace(ZERO, bias=-2.0)
    pool = [memory("a", "Use tabs", trigger=Trigger(maker="agent")), memory("b", "Use tabs")]
    first, second = NeedModel(given=told, local=guessed).needs(pool, kinds=KINDS, at_ms=NOW)
    assert first == pytest.approx(1 - second)
    assert first > 0.8


def test_like_statements_do_not_crowd_one_another_out() -> None:
    pool = [
        memory("a", "Never commit secrets to the repository"),
        memory("b", "Never commit secrets to the repository of the team"),
        memory("c", "Answer in plain words"),
    ]
    ordered = order_by_need(pool, np.array([0.9, 0.8, 0.3]))
    assert [(one.id, need) for one, need in ordered] == [("a", 0.9), ("b", 0.8), ("c", 0.3)]


def test_of_equal_needs_the_newest_comes_first() -> None:
    pool = [
        replace(memory(name, name), validity=Validity(valid_from_ms=at))
        for name, at in (("a", 1), ("b", 3), ("c", 2))
    ]
    assert [one.id for one, _ in order_by_need(pool, np.zeros(3))] == ["b", "c", "a"]


def test_what_ships_prefers_broad_known_short_and_recent() -> None:
    model = shipped_need()
    for linear in (model.given, model.local):
        assert max(linear.weights, key=lambda name: linear.weights[name]) == "breadth"
        assert all(linear.weights[name] > 0 for name in ("known", "recent", "short", "learned"))
    assert all((model.origin.projects, model.origin.made_by, model.origin.date))


def test_a_model_with_a_number_missing_or_a_scale_of_zero_is_refused() -> None:
    content = (FOLDER / "need.json").read_bytes().replace(b'"breadth"', b'"width"')
    with pytest.raises(InvalidInput, match="lacks 'breadth'"):
        decode_artifact(content, NeedValues, name="need")
    with pytest.raises(InvalidInput, match="above 0"):
        replace(ZERO, scales=dict.fromkeys(NEED_EVIDENCE, 0.0))
