"""The fitted judge of pairs: its numbers, its trees, and what it does to a store."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tacit.capture.reconcile import Neighbour, reconcile
from tacit.capture.reconcile.features import NAMES, pair_row
from tacit.capture.reconcile.judge import Judgment, PairJudge, judge_by_rules, word_matches
from tacit.capture.reconcile.model import OUTCOMES, read_model, shipped_model
from tacit.capture.reconcile.words import parts_of
from tacit.errors import InvalidInput
from tacit.model.changes import Add, Contradict, Supersede
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import project_scope


def row(new: str, old: str, *, cosine: float = 0.8) -> dict[str, float]:
    return dict(zip(NAMES, pair_row(new, old, cosine=cosine).tolist(), strict=True))


def test_a_statement_is_read_into_words_values_and_where_it_holds() -> None:
    parts = parts_of("Wait two seconds in `net/retry.py` before Redis is asked.")
    assert parts.numbers == {"2"}
    assert parts.names == {"net/retry.py", "redi"}  # stems
    assert "net/retry.py" in parts.scope


def test_numbers_of_a_changed_value() -> None:
    found = row("The port is 9090.", "The port is 8080.")
    # Content words {port, 9090} and {port, 8080}: one of three in common, half of each side.
    assert found["overlap"] == pytest.approx(1 / 3)
    assert found["old_in_new"] == found["new_in_old"] == 0.5
    assert (found["values_swapped"], found["numbers_swapped"], found["one_word"]) == (1, 1, 1)
    assert found["order"] == 0.5
    assert (found["cosine_high"], found["cosine_low"]) == (pytest.approx(0.05), 0)


def test_numbers_of_an_end_and_of_a_reversal() -> None:
    assert row("The sync job was removed.", "The sync job runs hourly.")["ends"] == 1
    assert row("Never squash commits.", "Squash commits.")["polarity"] == 1
    assert row("Squash commits.", "Squash commits.")["equal_sets"] == 1


def model_text(**given: object) -> str:
    tree = [[NAMES.index("overlap"), 0.5, 1, 2, 0], [-1, 0, 0, 0, 0.0], [-1, 0, 0, 0, 2.0]]
    document = {
        "manifest": {}, "features": list(NAMES), "start": [0.0, 0.0, 1.0], "trees": [[0, tree]],
        "thresholds": {"same": 0.5, "conflict": 0.7, "review": 0.6, "possible": 0.4},
    }  # fmt: skip
    return json.dumps({**document, **given})


def test_chances_are_softmax_of_start_and_leaves() -> None:
    model = read_model(model_text())
    low, high = np.zeros(len(NAMES)), np.zeros(len(NAMES))
    high[NAMES.index("overlap")] = 0.6
    e = np.e
    expected = [
        [1 / (2 + e), 1 / (2 + e), e / (2 + e)],
        [e**2 / (e**2 + 1 + e), 1 / (e**2 + 1 + e), e / (e**2 + 1 + e)],
    ]
    assert model.chances(np.stack([low, high])) == pytest.approx(np.array(expected))


def test_a_model_of_other_numbers_or_a_damaged_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="other features"):
        read_model(model_text(features=["cosine"]))
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_model("{}")


def test_the_shipped_model_says_where_it_comes_from() -> None:
    model = shipped_model()
    assert {"embedder", "pairs", "date", "command", "held_out"} <= set(model.manifest)
    assert 0 < model.thresholds.possible <= model.thresholds.review <= model.thresholds.conflict < 1
    chances = model.chances(np.zeros((2, len(NAMES))))
    assert chances.sum(axis=1) == pytest.approx([1, 1])


def memory(
    content: str,
    *,
    key: str = "mem_new",
    at: int = 20,
    tier: TrustTier = TrustTier.USER,
    kind: str = "decision",
) -> Memory:
    return Memory(
        id=key, kind=kind, content=content, scope=project_scope("p"),
        provenance=Provenance(tier=tier, source="session", host="h", session_id=key, span=content),
        validity=Validity(valid_from_ms=at), created_at_ms=at or 15, updated_at_ms=at,
    )  # fmt: skip


def judged(*said: Judgment):
    """A judge that says these of the neighbours, in their order."""

    def judge(new, others, *, near, correction):
        del new, near, correction
        return said[: len(others)]

    return judge


CONFLICT = Judgment(relation="conflict", verdict="different", why="cannot hold beside", chance=0.9)
UNSURE = Judgment(relation="unsure", verdict="different", why="may contradict", chance=0.65, ask=True)


def decide(new: Memory, *old: Memory, judge):
    near = [Neighbour(memory=one, cosine=0.9 - place / 10) for place, one in enumerate(old)]
    return reconcile(new, near, near_duplicate_cosine=0.93, judge=judge)


def test_one_statement_may_end_several_and_contest_another() -> None:
    first, second = memory("a b", key="mem_a", at=1), memory("c d", key="mem_b", at=2)
    change = decide(
        memory("e f"),
        first,
        second,
        memory("g h", key="mem_c", at=3),
        judge=judged(CONFLICT, CONFLICT, UNSURE),
    )
    assert isinstance(change, Supersede)
    assert (change.old_id, change.further, change.contested) == ("mem_a", ("mem_b",), ("mem_c",))
    assert "cannot hold beside mem_a (0.90)" in change.reason
    assert "may contradict mem_c (0.65), but that is not sure enough" in change.reason


def test_what_is_not_sure_enough_is_asked_and_what_is_unlikely_is_let_be() -> None:
    old = memory("a b", key="mem_a", at=1)
    assert isinstance(decide(memory("e f"), old, judge=judged(UNSURE)), Contradict)
    quiet = replace(UNSURE, ask=False)
    assert isinstance(decide(memory("e f"), old, judge=judged(quiet)), Add)
    # Undecidable anyway: a person is asked from a lesser chance on.
    assert isinstance(decide(memory("e f", tier=TrustTier.ASSISTANT), old, judge=judged(quiet)), Contradict)


def test_what_is_undated_was_said_before_it_was_stored() -> None:
    undated = memory("a b", key="mem_a", at=0)  # stored at 15
    assert isinstance(decide(memory("e f", at=20), undated, judge=judged(CONFLICT)), Supersede)
    assert isinstance(decide(memory("e f", at=10), undated, judge=judged(CONFLICT)), Contradict)
    assert isinstance(decide(memory("e f", at=0), undated, judge=judged(CONFLICT)), Contradict)


def test_moments_do_not_end_one_another() -> None:
    old = memory("a b", key="mem_a", at=1, kind="event")
    assert isinstance(decide(memory("e f", kind="event"), old, judge=judged(CONFLICT)), Add)


def test_of_two_statements_the_later_one_is_judged_beside_the_earlier() -> None:
    asked: list[tuple[str, str]] = []

    def judge(new, others, *, near, correction):
        asked.extend((new, old) for old, _ in others)
        return judge_by_rules(new, others, near=near, correction=correction)

    decide(
        memory("middle one", at=10),
        memory("early one", key="mem_a", at=1),
        memory("late one", key="mem_b", at=30),
        judge=judge,
    )
    assert asked == [("middle one", "early one"), ("late one", "middle one")]


def test_without_token_vectors_words_are_compared_by_letters() -> None:
    class Plain:
        identity = None

    assert word_matches(Plain()) is None  # type: ignore[arg-type]
    judge = PairJudge(None)
    (found,) = judge("Use tabs", [("use tabs!", 1.0)], near=0.93, correction=False)
    assert (found.relation, found.verdict) == ("same", "same")


def test_outcomes_are_those_of_the_file() -> None:
    assert OUTCOMES == ("same", "conflict", "apart")
