"""What becomes of a statement beside what is stored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.app.reasons import change_text
from tacit.capture.reconcile import (
    MAX_EVIDENCE,
    REPEAT_WINDOW_MS,
    Neighbor,
    reconcile,
    replace_named,
    with_copies_ended,
)
from tacit.model.change_reason import ChangeCause, ChangeReason
from tacit.model.changes import Add, Change, Contradict, Merge, Skip, Supersede
from tacit.model.memory import Memory, Provenance, Sensitivity, TrustTier, Validity
from tacit.model.scope import UNIVERSAL, project_scope
from tacit.model.trigger import Trigger


def memory(
    content: str,
    *,
    key: str = "mem_new",
    kind: str = "decision",
    at: int = 20,
    tier: TrustTier = TrustTier.USER,
    session: str = "s2",
) -> Memory:
    return Memory(
        id=key, kind=kind, content=content, scope=project_scope("p"),
        provenance=Provenance(tier=tier, source="session", host="h", session_id=session, span=content),
        validity=Validity(valid_from_ms=at), created_at_ms=at, updated_at_ms=at, importance=0.5,
    )  # fmt: skip


def stored(content: str, **given: object) -> Memory:
    return memory(content, **{"key": "mem_old", "at": 10, "session": "s1", **given})


def decide(new: Memory, *old: Memory, cosine: float = 0.0) -> Change:
    return reconcile(new, [Neighbor(memory=m, cosine=cosine) for m in old])


def test_nothing_near_is_added() -> None:
    new = memory("Use tabs in Go files")
    assert decide(new, stored("Deploy on Fridays only")) == Add(memory=new)


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("Use tabs in Go files", ChangeCause.CAPTURED_ALREADY),
        ("use tabs in Go files!", ChangeCause.SAID_BEFORE),
    ],
)
def test_a_session_that_stated_a_memory_counts_no_second_time(words: str, cause: ChangeCause) -> None:
    old, new = stored("Use tabs in Go files", session=""), memory(words)
    near = [Neighbor(memory=old, cosine=0.0)]
    first = reconcile(new, near)
    assert isinstance(first, Merge)
    assert first.memory.frequency == old.frequency + 1  # by the command line first, now in a session
    again = reconcile(new, near, counted={old.id})
    assert isinstance(again, Skip | Merge)
    assert again.reason.cause is cause
    assert isinstance(again, Skip) or again.memory.frequency == old.frequency


def test_a_repetition_raises_frequency_importance_and_evidence() -> None:
    change = decide(memory("use tabs in Go files!"), stored("Use tabs in Go files"))
    assert isinstance(change, Merge)
    assert (change.memory.id, change.memory.content) == ("mem_old", "use tabs in Go files!")
    assert (change.memory.frequency, change.memory.evidence) == (2, ("use tabs in Go files!",))
    assert change.memory.importance == pytest.approx(0.6)


def test_a_repetition_brings_the_evidence_of_its_own() -> None:
    again = replace(memory("The port is 8080."), evidence=("it listens on 8080", "the old port is gone"))
    change = decide(again, stored("The port is 8080"))
    assert isinstance(change, Merge)
    assert change.memory.evidence == ("The port is 8080.", "it listens on 8080", "the old port is gone")


def test_evidence_is_capped_and_trust_rises() -> None:
    old = replace(
        stored("Use tabs in Go files", tier=TrustTier.ASSISTANT),
        evidence=tuple(map(str, range(MAX_EVIDENCE))),
    )
    change = decide(memory("use tabs in Go files!"), old)
    assert isinstance(change, Merge)
    assert len(change.memory.evidence) == MAX_EVIDENCE
    assert change.memory.provenance.tier is TrustTier.USER


def test_the_same_utterance_read_again_is_skipped() -> None:
    old = stored("Use tabs in Go files")
    assert isinstance(decide(stored("Use tabs in Go files", key="mem_new"), old), Skip)


def by_hand(made: Memory, **given: object) -> Memory:
    return replace(made, provenance=Provenance(tier=TrustTier.USER, source="cli", span=made.content), **given)


def test_saying_the_same_by_hand_counts_and_keeps_what_is_given_with_it() -> None:
    old = by_hand(stored("Use tabs in Go files"), files=("a.go",))
    when = Trigger(actions=(("commit", 1.0),), maker="user")
    later = old.updated_at_ms + REPEAT_WINDOW_MS
    new = by_hand(memory("Use tabs in Go files", at=later), pinned=True, files=("b.go", "a.go"), trigger=when)
    change = decide(new, old)
    assert isinstance(change, Merge)
    made = change.memory
    assert (made.frequency, made.pinned, made.files) == (2, True, ("a.go", "b.go"))
    assert (made.trigger, made.updated_at_ms, made.evidence) == (when, later, ())
    assert {entity.key for entity in made.entities} >= {"a.go", "b.go"}


def test_the_same_by_hand_within_a_moment_is_one_saying() -> None:
    old = by_hand(stored("Use tabs in Go files"))
    again = by_hand(memory("Use tabs in Go files", at=old.updated_at_ms + REPEAT_WINDOW_MS - 1))
    change = decide(again, old)
    assert isinstance(change, Skip)
    assert change.memory_id == old.id
    pinned = decide(replace(again, pinned=True), old)
    assert isinstance(pinned, Merge)
    assert (pinned.memory.frequency, pinned.memory.pinned) == (1, True)


def test_a_trigger_gives_way_to_one_of_a_maker_as_good_and_to_no_other() -> None:
    guessed = Trigger(actions=(("push", 0.67),))
    said = Trigger(actions=(("commit", 1.0),), maker="user")
    offered = replace(said, maker="agent")
    for mine, theirs, kept in (
        (guessed, said, said),
        (guessed, replace(guessed, commands=("go",)), replace(guessed, commands=("go",))),
        (guessed, Trigger(), guessed),
        (guessed, Trigger(objects=("a",), maker="user"), Trigger(objects=("a",), maker="user")),
        (offered, guessed, offered),
        (offered, said, said),
        (said, offered, said),
    ):
        change = decide(
            replace(memory("use tabs!"), trigger=mine), replace(stored("Use tabs"), trigger=theirs)
        )
        assert isinstance(change, Merge)
        assert change.memory.trigger == kept


def test_who_is_trusted_less_adds_nothing_to_a_statement() -> None:
    offered = Trigger(always=True, maker="agent")
    new = replace(
        memory("use tabs!", tier=TrustTier.ASSISTANT), trigger=offered, pinned=True, files=("a.go",)
    )
    guessed = Trigger(actions=(("push", 0.67),))
    old = replace(stored("Use tabs"), trigger=guessed)
    change = decide(new, old)
    assert isinstance(change, Merge)
    assert (change.memory.trigger, change.memory.pinned, change.memory.files) == (guessed, False, ())


def test_what_a_program_says_again_changes_nothing() -> None:
    said = Provenance(tier=TrustTier.IMPORT, source="mcp", span="Use tabs")
    old = replace(stored("Use tabs"), provenance=said)
    assert decide(replace(memory("Use tabs"), provenance=said), old) == Skip(
        content="Use tabs",
        reason=ChangeReason(cause=ChangeCause.STORED_ALREADY, memory_ids=("mem_old",)),
        memory=old,
    )


def test_a_pin_in_the_same_session_is_kept_and_counts_no_statement() -> None:
    old = stored("Use tabs")
    change = decide(replace(stored("Use tabs", key="mem_new", at=30), pinned=True), old)
    assert isinstance(change, Merge)
    assert change.memory == replace(old, pinned=True, updated_at_ms=30)


PART, REASON = "Never log customer addresses.", "support asked for it twice."


def test_the_longer_reading_of_one_saying_stays() -> None:
    whole = f"{PART} {REASON}"
    change = decide(memory(whole, session="s1"), stored(PART))
    assert isinstance(change, Supersede)
    assert change.memory.content == whole
    again = decide(memory(PART, session="s1"), stored(whole))
    assert isinstance(again, Skip | Merge)
    assert isinstance(again, Skip) or again.memory.content == whole


@pytest.mark.parametrize(
    "whole",
    [
        f"Some say: {PART} {REASON}",  # no sentence of its own
        "Never log customer addresses or names. Ask support.",
        "Never log customer addresses without consent.",
    ],
)
def test_a_sentence_with_other_words_is_no_longer_reading(whole: str) -> None:
    assert isinstance(decide(memory(whole, session="s1"), stored(PART)), Add)


def test_what_another_session_said_with_more_stands_beside_it() -> None:
    assert isinstance(decide(memory(f"{PART} {REASON}"), stored(PART)), Add)


def test_what_replaces_a_statement_replaces_its_own_copies() -> None:
    new, old = (
        memory("We go with Svelte. React is heavy.", session="s1"),
        stored("Use React", key="mem_react"),
    )
    others = (
        stored("We go with Svelte", key="mem_part"),
        stored("we go with Svelte. React is heavy", key="mem_same"),
        stored("We go with Svelte", key="mem_elsewhere", session="s9"),
        stored("Svelte needs Node 22", key="mem_other"),
    )
    (change,) = replace_named(new, [old], spoken_of=())
    ended = with_copies_ended(change, [Neighbor(memory=one) for one in others])
    assert isinstance(ended, Supersede)
    assert (ended.old_id, ended.further) == ("mem_react", ("mem_part", "mem_same"))


def test_a_value_that_is_said_to_be_new_supersedes_and_says_why() -> None:
    change = decide(memory("The port is now 9090"), stored("The port is 8080"))
    assert isinstance(change, Supersede)
    why = "gives another value than mem_old: 8080 -> 9090; both on port"
    assert (change.old_id, change.at_ms, change_text(change.reason)) == ("mem_old", 20, why)


def test_another_value_that_is_not_said_to_be_new_ends_nothing() -> None:
    assert isinstance(decide(memory("The port is 9090"), stored("The port is 8080")), Add)
    corrected = decide(memory("The port is 9090", kind="correction"), stored("The port is 8080"))
    assert isinstance(corrected, Supersede)


def test_which_of_two_other_values_ends_nobody_has_said() -> None:
    one, two = stored("The port is 8080"), stored("The port is 7070", key="mem_other")
    assert isinstance(decide(memory("The port is now 9090"), one, two), Add)


def test_what_a_newer_value_ended_already_becomes_history() -> None:
    change = decide(memory("The port is 8080", at=5), stored("The port is now 9090"))
    assert isinstance(change, Add)
    assert change.memory.status == "superseded"
    assert (change.memory.validity.valid_to_ms, change.memory.validity.superseded_by) == (10, "mem_old")


def test_trust_is_not_overruled() -> None:
    change = decide(memory("The port is now 9090", tier=TrustTier.TOOL), stored("The port is 8080"))
    assert isinstance(change, Contradict)
    assert change.reason.but == ChangeReason(cause=ChangeCause.LOWER_TIER, terms=("tool", "user"))


def test_neither_newer_is_a_contradiction() -> None:
    assert isinstance(decide(memory("The port is now 9090", at=10), stored("The port is 8080")), Contradict)
    assert isinstance(decide(memory("The port is now 9090", at=0), stored("The port is 8080")), Contradict)


def test_one_word_changed_ends_nothing() -> None:
    old = stored("Run the linter before pushing")
    assert isinstance(decide(memory("Run the tests before pushing"), old), Add)
    assert isinstance(decide(memory("Run the tests before pushing", kind="correction"), old), Add)


def test_another_scope_is_merged_with_but_never_superseded() -> None:
    wide = replace(stored("The port is 8080"), scope=UNIVERSAL)
    assert isinstance(decide(memory("The port is now 9090"), wide), Add)
    assert isinstance(decide(memory("the port is 8080"), wide), Merge)


def test_what_two_sources_say_is_as_sensitive_as_the_stricter_one() -> None:
    made = decide(
        replace(memory("the port is 8080"), sensitivity=Sensitivity.RESTRICTED), stored("The port is 8080")
    )
    assert isinstance(made, Merge)
    assert made.memory.sensitivity is Sensitivity.RESTRICTED


def test_who_is_trusted_less_hides_nothing() -> None:
    agent = replace(memory("the port is 8080", tier=TrustTier.IMPORT), sensitivity=Sensitivity.RESTRICTED)
    made = decide(agent, stored("The port is 8080"))
    assert not isinstance(made, Merge) or made.memory.sensitivity is Sensitivity.PROJECT


@pytest.mark.parametrize("words", ["the port is 8080", "the port is now 9090"])
def test_what_holds_for_one_session_changes_nothing_for_others(words: str) -> None:
    today = replace(memory(words), sensitivity=Sensitivity.SESSION)
    assert isinstance(decide(today, stored("The port is 8080")), Add)
    assert isinstance(
        decide(memory(words), replace(stored("The port is 8080"), sensitivity=Sensitivity.SESSION)), Add
    )


def test_two_files_described_are_two_memories() -> None:
    old = stored("`a/new.py` holds the routes", kind="file_context")
    assert isinstance(decide(memory("`a/old.py` holds the routes", kind="file_context"), old), Add)


def test_what_is_over_is_no_neighbour() -> None:
    assert isinstance(decide(memory("Use tabs"), replace(stored("Use tabs"), status="retired")), Add)


def test_what_waits_for_confirmation_is_confirmed_by_the_user_and_never_replaces() -> None:
    waiting = replace(stored("Use tabs in Go files", tier=TrustTier.IMPORT), status="quarantined")
    confirmed = decide(memory("use tabs in Go files!"), waiting)
    assert isinstance(confirmed, Merge)
    assert (confirmed.memory.status, confirmed.memory.provenance.tier) == ("active", TrustTier.USER)
    again = decide(
        replace(memory("use tabs in Go files!", tier=TrustTier.IMPORT), status="quarantined"), waiting
    )
    assert isinstance(again, Merge)
    assert again.memory.status == "quarantined"
    old = stored("The port is 8080", tier=TrustTier.IMPORT)
    assert isinstance(
        decide(replace(memory("The port is now 9090", tier=TrustTier.IMPORT), status="quarantined"), old),
        Contradict,
    )
