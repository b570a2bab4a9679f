"""Decay, consolidation, limits and retention by hand, and by property: twice is as once, and what the user stated stays."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import samples
from samples import NOW_MS, PROJECT, memory
from tacit.app.reasons import change_text
from tacit.backends.sqlite import SqliteStore
from tacit.config.settings import MOST_TRACES, RetentionSettings
from tacit.model.change_reason import ChangeCause
from tacit.model.changes import Add, Merge, Retire
from tacit.model.kinds import KindRegistry
from tacit.model.memory import LearnedOn, Provenance, Relation, Sensitivity, TrustTier
from tacit.model.scope import UNIVERSAL, ScopeFilter
from tacit.model.session import SessionKey, SessionState
from tacit.model.trace import Trace
from tacit.ports.store import MemoryFilter
from tacit.providers.clock import FakeClock
from tacit.statements.same import canonical_text
from tacit.upkeep.rounds import (
    DAY_MS,
    DecayCounts,
    RetentionCounts,
    apply_retention,
    freshness,
    is_stated,
    orphans,
    plan_decay,
    run_upkeep_round,
    statistics,
)

KINDS = KindRegistry()
DAY = 86_400_000
SEES = ScopeFilter.of(PROJECT, UNIVERSAL)


def loose(content, *, name, kind="observation", days=0, **more):
    """A memory that nobody stated, last touched `days` ago."""
    return memory(content, id=name, kind=kind, tier=TrustTier.ASSISTANT, at_ms=NOW_MS - days * DAY, **more)


def tended(*memories, fade=6.0, most=0):
    return plan_decay(memories, KINDS, now_ms=NOW_MS, fade=fade, most=most)


def test_freshness_by_hand():
    """An observation has a half-life of 30 days; use 1 makes it 30 * (1 + ln 2) = 50.79."""
    assert freshness(loose("x", name="m", days=30), KINDS, now_ms=NOW_MS) == pytest.approx(0.5)
    used = loose("x", name="m", days=30, use_count=1)
    assert freshness(used, KINDS, now_ms=NOW_MS) == pytest.approx(2 ** -(30 / (30 * (1 + math.log(2)))))
    assert freshness(memory(kind="preference", at_ms=0), KINDS, now_ms=NOW_MS) == 1.0


def test_what_nobody_stated_fades_after_six_half_lives():
    old, young = (
        loose("The build is red.", name="mem_a", days=181),
        loose("It was green.", name="mem_b", days=179),
    )
    told = memory("The build was red in May.", id="mem_c", kind="fact", at_ms=NOW_MS - 9999 * DAY)
    made = tended(old, young, told)
    assert [(change.memory_id, change.reason.cause) for change in made.changes] == [
        ("mem_a", ChangeCause.FADED)
    ]
    assert made.tended == DecayCounts(faded=1)
    assert tended(old, fade=0).changes == ()
    assert tended(replace(old, pinned=True)).changes == ()
    assert tended(replace(old, use_count=3)).changes == (), "use makes it last"


@pytest.mark.parametrize(
    ("one", "stated"),
    [
        (memory(kind="fact"), True),
        (memory(kind="digest"), False),
        (loose("x", name="m"), False),
        (loose("x", name="m", kind="preference"), True),
        (loose("x", name="m", pinned=True), True),
    ],
)
def test_what_counts_as_stated(one, stated):
    assert is_stated(one, KINDS) is stated


def test_the_same_words_become_one_that_knows_what_all_knew():
    first = loose(
        "The cache is in Redis.",
        name="mem_b",
        kind="fact",
        days=2,
        frequency=2,
        files=("a.py",),
        sensitivity=Sensitivity.RESTRICTED,
    )
    said = memory("the cache is in Redis", id="mem_z", kind="fact", use_count=1, evidence=("in Redis, yes",))
    assert canonical_text(first.content) == canonical_text(said.content)
    made = tended(first, said, loose("Another thing.", name="mem_c"))
    kept, gone = made.changes
    assert isinstance(kept, Merge)
    assert isinstance(gone, Retire)
    assert (kept.memory.id, kept.memory.frequency, kept.memory.use_count) == ("mem_z", 3, 1)
    assert kept.memory.evidence == ("in Redis, yes",)
    assert kept.memory.files == ("a.py",)
    assert kept.memory.sensitivity is Sensitivity.RESTRICTED
    assert (gone.memory_id, change_text(gone.reason)) == ("mem_b", "says the same as mem_z")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("FooBar holds the totals.", "fooBar holds the totals."),
        ("Ci is read by nobody.", "CI is read by nobody."),
        ("The tests run with pytest .", "The tests run with pytest."),
        ("Stop after !", "Stop after"),
    ],
)
def test_what_capture_keeps_apart_is_not_merged(one, other):
    """The rule for what says the same is that of `tacit.statements.same`."""
    pair = memory(one, id="mem_a", kind="fact"), memory(other, id="mem_b", kind="fact")
    assert tended(*pair).changes == ()


def test_the_least_worth_go_over_the_limit():
    one = loose("One.", name="mem_1", importance=0.2)
    two = loose("Two.", name="mem_2", importance=0.9)
    three = loose("Three.", name="mem_3", importance=0.2, use_count=2)
    stated = [memory(f"Rule {n}.", id=f"mem_r{n}") for n in range(5)]
    made = tended(one, two, three, *stated, most=2)
    assert [(change.memory_id, change.reason.cause) for change in made.changes] == [
        ("mem_1", ChangeCause.OVER_LIMIT)
    ]


def test_the_same_words_of_a_branch_and_of_the_project_stay_apart():
    branch = LearnedOn(name="topic")
    same = memory("We use Redis.", id="mem_a", kind="decision")
    bound = [memory("We use Redis.", id=name, kind="decision", branch=branch) for name in ("mem_b", "mem_c")]
    assert tended(same, bound[0]).changes == ()
    assert [type(change) for change in tended(same, *bound).changes] == [Merge, Retire]


def test_relations_to_what_is_gone_go_but_history_stays():
    here = {"a": memory(id="a"), "b": memory(id="b", status="retired")}
    kinds = ("related_to", "caused_by", "updates", "contradicts")
    found = [Relation(source_id="a", target_id="b", type=name) for name in kinds]
    assert [relation.type for relation in orphans(found, here)] == ["related_to", "caused_by"]
    assert orphans([Relation(source_id="a", target_id="gone", type="part_of")], here)
    assert orphans([Relation(source_id="a", target_id="a", type="part_of")], here) == ()


TIERS = st.sampled_from(list(TrustTier))
MEMORIES = st.lists(
    st.builds(
        lambda words, kind, tier, days, uses, repeats, importance, pinned: {
            "words": words,
            "kind": kind,
            "tier": tier,
            "days": days,
            "uses": uses,
            "repeats": repeats,
            "importance": importance,
            "pinned": pinned,
        },
        st.sampled_from(
            ["The cache is in Redis.", "the cache is in Redis", "Run it twice.", "Port 80.", "Use tabs."]
        ),
        st.sampled_from(["fact", "observation", "todo", "digest", "preference", "error_pattern", "outcome"]),
        TIERS,
        st.integers(0, 2000),
        st.integers(0, 3),
        st.integers(1, 4),
        st.floats(0, 1).map(lambda value: round(value, 2)),
        st.booleans(),
    ),
    max_size=12,
)


@given(MEMORIES, st.integers(0, 4), st.sampled_from([0.0, 1.0, 6.0]), st.integers(0, 50))
def test_twice_is_as_once_and_what_was_stated_stays(rows, most, fade, related):
    clock = FakeClock(now_ms=NOW_MS)
    store = SqliteStore.temporary(clock=clock)
    made = [
        replace(
            memory(row["words"], id=f"mem_{n}", kind=row["kind"], at_ms=NOW_MS - row["days"] * DAY),
            provenance=Provenance(tier=row["tier"], span=row["words"]),
            scope=UNIVERSAL if n % 3 == 0 else PROJECT,
            use_count=row["uses"],
            frequency=row["repeats"],
            importance=row["importance"],
            pinned=row["pinned"] and n % 4 == 0,
        )
        for n, row in enumerate(rows)
    ]
    store.apply([Add(memory=one) for one in made])
    if len(made) > 1:
        other = 1 + related % (len(made) - 1)
        store.relate([Relation(source_id="mem_0", target_id=f"mem_{other}", type="related_to")])
    run_upkeep_round(store, KINDS, clock=clock, fade=fade, most=most)

    def everything():
        memories = store.list_memories(MemoryFilter(statuses=None), scope=SEES, limit=100)
        ids = [one.id for one in made]
        return memories, [store.history(name, scope=SEES) for name in ids], store.relations(ids, scope=SEES)

    once, change = everything(), store.change()
    assert run_upkeep_round(store, KINDS, clock=clock, fade=fade, most=most) == DecayCounts()
    assert everything() == once
    assert store.change() == change
    live = {
        (str(one.scope), one.kind, canonical_text(one.content)) for one in once[0] if one.status == "active"
    }
    for one in made:
        if is_stated(one, KINDS):
            assert (str(one.scope), one.kind, canonical_text(one.content)) in live


def test_statistics_by_hand():
    store = SqliteStore.temporary(clock=FakeClock(now_ms=NOW_MS))
    told = memory("Use tabs.", id="mem_1", use_count=2)
    seen = loose("It is red.", name="mem_2", frequency=2)
    gone = memory("Use spaces.", id="mem_3")
    store.apply([Add(memory=told), Add(memory=seen), Add(memory=gone)])
    store.apply([Retire(memory_id="mem_3", at_ms=NOW_MS)])
    found = statistics(store, KINDS)
    assert found.by_kind == {"observation": 1, "preference": 1}
    assert found.by_status == {"active": 2, "retired": 1}
    assert (found.stated, found.used, found.restated) == (1, 1, 1)


NOW = 200 * DAY_MS


def trace(number: int, at_ms: int) -> Trace:
    return samples.trace(f"trc_{number}", at_ms=at_ms)


def test_old_and_surplus_records_go_once() -> None:
    clock = FakeClock(now_ms=NOW)
    store = SqliteStore.temporary(clock=clock)
    ages = {"fresh": 1, "old": 91}
    for number, (name, days) in enumerate(ages.items()):
        state = SessionState(key=SessionKey(host="h", session_id=name), last_signal_at_ms=NOW - days * DAY_MS)
        store.save_session(state, traces=[trace(number, NOW - days * DAY_MS)])
    store.save_session(
        SessionState(key=SessionKey(host="h", session_id="fresh"), last_signal_at_ms=NOW),
        traces=[trace(number, NOW - number) for number in range(10, 11 + MOST_TRACES)],
    )
    settings = RetentionSettings(trace_days=30)
    assert apply_retention(store, settings, clock=clock) == RetentionCounts(traces=3, sessions=1)
    assert [state.key.session_id for state in store.list_sessions(limit=10)] == ["fresh"]
    assert [t.id for t in store.list_traces(limit=4)] == ["trc_10", "trc_11", "trc_12", "trc_13"]
    assert store.stats().traces == MOST_TRACES
    assert apply_retention(store, settings, clock=clock) == RetentionCounts(traces=0, sessions=0)
