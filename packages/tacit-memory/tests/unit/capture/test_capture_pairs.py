"""What becomes of a statement that several stored ones are judged beside."""

from __future__ import annotations

from dataclasses import replace

from tacit.app.reasons import change_text
from tacit.capture.reconcile import Judgment, Neighbor, judge_by_words, reconcile
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Contradict, Merge, Supersede
from tacit.model.memory import Memory, Provenance, TrustTier, Validity
from tacit.model.scope import project_scope


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
    """A judge that says these of the neighbors, in their order."""
    waiting = list(said)
    return lambda _new, _old, _correction: waiting.pop(0)


CONFLICT = Judgment(relation="conflict", why=ChangeCause.REPLACES)
UNSURE = Judgment(relation="unsure", why=ChangeCause.MAY_CONTRADICT)


def decide(new: Memory, *old: Memory, judge):
    near = [Neighbor(memory=one, cosine=0.9 - place / 10) for place, one in enumerate(old)]
    return reconcile(new, near, judge=judge)


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
    assert (change.reason.cause, change.reason.memory_ids) == (ChangeCause.REPLACES, ("mem_a",))
    assert change_text(change.reason).endswith("; may contradict mem_c")


def test_what_is_not_certain_is_one_question_and_both_stay() -> None:
    first, second = memory("a b", key="mem_a", at=1), memory("c d", key="mem_b", at=2)
    change = decide(memory("e f"), first, second, judge=judged(UNSURE, UNSURE))
    assert change == Contradict(
        memory=memory("e f"),
        other_id="mem_a",
        reason=ChangeReason(cause=ChangeCause.MAY_CONTRADICT, memory_ids=("mem_a",)),
    )
    assert change.memory.status == "active"
    below = decide(memory("e f", tier=TrustTier.ASSISTANT), first, judge=judged(UNSURE))
    assert isinstance(below, Contradict)
    assert below.reason.cause is ChangeCause.MAY_CONTRADICT
    assert below.reason.but is not None


def test_what_is_undated_was_said_before_it_was_stored() -> None:
    undated = memory("a b", key="mem_a", at=0)  # stored at 15
    assert isinstance(decide(memory("e f", at=20), undated, judge=judged(CONFLICT)), Supersede)
    assert isinstance(decide(memory("e f", at=10), undated, judge=judged(CONFLICT)), Contradict)
    assert isinstance(decide(memory("e f", at=0), undated, judge=judged(CONFLICT)), Contradict)


def test_a_fix_keeps_its_error() -> None:
    same = Judgment(relation="same", why=ChangeCause.SAYS_SAME)
    fix = replace(memory("e f", kind="error_pattern"), error_signature="no module shop")
    said = memory("a b", key="mem_a", at=1)
    assert isinstance(decide(fix, said, judge=judged(same)), Add)
    known = replace(said, error_signature="no module shop")
    assert isinstance(decide(fix, known, judge=judged(same)), Merge)
    assert isinstance(decide(memory("e f"), known, judge=judged(same)), Merge)


def test_moments_do_not_end_one_another() -> None:
    old = memory("a b", key="mem_a", at=1, kind="event")
    value = replace(CONFLICT, why=ChangeCause.GIVES_OTHER_VALUE)
    assert isinstance(decide(memory("e f", kind="event"), old, judge=judged(value)), Add)
    assert isinstance(decide(memory("e f"), memory("a b", key="mem_a", at=1), judge=judged(value)), Supersede)


def test_of_two_statements_the_later_one_is_judged_beside_the_earlier() -> None:
    asked: list[tuple[str, str]] = []

    def judge(new, old, correction):
        asked.append((new, old))
        return judge_by_words(new, old, correction)

    decide(
        memory("middle one", at=10),
        memory("early one", key="mem_a", at=1),
        memory("late one", key="mem_b", at=30),
        judge=judge,
    )
    assert asked == [("middle one", "early one"), ("late one", "middle one")]
